//! New items: allowed, computed, and put into the draft. And items that are created or changed.
//!
//! Rules come first for what callers ask for: before faults are reported, and before an answer reveals
//! anything of what is stored. They are decided on what is given, on what is computed from it and on
//! the caller's own records. Where they depend on items of others that the caller may not read, the answer is the one
//! that would be given if those were missing.
//!
//! An upsert is a creation or a change, by the item as it was read, and the transaction holds it to
//! that: a creation passes only while nothing is there, a change only while something is. After a
//! write in between it starts again and finds the other case.

use std::rc::Rc;

use partita_core::Map;
use partita_design::design::rules::LimitOf;
use partita_design::design::{Access, Record, Repeat, Source};
use partita_design::nested;

use super::NamedItem;
use super::input::{Changes, refuse};
use super::rules::{Asked, Verdict};
use crate::draft::{EntryId, Refusal};
use crate::error::{FaultRule, PlanError};
use crate::evaluate::{Composed, ItemScope, Known, OtherItem, Resolved};
use crate::files::names;
use crate::place::Address;
use crate::planner::item::put;
use crate::planner::values::{Beginning, compute};
use crate::planner::{By, Planner};

impl<'a> Planner<'a> {
    /// Creates an item. There is none to show where a repeated creation leaves nothing.
    pub(super) fn create_for_caller(
        &mut self,
        entity: &'a Record,
        given: &Map,
    ) -> Result<Option<EntryId>, PlanError> {
        let changes = self.input(entity).create(given, &mut self.faults);
        let at = self.create_if_allowed(entity, &changes)?;
        Ok(self.entry(at).after.is_some().then_some(at))
    }

    /// A creation of what is given, if the rules allow it.
    fn create_if_allowed(
        &mut self,
        entity: &'a Record,
        changes: &Changes<'a>,
    ) -> Result<EntryId, PlanError> {
        let decided = self.demand_given(entity, changes)?;
        let new = self.compose(entity, changes);
        let demanded = demand_creation(self.scope_of_new(&new), changes);
        // While something is still to be read the rules may allow it, and the evaluation goes on to
        // find out what else it needs.
        if let (Err(refusal), true) = (demanded, self.context.reads.is_complete()) {
            return Err(self.refusal_of(&new, changes, decided, refusal));
        }
        self.demand_repeat(&new, changes)?;
        let at = self.put_composed(changes, new, By::Caller)?;
        self.demand_merged(at)?;
        self.count_towards(&LimitOf::Access(Access::Create, entity.id))?;
        Ok(at)
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
        self.demand_known(entity, &given, Asked::Access(Access::Create))
    }

    /// The refusal of a new item that the rules do not allow.
    fn refusal_of(
        &mut self,
        new: &Composed<'a>,
        changes: &Changes<'a>,
        decided: Verdict,
        refusal: PlanError,
    ) -> PlanError {
        // The rule may hold once everything is given, so only what is missing is reported.
        if decided == Verdict::Open
            && let Err(incomplete) = self.demand_whole(new.record, &new.item)
        {
            return incomplete;
        }
        let hidden = self.hidden_from_caller(new, changes);
        if hidden.is_empty() || !self.context.reads.is_complete() {
            return refusal;
        }
        self.context.reads.hide(hidden);
        let outcome = self.create_if_allowed(new.record, changes);
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

    /// Where the rules depend on items that the caller may not read: those, and all others that the
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
        let targets = targets.map(|target| (target.address, target.record));
        let all = around.into_iter().chain(targets);
        let hidden = all.filter(|one| self.is_unreadable(one));
        hidden.map(|(address, _)| address).collect()
    }

    /// Whether there is an item, and the caller may not read it.
    pub(super) fn is_unreadable(&self, item: &OtherItem<'a>) -> bool {
        let verdict = self.verdict_on_stored(item, Access::Read);
        verdict.is_some_and(|verdict| verdict != Verdict::Allowed)
    }

    /// What the rules say of a stored item, if there is one.
    fn verdict_on_stored(
        &self,
        (address, record): &OtherItem<'a>,
        access: Access,
    ) -> Option<Verdict> {
        let Known::Found(stored) = self.context.item(address) else {
            return None;
        };
        let item = self.context.blueprint.attributes(record, stored).ok()?;
        Some(self.unguarded(record, &item).verdict(Asked::Access(access)))
    }

