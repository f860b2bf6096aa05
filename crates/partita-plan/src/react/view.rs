//! Records kept for an item: put, changed, moved, removed.
//!
//! Where a record stays, only what changed is written to it, so that two writers of different
//! attributes do not undo each other. Where it appears or moves, it is written whole, and every
//! attribute in it that was only read is guarded on the source.

use std::rc::Rc;

use partita_core::expression::{Found, Scope as _};
use partita_core::size::item_memory;
use partita_core::{Map, Number, Value};
use partita_design::design::{Attribute, EachOver, Record, RecordId, Source, View};
use partita_design::kernel::{Reaction, Times};
use partita_design::nested;

use super::each::members;
use super::holds;
use crate::draft::{Before, EntryId, Refusal};
use crate::error::PlanError;
use crate::evaluate::{ItemScope, Known, Named};
use crate::place::Address;
use crate::planner::{Names, Planner};
use crate::room::{READS_MEMORY_MAX, Room};

/// A record of a view.
struct Placed {
    /// The element that it is for, where there is one for each.
    element: Option<Value>,
    place: Address,
    /// What is derived from the source, with the keys in the indexes.
    derived: Map,
    /// What its own attributes are when it comes into being.
    own: Map,
}

/// A view, and the reaction that keeps it.
#[derive(Clone, Copy)]
struct KeptView<'a> {
    record: &'a Record,
    view: &'a View,
    reaction: &'a Reaction,
}

impl<'a> Planner<'a> {
    /// Takes back what was done to the records of an item: it has changed since, and they are made
    /// again. What an operation did to them stays.
    pub(super) fn retract_records(&mut self, at: EntryId) {
        for record in std::mem::take(&mut self.entry_mut(at).reacted.records) {
            self.entry_mut(record).retract();
        }
    }

    /// Keeps the records of a view in step with an item.
    pub(super) fn keep_view(
        &mut self,
        at: EntryId,
        reaction: &'a Reaction,
        view: RecordId,
    ) -> Result<(), PlanError> {
        let record = &self.context.blueprint.design[view];
        let Some(view) = &record.view else {
            return Ok(());
        };
        let entry = self.entry(at);
        let (old, new) = (entry.old().cloned(), entry.after.clone());
        let kept = KeptView {
            record,
            view,
            reaction,
        };
        let mut was = self.records(at, kept, old.as_deref(), true)?;
        if self.context.blueprint.is_filled_by(reaction) {
            self.leave_unfilled(at, record, &mut was);
            self.leave_unheld(at, record, &mut was);
        }
        let mut is = self.records(at, kept, new.as_deref(), false)?;
        for is in &mut is {
            let was = was.iter().find(|was| was.element == is.element);
            if let Some(was) = was.filter(|was| was.place != is.place) {
                self.carry(record, was.place.clone(), &mut is.own)?;
            }
        }
        for was in was {
            let found = is.iter().position(|is| is.place == was.place);
            let now = found.map(|found| is.remove(found).derived);
            let placed = self.place(at, record, was.place, Some(was.derived.clone()));
            match now {
                Some(now) => self.keep_record(at, placed, &was.derived, now),
                None => {
                    self.entry_mut(placed).remove();
                }
            }
            self.draft.enqueue(placed);
        }
        for is in is {
            let placed = self.place(at, record, is.place, None);
            let mut attributes = is.derived;
            attributes.extend(is.own);
            self.entry_mut(placed).put(attributes);
            self.guard_copied(at, record);
            self.draft.enqueue(placed);
        }
        Ok(())
    }

    /// Leaves out records that are not there yet, while they are being filled in. That they are not
    /// there is required: the backfill may put them before this write is committed.
    fn leave_unfilled(&mut self, at: EntryId, record: &'a Record, was: &mut Vec<Placed>) {
        let mut missing = Vec::new();
        was.retain(|was| {
            let is_missing = matches!(self.context.item(&was.place), Known::Missing);
            missing.extend(is_missing.then(|| was.place.clone()));
            !is_missing
        });
        #[cfg(test)]
        if self
            .context
            .blueprint
            .has(crate::migration::Mistake::RecordNotRequired)
        {
            return;
        }
        for place in missing {
            let placed = self.place(at, record, place, None);
            self.entry_mut(placed).guards.expect_absent();
        }
    }

