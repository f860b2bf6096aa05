//! All that is stored, read piece by piece, each from a view of its own.
//!
//! A view that lasts as long as a copy of everything would keep compactions from removing what is
//! old. So each piece is of its own moment. With the commits between the first and the last of
//! these moments the pieces come to the state at the last: a commit says what a key has from then
//! on, whatever it had before.

use std::ops::Bound::{Excluded, Unbounded};

use partita_store::{StoreError, StoreResult};

use crate::commit::CommitId;
use crate::keys;
use crate::storage::journal::Mark;
use crate::storage::{Bytes, Direction, View};

/// Some of what is stored, in the order of the keys.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Rows {
    /// The commit after which they were so.
    pub commit: CommitId,
    /// Keys and values.
    pub rows: Vec<(Vec<u8>, Bytes)>,
    /// Whether these are the last.
    pub is_last: bool,
}

/// The commit that a view shows the state after.
pub(crate) fn commit_of(view: &dyn View) -> StoreResult<CommitId> {
    let stored = view.get(keys::MARK)?;
    let mark = stored.and_then(|bytes| Mark::read(&bytes));
    let mark = mark.ok_or_else(|| StoreError::Corrupt {
        message: "the store does not tell its last commit".to_owned(),
    })?;
    Ok(mark.id)
}

/// Reads the rows after a key, up to about so many bytes.
pub(crate) fn after(view: &dyn View, key: Option<Vec<u8>>, bytes_max: usize) -> StoreResult<Rows> {
    let mut rows = Rows {
        commit: commit_of(view)?,
        rows: Vec::new(),
        is_last: true,
    };
    let mut bytes = 0;
    let first = key.map_or(Unbounded, Excluded);
    for entry in view.range((first, Unbounded), Direction::Ascending) {
        let (key, value) = entry?;
        if bytes >= bytes_max {
            rows.is_last = false;
            break;
        }
        // Which commit it is, is said once for all.
        if &*key != keys::MARK {
            bytes += key.len() + value.len();
            rows.rows.push((key.to_vec(), value));
        }
    }
    Ok(rows)
}
