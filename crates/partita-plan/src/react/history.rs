//! The states that were replaced: each is written once, and goes with its item.

use std::rc::Rc;

use partita_core::expression::Scope;
use partita_core::{Item, Map, Value};
use partita_design::design::{Attribute, Record, RecordId};
use partita_design::kernel::{Reaction, When};
use partita_design::nested;
use partita_design::template::{Part, Template};
use partita_design::time::TimeForm;

use super::holds;
use super::view::{content, initial, own_names};
use crate::blueprint::Blueprint;
use crate::draft::{Before, EntryId};
use crate::error::PlanError;
use crate::evaluate::{ItemScope, Listing, Named, keys};
use crate::place::Address;
use crate::planner::relocate::with_identity;
use crate::planner::{Names, Planner};

impl<'a> Planner<'a> {
    /// Keeps the state that a change replaces, and lets earlier ones go where the item goes.
    pub(super) fn archive(
        &mut self,
        at: EntryId,
        reaction: &'a Reaction,
        view: RecordId,
    ) -> Result<(), PlanError> {
        let view = &self.context.blueprint.design[view];
        let entry = self.entry(at);
        if let (Some(old), Some(new)) = (entry.old().cloned(), entry.after.clone())
            && self.is_replaced(at, reaction, &old, &new)?
        {
            self.keep_state(at, view, &old, &new)?;
        }
        self.follow_history(at, view)
    }

    /// Whether a change replaces a state that is to be kept. What follows other items, or is counted
    /// beside the version, is no write of the item: it replaces none by itself, unless the condition
    /// names it.
    fn is_replaced(
        &mut self,
        at: EntryId,
        reaction: &'a Reaction,
        old: &Map,
        new: &Map,
    ) -> Result<bool, PlanError> {
        let entry = self.entry(at);
        let differs = |name: &str| nested::get(old, name) != nested::get(new, name);
        let mut version = entry.record.version().into_iter();
        let is_written = entry.operation.is_some() && version.all(|one| differs(&one.name));
        let (When::While(when) | When::If(when) | When::Turns(_, when)) = &reaction.when;
        let Some(when) = when else {
            let blueprint = self.context.blueprint;
            return Ok(is_written && !blueprint.is_same_served(entry.record, old, new));
        };
        if !is_written && !when.own_attributes().any(differs) {
            return Ok(false);
        }
        self.evaluate(at, new, |scope| holds(reaction, &scope.was(Some(old))))
    }

    /// Keeps the state that a change replaces.
    fn keep_state(
        &mut self,
        at: EntryId,
        view: &'a Record,
        old: &Map,
        new: &Map,
    ) -> Result<(), PlanError> {
        let source = self.entry(at).record;
        // Where the item moves, its past is there too.
        let kept = with_identity(source, old, new);
        let last = self.last_time(view, source, old)?;
        let now = self.moment.now_millis;
        let (address, record) = self.evaluate(at, &kept, |scope| {
            kept_state(scope.before().of_old(), view, last, now)
        })??;
        // What is kept is what was replaced, and nothing that was written in between.
        for attribute in view.kept() {
            if !source.is_lasting(&attribute.name) {
                self.entry_mut(at).guard(&attribute.name);
            }
        }
        let record_at = self.place(at, view, address, None);
        self.entry_mut(record_at).put(record);
        self.draft.enqueue(record_at);
        self.note_past(record_at, source, None, Some(&kept));
        Ok(())
    }

    /// Lets the states that were kept of an item go where it goes: to its new place, or away with
    /// it. An item of the same identity that comes later starts without a past.
    fn follow_history(&mut self, at: EntryId, view: &'a Record) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let is_moved = entry.destination().is_some();
        let Some(old) = entry.old().cloned() else {
            return Ok(());
        };
        if !is_moved && !entry.is_removed() {
            return Ok(());
        }
        let (source, new) = (entry.record, entry.after.clone());
        self.claim_history(at);
        // Every further state comes with a change of the item.
        self.entry_mut(at).guards.require_unchanged();
        if self.defer_history(at, view)? {
            return Ok(());
        }
        for row in self.kept_states(view, source, &old)? {
            let blueprint = self.context.blueprint;
            let address = blueprint.keys.place(blueprint.table_of(view).1, &row);
            let was = blueprint.without_keys(view, &row);
            let record = self.place(at, view, address, Some(was));
            match &new {
                None => self.entry_mut(record).remove(),
                Some(new) => self.move_state(record, view, new, &row)?,
            }
            self.draft.enqueue(record);
            self.note_past(record, source, Some(&old), new.as_deref());
        }
        Ok(())
    }

