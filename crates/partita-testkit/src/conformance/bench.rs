//! What a case works with: fresh tables, and short calls for what cases do over and over.

use std::future::poll_fn;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use partita_core::Item;
use partita_core::expression::{Condition, KeyCondition, Update};

use super::unmetered::Unmetered;
use partita_store::error::{StoreError, StoreResult};
use partita_store::request::{
    BatchGetItem, BatchGot, ConditionCheck, CreateTable, DeleteItem, GetItem, ItemAddress, Page,
    PutItem, Query, ReturnValues, Scan, TableChange, TableDescription, TransactAction,
    TransactWriteItems, UpdateItem, UpdateTable,
};
use partita_store::store::Store;
use partita_store::table::{KeySchema, TableName, TableSchema};

/// How often, and how many times, a store is asked whether it is done.
const POLL: Duration = Duration::from_millis(5);
const POLLS_MAX: usize = 4_000;

/// The surroundings of one case.
pub(super) struct Bench<'a> {
    pub(super) store: Unmetered<'a>,
    name: String,
    tables: AtomicUsize,
}

impl<'a> Bench<'a> {
    pub(super) fn new(store: &'a dyn Store, name: String) -> Self {
        Bench {
            store: Unmetered(store),
            name,
            tables: AtomicUsize::new(0),
        }
    }

    /// A name that no table has yet.
    pub(super) fn fresh_name(&self) -> TableName {
        let number = self.tables.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number}", self.name)
            .parse()
            .expect("the caller's `unique` is short and fit for a table's name")
    }

    /// A client request token that no other case uses, nor the same case in another run.
    pub(super) fn token(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.fresh_name().hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// A fresh table with the string keys `PK` and `SK`.
    pub(super) async fn table(&self) -> StoreResult<Table<'a>> {
        self.table_with(KeySchema::strings("PK", "SK")).await
    }

    /// A fresh table with other keys, or with indexes.
    pub(super) async fn table_with(
        &self,
        schema: impl Into<TableSchema>,
    ) -> StoreResult<Table<'a>> {
        self.table_as(|_| {}, schema).await
    }

    /// A fresh table with other settings.
    pub(super) async fn table_as(
        &self,
        set: impl FnOnce(&mut CreateTable),
        schema: impl Into<TableSchema>,
    ) -> StoreResult<Table<'a>> {
        let name = self.fresh_name();
        let mut request = CreateTable::new(name.clone(), schema);
        set(&mut request);
        self.store.create_table(request).await?;
        Ok(Table {
            store: self.store,
            name,
        })
    }
}

/// One table of a case. What a method does not say of a request is left at its default, and
/// every read is consistent.
pub(super) struct Table<'a> {
    pub(super) store: Unmetered<'a>,
    pub(super) name: TableName,
}

