//! New items that callers ask for, and who may create them.
//!
//! Rules come first: before what is wrong with an item is told, and before anything is told of what
//! is stored. They are decided on what is given, on what is computed from it and on the caller's own
//! records; where they rest on items of others that the caller may not read, the answer is the one
//! that would be given if those were missing.

use partita_core::Map;
use partita_design::design::rules::LimitOf;
use partita_design::design::{Access, Record, Repeat, Source};

use super::item::put;
use super::{By, Planner};
use crate::access::{Asked, Verdict};
use crate::error::{FaultRule, PlanError};
use crate::evaluate::{Composed, ItemScope, Known, Resolved};
use crate::input::{Changes, Input, refuse};
use crate::place::Address;
use partita_design::nested;

impl<'a> Planner<'a> {
    pub(super) fn create_for(
        &mut self,
        entity: &'a Record,
        given: &Map,
    ) -> Result<Option<usize>, PlanError> {
        let input = Input {
            blueprint: self.context.blueprint,
            entity,
        };
        let changes = input.create(given, &mut self.faults);
        self.create_given(entity, &changes)
    }

    /// A creation of what is given, if the rules allow it.
    pub(super) fn create_given(
        &mut self,
        entity: &'a Record,
        changes: &Changes<'a>,
    ) -> Result<Option<usize>, PlanError> {
        let known = self.demand_given(entity, changes)?;
        let new = self.compose(entity, changes);
        let demanded = demand_creation(self.scope_of_new(&new), changes);
        // While something is still to be read the rules may allow it, and the evaluation goes on to
        // find out what else it needs.
        if let (Err(refusal), true) = (demanded, self.context.reads.is_complete()) {
            return Err(self.refusal_of(&new, changes, known, refusal));
        }
        self.demand_repeat(&new, changes)?;
        let at = self.put_new(changes, new, By::Caller)?;
        self.demand_merged(at)?;
        self.count_towards(&LimitOf::Access(Access::Create, entity.id))?;
        Ok(self.entry(at).after.is_some().then_some(at))
    }

    /// Refuses what is certain before anything is computed, and says how much is.
    fn demand_given(
        &self,
        entity: &'a Record,
        changes: &Changes<'a>,
    ) -> Result<Verdict, PlanError> {
        let mut given = Map::new();
        // Of what is wrong by itself nothing is decided.
        let good = changes.set.iter();
        for (slot, value) in good.filter(|(slot, _)| !self.is_faulty(slot.name())) {
            put(&mut given, slot, value.clone());
        }
        let known = self.unguarded(entity, &given).known_so_far();
        let asked = Asked::Access(Access::Create);
        known.demand_early(asked)?;
        Ok(known.verdict(asked))
    }

    /// The refusal of a new item that the rules do not allow.
    fn refusal_of(
        &mut self,
        new: &Composed<'a>,
        changes: &Changes<'a>,
        known: Verdict,
        refusal: PlanError,
    ) -> PlanError {
        let entity = new.record;
        // The rule may hold once everything is given, so that is told, and nothing else.
        if known == Verdict::Open
            && let Err(incomplete) = self.demand_whole(entity, &new.item)
        {
            return incomplete;
        }
        let hidden = self.hidden_from_caller(new, changes);
        if hidden.is_empty() || !self.context.reads.is_complete() {
            return refusal;
        }
        self.context.reads.hide(hidden);
        let outcome = self.create_given(entity, changes);
        outcome.err().unwrap_or(refusal)
    }

    /// Refuses what lacks something that callers give.
    fn demand_whole(&mut self, entity: &'a Record, item: &Map) -> Result<(), PlanError> {
        for attribute in &entity.attributes {
            let is_given = matches!(attribute.source, Source::Given { default: None });
            let is_there = nested::get(item, &attribute.name).is_some();
            if is_given && !is_there && !attribute.optional && !self.is_faulty(&attribute.name) {
                self.fault(entity, &attribute.name, FaultRule::Required, "is required");
            }
        }
        refuse(std::mem::take(&mut self.faults))
    }

    /// Where the rules rest on items that the caller may not read: those, and all others that the
    /// new item refers to and the caller may not read either, for they would tell of them.
    fn hidden_from_caller(&self, new: &Composed<'a>, changes: &Changes<'a>) -> Vec<Address> {
        let scope = self.unguarded(new.record, &new.item);
        let (_, around) = scope.with_others_read(|scope| demand_creation(scope, changes));
        if !around.iter().any(|one| self.is_unreadable(one)) {
            return Vec::new();
        }
        let refs = new.record.refs.iter();
        let targets = refs.flat_map(|reference| match scope.resolve(reference) {
            Resolved::To(targets) => targets,
            _ => Vec::new(),
        });
        let targets = targets.map(|target| (target.address, target.shape));
        let all = around.into_iter().chain(targets);
        let hidden = all.filter(|one| self.is_unreadable(one));
        hidden.map(|(address, _)| address).collect()
    }

    /// Whether there is an item, and the caller may not read it.
    fn is_unreadable(&self, (address, shape): &(Address, &'a Record)) -> bool {
        let Known::Found(stored) = self.context.item(address) else {
            return false;
        };
        let Ok(item) = self.context.blueprint.attributes(shape, stored) else {
            return false;
        };
        let read = Asked::Access(Access::Read);
        self.unguarded(shape, &item).verdict(read) != Verdict::Allowed
    }

    /// Whoever creates what is there already changes it, and perhaps restores or deletes it.
    fn demand_repeat(
        &mut self,
        new: &Composed<'a>,
        changes: &Changes<'a>,
    ) -> Result<(), PlanError> {
        let entity = new.record;
        let address = self.context.blueprint.address(entity, &new.item);
        let (false, Ok(address)) = (entity.repeat == Repeat::Refuse, address) else {
            return Ok(());
        };
        let at = self.look_up(entity, address)?;
        let Some(old) = self.entry(at).old().cloned() else {
            return Ok(());
        };
        self.evaluate(at, &old, |scope| {
            scope.demand(Asked::Access(Access::Update))?;
            match (entity.repeat, changes.crossing(entity, &old)) {
                (Repeat::Update, Some(access)) => scope.demand(Asked::Access(access)),
                _ => Ok(()),
            }
        })?
    }

    /// What is there already and what is given make an item that the caller may create.
    fn demand_merged(&mut self, at: usize) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let (Some(old), Some(new)) = (entry.old().cloned(), entry.after.clone()) else {
            return Ok(());
        };
        let create = Asked::Access(Access::Create);
        self.evaluate(at, &new, |scope| scope.was(Some(&old)).demand(create))?
    }
}

/// Refuses a new item that the rules do not allow.
fn demand_creation(scope: ItemScope<'_, '_>, changes: &Changes<'_>) -> Result<(), PlanError> {
    scope.demand(Asked::Access(Access::Create))?;
    // What comes into being in the deleted state is deleted, too.
    if let Some(access) = scope.record.crossing(None, scope.item) {
        scope.demand(Asked::Access(access))?;
    }
    scope.demand_attributes(changes.set.iter().map(|(slot, _)| slot.name()))
}
