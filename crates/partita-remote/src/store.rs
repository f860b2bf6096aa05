//! The store: the trait, one line for each operation.

use std::fmt;

use async_trait::async_trait;
use partita_core::Item;
use partita_store::capacity::Metered;
use partita_store::request::{
    BatchGetItem, BatchGot, BatchWrite, BatchWriteItem, CreateTable, DeleteItem, GetItem,
    ListTables, Page, PutItem, Query, ReturnValues, Scan, TableDescription, TableNames, Tags,
    TransactGetItems, TransactWriteItems, UpdateItem, UpdateTable, UpdateTimeToLive,
};
use partita_store::settings::Keeping;
use partita_store::stream::{
    DescribeStream, GetRecords, GetShardIterator, ListStreams, Records, ShardIterator,
    StreamDescription, StreamNames,
};
use partita_store::table::TableName;
use partita_store::{FoundItem, Store, StoreResult};

use crate::connect::{Clients, RemoteConfig, Timeouts};
use crate::{
    batch_get, batch_write, expiry, keeping, reads, streams, tables, tags, transact_get,
    transact_write, updates, writes,
};

/// Amazon DynamoDB, or a service that speaks its protocol.
pub struct RemoteStore {
    clients: Clients,
    timeouts: Timeouts,
    index_delay_millis: i64,
}

impl RemoteStore {
    /// Finds region and credentials; the service itself is first asked by the first operation.
    pub async fn connect(config: RemoteConfig) -> StoreResult<Self> {
        let timeouts = Timeouts::default();
        Ok(RemoteStore {
            clients: Clients::connect(&config, timeouts).await?,
            timeouts,
            index_delay_millis: i64::try_from(config.index_delay.as_millis()).unwrap_or(i64::MAX),
        })
    }

    /// DynamoDB Local at an endpoint such as `http://127.0.0.1:8000`. It takes any credentials,
    /// so none are looked for.
    pub fn local(endpoint: &str, timeouts: Timeouts) -> Self {
        RemoteStore {
            clients: Clients::local(endpoint, timeouts),
            timeouts,
            // Its indexes are a part of its tables.
            index_delay_millis: 0,
        }
    }
}

/// The clients stay out of it: they hold credentials.
impl fmt::Debug for RemoteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteStore")
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for RemoteStore {
    async fn create_table(&self, request: CreateTable) -> StoreResult<TableDescription> {
        tables::create_table(&self.clients, self.timeouts.table, request).await
    }

    async fn delete_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        tables::delete_table(&self.clients, self.timeouts.table, table).await
    }

    async fn describe_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        tables::describe_created(&self.clients, self.timeouts.table, table).await
    }

    async fn list_tables(&self, request: ListTables) -> StoreResult<TableNames> {
        tables::list_tables(&self.clients, request).await
    }

    async fn update_table(&self, request: UpdateTable) -> StoreResult<TableDescription> {
        updates::update_table(&self.clients, request).await
    }

    async fn update_time_to_live(&self, request: UpdateTimeToLive) -> StoreResult<()> {
        expiry::update_time_to_live(&self.clients, request).await
    }

    async fn describe_time_to_live(&self, table: &TableName) -> StoreResult<Option<String>> {
        expiry::describe_time_to_live(&self.clients, table).await
    }

    async fn describe_keeping(&self, table: &TableName) -> StoreResult<Option<Keeping>> {
        keeping::describe_keeping(&self.clients, table).await
    }

    async fn tag_resource(&self, table: &TableName, tags: Tags) -> StoreResult<()> {
        tags::tag_resource(&self.clients, table, tags).await
    }

    async fn untag_resource(&self, table: &TableName, keys: Vec<String>) -> StoreResult<()> {
        tags::untag_resource(&self.clients, table, keys).await
    }

    async fn list_tags_of_resource(&self, table: &TableName) -> StoreResult<Tags> {
        tags::list_tags_of_resource(&self.clients, table).await
    }

    async fn list_streams(&self, request: ListStreams) -> StoreResult<StreamNames> {
        streams::list_streams(&self.clients, request).await
    }

    async fn describe_stream(&self, request: DescribeStream) -> StoreResult<StreamDescription> {
        streams::describe_stream(&self.clients, request).await
    }

    async fn get_shard_iterator(&self, request: GetShardIterator) -> StoreResult<ShardIterator> {
        streams::get_shard_iterator(&self.clients, request).await
    }

    async fn get_records(&self, request: GetRecords) -> StoreResult<Records> {
        streams::get_records(&self.clients, request).await
    }

    async fn get_item(&self, request: GetItem) -> StoreResult<Metered<Option<FoundItem>>> {
        reads::get_item(&self.clients, request).await
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        batch_get::batch_get_item(&self.clients, request).await
    }

    async fn transact_get_items(
        &self,
        request: TransactGetItems,
    ) -> StoreResult<Metered<Vec<Option<FoundItem>>>> {
        transact_get::transact_get_items(&self.clients, request).await
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        reads::query(&self.clients, request).await
    }

    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>> {
        reads::scan(&self.clients, request).await
    }

    async fn put_item(
        &self,
        request: PutItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        writes::put_item(&self.clients, request, returns).await
    }

    async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        writes::update_item(&self.clients, request, returns).await
    }

    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        writes::delete_item(&self.clients, request, returns).await
    }

    async fn batch_write_item(
        &self,
        request: BatchWriteItem,
    ) -> StoreResult<Metered<Vec<BatchWrite>>> {
        batch_write::batch_write_item(&self.clients, request).await
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        transact_write::transact_write_items(&self.clients, request).await
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn index_delay_millis(&self) -> i64 {
        self.index_delay_millis
    }

    fn timeout_millis(&self) -> i64 {
        i64::try_from(self.timeouts.attempt.as_millis()).unwrap_or(i64::MAX)
    }
}
