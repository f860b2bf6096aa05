//! How much a request reads, and where it is worked on.
//!
//! An item that counts 400 KB takes up to 13 MB in memory, and a request can read many. So what is
//! read is counted before it is taken apart. A request that reads much is worked on where it keeps
//! no other request waiting, and one that reads very much waits for one of a few places.
//!
//! The count belongs to the task that answers the request. Work that nobody counts, such as that of
//! jobs, is not held up.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{block_in_place, yield_now};

/// A request that reads more bytes than this is polled inside `block_in_place`, so that it does not
/// hold up other tasks on its runtime worker.
const SHORT_BYTES_MAX: usize = 256 * 1024;

/// Bytes of memory beyond which a request needs a place.
const HEAVY_BYTES: usize = 8 * 1_048_576;

tokio::task_local! {
    static LOAD: Load;
}

/// What one request has read so far.
struct Load {
    bytes: Cell<usize>,
    is_long: Cell<bool>,
    places: Arc<Semaphore>,
    place: RefCell<Option<OwnedSemaphorePermit>>,
}

/// What a request does before it goes on.
enum Turn {
    GoOn,
    /// It lets itself be called again, away from the threads that others need.
    Move,
    Wait(Arc<Semaphore>),
}

/// Carries out what answers a request, and counts what it reads. `places` are those for requests
/// that read very much; one that `is_long` keeps no thread of others from the beginning.
pub async fn carry_out<T>(
    places: Arc<Semaphore>,
    is_long: bool,
    work: impl Future<Output = T>,
) -> T {
    let load = Load {
        bytes: Cell::new(0),
        is_long: Cell::new(is_long),
        places,
        place: RefCell::new(None),
    };
    let polled = async {
        let mut work = pin!(work);
        let step = poll_fn(|context| {
            if LOAD.with(|load| load.is_long.get()) && can_block() {
                block_in_place(|| work.as_mut().poll(context))
            } else {
                work.as_mut().poll(context)
            }
        });
        step.await
    };
    LOAD.scope(load, polled).await
}

/// Counts bytes of memory that are about to be taken, and waits for a place where one is needed.
pub(crate) async fn take(bytes: usize) {
    match LOAD.try_with(|load| load.take(bytes)) {
        Err(_) | Ok(Turn::GoOn) => {}
        Ok(Turn::Move) => yield_now().await,
        Ok(Turn::Wait(places)) => {
            let place = places.acquire_owned().await;
            LOAD.with(|load| load.place.replace(place.ok()));
            // A place that is free is there at once, without another call that could move.
            yield_now().await;
        }
    }
}

/// Whether others go on while this thread is kept. On a single thread nobody could.
pub fn can_block() -> bool {
    Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}

impl Load {
    fn take(&self, bytes: usize) -> Turn {
        let sum = self.bytes.get().saturating_add(bytes);
        self.bytes.set(sum);
        let was_long = self
            .is_long
            .replace(self.is_long.get() || sum > SHORT_BYTES_MAX);
        if sum > HEAVY_BYTES && self.place.borrow().is_none() {
            return Turn::Wait(self.places.clone());
        }
        if self.is_long.get() && !was_long {
            return Turn::Move;
        }
        Turn::GoOn
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn who_reads_much_keeps_nobody_waiting() {
        keeps_nobody_waiting(SHORT_BYTES_MAX + 1).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn who_reads_very_much_at_once_keeps_nobody_waiting() {
        keeps_nobody_waiting(HEAVY_BYTES + 1).await;
    }

    async fn keeps_nobody_waiting(bytes: usize) {
        let places = Arc::new(Semaphore::new(1));
        let is_over = Arc::new(tokio::sync::Notify::new());
        let ended = is_over.clone();
        let (said, heard) = std::sync::mpsc::channel();
        let work = tokio::spawn(carry_out(places.clone(), false, async move {
            take(bytes).await;
            // The only thread of the runtime is not kept by this.
            heard.recv().unwrap();
            ended.notify_one();
        }));
        tokio::spawn(async move { said.send(()) });
        is_over.notified().await;
        work.await.unwrap();
    }

    #[tokio::test]
    async fn who_reads_very_much_waits_for_a_place() {
        let places = Arc::new(Semaphore::new(1));
        let heavy = |bytes: usize| carry_out(places.clone(), false, take(bytes));
        let held = places.clone().acquire_owned().await.unwrap();
        let mut waiting = pin!(heavy(HEAVY_BYTES + 1));
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        heavy(HEAVY_BYTES).await;
        drop(held);
        waiting.await;
        // A place is given back, and work that is not counted needs none.
        assert_eq!(places.available_permits(), 1);
        take(usize::MAX).await;
    }
}
