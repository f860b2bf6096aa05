//! The store: the trait, one line for each operation.

use std::fmt;

use async_trait::async_trait;
use partita_core::Item;
use partita_store::request::{
    BatchGetItem, BatchGot, CreateTable, DeleteItem, GetItem, Page, PutItem, Query, ReturnValues,
    Scan, TableDescription, TransactWriteItems, UpdateItem,
};
use partita_store::table::TableName;
use partita_store::{Store, StoreResult};

use crate::connect::{Clients, RemoteConfig, Timeouts};
use crate::{batch_get, reads, tables, transaction, writes};

/// Amazon DynamoDB, or a service that speaks its protocol.
pub struct RemoteStore {
    clients: Clients,
    timeouts: Timeouts,
}

impl RemoteStore {
    /// Finds region and credentials; the service itself is first asked by the first operation.
    pub async fn connect(config: RemoteConfig) -> StoreResult<Self> {
        let timeouts = Timeouts::default();
        Ok(RemoteStore {
            clients: Clients::connect(&config, timeouts).await?,
            timeouts,
        })
    }

    /// DynamoDB Local at an endpoint such as `http://127.0.0.1:8000`. It takes any credentials,
    /// so none are looked for.
    pub fn local(endpoint: &str, timeouts: Timeouts) -> Self {
        RemoteStore {
            clients: Clients::local(endpoint, timeouts),
            timeouts,
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

    async fn describe_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        tables::describe_table(&self.clients, table).await
    }

    async fn get_item(&self, request: GetItem) -> StoreResult<Option<Item>> {
        reads::get_item(&self.clients, request).await
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Vec<BatchGot>> {
        batch_get::batch_get_item(&self.clients, request).await
    }

    async fn query(&self, request: Query) -> StoreResult<Page> {
        reads::query(&self.clients, request).await
    }

    async fn scan(&self, request: Scan) -> StoreResult<Page> {
        reads::scan(&self.clients, request).await
    }

    async fn put_item(&self, request: PutItem, returns: ReturnValues) -> StoreResult<Option<Item>> {
        writes::put_item(&self.clients, request, returns).await
    }

    async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Option<Item>> {
        writes::update_item(&self.clients, request, returns).await
    }

    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Option<Item>> {
        writes::delete_item(&self.clients, request, returns).await
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<()> {
        transaction::transact_write_items(&self.clients, request).await
    }
}
