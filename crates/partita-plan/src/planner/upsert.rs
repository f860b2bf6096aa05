//! Create or change: what callers give for an item, whether it is there or not.
//!
//! Which of the two it is, the item as it was read decides, and the transaction holds it to that:
//! a creation passes only while nothing is there, a change only while something is. Whoever meets
//! another in between starts again, and finds the other case.
//!
//! Where a part of the identity is computed, such as a time, nobody can say which item is to be new:
//! only what is there can be changed.

use partita_core::Map;
use partita_design::design::{Access, Entity};

use super::Planner;
use super::request::On;
use super::values::Start;
use crate::access::{Asked, Verdict};
use crate::draft::{Before, Presence, Refusal};
use crate::error::PlanError;
use crate::input::{Changes, Input};
use crate::scene::{Scene, Trace};

impl<'a> Planner<'a> {
    /// Creates an item, or replaces what is given of it.
    pub(super) fn upsert_for(
        &mut self,
        entity: &'a Entity,
        on: &On<'a>,
        given: &Map,
    ) -> Result<usize, PlanError> {
        if !entity.takes_identity() {
            return self.replace(entity, on, given);
        }
        self.demand_either(on)?;
        let blueprint = self.context.blueprint;
        let input = Input { blueprint, entity };
        let at = self.look_up(on.shape, blueprint.address(on.shape, &on.identity)?)?;
        let Before::Found(old) = self.entry(at).before.clone() else {
            let changes = input.create_at(&on.identity, given, &mut self.faults);
            return self.create_missing(at, entity, on, &changes);
        };
        if self.is_hidden_from_caller(on, &old) {
            let changes = input.create_at(&on.identity, given, &mut self.faults);
            return Err(self.in_the_way(entity, on, &changes));
        }
        self.replace(entity, on, given)
    }

    /// Replaces what is given of an item that is there.
    fn replace(
        &mut self,
        entity: &'a Entity,
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
    fn demand_either(&self, on: &On<'a>) -> Result<(), PlanError> {
        let early = Trace::default();
        let known = Scene {
            complete: false,
            ..self.scene(on.shape, &on.identity, None, &early)
        };
        let create = known.demand_early(Asked::Access(Access::Create));
        match known.demand_early(Asked::Access(Access::Update)) {
            Err(_) => create,
            Ok(()) => Ok(()),
        }
    }

    fn create_missing(
        &mut self,
        at: usize,
        entity: &'a Entity,
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

    /// Whether a caller can neither change an item nor know of it.
    fn is_hidden_from_caller(&self, on: &On<'a>, item: &Map) -> bool {
        let unwatched = Trace::default();
        let scene = self.scene(on.shape, item, None, &unwatched);
        let is = |access, verdict| scene.verdict(Asked::Access(access)) == verdict;
        is(Access::Update, Verdict::Denied) && !is(Access::Read, Verdict::Allowed)
    }

    /// What a caller is told who may not know of the item: the same as if it were not there, and
    /// that an item exists only where it would have been created.
    fn in_the_way(&mut self, entity: &'a Entity, on: &On<'a>, changes: &Changes<'a>) -> PlanError {
        let refusal = self.refusal_to_create(entity, on, changes);
        refusal.err().unwrap_or_else(|| PlanError::Exists {
            entity: entity.name.clone(),
        })
    }

    fn refusal_to_create(
        &mut self,
        entity: &'a Entity,
        on: &On<'a>,
        changes: &Changes<'a>,
    ) -> Result<(), PlanError> {
        self.demand_creation(entity, changes)?;
        let mut item = Map::new();
        for (slot, value) in &changes.set {
            super::item::put(&mut item, slot, value.clone());
        }
        self.complete(entity, &mut item)?;
        self.check_new(entity, &item, Start::First);
        self.refuse()?;
        let unwatched = Trace::default();
        let scene = self.scene(on.shape, &item, None, &unwatched);
        scene.demand(Asked::Access(Access::Create))?;
        scene.demand_attributes(changes.set.iter().map(|(slot, _)| slot.name()))
    }
}