    /// Does with some of the states that were kept of an item what a job says: they go to its new
    /// place, or away. Nothing follows from that: whatever is counted of them is counted in the
    /// item, which has its numbers with it.
    pub(crate) fn history_chunk(
        &mut self,
        source: &'a Record,
        view: &'a Record,
        identity: &Map,
        to: Option<&Map>,
        rows: &[Item],
    ) -> Result<u64, PlanError> {
        let blueprint = self.context.blueprint;
        let mut done = 0;
        for row in blueprint.states_among(view, source, identity, rows) {
            let address = blueprint.keys.place(blueprint.table_of(view).1, row);
            let was = Rc::new(blueprint.without_keys(view, row));
            let record = self.draft.insert(view, address, Before::Found(was));
            match to {
                None => self.entry_mut(record).remove(),
                Some(to) => self.move_state(record, view, to, row)?,
            }
            self.note_past(record, source, Some(identity), to);
            done += 1;
        }
        Ok(done)
    }

    /// One state at the new place of its item.
    fn move_state(
        &mut self,
        at: EntryId,
        view: &'a Record,
        item: &Map,
        row: &Item,
    ) -> Result<(), PlanError> {
        let blueprint = self.context.blueprint;
        let record = self.entry(at).record;
        let known = blueprint.attributes(record, row)?;
        let source = self.context.blueprint.design.source(record);
        let known = with_identity(source, &known, item);
        let mut state = blueprint.without_keys(record, row);
        for part in &source.identity {
            if let (Some(value), true) = (
                nested::get(&known, &part.attribute),
                nested::get(&state, &part.attribute).is_some(),
            ) {
                nested::set(&mut state, &part.attribute, value.clone());
            }
        }
        for index in &view.indexes {
            let mut reads = index.reads.iter();
            if reads.any(|reading| source.is_identified_by(&reading.attribute)) {
                blueprint.made_keys(view, index).for_each(|name| {
                    state.remove(name);
                });
                for (name, key) in blueprint.index_keys(view, index, &known)? {
                    state.insert(name, Value::S(key));
                }
            }
        }
        let address = blueprint.address(record, &known)?;
        self.entry_mut(at).after = Some(Rc::new(state));
        self.draft.relocate(at, address);
        Ok(())
    }

    /// All states that were kept of an item, as they are stored.
    pub(crate) fn kept_states(
        &self,
        view: &'a Record,
        source: &'a Record,
        item: &Map,
    ) -> Result<Vec<Item>, PlanError> {
        let blueprint = self.context.blueprint;
        let scope = self.unguarded(source, item).before();
        let Some(listing) = blueprint.states_of(view, source, &scope)? else {
            return Ok(Vec::new());
        };
        let Some(listed) = self.context.list(&listing) else {
            return Ok(Vec::new());
        };
        if listed.has_more {
            let what = format!("every `{}` of the item must follow", view.name);
            return Err(PlanError::TooMuch { what });
        }
        let states = blueprint.states_among(view, source, item, &listed.rows);
        Ok(states.cloned().collect())
    }

    /// The time of the last state that was kept, where such times rise.
    fn last_time(
        &self,
        view: &'a Record,
        source: &'a Record,
        item: &Map,
    ) -> Result<Option<i64>, PlanError> {
        let Some((rising, form)) = rising(view) else {
            return Ok(None);
        };
        let prefix = beginning(&view.key.sort, |name| name == rising.name);
        let scope = self.unguarded(source, item).before();
        let blueprint = self.context.blueprint;
        let listing = blueprint.states_under(view, source, &scope, &prefix, true)?;
        let listed = listing.and_then(|listing| self.context.list(&listing));
        Ok(listed.and_then(|listed| {
            let last = listed.rows.first()?;
            form.read(nested::get(last, &rising.name)?)
        }))
    }
}

