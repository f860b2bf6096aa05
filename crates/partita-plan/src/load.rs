//! How much a request reads, and where it is worked on.
//!
//! An item that counts 400 KB takes up to 13 MB in memory, and a request can read many. So what is
//! read is counted before it is taken apart. A request that reads much is worked on where it keeps
//! no other request waiting, and one that reads very much waits for one of a few places.
//!
//! A request that reads much also needs an allowance of memory, before it takes apart what it has
//! read. One that gets none is dropped, so that it holds nothing while it waits, and is begun again.
//! Once a request has begun to write it goes on without.
//!
//! The count belongs to the task that answers the request. Work that nobody counts, such as that of
//! jobs, is not held up.

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{block_in_place, yield_now};

/// A request that reads more bytes than this is polled inside `block_in_place`, so that it does not
/// hold up other tasks on its runtime worker.
const SHORT_BYTES_MAX: usize = 256 * 1024;

/// Bytes of memory beyond which a request needs a place.
const HEAVY_BYTES: usize = 8 * 1_048_576;

/// Bytes of one read, which are there before anybody can count them.
const READ_BYTES: usize = 1_048_576;

/// How often what was read is in memory at a time: as items, as JSON, and as text.
const COPIES: usize = 3;

/// Bytes of what was read that are in memory at a time, about: those of a page. Of a request that
/// reads more, most are passed over.
const KEPT_BYTES_MAX: usize = 4 * 1_048_576;

/// Memory that a request may take.
pub trait Allowance: Send + Sync {
    /// Has so many bytes in all from now on; false if there is no room for them. Where a request
    /// `must_go_on`, they are taken anyway.
    fn raise(&self, bytes: usize, must_go_on: bool) -> bool;
}

/// A request was dropped, because there is no room for so many bytes. It has written nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom {
    /// As many as it has asked for.
    pub bytes: usize,
}

tokio::task_local! {
    static LOAD: Load;
}

/// What one request has read so far.
struct Load {
    bytes: Cell<usize>,
    is_long: Cell<bool>,
    places: Arc<Semaphore>,
    place: RefCell<Option<OwnedSemaphorePermit>>,
    allowance: Option<Arc<dyn Allowance>>,
    has_written: Cell<bool>,
    refused: Cell<Option<NoRoom>>,
}

/// What a request does before it goes on.
enum Turn {
    GoOn,
    /// It lets itself be called again, away from the threads that others need.
    Move,
    Wait(Arc<Semaphore>),
    /// It is dropped.
    GiveUp,
}

/// Carries out what answers a request, and counts what it reads. `places` are those for requests
/// that read very much; one that `is_long` keeps no thread of others from the beginning. Without an
/// allowance it takes what it needs.
pub async fn carry_out<T>(
    places: Arc<Semaphore>,
    allowance: Option<Arc<dyn Allowance>>,
    is_long: bool,
    work: impl Future<Output = T>,
) -> Result<T, NoRoom> {
    let load = Load {
        bytes: Cell::new(0),
        is_long: Cell::new(is_long),
        places,
        place: RefCell::new(None),
        allowance,
        has_written: Cell::new(false),
        refused: Cell::new(None),
    };
    let polled = async {
        let mut work = pin!(work);
        let step = poll_fn(|context| {
            let polled = if LOAD.with(|load| load.is_long.get()) && can_block() {
                block_in_place(|| work.as_mut().poll(context))
            } else {
                work.as_mut().poll(context)
            };
            match (polled, LOAD.with(|load| load.refused.get())) {
                (Poll::Ready(answer), _) => Poll::Ready(Ok(answer)),
                (Poll::Pending, Some(refused)) => Poll::Ready(Err(refused)),
                (Poll::Pending, None) => Poll::Pending,
            }
        });
        step.await
    };
    LOAD.scope(load, polled).await
}

/// Says that a request begins to write: it is not dropped any more.
pub(crate) fn begin_write() {
    // Work that nobody counts is never dropped.
    let _ = LOAD.try_with(|load| load.has_written.set(true));
}

/// Counts bytes of memory that are about to be taken, and waits for a place where one is needed.
pub async fn take(bytes: usize) {
    match LOAD.try_with(|load| load.take(bytes)) {
        Err(_) | Ok(Turn::GoOn) => {}
        Ok(Turn::Move) => yield_now().await,
        Ok(Turn::GiveUp) => pending().await,
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
        if sum > SHORT_BYTES_MAX && !self.is_allowed(sum) {
            return Turn::GiveUp;
        }
        if sum > HEAVY_BYTES && self.place.borrow().is_none() {
            return Turn::Wait(self.places.clone());
        }
        if self.is_long.get() && !was_long {
            return Turn::Move;
        }
        Turn::GoOn
    }

    /// Whether there is memory for what is made of so many bytes, and for the next read.
    fn is_allowed(&self, sum: usize) -> bool {
        let Some(allowance) = &self.allowance else {
            return true;
        };
        let bytes = READ_BYTES + COPIES * sum.min(KEPT_BYTES_MAX);
        let is_allowed = allowance.raise(bytes, self.has_written.get());
        if !is_allowed {
            self.refused.set(Some(NoRoom { bytes }));
        }
        is_allowed
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
        let work = tokio::spawn(carry_out(places.clone(), None, false, async move {
            take(bytes).await;
            // The only thread of the runtime is not kept by this.
            heard.recv().unwrap();
            ended.notify_one();
        }));
        tokio::spawn(async move { said.send(()) });
        is_over.notified().await;
        work.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn who_reads_very_much_waits_for_a_place() {
        let places = Arc::new(Semaphore::new(1));
        let heavy = |bytes: usize| carry_out(places.clone(), None, false, take(bytes));
        let held = places.clone().acquire_owned().await.unwrap();
        let mut waiting = pin!(heavy(HEAVY_BYTES + 1));
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        heavy(HEAVY_BYTES).await.unwrap();
        drop(held);
        waiting.await.unwrap();
        // A place is given back, and work that is not counted needs none.
        assert_eq!(places.available_permits(), 1);
        take(usize::MAX).await;
    }
    /// Room for so many bytes.
    struct Within(usize);

    impl Allowance for Within {
        fn raise(&self, bytes: usize, must_go_on: bool) -> bool {
            must_go_on || bytes <= self.0
        }
    }

    #[tokio::test]
    async fn who_gets_no_memory_is_dropped_unless_it_writes() {
        let places = Arc::new(Semaphore::new(1));
        let within = |bytes: usize, reads: &'static [usize], writes: bool| {
            let work = async move {
                if writes {
                    begin_write();
                }
                for bytes in reads {
                    take(*bytes).await;
                }
            };
            carry_out(places.clone(), Some(Arc::new(Within(bytes))), false, work)
        };
        assert_eq!(within(0, &[SHORT_BYTES_MAX], false).await, Ok(()));
        let much = &[SHORT_BYTES_MAX, SHORT_BYTES_MAX];
        let bytes = READ_BYTES + COPIES * 2 * SHORT_BYTES_MAX;
        assert_eq!(within(bytes, much, false).await, Ok(()));
        let refused = within(bytes - 1, much, false).await;
        assert_eq!(refused, Err(NoRoom { bytes }));
        assert_eq!(within(0, much, true).await, Ok(()));
        // However much is read, no more is asked for than a page takes.
        let most = READ_BYTES + COPIES * KEPT_BYTES_MAX;
        assert_eq!(
            within(most, &[HEAVY_BYTES, HEAVY_BYTES], false).await,
            Ok(())
        );
    }
}
