//! A store whose tables take a while to be created, changed and deleted, as Amazon's do.
//!
//! The stores on one machine are done when they answer. Programs that wait for a table want to be
//! tried against one that is not there yet, so this store says for a while that it is CREATING,
//! UPDATING or DELETING. The store behind it has done the work already; after a restart all tables
//! are settled.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use partita_core::Item;

use crate::capacity::Metered;
use crate::error::{StoreError, StoreResult};
use crate::found::FoundItem;
use crate::layer::Layer;
use crate::request::{
    BatchGetItem, BatchGot, BatchWrite, BatchWriteItem, CreateTable, DeleteItem, GetItem,
    ItemAddress, ListTables, Page, PutItem, Query, ReturnValues, Scan, TableDescription,
    TableNames, TableStatus, Tags, TransactGetItems, TransactWriteItems, UpdateItem, UpdateTable,
    UpdateTimeToLive,
};
use crate::store::Store;
use crate::surroundings::Clock;
use crate::table::TableName;

/// A store whose tables settle after a while.
pub struct SettlingStore {
    inner: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    delay_millis: i64,
    unsettled: Mutex<BTreeMap<TableName, Unsettled>>,
}

#[derive(Clone)]
struct Unsettled {
    status: TableStatus,
    until_millis: i64,
    /// The table as it was, of one that is deleted.
    deleted: Option<TableDescription>,
}

impl SettlingStore {
    /// Wraps a store.
    pub fn new(inner: Arc<dyn Store>, clock: Arc<dyn Clock>, delay_millis: i64) -> Self {
        SettlingStore {
            inner,
            clock,
            delay_millis,
            unsettled: Mutex::default(),
        }
    }

    /// The tables that have not settled yet.
    fn unsettled(&self) -> BTreeMap<TableName, Unsettled> {
        let now = self.clock.now_millis();
        // A map is whole between any two of its changes.
        let mut unsettled = self
            .unsettled
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        unsettled.retain(|_, table| table.until_millis > now);
        unsettled.clone()
    }

    fn begin(&self, status: TableStatus, mut table: TableDescription) -> TableDescription {
        table.status = status;
        let unsettled = Unsettled {
            status,
            until_millis: self.clock.now_millis().saturating_add(self.delay_millis),
            deleted: (status == TableStatus::Deleting).then(|| table.clone()),
        };
        let mut tables = self
            .unsettled
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        tables.insert(table.table.clone(), unsettled);
        table
    }

    /// Refuses to change a table that has not settled.
    fn check_settled(&self, table: &TableName) -> StoreResult<()> {
        let doing = match self.unsettled().get(table).map(|table| table.status) {
            None | Some(TableStatus::Active) => return Ok(()),
            Some(TableStatus::Creating) => "created",
            Some(TableStatus::Updating) => "updated",
            Some(TableStatus::Deleting) => "deleted",
        };
        Err(StoreError::ResourceInUse {
            message: format!(
                "Attempt to change a resource which is still in use: Table is being {doing}: {table}"
            ),
        })
    }

    /// Items are neither read nor written before their table is there.
    fn check_there<'t>(&self, tables: impl IntoIterator<Item = &'t TableName>) -> StoreResult<()> {
        let unsettled = self.unsettled();
        for table in tables {
            let status = unsettled.get(table).map(|table| table.status);
            if status == Some(TableStatus::Creating) {
                let table = table.clone();
                return Err(StoreError::TableNotFound { table });
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Layer for SettlingStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn create_table(&self, request: CreateTable) -> StoreResult<TableDescription> {
        self.check_settled(&request.table)?;
        let created = self.inner.create_table(request).await?;
        Ok(self.begin(TableStatus::Creating, created))
    }

    async fn delete_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        self.check_settled(table)?;
        let deleted = self.inner.delete_table(table).await?;
        Ok(self.begin(TableStatus::Deleting, deleted))
    }

    async fn update_table(&self, request: UpdateTable) -> StoreResult<TableDescription> {
        self.check_settled(&request.table)?;
        let updated = self.inner.update_table(request).await?;
        Ok(self.begin(TableStatus::Updating, updated))
    }

    async fn describe_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        let unsettled = self.unsettled().remove(table);
        let Some(unsettled) = unsettled else {
            return self.inner.describe_table(table).await;
        };
        if let Some(deleted) = unsettled.deleted {
            return Ok(deleted);
        }
        let mut described = self.inner.describe_table(table).await?;
        described.status = unsettled.status;
        Ok(described)
    }

    /// A table that is being deleted is still listed.
    async fn list_tables(&self, request: ListTables) -> StoreResult<TableNames> {
        let unsettled = self.unsettled();
        let deleted = unsettled.into_iter().filter(|(_, it)| it.deleted.is_some());
        let mut deleted = deleted.map(|(name, _)| name).peekable();
        if deleted.peek().is_none() {
            return self.inner.list_tables(request).await;
        }
        let mut names: Vec<TableName> = deleted.collect();
        let mut start_after = None;
        loop {
            let limit = None;
            let page = ListTables { start_after, limit };
            let page = self.inner.list_tables(page).await?;
            names.extend(page.names);
            start_after = page.last;
            if start_after.is_none() {
                break;
            }
        }
        names.sort();
        names.dedup();
        request.page(names.into_iter())
    }

    async fn update_time_to_live(&self, request: UpdateTimeToLive) -> StoreResult<()> {
        self.check_settled(&request.table)?;
        self.inner.update_time_to_live(request).await
    }

    async fn tag_resource(&self, table: &TableName, tags: Tags) -> StoreResult<()> {
        self.check_settled(table)?;
        self.inner.tag_resource(table, tags).await
    }

    async fn untag_resource(&self, table: &TableName, keys: Vec<String>) -> StoreResult<()> {
        self.check_settled(table)?;
        self.inner.untag_resource(table, keys).await
    }

    async fn put_item(
        &self,
        request: PutItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.check_there([&request.table])?;
        self.inner.put_item(request, returns).await
    }

    async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.check_there([&request.table])?;
        self.inner.update_item(request, returns).await
    }

    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.check_there([&request.table])?;
        self.inner.delete_item(request, returns).await
    }

    async fn batch_write_item(
        &self,
        request: BatchWriteItem,
    ) -> StoreResult<Metered<Vec<BatchWrite>>> {
        let writes = request.writes.iter();
        self.check_there(writes.map(|write| match write {
            BatchWrite::Put { table, .. } | BatchWrite::Delete(ItemAddress { table, .. }) => table,
        }))?;
        self.inner.batch_write_item(request).await
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        self.check_there(request.actions.iter().map(|action| action.table()))?;
        self.inner.transact_write_items(request).await
    }

    async fn get_item(&self, request: GetItem) -> StoreResult<Metered<Option<FoundItem>>> {
        self.check_there([&request.table])?;
        self.inner.get_item(request).await
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        self.check_there(request.addresses.iter().map(|address| &address.table))?;
        self.inner.batch_get_item(request).await
    }

    async fn transact_get_items(
        &self,
        request: TransactGetItems,
    ) -> StoreResult<Metered<Vec<Option<FoundItem>>>> {
        self.check_there(request.gets.iter().map(|(address, _)| &address.table))?;
        self.inner.transact_get_items(request).await
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        self.check_there([&request.table])?;
        self.inner.query(request).await
    }

    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>> {
        self.check_there([&request.table])?;
        self.inner.scan(request).await
    }
}

#[cfg(test)]
mod tests;