    /// Leaves out what records may not hold yet, so that a backfill writes it.
    fn leave_unheld(&self, at: EntryId, record: &'a Record, was: &mut [Placed]) {
        let blueprint = self.context.blueprint;
        let Some(filling) = blueprint.filling().filter(|_| self.entry(at).is_refilled) else {
            return;
        };
        if filling.aside.has_record(record.id) {
            return;
        }
        for name in filling.aside.held(&blueprint.design, record) {
            was.iter_mut()
                .for_each(|was| nested::remove(&mut was.derived, name));
        }
    }

    /// What belongs to a record goes with it where it moves.
    fn carry(&mut self, record: &'a Record, from: Address, own: &mut Map) -> Result<(), PlanError> {
        let names: Vec<&'a str> = record.own().map(|own| own.name.as_str()).collect();
        if names.is_empty() {
            return Ok(());
        }
        let at = self.look_up(record, from)?;
        let entry = self.entry_mut(at);
        let Some(old) = entry.old().cloned() else {
            return Ok(());
        };
        for name in names {
            entry.guard(name);
            match nested::get(&old, name) {
                Some(value) => nested::set(own, name, value.clone()),
                None => nested::remove(own, name),
            }
        }
        Ok(())
    }

    /// A record that stays where it is. Only what is derived is written; the rest is its own.
    fn keep_record(&mut self, source: EntryId, at: EntryId, was: &Map, now: Map) {
        if *was == now {
            return;
        }
        let adds = self.entry(source).adds().clone();
        let entry = self.entry_mut(at);
        // What is only added to the source is only added to the record.
        entry.repeat_adds(&adds);
        if let Some(after) = entry.edit() {
            after.retain(|name, _| now.contains_key(name) || !was.contains_key(name));
            let changed = now.into_iter();
            after.extend(changed.filter(|(name, value)| was.get(name) != Some(value)));
        }
        entry.guards.require_present(Refusal::Stale);
    }

    /// The place of a record in the draft, as it must have been for its source to be as it was.
    pub(super) fn place(
        &mut self,
        source: EntryId,
        record: &'a Record,
        address: Address,
        was: Option<Map>,
    ) -> EntryId {
        let before = match was {
            Some(was) => Before::Found(Rc::new(was)),
            None => Before::Missing,
        };
        let at = match self.draft.find(&address) {
            Some(at) => {
                let entry = self.entry_mut(at);
                if matches!(entry.before, Before::Unread) {
                    entry.before = before;
                    entry.after = entry.old().cloned();
                }
                at
            }
            None => self.draft.insert(record, address, before),
        };
        self.entry_mut(source).reacted.records.push(at);
        at
    }

    /// Everything in a record that is written whole comes from the source as it was read.
    fn guard_copied(&mut self, at: EntryId, view: &'a Record) {
        let entry = self.entry_mut(at);
        for name in view.kept().map(|kept| kept.name.as_str()) {
            if !entry.replaces(name) && !entry.record.is_lasting(name) {
                entry.guard(name);
            }
        }
    }

    /// The records of an item; none while the view's condition does not hold.
    fn records(
        &mut self,
        at: EntryId,
        kept: KeptView<'a>,
        source: Option<&Map>,
        is_old: bool,
    ) -> Result<Vec<Placed>, PlanError> {
        let Some(source) = source else {
            return Ok(Vec::new());
        };
        self.evaluate(at, source, |scope| {
            let scope = if is_old {
                scope.before().of_old()
            } else {
                scope
            };
            make_all(kept, scope)
        })?
    }
}

