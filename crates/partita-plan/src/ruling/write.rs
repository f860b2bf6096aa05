//! What the rules say of a write, without the write.

use partita_core::Map;
use partita_design::design::{Access, Action, Record, Repeat};

use super::{Decision, Row, Ruling};
use crate::error::PlanError;
use crate::evaluate::{ItemScope, Named};
use crate::planner::{Names, Planner};
use crate::request::action::{FoundBy, none_found};
use crate::request::afterwards::Afterwards;
use crate::request::input::{Changes, Slot, refuse};
use crate::request::rules::{Asked, Verdict};
use crate::request::{NamedItem, Request, not_found};

impl<'a> Planner<'a> {
    /// What the rules say of a write, as far as what was read allows.
    pub(crate) fn rule_on(mut self, request: &Request<'a>) -> Result<Decision, PlanError> {
        match request {
            Request::Create { entity, given } => {
                let changes = self.input(entity).create(given, &mut self.faults);
                self.rule_on_creation(entity, &changes)
            }
            Request::Upsert { on, given } => self.rule_on_upsert(on, given),
            Request::Change { on, asked, given } => self.rule_on_change(on, *asked, given),
            Request::Found { action, by, given } => self.rule_on_found(action, *by, given),
            // No rule is asked.
            Request::Errands(_) => Ok(Decision {
                is_allowed: true,
                rulings: Vec::new(),
                rows: Vec::new(),
            }),
        }
    }

    /// What the rules say of reading an item.
    pub(crate) fn rule_on_read(mut self, on: &NamedItem<'a>) -> Result<Decision, PlanError> {
        let rulings = self.rulings(on, |scope| {
            let read = scope.ruling(Asked::Access(Access::Read));
            std::iter::once(read).chain(scope.read_rulings()).collect()
        })?;
        let is_allowed = rulings.first().is_some_and(Ruling::is_allowed);
        Ok(Decision {
            is_allowed,
            rulings,
            rows: Vec::new(),
        })
    }

    /// Whether it is a creation or a change, the item decides.
    fn rule_on_upsert(&mut self, on: &NamedItem<'a>, given: &Map) -> Result<Decision, PlanError> {
        let entity = on.record;
        let address = self.context.blueprint.address(entity, &on.identity)?;
        let at = self.look_up(entity, address)?;
        if self.entry(at).old().is_some() || !entity.takes_identity() {
            return self.rule_on_change(on, Asked::Access(Access::Update), given);
        }
        let input = self.input(entity);
        let changes = input.create_at(&on.identity, given, &mut self.faults);
        self.rule_on_creation(entity, &changes)
    }

    /// Of a new item the rules see what is given and what is computed from it.
    fn rule_on_creation(
        &mut self,
        entity: &'a Record,
        changes: &Changes<'a>,
    ) -> Result<Decision, PlanError> {
        refuse(std::mem::take(&mut self.faults))?;
        let item = self.compose(entity, changes).item;
        let scope = self.unguarded(entity, &item);
        let mut rulings = vec![scope.ruling(Asked::Access(Access::Create))];
        let crossing = entity.crossing(None, &item);
        rulings.extend(crossing.map(|access| scope.ruling(Asked::Access(access))));
        rulings.extend(scope.write_rulings(changes.set.iter().map(|(slot, _)| slot.name())));
        // A creation of what is there already is a change.
        if entity.repeat != Repeat::Refuse
            && let Ok(address) = self.context.blueprint.address(entity, &item)
        {
            let at = self.look_up(entity, address)?;
            if let Some(old) = self.entry(at).old() {
                let is_update = entity.repeat == Repeat::Update;
                let mut repeated = changes.without_identity(entity);
                repeated.set.retain(|_| is_update);
                let after = Afterwards::of(self.unguarded(entity, old), &repeated);
                rulings.push(after.ruling(Asked::Access(Access::Update)));
                let crossing = changes.crossing(entity, old).filter(|_| is_update);
                rulings.extend(crossing.map(|access| after.ruling(Asked::Access(access))));
                rulings.extend(after.write_rulings(repeated.names()));
            }
        }
        Ok(Decision::of_all(rulings, Vec::new()))
    }