impl Table<'_> {
    pub(super) async fn put(&self, item: Item) -> StoreResult<()> {
        let request = self.putting(item);
        self.store.put_item(request, ReturnValues::None).await?;
        Ok(())
    }

    pub(super) async fn get(&self, key: Item) -> StoreResult<Option<Item>> {
        let request = GetItem::new(self.name.clone(), key);
        self.store.get_item(request).await
    }

    /// Updates an item and answers with what became of it.
    pub(super) async fn update(&self, key: Item, update: Update) -> StoreResult<Item> {
        let request = self.updating(key, update);
        let new = self
            .store
            .update_item(request, ReturnValues::AllNew)
            .await?;
        Ok(new.expect("an update that succeeds leaves an item"))
    }

    pub(super) async fn delete(&self, key: Item) -> StoreResult<()> {
        let request = self.deleting(key);
        self.store.delete_item(request, ReturnValues::None).await?;
        Ok(())
    }

    /// The items that a key condition finds, all pages of them.
    pub(super) async fn query(&self, keys: KeyCondition) -> StoreResult<Vec<Item>> {
        self.query_pages(Query::new(self.name.clone(), keys))
            .await
            .map(|pages| pages.into_iter().flat_map(|page| page.items).collect())
    }

    /// The entries of an index that a key condition finds, all pages of them.
    pub(super) async fn entries(&self, index: &str, keys: KeyCondition) -> StoreResult<Vec<Item>> {
        let pages = self.query_pages(self.of_index(index, keys)).await?;
        Ok(pages.into_iter().flat_map(|page| page.items).collect())
    }

    /// A query of an index, which need not have seen every write.
    pub(super) fn of_index(&self, index: &str, keys: KeyCondition) -> Query {
        Query {
            index: Some(index.to_owned()),
            consistent: false,
            ..Query::new(self.name.clone(), keys)
        }
    }

    /// A scan of an index, likewise.
    pub(super) fn through(&self, index: &str) -> Scan {
        Scan {
            index: Some(index.to_owned()),
            consistent: false,
            ..Scan::new(self.name.clone())
        }
    }

    /// Follows a query to its end.
    pub(super) async fn query_pages(&self, mut query: Query) -> StoreResult<Vec<Page<Item>>> {
        let mut pages = Vec::new();
        loop {
            let page = self.store.query(query.clone()).await?;
            query.start_after = page.last_key.clone();
            pages.push(page);
            if query.start_after.is_none() {
                return Ok(pages);
            }
        }
    }

    /// Follows a scan to its end.
    pub(super) async fn scan_pages(&self, mut scan: Scan) -> StoreResult<Vec<Page<Item>>> {
        let mut pages = Vec::new();
        loop {
            let page = self.store.scan(scan.clone()).await?;
            scan.start_after = page.last_key.clone();
            pages.push(page);
            if scan.start_after.is_none() {
                return Ok(pages);
            }
        }
    }

    pub(super) async fn batch_get(&self, keys: Vec<Item>) -> StoreResult<Vec<BatchGot<Item>>> {
        let addresses = keys.into_iter().map(|key| self.address(key)).collect();
        self.store
            .batch_get_item(BatchGetItem::new(addresses))
            .await
    }

    pub(super) async fn describe(&self) -> StoreResult<TableDescription> {
        self.store.describe_table(&self.name).await
    }

    pub(super) async fn change(&self, change: TableChange) -> StoreResult<TableDescription> {
        let request = UpdateTable {
            table: self.name.clone(),
            changes: vec![change],
        };
        self.store.update_table(request).await
    }

    /// Changes the table once the store is done with an earlier change of an index.
    pub(super) async fn change_when_free(&self, change: TableChange) -> StoreResult<()> {
        for _ in 0..POLLS_MAX {
            match self.change(change.clone()).await {
                Err(StoreError::LimitExceeded { .. } | StoreError::ResourceInUse { .. }) => {
                    wait().await;
                }
                done => return done.map(drop),
            }
        }
        panic!("an index of {} is never done", self.name);
    }

    /// The entries of an index, once the store is done with a change of the table. DynamoDB Local
    /// fails reads for a moment after it has let an index go.
    pub(super) async fn entries_when_free(
        &self,
        index: &str,
        keys: KeyCondition,
    ) -> StoreResult<Vec<Item>> {
        for _ in 0..POLLS_MAX {
            match self.entries(index, keys.clone()).await {
                Err(StoreError::Unavailable { .. }) => wait().await,
                done => return done,
            }
        }
        panic!("an index of {} is never done", self.name);
    }

    /// Waits until no index of the table is being built.
    pub(super) async fn until_built(&self) -> StoreResult<()> {
        for _ in 0..POLLS_MAX {
            if self.describe().await?.building.is_empty() {
                return Ok(());
            }
            wait().await;
        }
        panic!("an index of {} is never built", self.name);
    }

    pub(super) async fn transact(&self, actions: Vec<TransactAction>) -> StoreResult<()> {
        let request = TransactWriteItems {
            actions,
            token: None,
        };
        self.store.transact_write_items(request).await
    }

    pub(super) fn address(&self, key: Item) -> ItemAddress {
        ItemAddress {
            table: self.name.clone(),
            key,
        }
    }

    pub(super) fn putting(&self, item: Item) -> PutItem {
        PutItem::new(self.name.clone(), item)
    }

    pub(super) fn updating(&self, key: Item, update: Update) -> UpdateItem {
        UpdateItem {
            table: self.name.clone(),
            key,
            update,
            condition: None,
            return_item_on_failure: false,
        }
    }

    pub(super) fn deleting(&self, key: Item) -> DeleteItem {
        DeleteItem {
            table: self.name.clone(),
            key,
            condition: None,
            return_item_on_failure: false,
        }
    }

    pub(super) fn checking(&self, key: Item, condition: Condition) -> ConditionCheck {
        ConditionCheck {
            table: self.name.clone(),
            key,
            condition,
            return_item_on_failure: false,
        }
    }
}

/// Waits a moment for a store that works elsewhere: in a thread, in a task that needs its turn,
/// far away.
async fn wait() {
    let mut has_waited = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    std::thread::sleep(POLL);
}