/// One record, or one for each element; of those that agree in `distinct` only the first.
fn make_all<'a>(kept: KeptView<'a>, scope: ItemScope<'_, 'a>) -> Result<Vec<Placed>, PlanError> {
    let Times::Each(each) = &kept.reaction.each else {
        return Ok(make(kept, scope)?.into_iter().collect());
    };
    let EachOver::List { reading, .. } = &each.over else {
        return Ok(Vec::new());
    };
    let elements: Vec<Value> = match scope.find(&reading.path) {
        Found::Value(list) => members(&list).collect(),
        Found::Missing | Found::Unknown => Vec::new(),
    };
    let mut records: Vec<Placed> = Vec::new();
    let mut room = Room::new(READS_MEMORY_MAX);
    let mut seen: Vec<Option<Value>> = Vec::new();
    for element in elements {
        let names = [(each.name.clone(), Named::Value(Some(element.clone())))];
        let scope = scope.naming(&names);
        if let Some(distinct) = &kept.view.distinct {
            let own = own_names(kept.record, &scope);
            let value = distinct.value(&scope.naming(&own));
            if seen.contains(&value) {
                continue;
            }
            seen.push(value);
        }
        if let Some(mut record) = make(kept, scope)?
            && records.iter().all(|other| other.place != record.place)
        {
            room.spend(item_memory(&record.derived))?;
            record.element = Some(element);
            records.push(record);
        }
    }
    Ok(records)
}

/// The record of a state, or of one element; none in states that have none.
fn make<'a>(kept: KeptView<'a>, scope: ItemScope<'_, 'a>) -> Result<Option<Placed>, PlanError> {
    if !holds(kept.reaction, &scope) {
        return Ok(None);
    }
    let record = kept.record;
    // Keys are over the record's own attributes, and its source's.
    let names = own_names(record, &scope);
    let scope = scope.naming(&names);
    for template in [&record.key.partition, &record.key.sort] {
        if template.key(&scope)?.is_none() {
            return Ok(None);
        }
    }
    let derived = record.derived().map(|(attribute, _)| attribute);
    Ok(Some(Placed {
        element: None,
        place: scope.context.blueprint.address(record, &scope)?,
        derived: content(record, &scope, derived)?,
        own: initial(record, &scope),
    }))
}

/// What a record holds: what it repeats from its source, some attributes by the names of the scope,
/// and its keys in the indexes, which then change as it does.
pub(super) fn content<'r>(
    record: &'r Record,
    scope: &ItemScope<'_, '_>,
    named: impl Iterator<Item = &'r Attribute>,
) -> Result<Map, PlanError> {
    let mut content = Map::new();
    for name in record.kept().map(|kept| &kept.name) {
        if let Some(value) = nested::get(scope.item, name) {
            nested::set(&mut content, name, value.clone());
        }
    }
    for name in named.map(|attribute| &attribute.name) {
        let value = scope.names.iter().find(|(known, _)| known == name);
        if let Some((_, Named::Value(Some(value)))) = value {
            nested::set(&mut content, name, value.clone());
        }
    }
    for index in &record.indexes {
        for (name, key) in scope.context.blueprint.index_keys(record, index, scope)? {
            content.insert(name, Value::S(key));
        }
    }
    Ok(content)
}

/// The names that a view adds to its source's: its derived attributes, and the element.
pub(super) fn own_names<'a>(view: &Record, scope: &ItemScope<'_, 'a>) -> Names<'static, 'a> {
    let mut names: Names<'static, 'a> = Vec::new();
    for (attribute, value) in view.derived() {
        let value = value.value(scope);
        let value = value.map(|value| attribute.kind.adopt(value));
        names.push((attribute.name.clone(), Named::Value(value)));
    }
    for (name, named) in scope.names {
        if let Named::Value(value) = named {
            names.push((name.clone(), Named::Value(value.clone())));
        }
    }
    names
}

/// What a record's own attributes are when it comes into being.
pub(super) fn initial(record: &Record, scope: &ItemScope<'_, '_>) -> Map {
    let mut initial = Map::new();
    for own in record.own() {
        let value = match &own.source {
            Source::Given {
                default: Some(default),
            } => default.value(scope),
            Source::Computed(computed) => computed.value.value(scope),
            _ if own.begins_with_zero() && !own.optional => Some(Value::N(Number::ZERO)),
            _ => None,
        };
        if let Some(value) = value {
            nested::set(&mut initial, &own.name, own.kind.adopt(value));
        }
    }
    initial
}
