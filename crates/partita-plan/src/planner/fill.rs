//! What a stored item lacks of another design, filled in.
//!
//! A backfill writes derived data and nothing else: no operation is done to the item, so that no
//! trigger, no history and no version follows. Its transaction requires that the item is as it was
//! read. It never writes an older value over a newer one, nor a record of an item that is gone.

use partita_core::expression::{Found, Scope as _};
use partita_core::{Map, Number, Value};
use partita_design::design::{Attribute, Record, RecordIndex, Source};
use partita_design::kernel::Reaction;
use partita_design::nested;
use std::rc::Rc;

use super::Planner;
use super::values::lacking;
use crate::commit::WritePlan;
use crate::commit::emit::KeyChange;
use crate::draft::EntryId;
use crate::error::{FaultRule, PlanError};
use crate::evaluate::{ItemScope, Known};
#[cfg(test)]
use crate::migration::Mistake;
use crate::migration::Stage;
use crate::place::Address;
use crate::request::input::fault_of_value;

impl<'a> Planner<'a> {
    /// Plans everything that the item at a place lacks; nothing if there is no item any more.
    pub(crate) fn fill(
        mut self,
        record: &'a Record,
        address: Address,
    ) -> Result<WritePlan, PlanError> {
        self.deferred.is_attended = true;
        let at = self.look_up(record, address)?;
        if self.entry(at).old().is_some() {
            let entry = self.entry_mut(at);
            entry.is_refilled = true;
            entry.guards.require_unchanged();
            if record.is_entity() {
                self.fill_values(at, record)?;
            }
            #[cfg(test)]
            if self.context.blueprint.has(Mistake::TriggerFired) {
                self.entry_mut(at).operation = Some(partita_design::design::Access::Update);
            }
            self.draft.enqueue(at);
            self.react()?;
        }
        let steps = self.emit()?;
        Ok(WritePlan {
            left: self.deferred.job.into_iter().collect(),
            ..WritePlan::aside(steps)
        })
    }

    /// Gives an item the values that it would have if it were created now.
    fn fill_values(&mut self, at: EntryId, record: &'a Record) -> Result<(), PlanError> {
        let blueprint = self.context.blueprint;
        let (Some(filling), Some(now)) = (blueprint.filling(), self.entry(at).after.clone()) else {
            return Ok(());
        };
        let aside = filling.aside.attributes(record);
        let mut item = Map::clone(&now);
        for attribute in aside.iter().filter(|one| one.begins_with_zero()) {
            begin(attribute, &mut item);
        }
        let own = blueprint.design.reactions.own(record.id);
        self.watch(Some(at), |planner, reads| {
            let scope = planner.scope(record, &now, reads).was(Some(&now));
            // Each is behind those that it is computed from.
            for attribute in own.computed(record) {
                if !filling.aside.has_attribute(record, &attribute.name) {
                    continue;
                }
                if let Some(value) = value_of(attribute, &scope.over(&item)) {
                    nested::set(&mut item, &attribute.name, attribute.kind.adopt(value));
                }
            }
        })?;
        // Under its interim name it was checked.
        if filling.stage == Stage::Kept {
            self.check_filled(record, aside, &item);
        }
        self.entry_mut(at).after = Some(Rc::new(item));
        Ok(())
    }

    /// Finds what is wrong with values that were filled in.
    fn check_filled(&mut self, record: &Record, aside: &[Attribute], item: &Map) {
        for attribute in aside.iter().filter(|one| !one.is_virtual && !one.key_only) {
            match nested::get(item, &attribute.name) {
                Some(value) => self.faults.extend(fault_of_value(record, attribute, value)),
                // Where the item is gone that it would copy, there is nothing to say.
                None if attribute.optional || matches!(attribute.source, Source::Copy(_)) => {}
                None => {
                    let message = lacking(attribute);
                    self.fault(record, &attribute.name, FaultRule::Required, message);
                }
            }
        }
    }

    /// Whether a reaction runs because what it keeps may be missing, and not because of a change.
    /// Items that copy something are filled themselves.
    pub(crate) fn is_refilled(&self, at: EntryId, reaction: &Reaction) -> bool {
        #[cfg(test)]
        if self.context.blueprint.has(Mistake::GuardNotTaken)
            && matches!(reaction.does, partita_design::kernel::Does::Guard(_))
        {
            return false;
        }
        self.entry(at).is_refilled
            && !reaction.is_copy()
            && self.context.blueprint.is_filled_by(reaction)
    }

    /// Whether the keys of an item in an index are written because they may be missing.
    pub(crate) fn is_key_refilled(&self, at: EntryId, index: &RecordIndex) -> bool {
        let entry = self.entry(at);
        let filling = self.context.blueprint.filling();
        let keys = filling.map(|beside| beside.aside.keys(entry.record));
        let mut keys = keys.into_iter().flatten();
        entry.is_refilled && keys.any(|one| one.index == index.index)
    }

    /// Leaves out the keys that an item has already.
    pub(crate) fn leave_filled_keys(&self, at: EntryId, keys: &mut Vec<KeyChange>) {
        let entry = self.entry(at);
        if let Known::Found(stored) = self.context.peek(&entry.address)
            && entry.is_refilled
        {
            keys.retain(|(name, key)| stored.get(name).and_then(Value::as_str) != key.as_deref());
        }
    }
}

/// A number that nothing was counted for yet.
fn begin(attribute: &Attribute, item: &mut Map) {
    let name = &attribute.name;
    if nested::get(item, name).is_some() || attribute.is_virtual {
        return;
    }
    if attribute.optional {
        nested::make_room(item, name);
    } else {
        nested::set(item, name, Value::N(Number::ZERO));
    }
}

/// The value that an attribute should have; none where it keeps what it has.
fn value_of(attribute: &Attribute, scope: &ItemScope<'_, '_>) -> Option<Value> {
    match &attribute.source {
        Source::Given {
            default: Some(default),
        } => {
            let is_missing = nested::get(scope.item, &attribute.name).is_none();
            is_missing.then(|| default.value(scope)).flatten()
        }
        Source::Copy(reading) => match scope.find(&reading.path) {
            Found::Value(value) => Some(value.into_owned()),
            Found::Missing | Found::Unknown => None,
        },
        Source::Computed(computed) => computed.value.value(scope),
        _ => None,
    }
}
