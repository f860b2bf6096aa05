//! Items that are removed for good, though a delete would be soft.
//!
//! What was purged is noted beside the table, as a digest of its place, so that a backup of an
//! earlier moment is restored without it. Nothing of the item can be read from that.

use partita_core::{Number, Value};
use partita_design::design::Access;
use partita_store::request::{PutItem, TransactAction};

use super::Planner;
use crate::account::secret;
use crate::commit::Step;
use crate::draft::{EntryId, Refusal};
use crate::place::Place;
use crate::sidecar;

/// How the partitions begin that note what was purged.
pub(crate) const PURGED: &str = "PURGED#";
/// The digests of what one write purged.
pub(crate) const PURGED_ITEMS: &str = "items";
/// How long it is noted.
const KEPT_SECONDS: i64 = 366 * 86_400;

/// What stands for an item that was purged.
pub(crate) fn digest(place: &Place) -> String {
    let table = place.table.as_str();
    secret::bound("purged", &[table, &place.partition, &place.sort])
}

impl Planner<'_> {
    /// Removes an item for good, with all that goes with it, and notes that.
    pub(crate) fn purge(&mut self, at: EntryId) {
        if self.remove_for_good(at) {
            let entry = self.entry_mut(at);
            entry.guards.require_present(Refusal::Stale);
            let digest = digest(&entry.address);
            self.purged.push(digest);
        }
    }

    /// Removes an item for good, also where a delete would be soft, and where it was deleted softly
    /// before. Says whether it was there.
    pub(crate) fn remove_for_good(&mut self, at: EntryId) -> bool {
        let entry = self.entry_mut(at);
        let record = entry.record;
        let Some(old) = entry.old().cloned().filter(|_| entry.after.is_some()) else {
            return false;
        };
        entry.after = None;
        // Triggers on `delete` have seen the soft one.
        if !record.is_deleted(&old) {
            entry.operation = Some(Access::Delete);
        }
        if let Some(soft_delete) = &record.soft_delete {
            entry.guard(soft_delete.attribute());
        }
        self.draft.enqueue(at);
        true
    }

    /// Notes what the write purges.
    pub(crate) fn purged_steps(&mut self) -> Option<Step> {
        let digests = std::mem::take(&mut self.purged);
        let first = digests.first()?;
        let moment = self.moment;
        let when = moment.now.as_str().unwrap_or_default();
        let mut row = sidecar::key(&format!("{PURGED}{first}"), when);
        let items = digests.into_iter().map(Value::from).collect();
        row.insert(PURGED_ITEMS, Value::L(items));
        let expires = moment.now_millis / 1000 + KEPT_SECONDS;
        row.insert(sidecar::EXPIRES, Value::N(Number::from(expires)));
        let put = PutItem::new(self.context.blueprint.sidecar.clone(), row);
        Some(Step::or_stale(TransactAction::Put(put)))
    }
}
