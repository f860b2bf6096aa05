//! Many items written and read, however often a store asks for patience.

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use partita_core::Item;
use partita_store::error::ErrorKind;
use partita_store::request::{BatchGetItem, BatchGot, BatchWrite, BatchWriteItem, ItemAddress};
use partita_store::{Snapshot, Store, StoreError, StoreResult};

/// Writes in a request, as many as DynamoDB takes.
const WRITES_MAX: usize = 25;
/// Reads in a request, as many as DynamoDB takes.
const READS_MAX: usize = 100;
/// Requests that are under way at a time.
const REQUESTS_MAX: usize = 8;
/// How often a request is made that there was no room for, or whose outcome is unknown.
const ATTEMPTS_MAX: u32 = 12;
/// The first pause in between; each is twice as long as the one before.
const PAUSE_MIN: Duration = Duration::from_millis(20);
/// The longest.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Where items are read: a store as it is now, or a moment of it.
pub(crate) enum View<'a> {
    Now(&'a dyn Store),
    Moment(&'a dyn Snapshot),
}

/// Writes items, each for itself and in any order. What is written twice is the same.
pub(crate) async fn write(store: &dyn Store, writes: Vec<BatchWrite>) -> StoreResult<()> {
    let requests = chunks(writes, WRITES_MAX).map(|writes| write_some(store, writes));
    let requests = futures::stream::iter(requests).buffer_unordered(REQUESTS_MAX);
    requests.try_collect().await
}

async fn write_some(store: &dyn Store, writes: Vec<BatchWrite>) -> StoreResult<()> {
    let mut patience = Patience::default();
    let mut left = writes;
    loop {
        let request = BatchWriteItem {
            writes: left.clone(),
        };
        match store.batch_write_item(request).await {
            Ok(written) if written.answer.is_empty() => return Ok(()),
            Ok(written) => {
                left = written.answer;
                patience.wait(StoreError::Throttled).await?;
            }
            Err(error) => patience.wait(error).await?,
        }
    }
}

/// Reads items; the answers are in the order of the addresses.
pub(crate) async fn read(
    view: &View<'_>,
    addresses: Vec<ItemAddress>,
) -> StoreResult<Vec<Option<Item>>> {
    let requests = chunks(addresses, READS_MAX).map(|addresses| read_some(view, addresses));
    let requests = futures::stream::iter(requests).buffered(REQUESTS_MAX);
    let found: Vec<Vec<Option<Item>>> = requests.try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

async fn read_some(view: &View<'_>, addresses: Vec<ItemAddress>) -> StoreResult<Vec<Option<Item>>> {
    let mut patience = Patience::default();
    let mut found: Vec<Option<Item>> = vec![None; addresses.len()];
    let mut left: Vec<usize> = (0..addresses.len()).collect();
    while !left.is_empty() {
        let asked = left.iter().map(|number| addresses[*number].clone());
        let request = BatchGetItem::new(asked.collect());
        let answer = match view {
            View::Now(store) => store.batch_get_item(request).await,
            View::Moment(snapshot) => snapshot.batch_get_item(request).await,
        };
        let answer = match answer {
            Ok(answer) => answer.answer,
            Err(error) => {
                patience.wait(error).await?;
                continue;
            }
        };
        let mut again = Vec::new();
        for (number, got) in left.iter().zip(answer) {
            match got.into_parts()? {
                BatchGot::Found(item) => found[*number] = Some(item),
                BatchGot::Missing => {}
                BatchGot::Unprocessed => again.push(*number),
            }
        }
        if again.len() == left.len() {
            patience.wait(StoreError::Throttled).await?;
        }
        left = again;
    }
    Ok(found)
}

/// The elements in runs of at most so many.
fn chunks<T>(all: Vec<T>, length: usize) -> impl Iterator<Item = Vec<T>> {
    let mut all = all.into_iter();
    std::iter::from_fn(move || {
        let chunk: Vec<T> = all.by_ref().take(length).collect();
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// How often and how long a store is waited for.
#[derive(Default)]
struct Patience {
    attempts: u32,
}

impl Patience {
    /// Waits before the next attempt, if there is one for this reason.
    async fn wait(&mut self, error: StoreError) -> StoreResult<()> {
        let is_passing = matches!(
            error.kind(),
            ErrorKind::Retry | ErrorKind::Unavailable | ErrorKind::OutcomeUnknown
        ) && !matches!(
            error,
            StoreError::ReadOnly { .. } | StoreError::NoLease { .. } | StoreError::Closed { .. }
        );
        self.attempts += 1;
        if !is_passing || self.attempts >= ATTEMPTS_MAX {
            return Err(error);
        }
        let pause = PAUSE_MIN * 2u32.saturating_pow(self.attempts - 1);
        tokio::time::sleep(pause.min(PAUSE_MAX)).await;
        Ok(())
    }
}
