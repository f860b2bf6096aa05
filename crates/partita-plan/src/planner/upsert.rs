//! Create or change: what callers give for an item, whether it is there or not.
//!
//! Which of the two it is, the item as it was read decides, and the transaction holds it to that:
//! a creation passes only while nothing is there, a change only while something is. Whoever meets
//! another in between starts again, and finds the other case.
//!
//! Where a part of the identity is computed, such as a time, nobody can say which item is to be new:
//! only what is there can be changed.

use partita_core::Map;
use partita_design::design::{Access, Record};

use super::Planner;
use super::request::On;
use crate::access::{Asked, Verdict};
use crate::draft::{Presence, Refusal};
use crate::error::PlanError;
use crate::evaluate::Known;
use crate::input::{Changes, Input};
use crate::place::Address;

impl<'a> Planner<'a> {
    /// Creates an item, or replaces what is given of it.
    pub(super) fn upsert_for(
        &mut self,
        entity: &'a Record,
        on: &On<'a>,
        given: &Map,
    ) -> Result<usize, PlanError> {
        if !entity.takes_identity() {
            return self.replace(entity, on, given);
        }
        self.demand_either(on)?;
        let blueprint = self.context.blueprint;
        let input = Input { blueprint, entity };
        let address = blueprint.address(on.shape, &on.identity)?;
        if self.is_hidden_from_caller(on, &address)? {
            return Err(self.in_the_way(entity, on, given, address));
        }
        let at = self.look_up(on.shape, address)?;
        if self.entry(at).old().is_none() {
            let changes = input.create_at(&on.identity, given, &mut self.faults);
            return self.create_missing(at, entity, on, &changes);
        }
        self.replace(entity, on, given)
    }

    /// Replaces what is given of an item that is there.
    fn replace(
        &mut self,
        entity: &'a Record,
        on: &On<'a>,
        given: &Map,
    ) -> Result<usize, PlanError> {
        let at = self.reach(on, Asked::Access(Access::Update))?;
        let blueprint = self.context.blueprint;
        let input = Input { blueprint, entity };
        let changes = input.replace_at(&on.identity, given, &mut self.faults);
        self.change_given(at, &changes)?;
        Ok(at)
    }

    /// Refuses whoever may neither create nor change the item, before it is looked at.
    pub(super) fn demand_either(&self, on: &On<'a>) -> Result<(), PlanError> {
        let known = self.unguarded(on.shape, &on.identity).known_so_far();
        let create = known.demand_early(Asked::Access(Access::Create));
        match known.demand_early(Asked::Access(Access::Update)) {
            Err(_) => create,
            Ok(()) => Ok(()),
        }
    }

    fn create_missing(
        &mut self,
        at: usize,
        entity: &'a Record,
        on: &On<'a>,
        changes: &Changes<'a>,
    ) -> Result<usize, PlanError> {
        // Whoever saw a version saw an item.
        self.check_version(at, entity, on.version);
        self.create_given(entity, changes)?;
        // If somebody else creates it first, that is no mistake: it is changed then.
        self.entry_mut(at).presence = Presence::Absent(Refusal::Stale);
        Ok(at)
    }

    /// Whether there is an item that a caller can neither change nor know of.
    fn is_hidden_from_caller(&self, on: &On<'a>, address: &Address) -> Result<bool, PlanError> {
        let Known::Found(stored) = self.context.item(address) else {
            return Ok(false);
        };
        let item = self.context.blueprint.attributes(on.shape, stored)?;
        let scope = self.unguarded(on.shape, &item);
        let is = |access, verdict| scope.verdict(Asked::Access(access)) == verdict;
        Ok(is(Access::Update, Verdict::Denied) && !is(Access::Read, Verdict::Allowed))
    }

    /// What a caller is told who may not know of the item: the same as if it were not there, and
    /// that an item exists only where it would have been created.
    fn in_the_way(
        &mut self,
        entity: &'a Record,
        on: &On<'a>,
        given: &Map,
        address: Address,
    ) -> PlanError {
        self.context.reads.hide([address.clone()]);
        let blueprint = self.context.blueprint;
        let input = Input { blueprint, entity };
        let changes = input.create_at(&on.identity, given, &mut self.faults);
        let at = self.look_up(on.shape, address);
        let created = at.and_then(|at| self.create_missing(at, entity, on, &changes));
        created.err().unwrap_or_else(|| PlanError::Exists {
            entity: entity.name.clone(),
        })
    }
}
