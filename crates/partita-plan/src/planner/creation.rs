//! New items that callers ask for, and who may create them.
//!
//! Rules come first: before what is wrong with an item is told, and before anything is told of what
//! is stored. They are decided on what is given, on what is computed from it and on the caller's own
//! records; where they rest on items of others that the caller may not read, the answer is the one
//! that would be given if those were missing.

use partita_core::Map;
use partita_design::design::rules::LimitOf;
use partita_design::design::{Access, Record, Repeat, Source};

use super::item::{Made, put};
use super::{By, Planner};
use crate::access::{Asked, Verdict};
use crate::error::{FaultRule, PlanError};
use crate::input::{Changes, Input, refuse};
use crate::place::Address;
use crate::reads::Known;
use crate::scene::{Lead, Scene, Seen, Trace};
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
        let made = self.compose(entity, changes)?;
        let ruled = match self.demand_new(entity, &made, changes) {
            Ok(ruled) => ruled,
            Err(refusal) => return Err(self.refusal_of(entity, changes, &made, known, refusal)),
        };
        self.demand_repeat(entity, &made, changes)?;
        let at = self.put_new(entity, changes, made, By::Caller)?;
        self.remember(Some(at), ruled)?;
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
        let early = Trace::default();
        let known = Scene {
            complete: false,
            ..self.scene(entity, &given, None, &early)
        };
        let asked = Asked::Access(Access::Create);
        known.demand_early(asked)?;
        Ok(known.verdict(asked))
    }

    /// Refuses a new item that the rules do not allow. While something is still to be read they may
    /// allow it, and the evaluation goes on to find out what else it needs.
    fn demand_new(
        &self,
        entity: &'a Record,
        made: &Made<'a>,
        changes: &Changes<'a>,
    ) -> Result<Seen<'a>, PlanError> {
        let trace = Trace::default();
        let demanded = self.demand_on_new(entity, &made.item, changes, &trace);
        if self.context.reads.is_complete() {
            demanded?;
        }
        Ok(trace.into_seen())
    }

    fn demand_on_new(
        &self,
        entity: &'a Record,
        item: &Map,
        changes: &Changes<'a>,
        trace: &Trace<'a>,
    ) -> Result<(), PlanError> {
        let shape = entity;
        let scene = self.scene(shape, item, None, trace);
        scene.demand(Asked::Access(Access::Create))?;
        // What comes into being in the deleted state is deleted, too.
        if let Some(access) = shape.crossing(None, item) {
            scene.demand(Asked::Access(access))?;
        }
        scene.demand_attributes(changes.set.iter().map(|(slot, _)| slot.name()))
    }

    /// What a caller is told whom the rules do not let create an item.
    fn refusal_of(
        &mut self,
        entity: &'a Record,
        changes: &Changes<'a>,
        made: &Made<'a>,
        known: Verdict,
        refusal: PlanError,
    ) -> PlanError {
        // The rule may hold once everything is given, so that is told, and nothing else.
        if known == Verdict::Open
            && let Err(incomplete) = self.demand_whole(entity, &made.item)
        {
            return incomplete;
        }
        let hidden = self.hidden_from_caller(entity, changes, made);
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
    fn hidden_from_caller(
        &self,
        entity: &'a Record,
        changes: &Changes<'a>,
        made: &Made<'a>,
    ) -> Vec<Address> {
        let trace = Trace::default();
        // That it is refused is known.
        let _ = self.demand_on_new(entity, &made.item, changes, &trace);
        let around = trace.into_around();
        if !around.iter().any(|one| self.is_unreadable(one)) {
            return Vec::new();
        }
        let unwatched = Trace::default();
        let scene = self.scene(entity, &made.item, None, &unwatched);
        let leads = entity.refs.iter().map(|reference| scene.lead(reference));
        let targets = leads.flat_map(|lead| match lead {
            Lead::To(targets) => targets,
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
        let unwatched = Trace::default();
        let scene = self.scene(shape, &item, None, &unwatched);
        scene.verdict(Asked::Access(Access::Read)) != Verdict::Allowed
    }

    /// Whoever creates what is there already changes it, and perhaps restores or deletes it.
    fn demand_repeat(
        &mut self,
        entity: &'a Record,
        made: &Made<'a>,
        changes: &Changes<'a>,
    ) -> Result<(), PlanError> {
        let shape = entity;
        let address = self.context.blueprint.address(shape, &made.item);
        let (false, Ok(address)) = (entity.repeat == Repeat::Refuse, address) else {
            return Ok(());
        };
        let at = self.look_up(shape, address)?;
        let Some(old) = self.entry(at).old().cloned() else {
            return Ok(());
        };
        let trace = Trace::default();
        let scene = self.scene(shape, &old, None, &trace);
        scene.demand(Asked::Access(Access::Update))?;
        if let (Repeat::Update, Some(access)) = (entity.repeat, changes.crossing(shape, &old)) {
            scene.demand(Asked::Access(access))?;
        }
        self.remember(Some(at), trace.into_seen())
    }

    /// What is there already and what is given make an item that the caller may create.
    fn demand_merged(&mut self, at: usize) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let (shape, new) = (entry.shape, entry.after.clone());
        let (Some(old), Some(new)) = (entry.old().cloned(), new) else {
            return Ok(());
        };
        let trace = Trace::default();
        let scene = self.scene(shape, &new, Some(&old), &trace);
        scene.demand(Asked::Access(Access::Create))?;
        self.remember(Some(at), trace.into_seen())
    }
}
