//! What a batch comes to.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use partita_core::size::item_bytes;
use partita_store::StoreResult;

use super::{Batch, WrittenItem};
use crate::row_change::RowChange;
use crate::storage::{Edit, View};
use crate::tables::Tables;
use crate::tokens::Remembered;
use crate::totals::TableTotals;
use crate::{entry, expiry, item, keys};

/// Expired tokens that one commit removes, besides two for each that it adds. The number is
/// small so that a commit stays quick, and grows so that the tokens do not.
pub(super) const EXPIRED_TOKENS_MAX: usize = 64;

/// What a batch comes to.
#[derive(Debug, Default)]
pub(crate) struct BatchOutcome {
    /// What goes to disk.
    pub(crate) edits: Vec<Edit>,
    /// What is true in memory once it is there.
    pub(crate) tables: Option<Arc<Tables>>,
    /// The keys of the items that were removed or replaced.
    pub(crate) replaced: Vec<Vec<u8>>,
    /// Whether there is something to be cleared away.
    pub(crate) has_dropped: bool,
    /// The earliest second of the new rows of each expiry.
    pub(crate) expiring: BTreeMap<u32, i64>,
    pub(crate) new_tokens: HashMap<Arc<str>, Remembered>,
    pub(crate) expired_tokens: Vec<Arc<str>>,
}

impl Batch<'_> {
    /// What has to be written; nothing, if nothing has changed.
    pub(crate) fn finish(mut self) -> StoreResult<BatchOutcome> {
        let mut outcome = BatchOutcome {
            edits: std::mem::take(&mut self.cleared),
            has_dropped: !self.dropped.is_empty(),
            ..BatchOutcome::default()
        };
        self.finish_items(&mut outcome)?;
        self.recording.finish(&mut outcome.edits);
        let edits = &mut outcome.edits;
        edits.extend(
            self.changed_tables
                .iter()
                .map(|name| self.tables.edit(name)),
        );
        let streams = self.changed_streams.iter();
        edits.extend(streams.map(|(id, name)| self.tables.edit_stream(name, *id)));
        if !self.changed_tables.is_empty() || !self.changed_streams.is_empty() {
            edits.push(self.tables.edit_last_id());
            outcome.tables = Some(self.tables);
        }
        let dropped = self.dropped.iter();
        edits.extend(dropped.map(|id| Edit::Put(keys::dropped(*id), Vec::new())));
        let tokens = self.new_tokens.iter();
        edits.extend(tokens.map(|(token, remembered)| remembered.edit(token)));
        // To clear away is not worth a sync of its own.
        if !edits.is_empty() {
            // An expired token that was used again just now is no longer expired.
            let expired = self.tokens.expired(self.now_millis);
            let expired = expired.filter(|token| !self.new_tokens.contains_key(*token));
            let count = EXPIRED_TOKENS_MAX + 2 * self.new_tokens.len();
            let expired = expired.take(count).map(Arc::from);
            outcome.expired_tokens.extend(expired);
            let removed = outcome.expired_tokens.iter();
            edits.extend(removed.map(|token| Edit::Remove(keys::token(token))));
        }
        outcome.new_tokens = self.new_tokens;
        Ok(outcome)
    }

    fn finish_items(&mut self, outcome: &mut BatchOutcome) -> StoreResult<()> {
        let mut counted: BTreeMap<u32, (TableTotals, TableTotals)> = BTreeMap::new();
        for (stored_key, written) in std::mem::take(&mut self.items) {
            let (name, id) = (&written.table.name, written.table.id);
            if written.is_replaced {
                outcome.replaced.push(stored_key.clone());
            }
            // The table itself may have changed since the item was written.
            let Some(now) = self.tables.find_same(name, id) else {
                continue;
            };
            let then = self.then.find_same(name, id).map(|then| &**then);
            let is_built_upon = then.is_none_or(|then| then.building != now.building);
            if written.before == written.after && !is_built_upon {
                continue;
            }
            let totals = match counted.entry(id) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(load(&*self.view, id)?),
            };
            let bytes = written.after.as_ref().map(item::encode);
            let change = RowChange {
                then,
                now,
                stored_key: &stored_key,
                before: written.before.as_ref(),
                after: written.after.as_ref(),
                after_bytes: bytes.as_deref().unwrap_or_default(),
            };
            rows(&change, &mut totals.1, outcome);
            outcome
                .edits
                .extend(written.edit(stored_key.clone(), bytes));
        }
        for (id, (before, after)) in counted {
            if before != after {
                outcome.edits.push(after.edit(id));
            }
        }
        Ok(())
    }
}

/// The numbers of a table, as they are and as they become.
fn load(view: &dyn View, id: u32) -> StoreResult<(TableTotals, TableTotals)> {
    let totals = TableTotals::load(view, id)?;
    Ok((totals.clone(), totals))
}

/// Updates the rows that an item has elsewhere: index entries and its expiry.
fn rows(change: &RowChange<'_>, totals: &mut TableTotals, outcome: &mut BatchOutcome) {
    let bytes = |item: &_| item_bytes(item);
    totals.change(
        change.now.id,
        change.before.map(bytes),
        change.after.map(bytes),
    );
    outcome.edits.extend(entry::edits(change, totals));
    totals.retain(|id| change.now.ids().any(|known| known == id));
    let (edits, expiring) = expiry::edits(change);
    outcome.edits.extend(edits);
    if let Some((id, seconds)) = expiring {
        let earliest = outcome.expiring.entry(id).or_insert(seconds);
        *earliest = seconds.min(*earliest);
    }
}

impl WrittenItem {
    /// The item itself. One that ends as it began was never anything else to those outside the
    /// batch, and is on disk already.
    fn edit(self, stored_key: Vec<u8>, bytes: Option<Vec<u8>>) -> Option<Edit> {
        if self.before == self.after {
            return None;
        }
        Some(match bytes {
            Some(bytes) => Edit::Put(stored_key, bytes),
            None => Edit::Remove(stored_key),
        })
    }
}
