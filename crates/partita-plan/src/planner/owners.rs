//! Whose files are whose: the actions that give files owners and take them away.
//!
//! The draft says which items named which files before the write, and which name them after it. An
//! item also owns what the states that are kept of it name, so that an older one can come back.

use std::collections::BTreeMap;
use std::rc::Rc;

use partita_core::Map;
use partita_design::design::{self, View};
use partita_store::request::{ConditionCheck, DeleteItem, PutItem, TransactAction};

use super::Planner;
use super::files::{Taking, is_among};
use crate::commit::Step;
use crate::draft::EntryId;
use crate::error::PlanError;
use crate::files::names::{self, File};
use crate::files::{self, FileRecord, Owner, Taken, owning};

/// A state that is kept of an item, and whose it is before and after the write.
pub(super) struct Past {
    /// Its place in the draft.
    pub(super) at: EntryId,
    pub(super) from: Option<Owner>,
    pub(super) to: Option<Owner>,
}

/// Who names a file before and after a write, each once.
#[derive(Default)]
struct Namers {
    before: Vec<Owner>,
    after: Vec<Owner>,
    /// Those who are, in another place, what another was.
    heirs: Vec<(Owner, Owner)>,
}

/// The files that a write is about, by their names.
type Ledger = BTreeMap<String, Namers>;

impl Namers {
    fn had(&mut self, owner: &Owner) {
        if !self.before.contains(owner) {
            self.before.push(owner.clone());
        }
    }

    fn has(&mut self, owner: &Owner) {
        if !self.after.contains(owner) {
            self.after.push(owner.clone());
        }
    }

    fn gained(&self) -> Vec<Owner> {
        let gained = self.after.iter().filter(|one| !self.before.contains(one));
        gained.cloned().collect()
    }

    fn lost(&self) -> Vec<Owner> {
        let lost = self.before.iter().filter(|one| !self.after.contains(one));
        lost.cloned().collect()
    }
}

impl<'a> Planner<'a> {
    /// Remembers whose a state is that is kept of an item, where it may name files.
    pub(crate) fn note_past(
        &mut self,
        at: EntryId,
        entity: &design::Record,
        from: Option<&Map>,
        to: Option<&Map>,
    ) {
        if self.context.blueprint.keeps_files && names::has_files(entity) {
            let owner = |item: &Map| self.owner(entity, item);
            let (from, to) = (from.map(owner), to.map(owner));
            self.files.pasts.push(Past { at, from, to });
        }
    }

    /// The actions that give files to the items that name them, and take them from those that do
    /// not any more.
    pub(crate) fn file_steps(&mut self) -> Result<Vec<Step>, PlanError> {
        let blueprint = self.context.blueprint;
        if !blueprint.keeps_files || blueprint.design.buckets.is_empty() {
            return Ok(Vec::new());
        }
        let mut ledger = Ledger::new();
        for at in self.draft.ids() {
            self.enter_item(at, &mut ledger)?;
        }
        for past in std::mem::take(&mut self.files.pasts) {
            self.enter_past(&past, &mut ledger);
        }
        self.pass_uploads_on(&|name| {
            let namers = ledger.get(name);
            namers.is_some_and(|namers| !namers.after.is_empty())
        });
        let mut steps = self.expiry_steps();
        for (name, namers) in ledger {
            let mut taken = self.files.taken.iter();
            match taken.position(|taking| taking.placement.to == name) {
                Some(at) => {
                    let taking = self.files.taken.swap_remove(at);
                    steps.extend(self.take_over(&taking, &namers.after));
                    self.files.placements.push(taking.placement);
                }
                None => steps.extend(self.change_owners(&name, &namers)),
            }
        }
        let now = self.moment.now_millis;
        let row = files::due_rows(&self.files.released, now);
        let table = &self.context.blueprint.sidecar;
        steps.extend(row.map(|row| put(PutItem::new(table.clone(), row))));
        Ok(steps)
    }

