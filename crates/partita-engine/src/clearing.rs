//! The rows of deleted tables, cleared away a little at a time.
//!
//! A deleted table is gone at once: its description is, and nobody finds its rows any more. They
//! are removed by a thread of their own, in chunks that wait in the queue like any other write,
//! so that writers share their syncs with it and are never kept for long. What it has not done
//! when the store is closed, or killed, the next one goes on with.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use futures::executor::block_on;
use partita_store::{StoreError, StoreResult};

use crate::keys;
use crate::queue::WeakQueue;
use crate::storage::{Direction, StorageError, View, Views};

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

/// What the thread works with.
pub(crate) struct Clearing {
    pub(crate) views: Arc<dyn Views>,
    // Weak, because the committer ends when nobody is left in the queue.
    pub(crate) queue: WeakQueue,
}

impl Clearing {
    /// Starts the thread. It ends when no more ids can come, or when the store is closed.
    pub(crate) fn start(self, ids: mpsc::Receiver<u32>) -> std::io::Result<JoinHandle<()>> {
        thread::Builder::new()
            .name("partita-clearing".to_owned())
            .spawn(move || {
                for id in ids {
                    match self.clear(id) {
                        Ok(()) => {}
                        Err(StoreError::Unavailable { .. }) => return,
                        Err(error) => tracing::error!("rows were left behind: {error}"),
                    }
                }
            })
    }

    /// Removes every row under an id, and then the id.
    fn clear(&self, id: u32) -> StoreResult<()> {
        let mut last = None;
        // Each chunk goes on where the last one ended. From the beginning it would have to
        // read past the traces of all that were removed before.
        loop {
            let rows = self.chunk(id, last)?;
            last = rows.last().cloned();
            let is_done = last.is_none();
            let bytes = rows.iter().map(Vec::len).sum();
            let queue = self
                .queue
                .upgrade()
                .ok_or_else(|| StoreError::Unavailable {
                    message: "the store is closed".to_owned(),
                })?;
            block_on(queue.write(bytes, move |batch| {
                match rows.is_empty() {
                    true => batch.forget(id),
                    false => batch.clear(rows),
                }
                Ok(())
            }))?;
            if is_done {
                return Ok(());
            }
        }
    }

    // INVARIANT: nothing is written under the id any more, so what a view does not show behind
    // the last row is not there.
    fn chunk(&self, id: u32, last: Option<Vec<u8>>) -> StoreResult<Vec<Vec<u8>>> {
        let view = self.views.view();
        let bounds = keys::after(keys::rows(id), last, Direction::Ascending);
        let rows = bounds.map(|bounds| view.range(bounds, Direction::Ascending));
        let rows = rows.into_iter().flatten().take(CHUNK_ROWS);
        let keys = rows.map(|row| Ok(row?.0.to_vec()));
        keys.collect()
    }
}

#[cfg(test)]
mod tests;
