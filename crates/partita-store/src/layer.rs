//! A store in front of another: what it does not do itself, the one behind it does.
//!
//! A new kind of wrapper overrides the operations that it is about. It must be safe that an
//! operation which is added to [`Store`] passes through; a wrapper for which it is not, such as
//! [`GuardedStore`](crate::GuardedStore), implements [`Store`] itself.

use std::sync::Arc;

use async_trait::async_trait;
use partita_core::Item;
use tokio::sync::watch;

use crate::capacity::Metered;
use crate::error::StoreResult;
use crate::found::FoundItem;
use crate::meters::Meters;
use crate::request::{
    BatchGetItem, BatchGot, BatchWrite, BatchWriteItem, CreateTable, DeleteItem, GetItem,
    ListTables, Page, PutItem, Query, ReturnValues, Scan, TableDescription, TableNames, Tags,
    TransactGetItems, TransactWriteItems, UpdateItem, UpdateTable, UpdateTimeToLive,
};
use crate::settings::Keeping;
use crate::snapshot::{Moment, Snapshot};
use crate::store::Store;
use crate::stream::{
    DescribeStream, GetRecords, GetShardIterator, ListStreams, Records, ShardIterator,
    StreamDescription, StreamNames,
};
use crate::table::TableName;

/// A wrapper of a store. Every [`Layer`] is a [`Store`].
#[async_trait]
#[expect(missing_docs, reason = "the operations are those of `Store`")]
pub trait Layer: Send + Sync {
    /// The store behind this one.
    fn inner(&self) -> &dyn Store;

    async fn create_table(&self, request: CreateTable) -> StoreResult<TableDescription> {
        self.inner().create_table(request).await
    }

    async fn delete_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        self.inner().delete_table(table).await
    }

    async fn describe_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        self.inner().describe_table(table).await
    }

    async fn list_tables(&self, request: ListTables) -> StoreResult<TableNames> {
        self.inner().list_tables(request).await
    }

    async fn update_table(&self, request: UpdateTable) -> StoreResult<TableDescription> {
        self.inner().update_table(request).await
    }

    async fn update_time_to_live(&self, request: UpdateTimeToLive) -> StoreResult<()> {
        self.inner().update_time_to_live(request).await
    }

    async fn describe_time_to_live(&self, table: &TableName) -> StoreResult<Option<String>> {
        self.inner().describe_time_to_live(table).await
    }

    async fn describe_keeping(&self, table: &TableName) -> StoreResult<Option<Keeping>> {
        self.inner().describe_keeping(table).await
    }

    async fn tag_resource(&self, table: &TableName, tags: Tags) -> StoreResult<()> {
        self.inner().tag_resource(table, tags).await
    }

    async fn untag_resource(&self, table: &TableName, keys: Vec<String>) -> StoreResult<()> {
        self.inner().untag_resource(table, keys).await
    }

    async fn list_tags_of_resource(&self, table: &TableName) -> StoreResult<Tags> {
        self.inner().list_tags_of_resource(table).await
    }

    async fn list_streams(&self, request: ListStreams) -> StoreResult<StreamNames> {
        self.inner().list_streams(request).await
    }

    async fn describe_stream(&self, request: DescribeStream) -> StoreResult<StreamDescription> {
        self.inner().describe_stream(request).await
    }

    async fn get_shard_iterator(&self, request: GetShardIterator) -> StoreResult<ShardIterator> {
        self.inner().get_shard_iterator(request).await
    }

    async fn get_records(&self, request: GetRecords) -> StoreResult<Records> {
        self.inner().get_records(request).await
    }

    async fn get_item(&self, request: GetItem) -> StoreResult<Metered<Option<FoundItem>>> {
        self.inner().get_item(request).await
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        self.inner().batch_get_item(request).await
    }

    async fn transact_get_items(
        &self,
        request: TransactGetItems,
    ) -> StoreResult<Metered<Vec<Option<FoundItem>>>> {
        self.inner().transact_get_items(request).await
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        self.inner().query(request).await
    }

    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>> {
        self.inner().scan(request).await
    }

    async fn put_item(
        &self,
        request: PutItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.inner().put_item(request, returns).await
    }

    async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.inner().update_item(request, returns).await
    }

    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.inner().delete_item(request, returns).await
    }

    async fn batch_write_item(
        &self,
        request: BatchWriteItem,
    ) -> StoreResult<Metered<Vec<BatchWrite>>> {
        self.inner().batch_write_item(request).await
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        self.inner().transact_write_items(request).await
    }

    async fn transact_write_items_since(
        &self,
        moment: Moment,
        request: TransactWriteItems,
    ) -> StoreResult<bool> {
        let inner = self.inner();
        inner.transact_write_items_since(moment, request).await
    }

    fn snapshot(&self) -> Option<Arc<dyn Snapshot>> {
        self.inner().snapshot()
    }

    fn commits(&self) -> Option<watch::Receiver<u64>> {
        self.inner().commits()
    }

    fn doubts_clock(&self) -> bool {
        self.inner().doubts_clock()
    }

    fn is_shared(&self) -> bool {
        self.inner().is_shared()
    }

    fn index_delay_millis(&self) -> i64 {
        self.inner().index_delay_millis()
    }

    fn timeout_millis(&self) -> i64 {
        self.inner().timeout_millis()
    }

    fn meters(&self) -> Option<Meters> {
        self.inner().meters()
    }
}

