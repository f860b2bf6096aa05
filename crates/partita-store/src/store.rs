//! The trait that every store implements.

use async_trait::async_trait;
use partita_core::Item;

use crate::error::StoreResult;
use crate::request::{
    BatchGetItem, BatchGot, CreateTable, DeleteItem, GetItem, Page, PutItem, Query, ReturnValues,
    Scan, TableDescription, TransactWriteItems, UpdateItem,
};
use crate::table::TableName;

/// DynamoDB's operations.
///
/// What a caller may rely on, whichever store it has:
/// - an acknowledged write is durable as far as the store is, and every later consistent read
///   sees it;
/// - an error leaves everything as it was, except [`StoreError::OutcomeUnknown`], which leaves
///   it as it was or carried out as a whole;
/// - transactions are serializable.
///
/// [`StoreError::OutcomeUnknown`]: crate::StoreError::OutcomeUnknown
#[async_trait]
pub trait Store: Send + Sync {
    /// Creates a table; it can be used once this returns.
    async fn create_table(&self, request: CreateTable) -> StoreResult<TableDescription>;

    /// Describes a table.
    async fn describe_table(&self, table: &TableName) -> StoreResult<TableDescription>;

    /// Reads one item.
    async fn get_item(&self, request: GetItem) -> StoreResult<Option<Item>>;

    /// Reads several items; the answers stand in the order of the addresses.
    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Vec<BatchGot>>;

    /// Reads one page of a partition.
    async fn query(&self, request: Query) -> StoreResult<Page>;

    /// Reads one page of a table.
    async fn scan(&self, request: Scan) -> StoreResult<Page>;

    /// Writes a whole item.
    async fn put_item(&self, request: PutItem, returns: ReturnValues) -> StoreResult<Option<Item>>;

    /// Changes some attributes of an item, or creates it.
    async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Option<Item>>;

    /// Removes an item.
    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Option<Item>>;

    /// Writes several items, all or none.
    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<()>;
}
