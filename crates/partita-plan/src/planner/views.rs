//! Records kept for an item: put, changed, moved, removed.
//!
//! Where a record stays, only what changed is written to it, so that two writers of different
//! attributes do not undo each other. Where it appears or moves, it is written whole, and every
//! attribute in it that was only read is guarded on the source.

use std::rc::Rc;

use partita_core::{Map, Number, Value};
use partita_design::design::{View, ViewAttribute};
use partita_store::request::ItemAddress;

use super::{Names, Planner};
use crate::draft::{Before, Presence, Refusal};
use crate::error::PlanError;
use crate::nested;
use crate::scene::{Named, Scene, Trace};
use crate::shape::{Shape, reads_as_zero};

impl<'a> Planner<'a> {
    /// Keeps the views of an item in step with it.
    pub(super) fn derive(&mut self, at: usize) -> Result<(), PlanError> {
        let blueprint = self.context.blueprint;
        let entry = self.entry(at);
        let Shape::Entity(entity) = entry.shape else {
            return Ok(());
        };
        let mut views = blueprint
            .kernel
            .views(&blueprint.design, &entity.name)
            .peekable();
        if views.peek().is_none() {
            return Ok(());
        }
        if matches!(entry.before, Before::Unread) && entry.after.is_none() {
            // A number that a view repeats was added to: where the record is, only the item says.
            let adds: Vec<&str> = entry.adds.keys().copied().collect();
            let address = entry.address.clone();
            if views.any(|view| adds.iter().any(|name| depends_on(view, name))) {
                self.context.reads.need(address);
            }
            return Ok(());
        }
        // The item may have been looked at before, and have changed since.
        for at in std::mem::take(&mut self.entry_mut(at).views) {
            let record = self.entry_mut(at);
            record.after = record.old().cloned();
            record.adds.clear();
        }
        for view in views.filter(|view| !view.history) {
            self.derive_one(at, view)?;
        }
        Ok(())
    }

    fn derive_one(&mut self, at: usize, view: &'a View) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let shape = Shape::View(view, entry.shape.source());
        let (old, new) = (entry.old().cloned(), entry.after.clone());
        if let (Some(old), Some(new)) = (&old, &new)
            && !names_of(view).any(|name| nested::get(old, name) != nested::get(new, name))
        {
            return Ok(());
        }
        let was = self.record(at, view, shape, old.as_deref(), true)?;
        let is = self.record(at, view, shape, new.as_deref(), false)?;
        match (was, is) {
            (None, None) => {}
            (Some((place, was)), Some((new_place, is))) if place == new_place => {
                let record = self.place(at, shape, place, Some(was));
                let adds = self.entry(at).adds.clone();
                let entry = self.entry_mut(record);
                // What is only added to the source is only added to the record.
                for (name, amount) in adds {
                    if view.keep.iter().any(|kept| kept == name) {
                        entry.adds.insert(name, amount);
                    }
                }
                entry.after = Some(Rc::new(is));
                entry.must_be_present(Refusal::Stale);
            }
            (was, is) => {
                if let Some((place, was)) = was {
                    let record = self.place(at, shape, place, Some(was));
                    let entry = self.entry_mut(record);
                    entry.after = None;
                    entry.must_be_present(Refusal::Stale);
                }
                if let Some((place, is)) = is {
                    let record = self.place(at, shape, place, None);
                    let entry = self.entry_mut(record);
                    entry.after = Some(Rc::new(is));
                    entry.presence = Presence::Absent(Refusal::Stale);
                    self.guard_copied(at, view);
                }
            }
        }
        Ok(())
    }

    /// The place of a record in the draft, as it must have been for its source to be as it was.
    fn place(
        &mut self,
        source: usize,
        shape: Shape<'a>,
        address: ItemAddress,
        was: Option<Map>,
    ) -> usize {
        let at = match self.draft.find(&address) {
            Some(at) => at,
            None => {
                let before = match was {
                    Some(was) => Before::Found(Rc::new(was)),
                    None => Before::Missing,
                };
                self.draft.insert(shape, address, before)
            }
        };
        self.entry_mut(source).views.push(at);
        at
    }

