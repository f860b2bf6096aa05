//! A store whose writes pass the gate: for what writes past the planner, as a repair does.

use std::sync::Arc;

use async_trait::async_trait;
use partita_core::Item;
use partita_store::capacity::Metered;
use partita_store::request::{
    BatchWrite, BatchWriteItem, DeleteItem, PutItem, ReturnValues, TransactWriteItems, UpdateItem,
};
use partita_store::{Layer, Moment, Store, StoreError, StoreResult};
use tokio::sync::OwnedRwLockReadGuard;

use super::Gate;

/// What is said when a stage has moved.
const MOVED: &str = "a migration has come to another stage since this began, and it knows one design \
                     only: nothing more is written; repair again when the migration is over";

/// A store that takes writes as long as no stage of a migration moves.
pub(crate) struct Gated {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) gate: Gate,
}

impl Gated {
    /// Waits while a stage moves; refuses to write when one has moved.
    pub(crate) async fn pass(&self) -> StoreResult<OwnedRwLockReadGuard<u64>> {
        let passed = self.gate.pass().await;
        passed.map_err(|_| StoreError::ReadOnly {
            message: MOVED.to_owned(),
        })
    }
}

#[async_trait]
impl Layer for Gated {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn put_item(
        &self,
        request: PutItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        let _passed = self.pass().await?;
        self.store.put_item(request, returns).await
    }

    async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        let _passed = self.pass().await?;
        self.store.update_item(request, returns).await
    }

    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        let _passed = self.pass().await?;
        self.store.delete_item(request, returns).await
    }

    async fn batch_write_item(
        &self,
        request: BatchWriteItem,
    ) -> StoreResult<Metered<Vec<BatchWrite>>> {
        let _passed = self.pass().await?;
        self.store.batch_write_item(request).await
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        let _passed = self.pass().await?;
        self.store.transact_write_items(request).await
    }

    async fn transact_write_items_since(
        &self,
        moment: Moment,
        request: TransactWriteItems,
    ) -> StoreResult<bool> {
        let _passed = self.pass().await?;
        self.store.transact_write_items_since(moment, request).await
    }
}
