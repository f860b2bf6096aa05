//! Reads of many items, on threads that may be kept waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use partita_store::capacity::Metered;
use partita_store::request::Page;
use partita_store::{StoreError, StoreResult};
use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};

use crate::read::{Moment, Reach};

/// Such reads at a time. What they have read is in memory until their tasks go on.
const READS_MAX: usize = 32;

/// The places for such reads in one store.
#[derive(Clone)]
pub(crate) struct Background(Arc<Semaphore>);

/// Reads a page as far as it may; none if there is more.
pub(crate) type ReadPage<R> = fn(&Moment, &R, Reach<'_>) -> StoreResult<Option<Metered<Page>>>;

impl Default for Background {
    fn default() -> Self {
        Background(Arc::new(Semaphore::new(READS_MAX)))
    }
}

impl Background {
    /// Runs a read when there is a place for it.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let place = self.0.clone().acquire_owned().await;
        let work = move || {
            // The read of a caller that is gone goes on, and has its place until it ends.
            let _place = place;
            work()
        };
        spawn_blocking(work).await.unwrap_or_else(stopped_short)
    }

    /// Reads a page, however many rows it has. It ends early when the one who waits for it leaves.
    pub(crate) async fn page<R: Send + 'static>(
        &self,
        moment: impl FnOnce() -> Arc<Moment> + Send + 'static,
        request: R,
        read: ReadPage<R>,
    ) -> StoreResult<Metered<Page>> {
        let is_left = Arc::new(AtomicBool::new(false));
        let _waiting = Waiting(is_left.clone());
        self.run(move || {
            let page = read(&moment(), &request, Reach::while_awaited(&is_left))?;
            Ok(page.expect("there is room for any number of rows"))
        })
        .await
    }
}

/// Somebody who waits for a read; says so when they leave.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Why a task on such a thread has no result.
pub(crate) fn stopped_short<T>(error: JoinError) -> StoreResult<T> {
    if error.is_panic() {
        Err(stumbled())
    } else {
        Err(StoreError::Unavailable {
            message: "the runtime is shutting down".to_owned(),
        })
    }
}

/// A read has panicked. Our own code has no reason to, but a decoder may stumble over damaged
/// blocks.
pub(crate) fn stumbled() -> StoreError {
    StoreError::Corrupt {
        message: "a read stopped short of what it should have found".to_owned(),
    }
}