    /// Everything in a record that is written whole comes from the source as it was read.
    fn guard_copied(&mut self, at: usize, view: &'a View) {
        let kernel = &self.context.blueprint.kernel;
        let entry = self.entry_mut(at);
        for name in &view.keep {
            if !entry.is_written(name) && !kernel.is_fixed(entry.shape.name(), name) {
                entry.guard(name);
            }
        }
    }

    /// The record of an item: its address and attributes; none while its condition does not hold.
    fn record(
        &mut self,
        at: usize,
        view: &'a View,
        shape: Shape<'a>,
        source: Option<&Map>,
        is_old: bool,
    ) -> Result<Option<(ItemAddress, Map)>, PlanError> {
        let Some(source) = source else {
            return Ok(None);
        };
        let source_shape = self.entry(at).shape;
        let trace = Trace::default();
        let scene = self.scene(source_shape, source, None, &trace);
        let exists = view.when.as_ref().is_none_or(|when| when.holds(&scene));
        let made = match exists {
            true => self.make(view, shape, &scene)?,
            false => None,
        };
        let mut seen = trace.into_seen();
        if is_old {
            seen.old.append(&mut seen.own);
        }
        self.remember(Some(at), seen)?;
        Ok(made)
    }

    fn make(
        &self,
        view: &'a View,
        shape: Shape<'a>,
        scene: &Scene<'_, 'a>,
    ) -> Result<Option<(ItemAddress, Map)>, PlanError> {
        let mut record = Map::new();
        for name in &view.keep {
            if let Some(value) = nested::get(scene.item, name) {
                nested::set(&mut record, name, value.clone());
            }
        }
        for attribute in &view.attributes {
            match attribute {
                ViewAttribute::Derived {
                    name, kind, value, ..
                } => {
                    if let Some(value) = value.value(scene) {
                        nested::set(&mut record, name, kind.adopt(value));
                    }
                }
                ViewAttribute::Own(own) => {
                    if reads_as_zero(own) && !own.optional {
                        nested::set(&mut record, &own.name, Value::N(Number::from(0_i64)));
                    }
                }
            }
        }
        // Keys are over the record's own attributes, and its source's.
        let own: Names<'_, 'a> = view
            .derived()
            .map(|(name, _)| {
                let value = nested::get(&record, name).cloned();
                (name.to_owned(), Named::Value(value))
            })
            .collect();
        let scene = Scene {
            names: &own,
            ..*scene
        };
        let blueprint = self.context.blueprint;
        for template in [&view.key.partition, &view.key.sort] {
            if template.key(&scene)?.is_none() {
                return Ok(None);
            }
        }
        let address = blueprint.address(shape, &scene)?;
        // They are kept with the record, which then moves in the indexes as it changes.
        for index in &view.indexes {
            for (name, key) in blueprint.index_keys(index, &scene)? {
                record.insert(name.to_owned(), Value::S(key));
            }
        }
        Ok(Some((address, record)))
    }
}

/// The attributes of the source that a view is made of.
fn names_of(view: &View) -> impl Iterator<Item = &str> {
    let when = view.when.iter().flat_map(|when| when.own_attributes());
    let derived = view.derived().flat_map(|(_, value)| value.own_attributes());
    let keys = view.identity.iter().map(|part| part.attribute.as_str());
    let indexes = view.indexes.iter().flat_map(|index| &index.reads);
    let indexes = indexes.map(|reading| reading.attribute.as_str());
    let keep = view.keep.iter().map(String::as_str);
    keep.chain(when).chain(derived).chain(keys).chain(indexes)
}

fn depends_on(view: &View, name: &str) -> bool {
    names_of(view).any(|one| one == name)
}
