//! What a store held at one moment.

use async_trait::async_trait;

use crate::capacity::Metered;
use crate::error::{StoreError, StoreResult};
use crate::request::{BatchGetItem, BatchGot, Page, Query, Scan};
use crate::stream::{SequenceNumber, StreamName, StreamPlace, StreamRecord};

/// A moment of a store, as [`Store::transact_write_items_since`] knows it. It means nothing to
/// another process.
///
/// [`Store::transact_write_items_since`]: crate::Store::transact_write_items_since
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(pub u64);

/// Reads of one moment, whatever has been written since. All of them are consistent with each
/// other.
#[async_trait]
pub trait Snapshot: Send + Sync {
    /// The moment that is read.
    fn moment(&self) -> Moment;

    /// Reads several items; the answers are in the order of the addresses.
    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>>;

    /// Reads one page of a partition.
    async fn query(&self, request: Query) -> StoreResult<Metered<Page>>;

    /// Reads one page of a table or index.
    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>>;

    /// Where a stream ends: all its records have smaller numbers, and all that come later have not.
    async fn stream_end(&self, _stream: &StreamName) -> StoreResult<StreamPlace> {
        Err(no_streams())
    }

    /// The place in a stream before the record of a number. A store whose past is another one has
    /// another place there.
    async fn stream_place(
        &self,
        _stream: &StreamName,
        _number: SequenceNumber,
    ) -> StoreResult<StreamPlace> {
        Err(no_streams())
    }

    /// The records of a stream from this number on, in their order, up to about so many bytes; at
    /// least one, where there is one.
    async fn records_from(
        &self,
        _stream: &StreamName,
        _from: SequenceNumber,
        _bytes_max: usize,
    ) -> StoreResult<Vec<StreamRecord>> {
        Err(no_streams())
    }
}

fn no_streams() -> StoreError {
    StoreError::validation("this store does not read streams at a moment")
}
