//! Records kept for an item: put, changed, moved, removed.
//!
//! Where a record stays, only what changed is written to it, so that two writers of different
//! attributes do not undo each other. Where it appears or moves, it is written whole, and every
//! attribute in it that was only read is guarded on the source.

use std::rc::Rc;

use partita_core::expression::{Found, Scope as _};
use partita_core::{Map, Number, Value};
use partita_design::design::{EachOver, Record, Source, View};

use super::effects::members;
use super::{Names, Planner};
use crate::draft::{Before, Presence, Refusal};
use crate::error::PlanError;
use crate::evaluate::{ItemScope, Named};
use crate::place::Address;
use partita_design::nested;

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

impl<'a> Planner<'a> {
    /// Keeps the views of an item in step with it.
    pub(super) fn derive(&mut self, at: usize) -> Result<(), PlanError> {
        let blueprint = self.context.blueprint;
        let entry = self.entry(at);
        let views = blueprint.kernel.derived(&blueprint.design, entry.shape.id);
        let mut views = views.peekable();
        if views.peek().is_none() {
            return Ok(());
        }
        if matches!(entry.before, Before::Unread) && entry.after.is_none() {
            // A number that a view repeats was added to: where the record is, only the item says.
            let adds: Vec<&str> = entry.adds.keys().copied().collect();
            let address = entry.address.clone();
            let is_added = |input: &String| adds.contains(&input.as_str());
            if views.any(|(_, _, inputs)| inputs.iter().any(is_added)) {
                self.context.reads.need(address);
            }
            return Ok(());
        }
        // The item may have been looked at before, and have changed since.
        for record in std::mem::take(&mut self.entry_mut(at).views) {
            let record = self.entry_mut(record);
            if record.operation.is_some() {
                continue;
            }
            record.after = record.old().cloned();
            record.moves_to = None;
            record.adds.clear();
        }
        for (record, view, inputs) in views {
            if view.history {
                self.record_history(at, (record, view))?;
                self.follow_history(at, record)?;
            } else {
                self.derive_one(at, (record, view), inputs)?;
            }
        }
        Ok(())
    }

    fn derive_one(
        &mut self,
        at: usize,
        (shape, view): (&'a Record, &'a View),
        inputs: &[String],
    ) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let (old, new) = (entry.old().cloned(), entry.after.clone());
        if let (Some(old), Some(new)) = (&old, &new) {
            let differs = |name: &String| nested::get(old, name) != nested::get(new, name);
            if !inputs.iter().any(differs) {
                return Ok(());
            }
        }
        let was = self.records(at, (shape, view), old.as_deref(), true)?;
        let mut is = self.records(at, (shape, view), new.as_deref(), false)?;
        for is in &mut is {
            let was = was.iter().find(|was| was.element == is.element);
            if let Some(was) = was.filter(|was| was.place != is.place) {
                self.carry(shape, was.place.clone(), &mut is.own)?;
            }
        }
        for was in was {
            let found = is.iter().position(|is| is.place == was.place);
            let now = found.map(|found| is.remove(found).derived);
            let record = self.place(at, shape, was.place, Some(was.derived.clone()));
            match now {
                Some(now) => self.keep_record(at, record, shape, &was.derived, now),
                None => {
                    let entry = self.entry_mut(record);
                    entry.after = None;
                    entry.must_be_present(Refusal::Stale);
                }
            }
            self.draft.enqueue(record);
        }
        for is in is {
            let record = self.place(at, shape, is.place, None);
            let entry = self.entry_mut(record);
            let mut attributes = is.derived;
            attributes.extend(is.own);
            entry.after = Some(Rc::new(attributes));
            entry.presence = Presence::Absent(Refusal::Stale);
            self.guard_copied(at, shape);
            self.draft.enqueue(record);
        }
        Ok(())
    }

    /// What belongs to a record goes with it where it moves.
    fn carry(&mut self, shape: &'a Record, from: Address, own: &mut Map) -> Result<(), PlanError> {
        let names: Vec<&'a str> = shape.own().map(|own| own.name.as_str()).collect();
        if names.is_empty() {
            return Ok(());
        }
        let record = self.look_up(shape, from)?;
        let entry = self.entry_mut(record);
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
    fn keep_record(&mut self, source: usize, at: usize, view: &Record, was: &Map, now: Map) {
        let adds = self.entry(source).adds.clone();
        let entry = self.entry_mut(at);
        if *was == now {
            return;
        }
        // What is only added to the source is only added to the record.
        for (name, amount) in adds {
            if view.kept().any(|kept| kept.name == name) {
                entry.adds.insert(name, amount);
            }
        }
        if let Some(after) = &mut entry.after {
            let after = Rc::make_mut(after);
            after.retain(|name, _| now.contains_key(name) || !was.contains_key(name));
            let changed = now.into_iter();
            after.extend(changed.filter(|(name, value)| was.get(name) != Some(value)));
        }
        entry.must_be_present(Refusal::Stale);
    }

    /// The place of a record in the draft, as it must have been for its source to be as it was.
    pub(super) fn place(
        &mut self,
        source: usize,
        shape: &'a Record,
        address: Address,
        was: Option<Map>,
    ) -> usize {
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
            None => self.draft.insert(shape, address, before),
        };
        self.entry_mut(source).views.push(at);
        at
    }

    /// Everything in a record that is written whole comes from the source as it was read.
    fn guard_copied(&mut self, at: usize, view: &'a Record) {
        let entry = self.entry_mut(at);
        for name in view.kept().map(|kept| kept.name.as_str()) {
            if !entry.is_written(name) && !entry.shape.is_lasting(name) {
                entry.guard(name);
            }
        }
    }

    /// The records of an item; none while the view's condition does not hold.
    fn records(
        &mut self,
        at: usize,
        record: (&'a Record, &'a View),
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
            make_all(record, scope)
        })?
    }
}

