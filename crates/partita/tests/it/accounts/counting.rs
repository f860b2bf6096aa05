//! A store that says what it was asked: the kind of each request, and how many items it is about.

use std::sync::Mutex;

use async_trait::async_trait;
use partita_core::Item;
use partita_store::capacity::Metered;
use partita_store::request::{
    BatchGetItem, BatchGot, DeleteItem, Page, PutItem, Query, ReturnValues, TransactWriteItems,
    UpdateItem,
};
use partita_store::{Layer, ModelStore, Store, StoreResult};

/// A store in memory, and what was asked of it.
#[derive(Default)]
pub(super) struct Counting {
    inner: ModelStore,
    asked: Mutex<Vec<(&'static str, usize)>>,
}

impl Counting {
    /// What was asked since the last time.
    pub(super) fn taken(&self) -> Vec<(&'static str, usize)> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    fn note(&self, request: &'static str, items: usize) {
        self.asked.lock().unwrap().push((request, items));
    }
}

#[async_trait]
impl Layer for Counting {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        self.note("get", request.addresses.len());
        self.inner.batch_get_item(request).await
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        self.note("query", 1);
        self.inner.query(request).await
    }

    async fn put_item(
        &self,
        request: PutItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.note("put", 1);
        self.inner.put_item(request, returns).await
    }

    async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.note("update", 1);
        self.inner.update_item(request, returns).await
    }

    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.note("delete", 1);
        self.inner.delete_item(request, returns).await
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        self.note("transaction", request.actions.len());
        self.inner.transact_write_items(request).await
    }
}
