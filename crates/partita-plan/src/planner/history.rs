//! The states that were replaced: each is written once, and never changed afterwards.

use std::rc::Rc;

use partita_core::{Map, Value};
use partita_design::design::{Attribute, View, ViewAttribute};
use partita_design::template::{Part, Template};
use partita_design::time::TimeForm;

use super::views::initial;
use super::{Names, Planner};
use crate::draft::{Presence, Refusal};
use crate::error::PlanError;
use crate::nested;
use crate::reads::{Listing, keys};
use crate::scene::{Named, Scene, Trace};
use crate::shape::Shape;

impl<'a> Planner<'a> {
    /// Keeps the state that a change replaces.
    pub(super) fn record_history(&mut self, at: usize, view: &'a View) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let source = entry.shape;
        let (Some(old), Some(new)) = (entry.old().cloned(), entry.after.clone()) else {
            return Ok(());
        };
        let trace = Trace::default();
        let scene = self.scene(source, &new, Some(&old), &trace);
        let is_kept = match &view.when {
            Some(when) => when.holds(&scene),
            None => old != new,
        };
        self.remember(Some(at), trace.into_seen())?;
        if !is_kept {
            return Ok(());
        }
        let trace = Trace::default();
        let scene = self.scene(source, &old, None, &trace);
        let mut record = Map::new();
        for name in &view.keep {
            if let Some(value) = nested::get(&old, name) {
                nested::set(&mut record, name, value.clone());
            }
        }
        let mut names = self.own_names(view, &scene);
        for (name, value) in initial(view, &scene) {
            names.push((name, Named::Value(Some(value))));
        }
        self.make_rise(view, &scene, &mut names)?;
        for attribute in &view.attributes {
            let value = names.iter().find(|(name, _)| name == attribute.name());
            if let Some((name, Named::Value(Some(value)))) = value {
                nested::set(&mut record, name, value.clone());
            }
        }
        let scene = Scene {
            names: &names,
            ..scene
        };
        let shape = Shape::View(view, source.source());
        let blueprint = self.context.blueprint;
        let address = blueprint.address(shape, &scene)?;
        for index in &view.indexes {
            for (name, key) in blueprint.index_keys(index, &scene)? {
                record.insert(name.to_owned(), Value::S(key));
            }
        }
        let mut seen = trace.into_seen();
        seen.old.append(&mut seen.own);
        self.remember(Some(at), seen)?;
        // What is kept is what was replaced, and nothing that somebody wrote in between.
        for name in &view.keep {
            if !blueprint.kernel.is_fixed(source.name(), name) {
                self.entry_mut(at).guard(name);
            }
        }
        let record_at = self.place(at, shape, address, None);
        let entry = self.entry_mut(record_at);
        entry.after = Some(Rc::new(record));
        entry.presence = Presence::Absent(Refusal::Stale);
        self.draft.enqueue(record_at);
        Ok(())
    }

    /// Makes a time that rises later than that of the last record.
    fn make_rise(
        &self,
        view: &'a View,
        scene: &Scene<'_, 'a>,
        names: &mut Names<'static, 'a>,
    ) -> Result<(), PlanError> {
        let Some(rising) = rising(view) else {
            return Ok(());
        };
        let Some(form) = rising.kind.time_form() else {
            return Ok(());
        };
        let blueprint = self.context.blueprint;
        let table = &blueprint.design.table;
        let Some(partition) = view.key.partition.key(scene)? else {
            return Ok(());
        };
        let before = until(&view.key.sort, &rising.name);
        let prefix = before.key(scene)?.filter(|prefix| !prefix.is_empty());
        let listing = Listing {
            table: blueprint.table.clone(),
            index: None,
            keys: keys(
                vec![(table.partition.clone(), Value::S(partition))],
                prefix.map(|prefix| (table.sort.clone(), prefix)),
            ),
            last_only: true,
        };
        let last = self.context.reads.list(&listing);
        let last = last.and_then(|listed| listed.rows.first());
        let last = last.and_then(|row| form.read(nested::get(row, &rising.name)?));
        let now = self.moment.now_millis;
        if let Some(last) = last.filter(|last| *last >= now) {
            let step = match form {
                TimeForm::Epoch => 1000,
                _ => 1,
            };
            let later = form.write(last.saturating_add(step));
            names.retain(|(name, _)| *name != rising.name);
            names.push((rising.name.clone(), Named::Value(Some(later))));
        }
        Ok(())
    }
}

fn rising(view: &View) -> Option<&Attribute> {
    let mut attributes = view.attributes.iter();
    attributes.find_map(|attribute| match attribute {
        ViewAttribute::Own(own) if own.rising => Some(&**own),
        _ => None,
    })
}

/// The beginning of a template, up to an attribute.
fn until(template: &Template, name: &str) -> Template {
    let parts = template.parts.iter();
    let parts = parts.take_while(|part| match part {
        Part::Text(_) => true,
        Part::Value(hole) => hole.name().as_deref() != Some(name),
    });
    Template {
        parts: parts.cloned().collect(),
    }
}