#[async_trait]
impl<L: Layer> Store for L {
    async fn create_table(&self, request: CreateTable) -> StoreResult<TableDescription> {
        Layer::create_table(self, request).await
    }

    async fn delete_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        Layer::delete_table(self, table).await
    }

    async fn describe_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        Layer::describe_table(self, table).await
    }

    async fn list_tables(&self, request: ListTables) -> StoreResult<TableNames> {
        Layer::list_tables(self, request).await
    }

    async fn update_table(&self, request: UpdateTable) -> StoreResult<TableDescription> {
        Layer::update_table(self, request).await
    }

    async fn update_time_to_live(&self, request: UpdateTimeToLive) -> StoreResult<()> {
        Layer::update_time_to_live(self, request).await
    }

    async fn describe_time_to_live(&self, table: &TableName) -> StoreResult<Option<String>> {
        Layer::describe_time_to_live(self, table).await
    }

    async fn describe_keeping(&self, table: &TableName) -> StoreResult<Option<Keeping>> {
        Layer::describe_keeping(self, table).await
    }

    async fn tag_resource(&self, table: &TableName, tags: Tags) -> StoreResult<()> {
        Layer::tag_resource(self, table, tags).await
    }

    async fn untag_resource(&self, table: &TableName, keys: Vec<String>) -> StoreResult<()> {
        Layer::untag_resource(self, table, keys).await
    }

    async fn list_tags_of_resource(&self, table: &TableName) -> StoreResult<Tags> {
        Layer::list_tags_of_resource(self, table).await
    }

    async fn list_streams(&self, request: ListStreams) -> StoreResult<StreamNames> {
        Layer::list_streams(self, request).await
    }

    async fn describe_stream(&self, request: DescribeStream) -> StoreResult<StreamDescription> {
        Layer::describe_stream(self, request).await
    }

    async fn get_shard_iterator(&self, request: GetShardIterator) -> StoreResult<ShardIterator> {
        Layer::get_shard_iterator(self, request).await
    }

    async fn get_records(&self, request: GetRecords) -> StoreResult<Records> {
        Layer::get_records(self, request).await
    }

    async fn get_item(&self, request: GetItem) -> StoreResult<Metered<Option<FoundItem>>> {
        Layer::get_item(self, request).await
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        Layer::batch_get_item(self, request).await
    }

    async fn transact_get_items(
        &self,
        request: TransactGetItems,
    ) -> StoreResult<Metered<Vec<Option<FoundItem>>>> {
        Layer::transact_get_items(self, request).await
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        Layer::query(self, request).await
    }

    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>> {
        Layer::scan(self, request).await
    }

    async fn put_item(
        &self,
        request: PutItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        Layer::put_item(self, request, returns).await
    }

    async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        Layer::update_item(self, request, returns).await
    }

    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        Layer::delete_item(self, request, returns).await
    }

    async fn batch_write_item(
        &self,
        request: BatchWriteItem,
    ) -> StoreResult<Metered<Vec<BatchWrite>>> {
        Layer::batch_write_item(self, request).await
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        Layer::transact_write_items(self, request).await
    }

    async fn transact_write_items_since(
        &self,
        moment: Moment,
        request: TransactWriteItems,
    ) -> StoreResult<bool> {
        Layer::transact_write_items_since(self, moment, request).await
    }

    fn snapshot(&self) -> Option<Arc<dyn Snapshot>> {
        Layer::snapshot(self)
    }

    fn commits(&self) -> Option<watch::Receiver<u64>> {
        Layer::commits(self)
    }

    fn doubts_clock(&self) -> bool {
        Layer::doubts_clock(self)
    }

    fn is_shared(&self) -> bool {
        Layer::is_shared(self)
    }

    fn index_delay_millis(&self) -> i64 {
        Layer::index_delay_millis(self)
    }

    fn timeout_millis(&self) -> i64 {
        Layer::timeout_millis(self)
    }

    fn meters(&self) -> Option<Meters> {
        Layer::meters(self)
    }
}
