//! The rows of what was deleted, cleared away a little at a time.
//!
//! A deleted table is gone at once: its description is deleted, and nothing leads to its rows.

use partita_store::StoreResult;

use super::Tending;
use crate::keys;
use crate::storage::{Direction, StorageError, View};

/// Rows that one commit removes.
const CHUNK_ROWS: usize = 512;

/// The ids whose rows are still to be removed.
pub(crate) fn load(view: &dyn View) -> Result<Vec<u32>, StorageError> {
    let mut ids = Vec::new();
    for entry in view.range(keys::all_dropped(), Direction::Ascending) {
        let (key, _) = entry?;
        ids.push(keys::dropped_id(&key).ok_or_else(|| {
            let key = key.escape_ascii();
            StorageError::Damaged(format!("the id under `{key}` cannot be read").into())
        })?);
    }
    Ok(ids)
}

impl Tending {
    /// Removes some rows under the first of the ids, or the id if there are none left.
    pub(super) fn clear(&mut self) -> StoreResult<bool> {
        let ids = load(&*self.views.view())?;
        let Some(id) = ids.first().copied() else {
            return Ok(false);
        };
        let rows = self.chunk(id)?;
        let bytes = rows.iter().map(Vec::len).sum();
        let last = rows.last().cloned();
        self.write(bytes, move |batch| {
            if rows.is_empty() {
                batch.forget(id)
            } else {
                batch.clear(rows)
            }
            Ok(())
        })?;
        let is_last_id = last.is_none() && ids.len() == 1;
        // Each chunk goes on where the last one ended. From the beginning it would have to
        // read past the traces of all that were removed before.
        match last {
            Some(last) => self.cleared.insert(id, last),
            None => self.cleared.remove(&id),
        };
        Ok(!is_last_id)
    }

    // INVARIANT: nothing is written under the id any more, so what a view does not show behind
    // the last row is not there.
    fn chunk(&self, id: u32) -> StoreResult<Vec<Vec<u8>>> {
        let view = self.views.view();
        let last = self.cleared.get(&id).cloned();
        let bounds = keys::after(keys::rows(id), last, Direction::Ascending);
        let rows = bounds.map(|bounds| view.range(bounds, Direction::Ascending));
        let rows = rows.into_iter().flatten().take(CHUNK_ROWS);
        let keys = rows.map(|row| Ok(row?.0.to_vec()));
        keys.collect()
    }
}

#[cfg(test)]
mod tests;
