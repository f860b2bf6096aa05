//! The trait that every store implements.

use std::sync::Arc;

use async_trait::async_trait;
use partita_core::Item;
use tokio::sync::watch;

use crate::capacity::Metered;
use crate::error::{StoreError, StoreResult};
use crate::found::FoundItem;
use crate::meters::Meters;
use crate::request::{
    BatchGetItem, BatchGot, BatchWrite, BatchWriteItem, CreateTable, DeleteItem, GetItem,
    ListTables, Page, PutItem, Query, ReturnValues, Scan, TableDescription, TableNames, Tags,
    TransactGetItems, TransactWriteItems, UpdateItem, UpdateTable, UpdateTimeToLive,
};
use crate::settings::Keeping;
use crate::snapshot::{Moment, Snapshot};
use crate::stream::{
    DescribeStream, GetRecords, GetShardIterator, ListStreams, Records, ShardIterator,
    StreamDescription, StreamNames,
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

    /// Changes a table. An index that it adds is built afterwards, while the table is used.
    async fn update_table(&self, request: UpdateTable) -> StoreResult<TableDescription>;

    /// Sets the attribute with the time at which a table's items expire.
    async fn update_time_to_live(&self, request: UpdateTimeToLive) -> StoreResult<()>;

    /// The attribute with the time at which a table's items expire, if there is one.
    async fn describe_time_to_live(&self, table: &TableName) -> StoreResult<Option<String>>;

    /// How a table is kept; nothing where the store is no service.
    async fn describe_keeping(&self, table: &TableName) -> StoreResult<Option<Keeping>> {
        self.describe_table(table).await?;
        Ok(None)
    }

    /// Adds tags to a table, or replaces the values of those that it has.
    async fn tag_resource(&self, table: &TableName, tags: Tags) -> StoreResult<()>;

    /// Takes the tags of these keys off a table, as far as it has them.
    async fn untag_resource(&self, table: &TableName, keys: Vec<String>) -> StoreResult<()>;

    /// The tags of a table.
    async fn list_tags_of_resource(&self, table: &TableName) -> StoreResult<Tags>;

    /// Reads one page of the names of streams.
    async fn list_streams(&self, request: ListStreams) -> StoreResult<StreamNames>;

    /// Describes a stream.
    async fn describe_stream(&self, request: DescribeStream) -> StoreResult<StreamDescription>;

    /// Finds a place in a shard of a stream.
    async fn get_shard_iterator(&self, request: GetShardIterator) -> StoreResult<ShardIterator>;

    /// Reads the changes of a table's items.
    async fn get_records(&self, request: GetRecords) -> StoreResult<Records>;

    /// Reads one item.
    async fn get_item(&self, request: GetItem) -> StoreResult<Metered<Option<FoundItem>>>;

    /// Reads several items; the answers are in the order of the addresses.
    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>>;

    /// Reads several items as they are at one moment; the answers are in the request's order.
    async fn transact_get_items(
        &self,
        request: TransactGetItems,
    ) -> StoreResult<Metered<Vec<Option<FoundItem>>>>;

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

    /// Writes several items, all or none, if each of them is the one that the snapshot of a moment
    /// has: false where one was removed or replaced since, and perhaps where it was not. One that
    /// was only updated is the same.
    ///
    /// A store without snapshots refuses it.
    async fn transact_write_items_since(
        &self,
        _moment: Moment,
        _request: TransactWriteItems,
    ) -> StoreResult<bool> {
        Err(StoreError::validation("this store has no snapshots"))
    }

    /// What the store holds now, to be read at leisure; none where a store has no such reads, as
    /// DynamoDB has not.
    fn snapshot(&self) -> Option<Arc<dyn Snapshot>> {
        None
    }

    /// Changes with every commit, once readers can see it; none where a store does not know its
    /// commits, as DynamoDB does not tell them. Who commits waits for nobody who hears of it.
    fn commits(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// Whether the clock may be wrong, so that nothing is to be removed because its time has come.
    fn doubts_clock(&self) -> bool {
        false
    }

    /// Whether other processes may use the same tables at the same time.
    fn is_shared(&self) -> bool {
        false
    }

    /// How far behind its table a global index may be; 0 where none ever is.
    fn index_delay_millis(&self) -> i64 {
        0
    }

    /// How long an answer to a write is waited for before its outcome is taken to be unknown; 0 where
    /// every write is answered.
    fn timeout_millis(&self) -> i64 {
        0
    }

    /// What the store has counted, if it counts: of commits, and whether it takes writes.
    fn meters(&self) -> Option<Meters> {
        None
    }
}
