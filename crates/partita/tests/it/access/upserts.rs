//! PUT in both of its meanings: where an item is it is an update, where none is a creation.

use partita_api::access::{self, Persona, Row};
use partita_api::routes::{Route, Target, Verb as Asked};
use partita_design::design::{Record, RecordId};
use partita_design::types::AttributeType;

use super::cast::{self, Probe};
use super::is_allowed;
use super::theatre::{Call, Theatre, compare, replaced};
use crate::scenario::{Request, Verb, request};

impl Theatre {
    /// Sends a PUT as the update's probes are sent, and as the creation's are.
    pub(super) async fn play_upsert(
        &mut self,
        row: &Row<'_>,
        entity: RecordId,
    ) -> Result<(), String> {
        let update = self.route_to(Asked::Update(entity));
        let create = self.route_to(Asked::Create(entity));
        let design = self.design.clone();
        let changing = Row {
            outcomes: access::row(&design, &update).outcomes,
            ..row.clone()
        };
        for probe in self.probes_of(&update) {
            let played = self.play_probe(&changing, &probe).await;
            played.map_err(|failure| format!("line {}: {failure}", probe.line))?;
        }
        let creating = access::row(&design, &create);
        if creating.is_closed() {
            return self.play_closed(row).await;
        }
        let is_fixed = access::row(&design, &update).is_closed();
        for probe in self.probes_of(&create) {
            let played = self.play_new(row, &creating, &probe, is_fixed).await;
            played.map_err(|failure| format!("line {}, by PUT: {failure}", probe.line))?;
        }
        Ok(())
    }

    /// A PUT where nothing is. Where a part of the identity is computed, such as the time of the
    /// creation, nobody can put it there. Where nobody may change what is there, nobody may put it
    /// again.
    async fn play_new(
        &mut self,
        row: &Row<'_>,
        creating: &Row<'_>,
        probe: &Probe,
        is_fixed: bool,
    ) -> Result<(), String> {
        let can_put = self.has_own_identity(&probe.verb);
        let mut names = self.set(&probe.before).await?;
        for persona in Persona::ALL {
            // The owner is the one in the line, whatever the rule says of owners.
            let is_owner = persona == Persona::Owner;
            let is_allowed = can_put && (is_owner || is_allowed(creating, persona, probe)?);
            // Who else is let pass to the same by its other path needs no items of his own again.
            if is_allowed && !is_owner && !row.route.is_canonical {
                continue;
            }
            let (call, named) = self.put_call(Some(row.route), probe, &names)?;
            let token = self.token(persona, Some(&named));
            let seen = self.send(&call, token.clone()).await;
            self.contract.judge(row.route, &seen)?;
            match (is_allowed, seen.status) {
                // Who may not see what he has created is not shown it.
                (true, 201 | 204) => names = self.set(&probe.before).await?,
                (true, status) => {
                    let who = persona.word();
                    return Err(format!("{who} is told {status}: {}", seen.body));
                }
                (false, _) => {
                    compare(persona, false, &seen)?;
                    continue;
                }
            }
            if is_fixed {
                let again = self.send(&call, token).await;
                self.contract.judge(row.route, &again)?;
                // Who may not see it is told that it is there: it is what he has put there himself.
                if again.status != 409 {
                    compare(persona, false, &again)?;
                }
            }
        }
        Ok(())
    }

    /// The creation of a probe as a PUT to an identity that nothing has, by a route or by the one
    /// that follows from names.
    pub(super) fn put_call(
        &self,
        route: Option<&Route>,
        probe: &Probe,
        names: &cast::Names,
    ) -> Result<(Call, Request), String> {
        let asked = self.with_identity(request(&replaced(&probe.request, names))?)?;
        let Verb::Create { entity, .. } = &asked.verb else {
            return Err("this creates nothing".to_owned());
        };
        let entity = self.design.find_entity(entity).ok_or("no such entity")?;
        let canonical = self.route_to(Asked::Upsert(entity.id));
        let route = route.unwrap_or(&canonical);
        Ok((self.fill(route, &asked)?, asked))
    }

    /// A creation with an identity that nothing has, where the cast gives none.
    pub(super) fn with_identity(&self, mut asked: Request) -> Result<Request, String> {
        let Verb::Create { entity, body } = &mut asked.verb else {
            return Err("this creates nothing".to_owned());
        };
        let entity = self.design.find_entity(entity).ok_or("no such entity")?;
        let members = body.as_object_mut().ok_or("a body is an object")?;
        for (index, part) in entity.identity.iter().enumerate() {
            let attribute = entity.attribute(&part.name).ok_or("no such attribute")?;
            let kind = match attribute.kind {
                AttributeType::Ulid => "ulid",
                AttributeType::Uuid | AttributeType::Id => "uuid",
                AttributeType::Time(_) => "2026-01-01T00:00:00.000Z",
                _ => continue,
            };
            let fresh = cast::made(kind, &part.name, self.fresh_number() - index);
            let given = members.entry(attribute.name.clone());
            given.or_insert_with(|| fresh.into());
        }
        Ok(asked)
    }

    /// Whether whoever creates an item may say what its identity is. Where a part of it is the time
    /// of its creation, say, nobody can put it.
    pub(super) fn has_own_identity(&self, verb: &Verb) -> bool {
        let Verb::Create { entity, .. } = verb else {
            return false;
        };
        self.design
            .find_entity(entity)
            .is_some_and(Record::takes_identity)
    }

    /// The route to something that the planner carries out, by the path that follows from names.
    pub(super) fn route_to(&self, asked: Asked) -> Route {
        let mut routes = self.routes.iter();
        let route = routes.find(|route| route.target == Target::Operation(asked));
        route
            .unwrap_or_else(|| panic!("no route for {asked:?}"))
            .clone()
    }
}
