//! A store that goes wrong on purpose.
//!
//! Amazon raises conflicts on overlapping transactions, throttles, and loses answers on the way
//! back. The model and the engine do none of this by themselves; wrapped in a [`FaultyStore`]
//! they do, at given rates and from a given seed. It also makes every operation give up its
//! turn a few times, so that tasks interleave on a single thread, and the same seed replays the
//! same interleaving.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;

use async_trait::async_trait;
use partita_core::Item;

use partita_store::capacity::Metered;
use partita_store::error::{CancellationReason, StoreError, StoreResult};
use partita_store::found::FoundItem;
use partita_store::request::{
    BatchGetItem, BatchGot, BatchWrite, BatchWriteItem, DeleteItem, GetItem, Page, PutItem, Query,
    ReturnValues, Scan, TransactGetItems, TransactWriteItems, UpdateItem,
};
use partita_store::stream::{GetRecords, GetShardIterator, Records, ShardIterator};
use partita_store::{Layer, Moment, Store};

/// How often what goes wrong, each from 0 (never) to 1 (always).
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// A write meets another one; nothing is written.
    pub conflict: f64,
    /// There is no capacity for a read or a write; nothing is written.
    pub throttle: f64,
    /// The answer to a write is lost, in half of the cases after it was carried out.
    pub unknown_outcome: f64,
}

/// A store with injected faults.
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    faults: Faults,
    random: Mutex<fastrand::Rng>,
    injected: AtomicU64,
    is_calm: AtomicBool,
}

enum Fate {
    Normal,
    Conflict,
    Throttled,
    LostBefore,
    LostAfter,
}

impl FaultyStore {
    /// Wraps a store; the same seed and the same order of calls give the same faults.
    pub fn new(inner: Arc<dyn Store>, faults: Faults, seed: u64) -> Self {
        FaultyStore {
            inner,
            faults,
            random: Mutex::new(fastrand::Rng::with_seed(seed)),
            injected: AtomicU64::new(0),
            is_calm: AtomicBool::new(false),
        }
    }

    /// As [`FaultyStore::new`], without faults until [`FaultyStore::begin`].
    pub fn calm(inner: Arc<dyn Store>, faults: Faults, seed: u64) -> Self {
        let store = FaultyStore::new(inner, faults, seed);
        store.is_calm.store(true, Ordering::Relaxed);
        store
    }

    /// Injects faults from now on.
    pub fn begin(&self) {
        self.is_calm.store(false, Ordering::Relaxed);
    }

    /// How many faults were injected so far; a test that saw none has shown nothing.
    pub fn injected(&self) -> u64 {
        self.injected.load(Ordering::Relaxed)
    }

    fn is_calm(&self) -> bool {
        self.is_calm.load(Ordering::Relaxed)
    }

    fn fate_of_write(&self) -> Fate {
        if self.is_calm() {
            return Fate::Normal;
        }
        let Faults {
            conflict,
            throttle,
            unknown_outcome,
        } = self.faults;
        let (roll, coin) = self.roll();
        let fate = match roll {
            roll if roll < conflict => Fate::Conflict,
            roll if roll < conflict + throttle => Fate::Throttled,
            roll if roll < conflict + throttle + unknown_outcome && coin => Fate::LostBefore,
            roll if roll < conflict + throttle + unknown_outcome => Fate::LostAfter,
            _ => return Fate::Normal,
        };
        self.injected.fetch_add(1, Ordering::Relaxed);
        fate
    }

    async fn read_passes(&self) -> StoreResult<()> {
        if self.is_calm() {
            return Ok(());
        }
        self.give_way().await;
        if self.roll().0 < self.faults.throttle {
            self.injected.fetch_add(1, Ordering::Relaxed);
            return Err(StoreError::Throttled);
        }
        Ok(())
    }

    fn roll(&self) -> (f64, bool) {
        let mut random = self.random();
        (random.f64(), random.bool())
    }

    fn random(&self) -> MutexGuard<'_, fastrand::Rng> {
        self.random
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Lets other tasks run first, none to three times.
    async fn give_way(&self) {
        if self.is_calm() {
            return;
        }
        let times = self.random().u8(0..4);
        for _ in 0..times {
            let mut waited = false;
            poll_fn(|context| {
                if std::mem::replace(&mut waited, true) {
                    return Poll::Ready(());
                }
                context.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
        }
    }

    async fn write<T>(
        &self,
        conflict: StoreError,
        write: impl Future<Output = StoreResult<T>>,
    ) -> StoreResult<T> {
        self.give_way().await;
        match self.fate_of_write() {
            Fate::Normal => write.await,
            Fate::Conflict => Err(conflict),
            Fate::Throttled => Err(StoreError::Throttled),
            Fate::LostBefore => Err(lost()),
            // What the store refuses, it refuses without a doubt.
            Fate::LostAfter => write.await.and_then(|_| Err(lost())),
        }
    }
}

fn lost() -> StoreError {
    StoreError::OutcomeUnknown {
        message: "the answer was lost on purpose".to_owned(),
    }
}

#[async_trait]
impl Layer for FaultyStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn get_shard_iterator(&self, request: GetShardIterator) -> StoreResult<ShardIterator> {
        self.read_passes().await?;
        self.inner.get_shard_iterator(request).await
    }

    async fn get_records(&self, request: GetRecords) -> StoreResult<Records> {
        self.read_passes().await?;
        self.inner.get_records(request).await
    }

    async fn get_item(&self, request: GetItem) -> StoreResult<Metered<Option<FoundItem>>> {
        self.read_passes().await?;
        self.inner.get_item(request).await
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        self.read_passes().await?;
        self.inner.batch_get_item(request).await
    }

    async fn transact_get_items(
        &self,
        request: TransactGetItems,
    ) -> StoreResult<Metered<Vec<Option<FoundItem>>>> {
        self.read_passes().await?;
        self.inner.transact_get_items(request).await
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        self.read_passes().await?;
        self.inner.query(request).await
    }

    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>> {
        self.read_passes().await?;
        self.inner.scan(request).await
    }

    async fn put_item(
        &self,
        request: PutItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        let conflict = StoreError::TransactionConflict;
        self.write(conflict, self.inner.put_item(request, returns))
            .await
    }

    async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        let conflict = StoreError::TransactionConflict;
        self.write(conflict, self.inner.update_item(request, returns))
            .await
    }

    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        let conflict = StoreError::TransactionConflict;
        self.write(conflict, self.inner.delete_item(request, returns))
            .await
    }

    async fn batch_write_item(
        &self,
        request: BatchWriteItem,
    ) -> StoreResult<Metered<Vec<BatchWrite>>> {
        let conflict = StoreError::Throttled;
        self.write(conflict, self.inner.batch_write_item(request))
            .await
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        let conflict = canceled(&request);
        self.write(conflict, self.inner.transact_write_items(request))
            .await
    }

    async fn transact_write_items_since(
        &self,
        moment: Moment,
        request: TransactWriteItems,
    ) -> StoreResult<bool> {
        let conflict = canceled(&request);
        let write = self.inner.transact_write_items_since(moment, request);
        self.write(conflict, write).await
    }
}

/// What a transaction answers that has met another one.
fn canceled(request: &TransactWriteItems) -> StoreError {
    let mut reasons = vec![CancellationReason::None; request.actions.len()];
    if let Some(first) = reasons.first_mut() {
        *first = CancellationReason::TransactionConflict;
    }
    StoreError::TransactionCanceled { reasons }
}
