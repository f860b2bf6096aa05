//! Tables that one reads and writes alone while many items come into them.

use std::sync::Arc;

use async_trait::async_trait;
use partita_core::Item;
use partita_store::capacity::Metered;
use partita_store::request::{
    BatchGetItem, BatchGot, BatchWrite, BatchWriteItem, DeleteItem, GetItem, Page, PutItem, Query,
    ReturnValues, Scan, TransactAction,
};
use partita_store::table::TableName;
use partita_store::{FoundItem, Layer, Snapshot, Store, StoreResult};

use crate::store::EngineStore;
use crate::weight;

/// The store, for the one who fills tables of it.
///
/// From the beginning nobody else writes these tables; from [`Filling::close`] on nobody else reads
/// them either, and feeds and snapshots do not see them. [`Filling::open`] ends both. A filling that
/// is dropped before leaves closed tables closed, because they have a part of the items: the next one
/// begins where it ended.
pub struct Filling {
    store: Arc<EngineStore>,
    tables: Vec<TableName>,
}

impl EngineStore {
    /// Begins to fill tables, and returns when every write that was accepted before is carried out.
    /// Callers are answered with this reason. Tables that are frozen, or that another one fills, are
    /// refused with theirs.
    pub async fn fill_tables(
        self: &Arc<Self>,
        tables: &[TableName],
        reason: &str,
    ) -> StoreResult<Filling> {
        self.frozen.hold(tables, reason)?;
        let filling = Filling {
            store: self.clone(),
            tables: tables.to_vec(),
        };
        // Whatever was in the queue before is done when this is; what comes later is refused.
        self.write(1, |_| Ok(())).await?;
        Ok(filling)
    }
}

impl Filling {
    /// Has nobody else read the tables.
    pub fn close(&self) {
        self.store.frozen.close(&self.tables);
    }

    /// Lets everybody read and write the tables.
    pub fn open(&self) {
        self.store.frozen.open(&self.tables);
    }

    async fn single(
        &self,
        action: TransactAction,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        let bytes = weight::of_action(&action);
        let write = self.store.write(bytes, move |batch| {
            batch.past_frost(|batch| batch.single(&action, returns))
        });
        write.await
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        self.store.frozen.release(&self.tables);
    }
}

#[async_trait]
impl Layer for Filling {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn put_item(
        &self,
        request: PutItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.single(TransactAction::Put(request), returns).await
    }

    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.single(TransactAction::Delete(request), returns).await
    }

    async fn batch_write_item(
        &self,
        request: BatchWriteItem,
    ) -> StoreResult<Metered<Vec<BatchWrite>>> {
        let bytes = weight::of_batch(&request);
        let write = self.store.write(bytes, |batch| {
            batch.past_frost(|batch| batch.batch_write(request))
        });
        write.await
    }

    async fn get_item(&self, request: GetItem) -> StoreResult<Metered<Option<FoundItem>>> {
        self.store.read_item(request)
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        self.store.read_items(request).await
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        self.store.read_query(request).await
    }

    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>> {
        self.store.read_scan(request).await
    }

    /// None: what is read here is read as it is now.
    fn snapshot(&self) -> Option<Arc<dyn Snapshot>> {
        None
    }
}

#[cfg(test)]
mod tests;
