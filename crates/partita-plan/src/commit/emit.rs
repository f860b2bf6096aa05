//! The draft as a transaction: one action for each item, guarded by what was read and matters.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use partita_core::expression::{Comparator, Condition, Operand, Path, Scope as _};
use partita_core::{Item, Map, Name, Number, Value};
use partita_design::design::{Record, RecordIndex};
use partita_design::expression::Reading;
use partita_design::template::dotted;
use partita_store::request::{ConditionCheck, DeleteItem, PutItem, TransactAction, UpdateItem};

use super::Step;
use super::update::update;
use crate::draft::{Before, Entry, EntryId, Presence, Refusal};
use crate::error::PlanError;
use crate::place::Address;
use crate::planner::Planner;
use crate::request::input::oversize;

/// A key of an index and what it becomes.
pub(crate) type KeyChange = (String, Option<String>);

impl Planner<'_> {
    /// The actions of the write, for which the draft is used up. None while something is still to
    /// be read, because then everything is evaluated again; only the operations of a batch show
    /// each other what they would do.
    pub(crate) fn emit(&mut self) -> Result<Vec<Step>, PlanError> {
        if self.context.earlier.is_none() && !self.context.reads.is_complete() {
            return Ok(Vec::new());
        }
        let mut aside = self.unique_steps();
        aside.extend(self.file_steps()?);
        aside.extend(self.kept_steps()?);
        aside.extend(self.counted_steps());
        aside.extend(self.outbox_steps()?);
        aside.extend(self.farewell_steps());
        aside.extend(self.purged_steps());
        aside.extend(self.taken_up_steps());
        self.refuse()?;
        let mut keys = Vec::with_capacity(self.draft.entries.len());
        for at in self.draft.ids() {
            keys.push(self.index_keys(at)?);
        }
        // Items that only keys read are in the draft since then, to be guarded.
        keys.resize_with(self.draft.entries.len(), Vec::new);
        self.refuse_oversize(&keys)?;
        let entries = std::mem::take(&mut self.draft.entries);
        let records: Vec<&Record> = entries.iter().map(|entry| entry.record).collect();
        let mut steps = Vec::with_capacity(entries.len() + aside.len());
        let entries = entries.into_iter().zip(keys);
        for (entry, keys) in entries.filter(|(entry, _)| !entry.is_read_only()) {
            match entry.destination() {
                Some(_) => steps.extend(self.relocation(*entry, keys)),
                None => steps.extend(self.action(*entry, keys)),
            }
        }
        steps.extend(aside);
        if steps.len() > self.room() {
            return Err(PlanError::TooMuch {
                what: largest_part(&records, steps.len()),
            });
        }
        steps.extend(self.window_steps());
        steps.extend(self.deferred_steps()?);
        Ok(steps)
    }

    /// Refuses items, derived ones too, that are larger than a store takes: it would only find out
    /// while it commits, in words that do not name them.
    fn refuse_oversize(&mut self, keys: &[Vec<KeyChange>]) -> Result<(), PlanError> {
        let entries = self.draft.entries.iter().zip(keys);
        let written = entries.filter(|(entry, _)| !entry.is_read_only() && entry.is_touched());
        let faults = written.filter_map(|(entry, keys)| {
            let keys = keys
                .iter()
                .filter_map(|(name, key)| Some((name, key.as_ref()?)));
            let keys: usize = keys.map(|(name, key)| name.len() + key.len()).sum();
            oversize(entry.record, entry.after.as_deref()?, keys)
        });
        let faults: Vec<_> = faults.collect();
        self.faults.extend(faults);
        self.refuse()
    }

    /// An item is put whole where it goes, and taken from where it was.
    fn relocation(&self, entry: Entry<'_>, keys: Vec<KeyChange>) -> Vec<Step> {
        let (presence, refusal) = self.presence(&entry);
        let presence = presence.or_else(|| Some(self.is_there(&entry)));
        let condition = self.condition(&entry, presence);
        let is_free = self.is_missing(&entry);
        let record = entry.record;
        let (Some(after), address, Some(place)) = entry.into_parts() else {
            return Vec::new();
        };
        let put = PutItem {
            condition: Some(is_free),
            ..PutItem::new(
                place.table.clone(),
                self.whole(record, &place, Rc::unwrap_or_clone(after), keys),
            )
        };
        let exists = PlanError::Exists {
            entity: record.name.to_owned(),
        };
        let delete = DeleteItem {
            table: address.table.clone(),
            key: self.context.blueprint.keys.key(&address),
            condition,
            return_item_on_failure: matches!(refusal, Refusal::Final(_)),
        };
        let put = Step {
            action: TransactAction::Put(put),
            refusal: match &record.view {
                None => Refusal::of(exists),
                Some(_) => Refusal::Stale,
            },
        };
        let delete = Step {
            action: TransactAction::Delete(delete),
            refusal,
        };
        vec![put, delete]
    }

    /// What is done to an item that stays where it is; nothing if it is only known.
    fn action(&self, entry: Entry<'_>, keys: Vec<KeyChange>) -> Option<Step> {
        let (presence, refusal) = self.presence(&entry);
        let return_item_on_failure =
            matches!(refusal, Refusal::Final(_)) && !entry.guards.is_empty();
        let action = if entry.is_new() {
            let condition = self.condition(&entry, presence);
            self.put(entry, keys, condition)?
        } else {
            let table = entry.address.table.clone();
            let key = self.context.blueprint.keys.key(&entry.address);
            let update = update(&entry, keys);
            // A copy is written though it is that already. An item that is gone by then would be
            // there again, with that copy alone.
            let is_found = matches!(entry.before, Before::Found(_));
            let must_be_there = is_found && !update.is_empty();
            let presence = presence.or_else(|| must_be_there.then(|| self.is_there(&entry)));
            let condition = self.condition(&entry, presence);
            match (entry.is_removed(), update.is_empty(), condition) {
                (true, _, condition) => TransactAction::Delete(DeleteItem {
                    table,
                    key,
                    condition,
                    return_item_on_failure,
                }),
                (false, false, condition) => TransactAction::Update(UpdateItem {
                    table,
                    key,
                    update,
                    condition,
                    return_item_on_failure,
                }),
                (false, true, Some(condition)) => TransactAction::Check(ConditionCheck {
                    table,
                    key,
                    condition,
                    return_item_on_failure,
                }),
                (false, true, None) => return None,
            }
        };
        Some(Step { action, refusal })
    }

    fn put(
        &self,
        entry: Entry<'_>,
        keys: Vec<KeyChange>,
        condition: Option<Condition>,
    ) -> Option<TransactAction> {
        let record = entry.record;
        let (after, address, _) = entry.into_parts();
        Some(TransactAction::Put(PutItem {
            table: address.table.clone(),
            item: self.whole(record, &address, Rc::unwrap_or_clone(after?), keys),
            condition,
            return_item_on_failure: false,
        }))
    }

    /// An item as it is put, with all of its keys.
    fn whole(&self, record: &Record, place: &Address, after: Map, keys: Vec<KeyChange>) -> Item {
        let blueprint = self.context.blueprint;
        let mut item = blueprint.stored(record, place, after);
        for (name, key) in keys {
            if let Some(key) = key {
                item.insert(name, Value::S(key));
            }
        }
        item
    }

    /// Whether the item must be there, and what it means if that is not so.
    fn presence(&self, entry: &Entry<'_>) -> (Option<Condition>, Refusal) {
        match entry.guards.presence() {
            Presence::Present(refusal) => (Some(self.is_there(entry)), refusal.clone()),
            Presence::Absent(refusal) => (Some(self.is_missing(entry)), refusal.clone()),
            Presence::Any => {
                let condition = match (&entry.before, &entry.after) {
                    (Before::Found(_), _) if entry.is_touched() => Some(self.is_there(entry)),
                    (Before::Missing | Before::Unread, Some(_)) => Some(self.is_missing(entry)),
                    _ => None,
                };
                (condition, Refusal::Stale)
            }
        }
    }

    fn is_there(&self, entry: &Entry<'_>) -> Condition {
        let exists = Condition::Exists(self.context.blueprint.partition(entry.record));
        match self.is_over(entry.record) {
            Some(is_over) => exists.and(Condition::Not(Box::new(is_over))),
            None => exists,
        }
    }

    /// An item whose time is over is missing, and may be replaced before it is swept.
    fn is_missing(&self, entry: &Entry<'_>) -> Condition {
        let missing = Condition::NotExists(self.context.blueprint.partition(entry.record));
        match self.is_over(entry.record) {
            Some(is_over) => Condition::Any(vec![missing, is_over]),
            None => missing,
        }
    }

    /// That an item is expired, or the guard of one: from the moment at which a read misses it.
    pub(crate) fn is_over(&self, record: &Record) -> Option<Condition> {
        let expiry = self.context.blueprint.expiry(record)?;
        let now = self.moment.now_millis.saturating_add(999).div_euclid(1000);
        Some(Condition::Compare(
            Operand::Path(expiry.path()),
            Comparator::Less,
            Operand::value(Value::N(Number::from(now))),
        ))
    }

    /// What must hold for the item's action to pass.
    fn condition(&self, entry: &Entry<'_>, presence: Option<Condition>) -> Option<Condition> {
        let guards = &entry.guards;
        if !guards.is_whole() && guards.is_empty() {
            return presence;
        }
        let values: Vec<Condition> = match entry.old().filter(|_| guards.is_whole()) {
            Some(old) => self.unchanged(entry, old),
            None => {
                let values = guards.values();
                let values = values.map(|(name, value)| is_unchanged(dotted(name), value));
                values.collect()
            }
        };
        let parts = presence.into_iter().chain(values);
        let parts = parts.chain(guards.conditions().iter().cloned());
        parts.reduce(Condition::and)
    }

    /// That an item is in every attribute as it was read.
    fn unchanged(&self, entry: &Entry<'_>, old: &Map) -> Vec<Condition> {
        let blueprint = self.context.blueprint;
        let key = blueprint.keys.of(&entry.address.table);
        let stored = blueprint.stored(entry.record, &entry.address, old.clone());
        let declared = entry.record.attributes.iter();
        let is_entity = entry.record.is_entity();
        let declared = declared.filter(|one| is_entity && !one.key_only && !one.is_virtual);
        let roots = declared.map(|one| one.path().root);
        let names: BTreeSet<Name> = roots.chain(stored.keys().cloned()).collect();
        let mark = blueprint.table_of(entry.record).0.discriminator.as_deref();
        // One of two marks is as good as the other.
        let mark = mark.filter(|_| entry.record.also_marked.is_some());
        let names = names
            .into_iter()
            .filter(|name| !key.contains(&name.as_str()) && mark != Some(name.as_str()));
        names
            .map(|name| is_unchanged(Path::attribute(name.clone()), stored.get(&name)))
            .collect()
    }

    /// The keys of indexes that the write sets. Where it changes something that keys are made of,
    /// it writes them even if they come out as they were: another writer may have changed the same
    /// attribute, and the key with it.
    fn index_keys(&mut self, at: EntryId) -> Result<Vec<KeyChange>, PlanError> {
        let blueprint = self.context.blueprint;
        let entry = self.entry(at);
        // The keys of views are part of their records.
        let has_keys = entry.record.is_entity() && !entry.is_read_only();
        let Some(after) = entry.after.clone().filter(|_| has_keys) else {
            return Ok(Vec::new());
        };
        let record = entry.record;
        let mut changes: Vec<KeyChange> = Vec::new();
        for index in record.indexes.iter().filter(|one| self.sets_keys(at, one)) {
            for name in blueprint.made_keys(record, index) {
                if changes.iter().all(|(known, _)| known != name) {
                    changes.push((name.to_owned(), None));
                }
            }
        }
        if changes.is_empty() {
            return Ok(changes);
        }
        // A key may be one of several indexes; it is set while one of them has the item.
        for index in &record.indexes {
            let is_set = |name: &str| changes.iter().any(|(known, _)| known == name);
            if !blueprint.made_keys(record, index).any(is_set) {
                continue;
            }
            let keys = self.evaluate(at, &after, |scope| {
                blueprint.index_keys(record, index, &scope)
            })??;
            for (name, key) in keys {
                if let Some((_, set)) = changes.iter_mut().find(|(known, _)| known == name) {
                    *set = Some(key);
                }
            }
        }
        self.leave_filled_keys(at, &mut changes);
        Ok(changes)
    }

    /// Whether the write changes something that the keys of an item in an index are made of.
    ///
    /// Nothing that this reads is guarded: as long as this write leaves an attribute alone, whoever
    /// changes it writes the keys.
    fn sets_keys(&self, at: EntryId, index: &RecordIndex) -> bool {
        let entry = self.entry(at);
        let record = entry.record;
        if self.is_key_refilled(at, index) {
            return true;
        }
        // Where the item moves, all of its keys are written.
        let stays = entry.destination().is_none();
        let (Some(old), Some(after), true) = (entry.old(), &entry.after, stays) else {
            return true;
        };
        let was = self.unguarded(record, old).before();
        let is = self.unguarded(record, after);
        let lasts =
            |reading: &Reading| reading.hops.is_empty() && record.is_lasting(&reading.attribute);
        let mut reads = index.reads.iter().filter(|reading| !lasts(reading));
        reads.any(|reading| was.find(&reading.path) != is.find(&reading.path))
    }
}

/// Of which record there are the most items in the write.
fn largest_part(records: &[&Record], all: usize) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for record in records {
        *counts.entry(&record.name).or_default() += 1;
    }
    let largest = counts.into_iter().max_by_key(|(_, count)| *count);
    let (name, count) = largest.unwrap_or_default();
    format!("it would touch {all}, {count} of them `{name}`")
}

/// That a value is as it was read.
pub(crate) fn is_unchanged(path: Path, value: Option<&Value>) -> Condition {
    match value {
        Some(value) => Condition::equals(path, value.clone()),
        None => Condition::NotExists(path),
    }
}
