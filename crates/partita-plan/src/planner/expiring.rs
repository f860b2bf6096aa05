//! Files of items that expire: they are noted down, to be looked at when the item is gone.
//!
//! The store removes an item that has expired without a write of ours. For every file that such an
//! item names there is a row in the sidecar, for the time when it expires or for an earlier one;
//! whoever finds the item alive then puts the row off (`files::expired`).

use partita_core::Map;
use partita_design::design::Record;
use partita_store::request::{PutItem, TransactAction};

use super::Planner;
use super::files::is_among;
use crate::commit::Step;
use crate::draft::EntryId;
use crate::files::{self, names};

impl Planner<'_> {
    /// The rows of all items of the draft that expire and name files.
    pub(super) fn expiry_steps(&mut self) -> Vec<Step> {
        let places = self.draft.ids();
        places.filter_map(|at| self.expiry_step(at)).collect()
    }

    fn expiry_step(&mut self, at: EntryId) -> Option<Step> {
        let entry = self.entry(at);
        let entity = entry.record;
        let blueprint = self.context.blueprint;
        let expiry = blueprint.expiry(entry.record)?;
        // The files of a view's record are those of its source.
        let is_skipped = !entity.is_entity() || entry.is_read_only() || entry.is_unread();
        if is_skipped || !names::has_files(entity) {
            return None;
        }
        let (old, new) = (entry.old().cloned(), entry.after.clone()?);
        let until = |item: &Map| files::until(item, &expiry.name);
        self.guard_expiry(at, entity, &expiry.name);
        let until_now = until(&new)?;
        let has = names::all(entity, &new);
        let owner = self.owner(entity, &new);
        let is_noted = old.is_some_and(|old| {
            let had = names::all(entity, &old);
            self.owner(entity, &old) == owner
                && until(&old).is_some_and(|before| before <= until_now)
                && has.iter().all(|file| is_among(&file.name, &had))
        });
        if is_noted {
            return None;
        }
        let mut kept: Vec<_> = has
            .iter()
            .filter_map(|file| self.place_of(&file.name))
            .collect();
        kept.sort();
        kept.dedup();
        let row = files::owner_due_row(&owner, &kept, until_now, self.moment.now_millis)?;
        let put = PutItem::new(blueprint.sidecar.clone(), row);
        Some(Step::or_stale(TransactAction::Put(put)))
    }

    /// Whoever changes the files of an item or its time has noted down the one for the other.
    fn guard_expiry(&mut self, at: EntryId, entity: &Record, expiry: &str) {
        let files = entity
            .attributes
            .iter()
            .filter(|one| names::names_files(one));
        let names: Vec<&str> = files.map(|one| one.name.as_str()).collect();
        let entry = self.entry_mut(at);
        let entity = entry.record;
        let is_written = entry.replaces(expiry) || names.iter().any(|one| entry.replaces(one));
        for attribute in entity.attributes.iter().filter(|_| is_written) {
            let name = attribute.name.as_str();
            if name == expiry || names.contains(&name) {
                entry.guard(name);
            }
        }
    }

    /// The bucket and the name of a file that is kept here, or that this write puts in its place.
    fn place_of(&self, name: &str) -> Option<(String, String)> {
        let mut taken = self.files.taken.iter().map(|taking| &taking.placement);
        let placed = taken
            .find(|one| one.to == name)
            .map(|one| one.bucket.clone());
        let mut buckets = self.context.blueprint.design.buckets.iter();
        let mut known = || buckets.find(|one| self.known_file(&one.name, name).is_some());
        let bucket = placed.or_else(|| known().map(|one| one.name.clone()))?;
        Some((bucket, name.to_owned()))
    }
}