    /// Enters which files an item named and names.
    fn enter_item(&mut self, at: EntryId, ledger: &mut Ledger) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let entity = entry.record;
        let has_files = entity.is_entity() && names::has_files(entity);
        if entry.is_read_only() || entry.is_unread() || !has_files {
            return Ok(());
        }
        let (old, new) = (entry.old().cloned(), entry.after.clone());
        let files = |item: &Option<Rc<Map>>| {
            let files = item.as_ref().map(|item| names::all(entity, item));
            files.unwrap_or_default()
        };
        let (had, has) = (files(&old), files(&new));
        if let Some(new) = &new {
            let owner = self.owner(entity, new);
            for file in &has {
                ledger.entry(file.name.clone()).or_default().has(&owner);
            }
        }
        let Some(old) = old else {
            return Ok(());
        };
        self.guard_names(at, entity);
        let owner = self.owner(entity, &old);
        for file in &had {
            let is_left = !is_among(&file.name, &has);
            let is_kept = is_left && new.is_some() && self.is_kept(at, entity, &old, file)?;
            let namers = ledger.entry(file.name.clone()).or_default();
            namers.had(&owner);
            if let Some(new) = &new {
                let heir = self.owner(entity, new);
                if is_kept {
                    namers.has(&heir);
                }
                namers.heirs.push((owner.clone(), heir));
            }
        }
        Ok(())
    }

    /// Whoever replaces the names of files lets go what was there, so that must be what he saw.
    fn guard_names(&mut self, at: EntryId, entity: &'a design::Record) {
        let attributes = entity.attributes.iter();
        for attribute in attributes.filter(|one| names::names_files(one)) {
            let entry = self.entry_mut(at);
            if entry.replaces(&attribute.name) {
                entry.guard(&attribute.name);
            }
        }
    }

    /// Enters which files a state that is kept of an item names.
    fn enter_past(&self, past: &Past, ledger: &mut Ledger) {
        let entry = self.entry(past.at);
        let entity = self.context.blueprint.design.source(entry.record);
        let files = |item: Option<&Rc<Map>>| {
            let files = item.map(|item| names::all(entity, item));
            files.unwrap_or_default()
        };
        if let Some(from) = &past.from {
            for file in files(entry.old()) {
                ledger.entry(file.name).or_default().had(from);
            }
        }
        // A state that turned out to stay is whose it was.
        let to = past.to.as_ref().or(past.from.as_ref());
        if let Some(to) = to {
            for file in files(entry.after.as_ref()) {
                let namers = ledger.entry(file.name).or_default();
                namers.has(to);
                let heir = past.from.clone().map(|from| (from, to.clone()));
                namers.heirs.extend(heir);
            }
        }
    }

    /// Whether a state that was kept of an item names a file that the item does not name any more.
    fn is_kept(
        &mut self,
        at: EntryId,
        entity: &'a design::Record,
        old: &Map,
        file: &File<'_>,
    ) -> Result<bool, PlanError> {
        let keeps = |(record, view): &(&design::Record, &View)| {
            view.history && names::is_kept_by(record, &file.place)
        };
        let blueprint = self.context.blueprint;
        let views = blueprint.design.views_of(entity.id).filter(keeps);
        let mut is_kept = false;
        for (view, _) in views {
            is_kept |= match self.kept_states(view, entity, old) {
                Ok(states) => {
                    let mut states = states.iter();
                    states.any(|state| is_among(&file.name, &names::all(entity, state)))
                }
                // There are more than a plan goes through: one of them may.
                Err(PlanError::TooMuch { .. }) => true,
                Err(error) => return Err(error),
            };
            // Every further state comes with a change of the item.
            self.entry_mut(at).guards.require_unchanged();
        }
        Ok(is_kept)
    }

    /// Gives an object to the items that take it over.
    fn take_over(&self, taking: &Taking, owners: &[Owner]) -> Vec<Step> {
        let table = &self.context.blueprint.sidecar;
        let Taking {
            placement,
            source,
            prefix,
            ..
        } = taking;
        let Some((first, others)) = owners.split_first() else {
            return Vec::new();
        };
        let file = FileRecord {
            name: placement.to.clone(),
            prefix: prefix.clone(),
            owner: Some(first.clone()),
            others: others.len() as u64,
            origin: Some(source.origin().to_owned()),
            // What an item names stays as long as it does, whatever lifetime its prefix has.
            due_millis: None,
            ..source.clone()
        };
        let is_open = || Some(files::is_open(source.caller.as_deref()));
        let mut steps = Vec::new();
        let condition = match placement.what {
            Taken::Upload if placement.stays() => is_open(),
            Taken::Upload => {
                let taken = DeleteItem {
                    table: table.clone(),
                    key: files::key_of(&source.bucket, &source.name),
                    condition: is_open(),
                    return_item_on_failure: false,
                };
                steps.push(Step::or_stale(TransactAction::Delete(taken)));
                Some(files::is_copy_of(&placement.from))
            }
            Taken::File | Taken::Unknown => Some(files::is_copy_of(&placement.from)),
        };
        steps.push(put(PutItem {
            condition,
            ..PutItem::new(table.clone(), file.item())
        }));
        steps.extend(
            others
                .iter()
                .map(|owner| owning::add_row(table, &file, owner)),
        );
        steps
    }

    /// Gives a file to items and takes it from others. Where none is left, it is to be removed.
    fn change_owners(&mut self, name: &str, namers: &Namers) -> Vec<Step> {
        let buckets = self.context.blueprint.design.buckets.iter();
        let mut records = buckets.filter_map(|bucket| self.known_file(&bucket.name, name));
        let found = records.find(|record| record.is_owned() && !record.is_removing);
        let Some(record) = found else {
            return Vec::new();
        };
        let is_given = |owner: &Owner| {
            let mut shared = self.files.shared.iter();
            let mut heirs = namers.heirs.iter();
            shared.any(|(by, shared)| by == owner && shared == name)
                || heirs.any(|(from, heir)| heir == owner && self.is_owner(&record, from))
        };
        let (gained, mut lost) = (namers.gained(), namers.lost());
        lost.retain(|owner| self.is_owner(&record, owner));
        let (known, new): (Vec<_>, Vec<_>) = gained
            .into_iter()
            .partition(|owner| self.is_owner(&record, owner));
        let gained: Vec<_> = new.into_iter().filter(is_given).collect();
        if gained.is_empty() && lost.is_empty() {
            // An item of that identity had it and expired, or its history has it: it must not be
            // taken from the item meanwhile.
            let check = (!known.is_empty()).then(|| self.check_owners(&record));
            return check.into_iter().collect();
        }
        self.replace_owners(record, gained, lost)
    }

    /// That a file has the owners that it had.
    fn check_owners(&self, record: &FileRecord) -> Step {
        Step::or_stale(TransactAction::Check(ConditionCheck {
            table: self.context.blueprint.sidecar.clone(),
            key: files::key_of(&record.bucket, &record.name),
            condition: files::has_owners_of(record),
            return_item_on_failure: false,
        }))
    }

    fn replace_owners(
        &mut self,
        record: FileRecord,
        gained: Vec<Owner>,
        lost: Vec<Owner>,
    ) -> Vec<Step> {
        let table = &self.context.blueprint.sidecar;
        if lost.is_empty() {
            return owning::add(table, &record, &gained);
        }
        let file = (record.bucket.clone(), record.name.clone());
        let now = self.moment.now_millis;
        let (steps, is_free) = owning::replace(table, record, gained, lost, now);
        if is_free {
            self.files.released.push(file);
        }
        steps
    }
}

fn put(put: PutItem) -> Step {
    Step::or_stale(TransactAction::Put(put))
}