/// The record of a state that is replaced, and where it is put.
fn kept_state(
    scope: ItemScope<'_, '_>,
    view: &Record,
    last: Option<i64>,
    now_millis: i64,
) -> Result<(Address, Map), PlanError> {
    let mut names = own_names(view, &scope);
    for (name, value) in initial(view, &scope) {
        names.push((name.into(), Named::Value(Some(value))));
    }
    make_rise(view, last, now_millis, &mut names);
    let scope = scope.naming(&names);
    let declared = view.attributes.iter().filter(|one| one.is_declared());
    let record = content(view, &scope, declared)?;
    Ok((scope.context.blueprint.address(view, &scope)?, record))
}

/// Makes a time that rises later than that of the last record.
fn make_rise(view: &Record, last: Option<i64>, now_millis: i64, names: &mut Names<'_, '_>) {
    let Some((rising, form)) = rising(view) else {
        return;
    };
    if let Some(last) = last.filter(|last| *last >= now_millis) {
        let step = match form {
            TimeForm::Epoch => 1000,
            _ => 1,
        };
        let later = form.write(last.saturating_add(step));
        names.retain(|(name, _)| *name != rising.name);
        names.push((rising.name.clone(), Named::Value(Some(later))));
    }
}

impl Blueprint {
    /// The query for all states that were kept of an item; none while more than its identity is
    /// needed to find them, and that is missing.
    pub(crate) fn states_of(
        &self,
        view: &Record,
        source: &Record,
        item: &impl Scope,
    ) -> Result<Option<Listing>, PlanError> {
        let prefix = beginning(&view.key.sort, |name| !source.is_identified_by(name));
        self.states_under(view, source, item, &prefix, false)
    }

    /// The query for the states of an item whose sort keys begin so.
    fn states_under(
        &self,
        view: &Record,
        source: &Record,
        item: &impl Scope,
        prefix: &Template,
        last_only: bool,
    ) -> Result<Option<Listing>, PlanError> {
        let Some(partition) = view.key.partition.key(item)? else {
            return Ok(None);
        };
        let (table, name) = self.table_of(source);
        let prefix = prefix.key(item)?.filter(|prefix| !prefix.is_empty());
        Ok(Some(Listing {
            table: name.clone(),
            index: None,
            keys: keys(
                vec![(table.partition.clone(), Value::S(partition))],
                prefix.map(|prefix| (table.sort.clone(), prefix)),
            ),
            last_only,
            rows_max: None,
        }))
    }

    /// Those of some rows that are states of an item.
    pub(crate) fn states_among<'r>(
        &self,
        view: &Record,
        source: &Record,
        item: &Map,
        rows: &'r [Item],
    ) -> impl Iterator<Item = &'r Item> {
        let name = [view.id];
        let identity = &source.identity;
        rows.iter().filter(move |row| {
            self.recognise(&name, row).is_some_and(|(_, record)| {
                identity.iter().all(|part| {
                    nested::get(&record, &part.attribute) == nested::get(item, &part.attribute)
                })
            })
        })
    }
}

/// The attribute of a view whose times rise, and their form.
fn rising(view: &Record) -> Option<(&Attribute, TimeForm)> {
    let own = view.own().find(|own| own.rising)?;
    Some((own, own.kind.time_form()?))
}

/// The beginning of a template, up to an attribute that is meant.
fn beginning(template: &Template, is_end: impl Fn(&str) -> bool) -> Template {
    let parts = template.parts.iter();
    let parts = parts.take_while(|part| match part {
        Part::Text(_) => true,
        Part::Value(hole) => hole.name().is_none_or(|name| !is_end(&name)),
    });
    Template {
        parts: parts.cloned().collect(),
    }
}
