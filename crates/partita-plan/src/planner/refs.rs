//! That the targets of refs are there.

use std::rc::Rc;

use partita_core::Map;
use partita_design::design::{Access, OnDelete, Record, Ref, RefTarget, RefTo};
use partita_design::kernel::reference_inputs;
use partita_design::nested;
use partita_design::template::check_part;

use super::Planner;
use crate::draft::{Before, Entry, EntryId, Refusal};
use crate::error::{Fault, FaultRule, PlanError, note};
use crate::evaluate::{Resolved, Target};
use crate::place::Address;

/// When a reference was set.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Given {
    /// By this write: a missing target is the caller's mistake.
    Now,
    /// Before: an item whose target is not there is hidden, and nothing is done to it.
    Before,
}

/// Whether an item does not come back without its target: it was to go with it, or would have kept
/// it if it had been there.
fn needs_target(target: &RefTarget) -> bool {
    matches!(
        target.on_delete,
        OnDelete::Cascade | OnDelete::Refuse { .. }
    )
}

impl<'a> Planner<'a> {
    /// Lets the write pass only if the refs that it sets lead somewhere, and if the targets of live
    /// refs are there.
    pub(crate) fn check_refs(&mut self, at: EntryId) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let Some(item) = entry.after.clone() else {
            return Ok(());
        };
        let (record, old) = (entry.record, entry.old().cloned());
        let is_restored = entry.operation == Some(Access::Restore);
        let is_released = entry.is_released;
        for reference in &record.refs {
            let differs = |name: &str| match &old {
                Some(old) => nested::get(old, name) != nested::get(&item, name),
                None => true,
            };
            // What is wrong with the values that a ref is made of is said already.
            if reference_inputs(reference).any(|name| self.is_faulty(name)) {
                continue;
            }
            let is_back = is_restored && reference.targets.iter().any(needs_target);
            let is_set = is_back || reference_inputs(reference).any(differs);
            let given = match (is_set, reference.live) {
                (true, _) => Given::Now,
                // What a cascade clears is cleared, hidden or not.
                (false, true) if !is_released => Given::Before,
                (false, _) => continue,
            };
            if given == Given::Now {
                self.check_arguments(&record.name, reference, &item);
            }
            let resolved = self.evaluate(at, &item, |scope| {
                scope.was(old.as_deref()).resolve(reference)
            })?;
            match resolved {
                Resolved::To(targets) if !reference.unchecked => {
                    let known = self.known_targets(record, reference, old.as_deref());
                    for target in targets {
                        let is_new = !known.contains(&target.address);
                        if is_new && given == Given::Now {
                            self.expect_active(record, reference, &target)?;
                        }
                        self.expect(record, reference, target, given)?;
                    }
                }
                Resolved::Nowhere if given == Given::Now => {
                    self.check_constant(&record.name, reference, &item);
                    self.check_found(&record.name, reference, &item);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Where an active ref led before the write. Who was there may stay.
    fn known_targets(
        &self,
        record: &'a Record,
        reference: &Ref,
        old: Option<&Map>,
    ) -> Vec<Address> {
        let old = old.filter(|_| reference.active);
        match old.map(|old| self.unguarded(record, old).resolve(reference)) {
            Some(Resolved::To(targets)) => targets.into_iter().map(|one| one.address).collect(),
            _ => Vec::new(),
        }
    }

    /// Lets the write pass only if the target of an active ref can act.
    fn expect_active(
        &mut self,
        from: &'a Record,
        reference: &Ref,
        target: &Target<'a>,
    ) -> Result<(), PlanError> {
        let accounts = self.context.blueprint.design.accounts.as_ref();
        let active = accounts
            .filter(|accounts| reference.active && accounts.entity == target.record.id)
            .and_then(|accounts| accounts.active.as_ref());
        let Some(active) = active else { return Ok(()) };
        let name = &target.record.attributes[active.attribute.index()].name;
        // It is read, because an older item may lack the attribute and have its default.
        let at = self.look_up(target.record, target.address.clone())?;
        let entry = self.entry_mut(at);
        let Some(left) = entry.after.clone() else {
            return Ok(());
        };
        if target.record.read(&left, name).as_deref() == Some(&active.value) {
            entry.guard(name);
        } else {
            self.miss_target(&from.name, reference, target.record);
        }
        Ok(())
    }

    /// Whether a live ref hides an item: its target is deleted or gone, before the write and after
    /// it. The item is not there for anybody then, and no effect reaches it.
    ///
    /// That an item is passed over for this is not guarded: it is seen again after the write.
    pub(crate) fn is_hidden(&mut self, record: &'a Record, item: &Map) -> Result<bool, PlanError> {
        let mut is_hidden = false;
        for (reference, target) in self.unguarded(record, item).live_targets() {
            let at = self.look_up(target.record, target.address.clone())?;
            let entry = self.entry(at);
            is_hidden |= !entry.is_new()
                && !self.is_shown_by_cause(&target.address)
                && entry.is_gone(reference, &target.address, Given::Before);
        }
        Ok(is_hidden)
    }

    /// Whether an item was there before the write that a job follows from, or after it: what the
    /// job does for that write is done as in the write itself.
    fn is_shown_by_cause(&self, target: &Address) -> bool {
        self.shown_by_cause.as_ref() == Some(target)
    }

    /// Whether the refs of a new item lead to items that the write leaves there, also those that
    /// need not be but would take the item with them.
    pub(crate) fn has_targets(
        &mut self,
        entity: &'a Record,
        item: &Map,
    ) -> Result<bool, PlanError> {
        let is_cascade = |target: &RefTarget| target.on_delete == OnDelete::Cascade;
        for reference in &entity.refs {
            if reference.unchecked && !reference.targets.iter().any(is_cascade) {
                continue;
            }
            let Resolved::To(targets) = self.unguarded(entity, item).resolve(reference) else {
                continue;
            };
            for target in targets {
                let at = self.look_up(target.record, target.address.clone())?;
                let entry = self.entry_mut(at);
                if entry.is_gone(reference, &target.address, Given::Now) && !entry.is_new() {
                    if !entry.is_removed() {
                        entry.guards.expect_absent();
                    }
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Has the targets of the refs that a write sets read. Mostly the store says that one is not
    /// there; but where something else is wrong it is not asked.
    pub(super) fn look_for_targets(&mut self, at: EntryId) {
        let entry = self.entry(at);
        let Some(item) = entry.after.clone() else {
            return;
        };
        let scope = self.unguarded(entry.record, &item);
        for reference in entry.record.refs.iter().filter(|one| !one.unchecked) {
            if let Resolved::To(targets) = scope.resolve(reference) {
                for target in targets {
                    self.context.reads.need(target.address);
                }
            }
        }
    }

    /// The values that a ref is made of are parts of a key.
    fn check_arguments(&mut self, record: &str, reference: &Ref, item: &Map) {
        let targets = reference.targets.iter();
        for argument in targets.flat_map(|target| &target.arguments) {
            if let (Some(value), false) = (nested::get(item, &argument.path), argument.many)
                && let Err(error) = check_part(&argument.path, value)
            {
                self.faults.push(Fault::of_part(record, error));
            }
        }
    }

    /// A ref by a pattern finds something, if it has all that the pattern asks for.
    fn check_found(&mut self, record: &str, reference: &Ref, item: &Map) {
        for target in reference.targets.iter().filter(|one| one.via.is_some()) {
            let mut arguments = target.arguments.iter();
            let is_asked = arguments.all(|one| nested::get(item, &one.path).is_some());
            if let (Some(to), true, false) = (target.record(), is_asked, reference.unchecked) {
                self.miss_target(record, reference, &self.context.blueprint.design[to]);
            }
        }
    }

    /// A ref to constants names one of their rows.
    fn check_constant(&mut self, record: &str, reference: &Ref, item: &Map) {
        for target in &reference.targets {
            let RefTo::Constants(constants) = target.to else {
                continue;
            };
            let name = &self.context.blueprint.design[constants].name;
            for argument in &target.arguments {
                if nested::get(item, &argument.path).is_some() {
                    let message = format!("is not in `{name}`");
                    let fault = Fault::of(record, &argument.path, FaultRule::Reference, message);
                    self.faults.push(fault);
                }
            }
        }
    }

    /// Lets the write pass only if the target of a ref is there.
    pub(crate) fn expect(
        &mut self,
        from: &'a Record,
        reference: &Ref,
        target: Target<'a>,
        given: Given,
    ) -> Result<(), PlanError> {
        let address = target.address.clone();
        if given == Given::Before && self.is_shown_by_cause(&address) {
            return Ok(());
        }
        let at = self.touch(target.record, target.address)?;
        let entry = self.entry_mut(at);
        if entry.is_new() {
            return Ok(());
        }
        if entry.is_gone(reference, &address, given) {
            self.miss_target(&from.name, reference, target.record);
            return Ok(());
        }
        if reference.live
            && let Some(soft_delete) = &entry.record.soft_delete
        {
            let live = soft_delete.live();
            if entry.was_hidden(reference) {
                // This write restores it.
                entry.guard(soft_delete.attribute());
            } else {
                entry.guards.require(live);
            }
        }
        // The first reason to refuse is the one that is reported.
        if entry.guards.is_presence_final() {
            return Ok(());
        }
        let refusal = match given {
            Given::Now => self.without_target(from, reference, target.record),
            Given::Before => Refusal::Stale,
        };
        self.entry_mut(at).guards.require_present(refusal);
        Ok(())
    }

    /// Reports that the target of a ref that this write sets is not there, once.
    pub(crate) fn miss_target(&mut self, from: &str, reference: &Ref, target: &Record) {
        let fault = Fault::of_target(from, &reference.name, &target.name);
        if !self.faults.contains(&fault) {
            note(&mut self.faults, || fault);
        }
    }

    /// What is said when the target of a ref that this write sets is not there.
    fn without_target(&self, from: &'a Record, reference: &Ref, target: &'a Record) -> Refusal {
        let known = &self.context.blueprint.missing_targets;
        let known = known.find(from.id, &reference.name, target.id);
        match (known, self.origin) {
            (Some(known), None) => known.clone(),
            _ => {
                let name = self.named(&reference.name);
                let fault = Fault::of_target(&from.name, name, &target.name);
                Refusal::of(PlanError::Invalid {
                    faults: vec![fault],
                })
            }
        }
    }
}

impl Entry<'_> {
    /// Whether a ref finds its target deleted before the write, and is not to.
    fn was_hidden(&self, reference: &Ref) -> bool {
        let is_deleted = |old: &Rc<Map>| self.record.is_deleted(old);
        reference.live && self.old().is_some_and(is_deleted)
    }

    /// Whether a ref finds no target at the place that it leads to.
    fn is_gone(&self, reference: &Ref, address: &Address, given: Given) -> bool {
        let place = self.destination().unwrap_or(&self.address);
        let left = self.after.as_ref().filter(|_| place == address);
        let is_left = left.is_some_and(|left| !(reference.live && self.record.is_deleted(left)));
        match (&self.before, given) {
            (Before::Unread, _) => false,
            (Before::Missing, _) => true,
            // What is set now must lead to what this write leaves there.
            (Before::Found(_), Given::Now) => !is_left,
            // What was set before may lose its target by this write.
            (Before::Found(_), Given::Before) => self.was_hidden(reference) && !is_left,
        }
    }
}
