//! Items that are removed for good, though a delete would be soft.
//!
//! What was purged is noted beside the table, as a digest of its identity, so that a backup of an
//! earlier moment is restored without it. The digest is of nothing that is secret: whoever guesses an
//! identity can see whether it was purged.

use partita_core::{Map, Number, Value};
use partita_design::design::{Access, Record};
use partita_design::nested;
use partita_store::request::{PutItem, TransactAction};
use partita_store::table::TableName;

use super::Planner;
use crate::account::secret;
use crate::commit::Step;
use crate::draft::{EntryId, Refusal};
use crate::sidecar;

/// How the partitions begin that note what was purged.
pub(crate) const PURGED: &str = "PURGED#";
/// The digests of what one write purged.
pub(crate) const PURGED_ITEMS: &str = "items";
/// How long it is noted.
const KEPT_SECONDS: i64 = 366 * 86_400;

/// What stands for an item that was purged: a digest for each name that its entity has or had. It is
/// of the values of the identity, not of the key, because a migration may key the item otherwise.
pub(crate) fn digests(sidecar: &TableName, entity: &Record, item: &Map) -> Vec<String> {
    // In an order that does not follow from the key, either.
    let mut parts: Vec<(&str, String)> = Vec::with_capacity(entity.identity.len());
    for part in &entity.identity {
        let Some(value) = nested::get(item, &part.attribute) else {
            return Vec::new();
        };
        let attribute = entity.attribute(&part.attribute);
        let earlier = attribute.and_then(|attribute| attribute.was.first());
        parts.push((earlier.unwrap_or(&part.attribute), spelled(value)));
    }
    parts.sort_unstable();
    let earlier = entity.was.iter().filter_map(|one| one.name.as_deref());
    let names = std::iter::once(entity.name.as_str()).chain(earlier);
    let digest = |name| {
        let values = parts.iter().map(|(_, value)| value.as_str());
        let texts: Vec<&str> = [sidecar.as_str(), name].into_iter().chain(values).collect();
        secret::bound("purged", &texts)
    };
    names.map(digest).collect()
}

fn spelled(value: &Value) -> String {
    match value {
        Value::S(text) => text.clone(),
        Value::N(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}

impl Planner<'_> {
    /// Removes an item for good, with all that goes with it, and notes that.
    pub(crate) fn purge(&mut self, at: EntryId) {
        if self.remove_for_good(at) {
            let entry = self.entry_mut(at);
            entry.guards.require_present(Refusal::Stale);
            let (record, old) = (entry.record, entry.old().cloned());
            let sidecar = &self.context.blueprint.sidecar;
            let digests = old.map(|old| digests(sidecar, record, &old));
            self.purged.extend(digests.unwrap_or_default());
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
