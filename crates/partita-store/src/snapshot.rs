//! What a store held at one moment.

use async_trait::async_trait;

use crate::capacity::Metered;
use crate::error::StoreResult;
use crate::request::{BatchGetItem, BatchGot, Page, Query, Scan};

/// Reads of one moment, whatever has been written since. All of them are consistent with each
/// other.
#[async_trait]
pub trait Snapshot: Send + Sync {
    /// Reads several items; the answers are in the order of the addresses.
    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>>;

    /// Reads one page of a partition.
    async fn query(&self, request: Query) -> StoreResult<Metered<Page>>;

    /// Reads one page of a table or index.
    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>>;
}
