//! That a refusal tells nothing: it is the same whether an item is there or not, and whatever else
//! is wrong with a request.

use axum::http::Method;
use partita_api::access::{Outcome, Persona, Row};
use partita_api::routes::{Route, Verb as Asked};
use serde_json::{Value as Json, json};

use super::cast::{Names, Probe, made};
use super::contract::Seen;
use super::theatre::{Call, Theatre, replaced};
use crate::scenario::{Request, Verb, request};

/// A set of names that no item has.
const NOBODYS: usize = 9_999;

impl Theatre {
    /// Holds what somebody was told who may not do this against what he is told of items that are
    /// not there, and of a body with a mistake in it.
    pub(super) async fn tells_nothing(
        &self,
        row: &Row<'_>,
        probe: &Probe,
        names: &Names,
        persona: Persona,
    ) -> Result<(), String> {
        if !matches!(persona, Persona::Nobody | Persona::Stranger) {
            return Ok(());
        }
        if self.may_read(probe, names, persona).await? {
            return Ok(());
        }
        let there = self.told(row.route, probe, names, persona, false).await?;
        let nowhere = self.nowhere(names);
        for is_wrong in [false, true] {
            let there = self
                .told(row.route, probe, names, persona, is_wrong)
                .await?;
            let missing = self
                .told(row.route, probe, &nowhere, persona, is_wrong)
                .await?;
            same("what is missing", persona, &there, &missing)?;
        }
        if *row.outcome(persona) == Outcome::No && matches!(there.status, 401 | 403) {
            let wrong = self.told(row.route, probe, names, persona, true).await?;
            same("what is wrong", persona, &there, &wrong)?;
            self.tells_nothing_in_batch(row.route, probe, names, persona, &there)
                .await?;
        }
        Ok(())
    }

    /// The same mistake, in a batch of its own.
    async fn tells_nothing_in_batch(
        &self,
        route: &Route,
        probe: &Probe,
        names: &Names,
        persona: Persona,
        alone: &Seen,
    ) -> Result<(), String> {
        if route.method == Method::GET {
            return Ok(());
        }
        let operation = self.operation(&self.wrong(route, probe, names)?);
        let token = self.token(persona, None);
        let seen = self.send_batch(&[&operation], token).await;
        if seen.status == alone.status && seen.body["type"] == alone.body["type"] {
            return Ok(());
        }
        let who = persona.word();
        Err(format!(
            "{who} learns what is wrong in a batch: {} {}\nand alone {}",
            seen.status, seen.body, alone.body
        ))
    }

    async fn told(
        &self,
        route: &Route,
        probe: &Probe,
        names: &Names,
        persona: Persona,
        is_wrong: bool,
    ) -> Result<Seen, String> {
        let call = if is_wrong {
            self.wrong(route, probe, names)?
        } else {
            self.call(route, probe, names)?.0
        };
        Ok(self.send(&call, self.token(persona, None)).await)
    }

    /// The call with a mistake in its body, if it has one.
    fn wrong(&self, route: &Route, probe: &Probe, names: &Names) -> Result<Call, String> {
        let (mut call, _) = self.call(route, probe, names)?;
        if let Some(body) = &mut call.body {
            body["no such attribute"] = json!(1);
        }
        Ok(call)
    }

    /// Whether somebody knows of the item anyway, because he may read it.
    async fn may_read(
        &self,
        probe: &Probe,
        names: &Names,
        persona: Persona,
    ) -> Result<bool, String> {
        let named: Request = request(&replaced(&probe.request, names))?;
        let (entity, path) = match &named.verb {
            Verb::Update { entity, path, .. }
            | Verb::Upsert { entity, path, .. }
            | Verb::Delete { entity, path }
            | Verb::Restore { entity, path }
            | Verb::Purge { entity, path }
            | Verb::Act {
                on: Some((entity, path)),
                ..
            } => (entity.clone(), path.clone()),
            _ => return Ok(false),
        };
        let Some(found) = self.design.find_entity(&entity) else {
            return Ok(false);
        };
        let asked = Asked::Get(found.id);
        let get = Request {
            verb: Verb::Get {
                entity,
                path,
                deleted: true,
            },
            ..named
        };
        let mut call = self.fill(&self.route_to(asked), &get)?;
        call.url.push_str("?deleted=include");
        let seen = self.send(&call, self.token(persona, None)).await;
        Ok(seen.status == 200)
    }

    /// Names of the same form that nothing has.
    fn nowhere(&self, names: &Names) -> Names {
        let fresh = self.cast.names(NOBODYS);
        let of = |(name, value): (&String, &String)| {
            let other = fresh.get(name).filter(|other| *other != value);
            let other = other.cloned().unwrap_or_else(|| like(value));
            (name.clone(), other)
        };
        names.iter().map(of).collect()
    }
}

/// Another value of the same form.
fn like(value: &str) -> String {
    match value.len() {
        26 if value.starts_with("01") => made("ulid", "", NOBODYS),
        36 => made("uuid", "", NOBODYS),
        24 if value.ends_with('Z') => "2001-01-01T00:00:00.000Z".to_owned(),
        10 if value.contains('-') => made("date", "", NOBODYS),
        _ => format!("{value}x"),
    }
}

fn same(what: &str, persona: Persona, one: &Seen, two: &Seen) -> Result<(), String> {
    let told = |seen: &Seen| -> (u16, Json) {
        let mut body = seen.body.clone();
        if let Some(body) = body.as_object_mut() {
            body.remove("instance");
            body.remove("cursor");
        }
        (seen.status, body)
    };
    if told(one) == told(two) {
        return Ok(());
    }
    let who = persona.word();
    Err(format!(
        "{who} learns {what}: {} {}\nand {} {}",
        one.status, one.body, two.status, two.body
    ))
}