    /// Refuses a creation of what is there already without the right to change it, and perhaps to
    /// restore or delete it.
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
        let repeated = changes.without_identity(entity);
        self.evaluate(at, &old, |scope| {
            scope.demand(Asked::Access(Access::Update))?;
            if entity.repeat != Repeat::Update {
                return Ok(());
            }
            if let Some(access) = changes.crossing(entity, &old) {
                scope.demand(Asked::Access(access))?;
            }
            scope.demand_attributes(repeated.names())
        })??;
        if entity.repeat == Repeat::Update {
            self.demand_afterwards(at, Asked::Access(Access::Update), &repeated)?;
        }
        Ok(())
    }

    /// What is there already and what is given make an item that the caller may create.
    fn demand_merged(&mut self, at: EntryId) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let (Some(old), Some(new)) = (entry.old().cloned(), entry.after.clone()) else {
            return Ok(());
        };
        let create = Asked::Access(Access::Create);
        self.evaluate(at, &new, |scope| scope.was(Some(&old)).demand(create))?
    }

    /// A new item. Where one is there already, the entity says whether that is refused, ignored,
    /// or an update.
    pub(crate) fn create(
        &mut self,
        entity: &'a Record,
        given: &Changes<'a>,
        by: By,
    ) -> Result<EntryId, PlanError> {
        let new = self.compose(entity, given);
        self.put_composed(given, new, by)
    }

    /// What a new item holds: what is given, and what is computed from it.
    pub(crate) fn compose(&mut self, entity: &'a Record, given: &Changes<'a>) -> Composed<'a> {
        let mut item = Map::with_capacity(room(entity));
        for (slot, value) in &given.set {
            put(&mut item, slot, value.clone());
        }
        self.begin(entity, &mut item);
        self.composed(entity, item, |scope, item| {
            drop(compute(scope, item, By::Caller, &[]))
        })
    }

    /// Puts a new item into its place.
    pub(crate) fn put_composed(
        &mut self,
        given: &Changes<'a>,
        mut new: Composed<'a>,
        by: By,
    ) -> Result<EntryId, PlanError> {
        let entity = new.record;
        if names::has_files(entity) {
            // Whatever lends a file must be in the draft.
            self.guard_values(&mut new)?;
            self.watch(None, |planner, reads| {
                planner.take_files(entity, None, &mut new.item, &given.lent, reads);
            })?;
        }
        let at = self.place_of_new(&new)?;
        if self.entry(at).old().is_some() {
            self.repeat(at, &new, given, by)?;
        } else {
            self.insert_new(at, &mut new, given, by)?;
        }
        self.guard_rules(at, new)?;
        Ok(at)
    }

    /// The place of a new item in the draft. Where another one may be there, it is read.
    fn place_of_new(&mut self, new: &Composed<'a>) -> Result<EntryId, PlanError> {
        let entity = new.record;
        match self.context.blueprint.address(entity, &new.item) {
            Ok(address) if entity.repeat == Repeat::Refuse => self.touch(entity, address),
            Ok(address) => self.look_up(entity, address),
            Err(error) => {
                self.check_new(entity, &new.item, Beginning::First);
                self.refuse()?;
                Err(error)
            }
        }
    }

    /// Puts a new item where none is.
    fn insert_new(
        &mut self,
        at: EntryId,
        new: &mut Composed<'a>,
        given: &Changes<'a>,
        by: By,
    ) -> Result<(), PlanError> {
        let entity = new.record;
        let item = Rc::new(std::mem::take(&mut new.item));
        let entry = self.entry_mut(at);
        entry.after = Some(item.clone());
        entry.operation = Some(Access::Create);
        entry.guards.require_absent(match (entity.repeat, by) {
            (Repeat::Refuse, By::Caller) => Refusal::of(PlanError::Exists {
                entity: entity.name.clone(),
            }),
            _ => Refusal::Stale,
        });
        self.claim(at, entity, given)?;
        self.draft.enqueue(at);
        self.guard_values(new)?;
        self.check_refs(at)?;
        self.check_new(entity, &item, Beginning::First);
        self.check_requirement(at, entity)?;
        self.refuse_whole(at, entity)
    }

    /// What is said of a new item whose identity another one has: that, and all else that is wrong.
    fn refusal_to_repeat(&mut self, entity: &'a Record, item: &Map) -> PlanError {
        self.check_new(entity, item, Beginning::First);
        if !self.faults.is_empty() {
            self.look_for_owners(entity, None, Some(item));
        }
        let parts = entity.identity.iter().map(|part| part.name.as_str());
        let parts = parts.collect::<Vec<_>>().join("/");
        let message = "is the identity of an item that exists already";
        self.fault(entity, &parts, FaultRule::Exists, message);
        let refusal = self.refuse().err();
        refusal.unwrap_or_else(|| PlanError::Exists {
            entity: entity.name.clone(),
        })
    }

    /// A creation of what is there already.
    fn repeat(
        &mut self,
        at: EntryId,
        new: &Composed<'a>,
        given: &Changes<'a>,
        by: By,
    ) -> Result<(), PlanError> {
        let entity = new.record;
        if entity.repeat == Repeat::Refuse {
            return Err(self.refusal_to_repeat(entity, &new.item));
        }
        self.check_new(entity, &new.item, Beginning::Any);
        self.refuse()?;
        let changes = given.without_identity(entity);
        match (entity.repeat, by) {
            (Repeat::Update, By::Caller) => self.change(at, &changes, by),
            (Repeat::Update, By::Effect) => self.change_caused(at, &changes),
            (Repeat::Refuse | Repeat::Ignore, _) => Ok(()),
        }
    }

    /// Creates an item, or replaces what is given of it.
    pub(super) fn upsert_for_caller(
        &mut self,
        on: &NamedItem<'a>,
        given: &Map,
    ) -> Result<EntryId, PlanError> {
        let entity = on.record;
        if !entity.takes_identity() {
            return self.replace(on, given);
        }
        self.demand_upsert(on)?;
        let address = self.context.blueprint.address(entity, &on.identity)?;
        let there = (address.clone(), entity);
        let is_hidden = self.is_unreadable(&there)
            && self.verdict_on_stored(&there, Access::Update) == Some(Verdict::Denied);
        if is_hidden {
            self.context.reads.hide([address.clone()]);
        }
        let at = self.look_up(entity, address)?;
        if self.entry(at).old().is_some() {
            return self.replace(on, given);
        }
        let input = self.input(entity);
        let changes = input.create_at(&on.identity, given, &mut self.faults);
        // A version that was seen is that of an item.
        self.check_version(at, entity, on.version);
        self.create_if_allowed(entity, &changes)?;
        // The caller may not know of the item: faults of the new one are reported first, as if there
        // were none.
        if is_hidden {
            let entity = entity.name.clone();
            return Err(PlanError::Exists { entity });
        }
        // If another caller creates it first, this becomes a change.
        self.entry_mut(at).guards.require_absent(Refusal::Stale);
        Ok(at)
    }

    /// Replaces what is given of an item that is there.
    fn replace(&mut self, on: &NamedItem<'a>, given: &Map) -> Result<EntryId, PlanError> {
        let at = self.reach(on, Asked::Access(Access::Update))?;
        let input = self.input(on.record);
        let changes = input.replace_at(&on.identity, given, &mut self.faults);
        self.change_if_allowed(at, &changes)?;
        Ok(at)
    }

    /// Refuses an upsert before the item is looked at, if the caller may neither create nor change
    /// it. Where a part of the identity is computed, such as a time, only what is there can be
    /// changed.
    pub(super) fn demand_upsert(&self, on: &NamedItem<'a>) -> Result<(), PlanError> {
        let demand = |access| self.demand_known(on.record, &on.identity, Asked::Access(access));
        match demand(Access::Update) {
            Err(_) if on.record.takes_identity() => demand(Access::Create).map(drop),
            update => update.map(drop),
        }
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

/// Attributes and keys that a new item has, or a few more.
fn room(record: &Record) -> usize {
    const KEYS: usize = 8;
    record.attributes.len() + KEYS
}
