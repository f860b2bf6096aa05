//! The operations, one line for each. What concerns no items goes to the store behind.

use async_trait::async_trait;
use partita_core::Item;
use partita_store::capacity::Metered;
use partita_store::request::{
    BatchGetItem, BatchGot, BatchWrite, BatchWriteItem, CreateTable, DeleteItem, GetItem, Page,
    PutItem, Query, ReturnValues, Scan, TableDescription, TransactAction, TransactGetItems,
    TransactWriteItems, UpdateItem, UpdateTable,
};
use partita_store::stream::{
    DescribeStream, GetRecords, GetShardIterator, Records, ShardIterator, StreamDescription,
};
use partita_store::table::TableName;
use partita_store::{FoundItem, Layer, Store, StoreResult};

use super::Amazon;

#[async_trait]
impl Layer for Amazon {
    fn inner(&self) -> &dyn Store {
        &*self.primary
    }

    async fn create_table(&self, request: CreateTable) -> StoreResult<TableDescription> {
        self.create(request).await
    }

    async fn delete_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        self.delete(table).await
    }

    async fn describe_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        self.describe(table).await
    }

    async fn update_table(&self, request: UpdateTable) -> StoreResult<TableDescription> {
        self.update(request).await
    }

    async fn describe_stream(&self, request: DescribeStream) -> StoreResult<StreamDescription> {
        self.shards(request).await
    }

    async fn get_shard_iterator(&self, request: GetShardIterator) -> StoreResult<ShardIterator> {
        self.shard_iterator(request).await
    }

    async fn get_records(&self, request: GetRecords) -> StoreResult<Records> {
        self.records(request).await
    }

    async fn get_item(&self, request: GetItem) -> StoreResult<Metered<Option<FoundItem>>> {
        self.get(request).await
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        self.batch_get(request).await
    }

    async fn transact_get_items(
        &self,
        request: TransactGetItems,
    ) -> StoreResult<Metered<Vec<Option<FoundItem>>>> {
        self.transact_get(request).await
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        self.page_of_query(request).await
    }

    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>> {
        self.page_of_scan(request).await
    }

    async fn put_item(
        &self,
        request: PutItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.write(TransactAction::Put(request), returns).await
    }

    async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.write(TransactAction::Update(request), returns).await
    }

    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.write(TransactAction::Delete(request), returns).await
    }

    async fn batch_write_item(
        &self,
        request: BatchWriteItem,
    ) -> StoreResult<Metered<Vec<BatchWrite>>> {
        self.batch_write(request).await
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        self.transact_write(request).await
    }
}
