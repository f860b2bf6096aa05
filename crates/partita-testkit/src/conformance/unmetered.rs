//! A store's answers without what they consumed, which only the cases about capacity ask for,
//! and with items in their parts, whatever form the store answers them in.

use partita_core::Item;

use partita_store::capacity::Metered;
use partita_store::error::StoreResult;
use partita_store::found::FoundItem;
use partita_store::request::{
    BatchGetItem, BatchGot, BatchWrite, BatchWriteItem, CreateTable, DeleteItem, GetItem,
    ListTables, Page, PutItem, Query, ReturnValues, Scan, TableDescription, TableNames,
    TransactGetItems, TransactWriteItems, UpdateItem, UpdateTable,
};
use partita_store::store::Store;
use partita_store::table::TableName;

/// A store whose operations answer without a meter.
#[derive(Clone, Copy)]
pub(super) struct Unmetered<'a>(pub(super) &'a dyn Store);

fn answer<T>(metered: Metered<T>) -> T {
    metered.answer
}

impl Unmetered<'_> {
    pub(super) async fn create_table(&self, request: CreateTable) -> StoreResult<TableDescription> {
        self.0.create_table(request).await
    }

    pub(super) async fn delete_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        self.0.delete_table(table).await
    }

    pub(super) async fn describe_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        self.0.describe_table(table).await
    }

    pub(super) async fn list_tables(&self, request: ListTables) -> StoreResult<TableNames> {
        self.0.list_tables(request).await
    }

    pub(super) async fn update_table(&self, request: UpdateTable) -> StoreResult<TableDescription> {
        self.0.update_table(request).await
    }

    pub(super) async fn get_item(&self, request: GetItem) -> StoreResult<Option<Item>> {
        let item = self.0.get_item(request).await?.answer;
        item.map(FoundItem::into_item).transpose()
    }

    pub(super) async fn batch_get_item(
        &self,
        request: BatchGetItem,
    ) -> StoreResult<Vec<BatchGot<Item>>> {
        let got = self.0.batch_get_item(request).await?.answer;
        got.into_iter().map(BatchGot::into_parts).collect()
    }

    pub(super) async fn transact_get_items(
        &self,
        request: TransactGetItems,
    ) -> StoreResult<Vec<Option<Item>>> {
        let items = self.0.transact_get_items(request).await?.answer;
        let items = items.into_iter();
        let in_parts = |item: Option<FoundItem>| item.map(FoundItem::into_item).transpose();
        items.map(in_parts).collect()
    }

    pub(super) async fn query(&self, request: Query) -> StoreResult<Page<Item>> {
        self.0.query(request).await?.answer.into_parts()
    }

    pub(super) async fn scan(&self, request: Scan) -> StoreResult<Page<Item>> {
        self.0.scan(request).await?.answer.into_parts()
    }

    pub(super) async fn put_item(
        &self,
        request: PutItem,
        returns: ReturnValues,
    ) -> StoreResult<Option<Item>> {
        self.0.put_item(request, returns).await.map(answer)
    }

    pub(super) async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Option<Item>> {
        self.0.update_item(request, returns).await.map(answer)
    }

    pub(super) async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Option<Item>> {
        self.0.delete_item(request, returns).await.map(answer)
    }

    pub(super) async fn batch_write_item(
        &self,
        request: BatchWriteItem,
    ) -> StoreResult<Vec<BatchWrite>> {
        self.0.batch_write_item(request).await.map(answer)
    }

    pub(super) async fn transact_write_items(
        &self,
        request: TransactWriteItems,
    ) -> StoreResult<()> {
        self.0.transact_write_items(request).await.map(answer)
    }
}
