//! What the store does by itself: rows of what was deleted are cleared away, indexes are built,
//! expired items are swept, and old records of streams are removed.
//!
//! One thread does it, in chunks that wait in the queue like any other write, so that writers
//! share their syncs with it and are never kept for long. Where it has come to is stored with
//! what it does; what it has not done when the store is closed, or killed, the next one goes on
//! with.

pub(crate) mod clearing;
mod sweeping;
mod trimming;

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use futures::executor::block_on;
use partita_store::{Clock, StoreError, StoreResult};

use crate::batch::Batch;
use crate::expiry::Earliest;
use crate::queue::WeakQueue;
use crate::storage::Views;
use crate::tables::Catalog;
use crate::trust::Trust;

/// How soon an item is swept that has expired, when there is nothing else to do.
const SWEEP_PAUSE: Duration = Duration::from_millis(500);

/// How often old records are looked for; they are kept for a day.
const TRIM_PAUSE: Duration = Duration::from_secs(10);

/// How long to wait after an error, which will hardly go away by itself.
const ERROR_PAUSE: Duration = Duration::from_secs(10);

/// What the work is done with, and where it has come to.
pub(crate) struct Tending {
    pub(crate) views: Arc<dyn Views>,
    pub(crate) catalog: Arc<Catalog>,
    // Weak, because the committer ends when the last queue is dropped.
    pub(crate) queue: WeakQueue,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) earliest: Arc<Earliest>,
    pub(crate) trust: Arc<Trust>,
    /// By id: the last row that was cleared away.
    pub(crate) cleared: HashMap<u32, Vec<u8>>,
    /// When expired items were last looked for, and old records.
    pub(crate) swept_millis: Option<i64>,
    pub(crate) trimmed_millis: Option<i64>,
}

impl Tending {
    /// Starts the thread. It hears of what it may have to do, and ends when it can hear of no
    /// more, or when the store is closed.
    pub(crate) fn start(
        tending: Arc<Mutex<Tending>>,
        news: Receiver<()>,
    ) -> std::io::Result<JoinHandle<()>> {
        thread::Builder::new()
            .name("partita-tending".to_owned())
            .spawn(move || {
                loop {
                    let mut tending = tending.lock().unwrap_or_else(PoisonError::into_inner);
                    let pause = match tending.round() {
                        Ok(true) => continue,
                        Ok(false) => tending.pause(),
                        Err(_) if tending.queue.is_closed() => return,
                        Err(error) => {
                            tracing::error!("what the store does by itself has failed: {error}");
                            Some(ERROR_PAUSE)
                        }
                    };
                    drop(tending);
                    if !wait(&news, pause) {
                        return;
                    }
                }
            })
    }

    /// Does all that there is to do.
    pub(crate) fn finish(&mut self) -> StoreResult<()> {
        self.trimmed_millis = None;
        while self.round()? {}
        Ok(())
    }

    /// Does a little of everything. Whether there is more to do.
    fn round(&mut self) -> StoreResult<bool> {
        let mut has_more = self.clear()?;
        has_more |= self.build()?;
        // What is removed by a clock that is wrong does not come back.
        let now_millis = self.clock.now_millis();
        self.trust.review(now_millis);
        if !self.trust.is_doubted(now_millis) {
            has_more |= self.sweep()?;
            has_more |= self.trim()?;
        }
        Ok(has_more)
    }

    /// Goes on with everything that is being built.
    fn build(&self) -> StoreResult<bool> {
        let mut has_more = false;
        for table in self.catalog.tables().all() {
            for building in &table.building {
                let (name, id) = (table.name.clone(), building.id);
                has_more |= self.write(0, move |batch| batch.build(&name, id))?;
            }
        }
        Ok(has_more)
    }

    /// How long nothing is to be done, unless there is news; for good without.
    fn pause(&self) -> Option<Duration> {
        let tables = self.catalog.tables();
        if tables.all().any(|table| table.expiry.is_some()) {
            return Some(SWEEP_PAUSE);
        }
        tables.streams().next().map(|_| TRIM_PAUSE)
    }

    /// Has a write carried out, and waits until it is on disk.
    fn write<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce(&mut Batch<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let queue = self.queue.upgrade();
        let queue = queue.ok_or_else(|| StoreError::Unavailable {
            message: "the store is closed".to_owned(),
        })?;
        block_on(queue.write(bytes, work))
    }
}

/// Waits for news, or for some time. Whether there may be more.
fn wait(news: &Receiver<()>, pause: Option<Duration>) -> bool {
    let heard = match pause {
        Some(pause) => news.recv_timeout(pause),
        None => news.recv().map_err(|_| RecvTimeoutError::Disconnected),
    };
    // All of it is looked into at once.
    news.try_iter().for_each(drop);
    heard != Err(RecvTimeoutError::Disconnected)
}

#[cfg(test)]
mod tests;
