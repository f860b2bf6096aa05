//! A store behind a guard: reads pass, everything else needs its consent.
//!
//! Every operation of the trait is here once. A new one must be added here too, or nothing
//! compiles, and its author decides whether it only reads.

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
    TransactAction, TransactGetItems, TransactWriteItems, UpdateItem, UpdateTable,
    UpdateTimeToLive,
};
use crate::settings::Keeping;
use crate::snapshot::{Moment, Snapshot};
use crate::store::Store;
use crate::stream::{
    DescribeStream, GetRecords, GetShardIterator, ListStreams, Records, ShardIterator,
    StreamDescription, StreamNames,
};
use crate::table::TableName;

/// Something that would change a table or an item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change<'a> {
    /// Writes this item.
    Put(&'a Item),
    /// Changes the item of this key, or creates it.
    Update(&'a Item),
    /// Removes the item of this key.
    Delete(&'a Item),
    /// Creates, changes, tags or removes the table itself.
    Table,
}

/// Decides about changes.
#[async_trait]
pub trait Guard: Send + Sync {
    /// Why the change may not be made; nothing if it may.
    async fn refusal(&self, table: &TableName, change: Change<'_>) -> StoreResult<Option<String>>;
}

/// A store whose changes a guard decides about.
pub struct GuardedStore<G> {
    inner: Arc<dyn Store>,
    guard: G,
}

impl<G: Guard> GuardedStore<G> {
    /// Wraps a store.
    pub fn new(inner: Arc<dyn Store>, guard: G) -> Self {
        GuardedStore { inner, guard }
    }

    async fn ask(&self, table: &TableName, change: Change<'_>) -> StoreResult<()> {
        match self.guard.refusal(table, change).await? {
            None => Ok(()),
            Some(message) => Err(StoreError::AccessDenied { message }),
        }
    }

    async fn ask_for_all(&self, actions: &[TransactAction]) -> StoreResult<()> {
        for action in actions {
            match action {
                TransactAction::Put(put) => self.ask(&put.table, Change::Put(&put.item)).await?,
                TransactAction::Update(update) => {
                    self.ask(&update.table, Change::Update(&update.key)).await?;
                }
                TransactAction::Delete(delete) => {
                    self.ask(&delete.table, Change::Delete(&delete.key)).await?;
                }
                // It reads.
                TransactAction::Check(_) => {}
            }
        }
        Ok(())
    }
}

#[async_trait]
impl<G: Guard> Store for GuardedStore<G> {
    async fn create_table(&self, request: CreateTable) -> StoreResult<TableDescription> {
        self.ask(&request.table, Change::Table).await?;
        self.inner.create_table(request).await
    }

    async fn delete_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        self.ask(table, Change::Table).await?;
        self.inner.delete_table(table).await
    }

    async fn update_table(&self, request: UpdateTable) -> StoreResult<TableDescription> {
        self.ask(&request.table, Change::Table).await?;
        self.inner.update_table(request).await
    }

    async fn update_time_to_live(&self, request: UpdateTimeToLive) -> StoreResult<()> {
        self.ask(&request.table, Change::Table).await?;
        self.inner.update_time_to_live(request).await
    }

    async fn tag_resource(&self, table: &TableName, tags: Tags) -> StoreResult<()> {
        self.ask(table, Change::Table).await?;
        self.inner.tag_resource(table, tags).await
    }

    async fn untag_resource(&self, table: &TableName, keys: Vec<String>) -> StoreResult<()> {
        self.ask(table, Change::Table).await?;
        self.inner.untag_resource(table, keys).await
    }

    async fn put_item(
        &self,
        request: PutItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.ask(&request.table, Change::Put(&request.item)).await?;
        self.inner.put_item(request, returns).await
    }

    async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.ask(&request.table, Change::Update(&request.key))
            .await?;
        self.inner.update_item(request, returns).await
    }

    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.ask(&request.table, Change::Delete(&request.key))
            .await?;
        self.inner.delete_item(request, returns).await
    }

    async fn batch_write_item(
        &self,
        request: BatchWriteItem,
    ) -> StoreResult<Metered<Vec<BatchWrite>>> {
        for write in &request.writes {
            match write {
                BatchWrite::Put { table, item } => self.ask(table, Change::Put(item)).await?,
                BatchWrite::Delete(address) => {
                    self.ask(&address.table, Change::Delete(&address.key))
                        .await?;
                }
            }
        }
        self.inner.batch_write_item(request).await
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        self.ask_for_all(&request.actions).await?;
        self.inner.transact_write_items(request).await
    }

    async fn transact_write_items_since(
        &self,
        moment: Moment,
        request: TransactWriteItems,
    ) -> StoreResult<bool> {
        self.ask_for_all(&request.actions).await?;
        let inner = &self.inner;
        inner.transact_write_items_since(moment, request).await
    }

    // From here on nothing changes anything.

    async fn describe_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        self.inner.describe_table(table).await
    }

    async fn list_tables(&self, request: ListTables) -> StoreResult<TableNames> {
        self.inner.list_tables(request).await
    }

    async fn describe_time_to_live(&self, table: &TableName) -> StoreResult<Option<String>> {
        self.inner.describe_time_to_live(table).await
    }

    async fn describe_keeping(&self, table: &TableName) -> StoreResult<Option<Keeping>> {
        self.inner.describe_keeping(table).await
    }

    async fn list_tags_of_resource(&self, table: &TableName) -> StoreResult<Tags> {
        self.inner.list_tags_of_resource(table).await
    }

    async fn list_streams(&self, request: ListStreams) -> StoreResult<StreamNames> {
        self.inner.list_streams(request).await
    }

    async fn describe_stream(&self, request: DescribeStream) -> StoreResult<StreamDescription> {
        self.inner.describe_stream(request).await
    }

    async fn get_shard_iterator(&self, request: GetShardIterator) -> StoreResult<ShardIterator> {
        self.inner.get_shard_iterator(request).await
    }

    async fn get_records(&self, request: GetRecords) -> StoreResult<Records> {
        self.inner.get_records(request).await
    }

    async fn get_item(&self, request: GetItem) -> StoreResult<Metered<Option<FoundItem>>> {
        self.inner.get_item(request).await
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        self.inner.batch_get_item(request).await
    }

    async fn transact_get_items(
        &self,
        request: TransactGetItems,
    ) -> StoreResult<Metered<Vec<Option<FoundItem>>>> {
        self.inner.transact_get_items(request).await
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        self.inner.query(request).await
    }

    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>> {
        self.inner.scan(request).await
    }

    fn meters(&self) -> Option<Meters> {
        self.inner.meters()
    }

    fn snapshot(&self) -> Option<Arc<dyn Snapshot>> {
        self.inner.snapshot()
    }

    fn commits(&self) -> Option<watch::Receiver<u64>> {
        self.inner.commits()
    }

    fn doubts_clock(&self) -> bool {
        self.inner.doubts_clock()
    }

    fn is_shared(&self) -> bool {
        self.inner.is_shared()
    }

    fn index_delay_millis(&self) -> i64 {
        self.inner.index_delay_millis()
    }

    fn timeout_millis(&self) -> i64 {
        self.inner.timeout_millis()
    }
}