    fn rule_on_change(
        &mut self,
        on: &NamedItem<'a>,
        asked: Asked<'a>,
        given: &Map,
    ) -> Result<Decision, PlanError> {
        let (changes, parameters) = match asked {
            Asked::Access(Access::Update) => {
                let input = self.input(on.record);
                let changes = input.update(given, &on.identity, &mut self.faults);
                (changes, Names::new())
            }
            Asked::Action(action) if on.record.is_entity() => self.split(action, on.record, given),
            _ => Default::default(),
        };
        refuse(std::mem::take(&mut self.faults))?;
        let is_update = asked == Asked::Access(Access::Update);
        let nothing = Changes::default();
        let rulings = self.rulings(on, |scope| {
            // Of an item that is not there nothing is known that could change.
            let given = if scope.complete { &changes } else { &nothing };
            let after = Afterwards::of(*scope, given);
            let operation = after.ruling(asked);
            let crossing = crossing(asked, &changes, &parameters, scope);
            let crossing = crossing.map(|access| after.ruling(Asked::Access(access)));
            let attributes = after.write_rulings(changes.names().filter(|_| is_update));
            let operation = std::iter::once(operation).chain(crossing);
            operation.chain(attributes).collect()
        })?;
        Ok(Decision::of_all(rulings, Vec::new()))
    }

    /// What is said of an item that is there; of a missing one only what its identity decides. One
    /// that a live ref hides is missing for everybody.
    fn rulings(
        &mut self,
        on: &NamedItem<'a>,
        ask: impl Fn(&ItemScope<'_, 'a>) -> Vec<Ruling>,
    ) -> Result<Vec<Ruling>, PlanError> {
        let address = self.context.blueprint.address(on.record, &on.identity)?;
        let at = self.look_up(on.record, address)?;
        let scope = match self.entry(at).old() {
            Some(old) => self.unguarded(on.record, old),
            None => self.unguarded(on.record, &on.identity).known_so_far(),
        };
        let rulings = ask(&scope);
        let is_open = rulings.iter().any(|ruling| ruling.verdict == Verdict::Open);
        // As for those who try: a refusal first, and then that there is no such item.
        let is_allowed = rulings.first().is_some_and(Ruling::is_allowed);
        if is_open || (is_allowed && scope.complete && scope.is_hidden()) {
            return Err(not_found(on.record, false));
        }
        Ok(rulings)
    }

    /// An action that finds its items is decided on each of them.
    fn rule_on_found(
        &mut self,
        action: &'a Action,
        by: FoundBy<'a>,
        given: &Map,
    ) -> Result<Decision, PlanError> {
        let design = &self.context.blueprint.design;
        let (asked, _) = self.asked(by.pattern, given)?;
        // All of them: where nothing is written, lists are read to their end.
        let listed = self.rows(by.pattern, &asked)?;
        let found = match by.application {
            Some(_) => self.meant_among(by.pattern, &asked, &listed.rows)?,
            None => {
                let found = self.first_meant(by.pattern, &asked, &listed.rows)?;
                vec![found.ok_or_else(|| none_found(by, listed.has_more))?]
            }
        };
        let mut rows = Vec::new();
        for listed in &found {
            let (record, item) = (listed.record, &listed.item);
            let plain = self.unguarded(record, item);
            let mut names = Vec::new();
            if let Some(application) = by.application {
                names.push((application.each.name.clone(), listed.named()));
            }
            let scope = plain.naming(&names);
            let mut rulings = vec![scope.ruling(Asked::Action(action))];
            if let Some(application) = by.application
                && (application.when.as_ref()).is_none_or(|when| when.holds(&scope))
            {
                rulings.push(plain.ruling(Asked::Action(&design[application.apply])));
            }
            rows.push(Row::new(record, item, rulings));
        }
        Ok(Decision::of_all(Vec::new(), rows))
    }
}

/// Whether a change is a delete or a restore as well.
fn crossing<'a>(
    asked: Asked<'a>,
    given: &Changes<'a>,
    parameters: &[(String, Named<'_, 'a>)],
    scope: &ItemScope<'_, 'a>,
) -> Option<Access> {
    let soft_delete = scope.record.soft_delete.as_ref();
    let soft_delete = soft_delete.filter(|_| scope.complete)?;
    let mut changes = given.clone();
    if let Asked::Action(action) = asked
        && !action.delete
        && let Some(attribute) = scope.record.stored(soft_delete.attribute())
    {
        let named = scope.naming(parameters).with_refs(&action.refs);
        let set = action.changes.set.iter();
        let set = set.filter(|(name, _)| *name == attribute.name);
        let values = set.filter_map(|(_, value)| value.value(&named));
        let values = values.map(|value| (Slot::Declared(attribute), attribute.kind.adopt(value)));
        changes.set.extend(values);
    }
    changes.crossing(scope.record, scope.item)
}
