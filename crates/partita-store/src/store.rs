//! The trait that every store implements.

use async_trait::async_trait;
use partita_core::Item;

use crate::capacity::Metered;
use crate::error::StoreResult;
use crate::request::{
    BatchGetItem, BatchGot, BatchWrite, BatchWriteItem, CreateTable, DeleteItem, GetItem,
    ListTables, Page, PutItem, Query, ReturnValues, Scan, TableDescription, TableNames,
    TransactGetItems, TransactWriteItems, UpdateItem,
};
use crate::table::TableName;

/// DynamoDB's operations.
///
/// What a caller may rely on, whichever store it has:
/// - an acknowledged write is durable as far as the store is, and every later consistent read
///   sees it;
/// - an error leaves everything as it was, except [`StoreError::OutcomeUnknown`], which leaves
///   it as it was or carried out as a whole, or of a batch any part;
/// - transactions are serializable.
///
/// [`StoreError::OutcomeUnknown`]: crate::StoreError::OutcomeUnknown
#[async_trait]
pub trait Store: Send + Sync {
    /// Creates a table; it can be used once this returns.
    async fn create_table(&self, request: CreateTable) -> StoreResult<TableDescription>;

    /// Removes a table with everything in it.
    async fn delete_table(&self, table: &TableName) -> StoreResult<TableDescription>;

    /// Describes a table.
    async fn describe_table(&self, table: &TableName) -> StoreResult<TableDescription>;

    /// Reads one page of the names of tables.
    async fn list_tables(&self, request: ListTables) -> StoreResult<TableNames>;

    /// Reads one item.
    async fn get_item(&self, request: GetItem) -> StoreResult<Metered<Option<Item>>>;

    /// Reads several items; the answers stand in the order of the addresses.
    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>>;

    /// Reads several items as they are at one moment; the answers stand in the request's order.
    async fn transact_get_items(
        &self,
        request: TransactGetItems,
    ) -> StoreResult<Metered<Vec<Option<Item>>>>;

    /// Reads one page of a partition.
    async fn query(&self, request: Query) -> StoreResult<Metered<Page>>;

    /// Reads one page of a table or index.
    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>>;

    /// Writes a whole item.
    async fn put_item(
        &self,
        request: PutItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>>;

    /// Changes some attributes of an item, or creates it.
    async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>>;

    /// Removes an item.
    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>>;

    /// Writes several items, each for itself; answers with those that there was no room for.
    async fn batch_write_item(
        &self,
        request: BatchWriteItem,
    ) -> StoreResult<Metered<Vec<BatchWrite>>>;

    /// Writes several items, all or none.
    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>>;
}
