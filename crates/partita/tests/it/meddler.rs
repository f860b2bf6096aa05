//! A store in which something happens between what a plan has read and its transaction.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use partita_core::Item;
use partita_store::capacity::Metered;
use partita_store::found::FoundItem;
use partita_store::request::{
    BatchGetItem, BatchGot, BatchWrite, BatchWriteItem, CreateTable, DeleteItem, GetItem,
    ListTables, Page, PutItem, Query, ReturnValues, Scan, TableDescription, TableNames, Tags,
    TransactAction, TransactGetItems, TransactWriteItems, UpdateItem, UpdateTable,
    UpdateTimeToLive,
};
use partita_store::stream::{
    DescribeStream, GetRecords, GetShardIterator, ListStreams, Records, ShardIterator,
    StreamDescription, StreamNames,
};
use partita_store::table::TableName;
use partita_store::{Store, StoreResult};

/// What happens in between.
pub(crate) type Meddle = Box<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// What is left of an action.
pub(crate) type SpoilAction = fn(TransactAction) -> Option<TransactAction>;

/// The store.
pub(crate) struct Meddler {
    inner: Arc<dyn Store>,
    meddle: Meddle,
    /// A mistake in every transaction.
    spoil: Option<SpoilAction>,
    is_armed: AtomicBool,
    has_meddled: AtomicBool,
}

impl Meddler {
    pub(crate) fn new(
        inner: Arc<dyn Store>,
        meddle: Meddle,
        spoil: Option<SpoilAction>,
    ) -> Meddler {
        Meddler {
            inner,
            meddle,
            spoil,
            is_armed: AtomicBool::new(false),
            has_meddled: AtomicBool::new(false),
        }
    }

    /// Lets it happen before the next transaction.
    pub(crate) fn arm(&self) {
        self.is_armed.store(true, Ordering::SeqCst);
    }

    pub(crate) fn has_meddled(&self) -> bool {
        self.has_meddled.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Store for Meddler {
    async fn create_table(&self, request: CreateTable) -> StoreResult<TableDescription> {
        self.inner.create_table(request).await
    }

    async fn delete_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        self.inner.delete_table(table).await
    }

    async fn describe_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        self.inner.describe_table(table).await
    }

    async fn list_tables(&self, request: ListTables) -> StoreResult<TableNames> {
        self.inner.list_tables(request).await
    }

    async fn update_table(&self, request: UpdateTable) -> StoreResult<TableDescription> {
        self.inner.update_table(request).await
    }

    async fn update_time_to_live(&self, request: UpdateTimeToLive) -> StoreResult<()> {
        self.inner.update_time_to_live(request).await
    }

    async fn describe_time_to_live(&self, table: &TableName) -> StoreResult<Option<String>> {
        self.inner.describe_time_to_live(table).await
    }

    async fn tag_resource(&self, table: &TableName, tags: Tags) -> StoreResult<()> {
        self.inner.tag_resource(table, tags).await
    }

    async fn untag_resource(&self, table: &TableName, keys: Vec<String>) -> StoreResult<()> {
        self.inner.untag_resource(table, keys).await
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

    async fn put_item(
        &self,
        request: PutItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.inner.put_item(request, returns).await
    }

    async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.inner.update_item(request, returns).await
    }

    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.inner.delete_item(request, returns).await
    }

    async fn batch_write_item(
        &self,
        request: BatchWriteItem,
    ) -> StoreResult<Metered<Vec<BatchWrite>>> {
        self.inner.batch_write_item(request).await
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        if self.is_armed.swap(false, Ordering::SeqCst) {
            (self.meddle)().await;
            self.has_meddled.store(true, Ordering::SeqCst);
        }
        let mut request = request;
        if let Some(spoil) = self.spoil {
            request.actions = request.actions.into_iter().filter_map(spoil).collect();
        }
        self.inner.transact_write_items(request).await
    }
}
