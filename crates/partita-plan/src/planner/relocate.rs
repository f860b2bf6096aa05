//! An item whose identity changes: it moves, whole, to a place that must be free.
//!
//! To everything else a move is a change like any other: counts, views, guards and triggers see
//! the item as it was and as it will be. Only the transaction shows that it is put in one place
//! and taken from another.

use partita_core::wording::one;
use partita_core::{Map, Number};
use partita_design::design::{Record, Source};

use super::Planner;
use crate::draft::EntryId;
use crate::error::{FaultRule, PlanError};
use partita_design::nested;

impl<'a> Planner<'a> {
    /// Has an item move if its key is another one now.
    pub(super) fn relocate(&mut self, at: EntryId, entity: &'a Record) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let Some(new) = entry.after.clone() else {
            return Ok(());
        };
        let Some(movable) = entity.movable_part() else {
            return Ok(());
        };
        let part = movable.name.as_str();
        // A value that cannot be part of a key is said already.
        if !self.faults.is_empty() {
            return Ok(());
        }
        let address = self.context.blueprint.address(entity, &*new)?;
        if entry.is_new() && entry.address != address {
            let message = "cannot change in the write that creates the item";
            self.fault(entity, part, FaultRule::Identity, message);
            return Ok(());
        }
        let Some(old) = entry.old().cloned() else {
            return Ok(());
        };
        let place = address.clone();
        if self.draft.relocate(at, address) {
            self.claim_place(entity, place.clone());
            self.take_up(at, &place)?;
            let mut parts = entity.identity.iter().map(|part| part.attribute.as_str());
            let moved = parts.find(|part| nested::get(&old, part) != nested::get(&new, part));
            self.check_unreferred(entity, &old, moved.unwrap_or(part));
        }
        Ok(())
    }

    /// Whoever refers to an item by its key does not follow it, and what is counted of them would
    /// be wrong from then on.
    fn check_unreferred(&mut self, entity: &'a Record, old: &Map, part: &str) {
        let zero = Number::ZERO;
        for attribute in &entity.attributes {
            let Source::Aggregate(aggregate) = &attribute.source else {
                continue;
            };
            let by = &self.context.blueprint.design[aggregate.of];
            if !by.is_entity() {
                continue;
            }
            let by = &by.name;
            let count = entity.number(old, &attribute.name);
            if let Some(count) = count.filter(|count| *count != zero) {
                let name = &attribute.name;
                let message = format!(
                    "cannot change while {} refers to the item: `{name}` is {count}",
                    one(by)
                );
                self.fault(entity, part, FaultRule::Identity, message);
            }
        }
    }
}

/// Puts the parts of an identity as they are now over how they were.
pub(crate) fn with_identity(entity: &Record, old: &Map, new: &Map) -> Map {
    let mut item = old.clone();
    for part in &entity.identity {
        if let Some(value) = nested::get(new, &part.attribute) {
            nested::set(&mut item, &part.attribute, value.clone());
        }
    }
    item
}