/// One record, or one for each element; of those that agree in `distinct` only the first.
fn make_all<'a>(
    (shape, view): (&'a Record, &'a View),
    scope: ItemScope<'_, 'a>,
) -> Result<Vec<Placed>, PlanError> {
    let Some(each) = &view.each else {
        return Ok(make((shape, view), scope)?.into_iter().collect());
    };
    let EachOver::List { reading, .. } = &each.over else {
        return Ok(Vec::new());
    };
    let elements: Vec<Value> = match scope.find(&reading.path) {
        Found::Value(list) => members(&list).collect(),
        Found::Missing | Found::Unknown => Vec::new(),
    };
    let mut records: Vec<Placed> = Vec::new();
    let mut seen: Vec<Option<Value>> = Vec::new();
    for element in elements {
        let names = [(each.name.clone(), Named::Value(Some(element.clone())))];
        let scope = scope.naming(&names);
        if let Some(distinct) = &view.distinct {
            let own = own_names(shape, &scope);
            let value = distinct.value(&scope.naming(&own));
            if seen.contains(&value) {
                continue;
            }
            seen.push(value);
        }
        if let Some(mut record) = make((shape, view), scope)?
            && records.iter().all(|other| other.place != record.place)
        {
            record.element = Some(element);
            records.push(record);
        }
    }
    Ok(records)
}

fn make<'a>(
    (shape, view): (&'a Record, &'a View),
    scope: ItemScope<'_, 'a>,
) -> Result<Option<Placed>, PlanError> {
    let exists = view.when.as_ref().is_none_or(|when| when.holds(&scope));
    if !exists {
        return Ok(None);
    }
    let mut record = Map::new();
    for name in shape.kept().map(|kept| &kept.name) {
        if let Some(value) = nested::get(scope.item, name) {
            nested::set(&mut record, name, value.clone());
        }
    }
    // Keys are over the record's own attributes, and its source's.
    let own = own_names(shape, &scope);
    for (attribute, _) in shape.derived() {
        let name = &attribute.name;
        let value = own.iter().find(|(known, _)| known == name);
        if let Some((_, Named::Value(Some(value)))) = value {
            nested::set(&mut record, name, value.clone());
        }
    }
    let scope = scope.naming(&own);
    let blueprint = scope.context.blueprint;
    for template in [&shape.key.partition, &shape.key.sort] {
        if template.key(&scope)?.is_none() {
            return Ok(None);
        }
    }
    let address = blueprint.address(shape, &scope)?;
    // They are kept with the record, which then moves in the indexes as it changes.
    for index in &shape.indexes {
        for (name, key) in blueprint.index_keys(shape, index, &scope)? {
            record.insert(name, Value::S(key));
        }
    }
    Ok(Some(Placed {
        element: None,
        place: address,
        derived: record,
        own: initial(shape, &scope),
    }))
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
            _ if own.begins_with_zero() && !own.optional => Some(Value::N(Number::from(0_i64))),
            _ => None,
        };
        if let Some(value) = value {
            nested::set(&mut initial, &own.name, own.kind.adopt(value));
        }
    }
    initial
}
