//! When items expire: rows in the order of time, so that expired items are found without a scan of
//! the table.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use partita_store::expiry::expires_seconds;

use crate::keys;
use crate::row_change::RowChange;
use crate::storage::Edit;

/// The edits to an item's expiry row when the item changes, and the second of a new row. Only
/// tables with a time to live have such rows.
pub(crate) fn edits(change: &RowChange<'_>) -> (Vec<Edit>, Option<(u32, i64)>) {
    let Some(expiry) = &change.now.expiry else {
        return (Vec::new(), None);
    };
    let id = expiry.id;
    let seconds = |item| expires_seconds(item, &expiry.attribute);
    let old = change.before_in(id).and_then(seconds);
    let new = change.after_in(id).and_then(seconds);
    if old == new {
        return (Vec::new(), None);
    }
    let key = |seconds| keys::expiry(id, seconds, change.stored_key);
    let removed = old.map(|seconds| Edit::Remove(key(seconds)));
    let put = new.map(|seconds| Edit::Put(key(seconds), Vec::new()));
    let edits = removed.into_iter().chain(put).collect();
    (edits, new.map(|seconds| (id, seconds)))
}

/// From which second on there may be rows, by the id of the expiry.
///
/// Removed rows leave tombstones, and a search for the first row reads past all of them. So the
/// sweeper continues where it was, unless a commit has put a row before that.
#[derive(Debug, Default)]
pub(crate) struct Earliest(Mutex<HashMap<u32, i64>>);

impl Earliest {
    /// A row was put at this second.
    pub(crate) fn put(&self, id: u32, seconds: i64) {
        let mut earliest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(earliest) = earliest.get_mut(&id) {
            *earliest = seconds.min(*earliest);
        }
    }

    /// The second from which on there may be rows. All up to `last` are looked at now, in a view
    /// that is taken after this.
    pub(crate) fn take(&self, id: u32, last: i64) -> i64 {
        let mut earliest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let earliest = earliest.entry(id).or_insert(i64::MIN);
        let found = *earliest;
        *earliest = found.max(last.saturating_add(1));
        found
    }

    /// Nothing is known of any rows.
    pub(crate) fn forget(&self) {
        let mut earliest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        earliest.clear();
    }
}
