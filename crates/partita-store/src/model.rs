//! The reference: a map in memory that is right because there is nothing in it to go wrong.
//!
//! It is the oracle of every test and the store behind `--memory`. Keys are compared as values,
//! not as bytes, so that it can find fault with the engine's key encoding.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use partita_core::Item;
use partita_core::limits::CLIENT_REQUEST_TOKEN_SECONDS;

use crate::capacity::Metered;
use crate::error::{StoreError, StoreResult};
use crate::read::{self, Items, PageBuilder, Place, Reading};
use crate::request::{
    BatchGetItem, BatchGot, BatchWrite, BatchWriteItem, CreateTable, DeleteItem, GetItem,
    ItemAddress, ListTables, Page, PutItem, Query, ReturnValues, Scan, TableDescription,
    TableNames, TransactAction, TransactGetItems, TransactWriteItems, UpdateItem,
};
use crate::settings::TableSettings;
use crate::store::Store;
use crate::surroundings::{Clock, SystemClock};
use crate::table::{Key, TableName, TableSchema};
use crate::write::{self, Change, PlacedChange, Tables};

/// A store in memory.
pub struct ModelStore {
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
}

#[derive(Default)]
struct State {
    tables: BTreeMap<TableName, Table>,
    /// By client request token: the transaction's fingerprint, and until when it counts.
    tokens: HashMap<String, (u64, i64)>,
}

struct Table {
    schema: Arc<TableSchema>,
    settings: TableSettings,
    created_millis: i64,
    items: BTreeMap<Key, Item>,
}

impl Default for ModelStore {
    fn default() -> Self {
        ModelStore::new(Arc::new(SystemClock))
    }
}

impl ModelStore {
    /// An empty store.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        ModelStore {
            state: Mutex::default(),
            clock,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Changes are computed before the first is made, so a panic leaves no half write behind.
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn write(
        &self,
        action: TransactAction,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        let mut state = self.state();
        let (change, returned) = write::single(&action, returns, &*state)?;
        state.make(change);
        Ok(returned)
    }
}

impl State {
    fn table(&self, table: &TableName) -> StoreResult<&Table> {
        self.tables
            .get(table)
            .ok_or_else(|| StoreError::TableNotFound {
                table: table.clone(),
            })
    }

    fn make(&mut self, change: PlacedChange) {
        let PlacedChange {
            table, key, change, ..
        } = change;
        let table = self
            .tables
            .get_mut(&table)
            .expect("the change was computed from this table");
        match change {
            Change::Keep => {}
            Change::Put(item) => {
                table.items.insert(key, item);
            }
            Change::Delete => {
                table.items.remove(&key);
            }
        }
    }
}

impl Table {
    fn describe(&self, table: &TableName) -> TableDescription {
        let schema = (*self.schema).clone();
        TableDescription {
            settings: self.settings.clone(),
            ..TableDescription::new(table.clone(), schema, self.created_millis)
        }
    }

    /// The rows of a reading in its order. An index is not kept: it is computed from the items,
    /// every time.
    fn rows(&self, reading: &Reading<'_>) -> StoreResult<BTreeMap<Place, &Item>> {
        let mut rows = BTreeMap::new();
        for item in self.items.values() {
            if let Some(place) = reading.source.place(item)?
                && reading.contains(&place)
            {
                rows.insert(place, item);
            }
        }
        Ok(rows)
    }

    fn fill(&self, reading: &Reading<'_>, page: &mut PageBuilder<'_>) -> StoreResult<()> {
        let rows = self.rows(reading)?;
        let mut rows: Vec<_> = rows.into_iter().collect();
        if reading.descending {
            rows.reverse();
        }
        for (place, item) in rows {
            if page.is_full() {
                break;
            }
            let fetched = reading.fetches_items.then(|| item.clone());
            page.push(place, reading.source.row(item), fetched);
        }
        Ok(())
    }
}

impl Tables for State {
    fn schema(&self, table: &TableName) -> StoreResult<Arc<TableSchema>> {
        Ok(self.table(table)?.schema.clone())
    }

    fn read(&self, table: &TableName, key: &Key) -> StoreResult<Option<Item>> {
        Ok(self.table(table)?.items.get(key).cloned())
    }
}

impl Items for State {
    fn item(&self, address: &ItemAddress) -> StoreResult<Option<Item>> {
        let table = self.table(&address.table)?;
        let key = table.schema.key.exact_key(&address.key)?;
        Ok(table.items.get(&key).cloned())
    }
}

#[async_trait]
impl Store for ModelStore {
    async fn create_table(&self, request: CreateTable) -> StoreResult<TableDescription> {
        let CreateTable {
            table,
            schema,
            settings,
            ..
        } = request;
        schema.check()?;
        let mut state = self.state();
        if state.tables.contains_key(&table) {
            return Err(StoreError::TableExists { table });
        }
        let created = Table {
            schema: Arc::new(schema),
            settings,
            created_millis: self.clock.now_millis(),
            items: BTreeMap::new(),
        };
        let description = created.describe(&table);
        state.tables.insert(table, created);
        Ok(description)
    }

    async fn delete_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        let mut state = self.state();
        let description = state.table(table)?.describe(table);
        state.tables.remove(table);
        Ok(description)
    }

    async fn describe_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        Ok(self.state().table(table)?.describe(table))
    }

    async fn list_tables(&self, request: ListTables) -> StoreResult<TableNames> {
        let state = self.state();
        request.page(state.tables.keys().cloned())
    }

    async fn get_item(&self, request: GetItem) -> StoreResult<Metered<Option<Item>>> {
        let GetItem {
            table,
            key,
            consistent,
            projection,
        } = request;
        let address = ItemAddress { table, key };
        let item = self.state().item(&address)?;
        Ok(read::one(
            &address.table,
            item,
            projection.as_ref(),
            consistent,
        ))
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        read::batch(&request, &*self.state())
    }

    async fn transact_get_items(
        &self,
        request: TransactGetItems,
    ) -> StoreResult<Metered<Vec<Option<Item>>>> {
        read::transaction(&request, &*self.state())
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        let state = self.state();
        let table = state.table(&request.table)?;
        let reading = Reading::of_query(&table.schema, &request)?;
        let mut page = PageBuilder::of_query(reading.source, &request)?;
        table.fill(&reading, &mut page)?;
        Ok(page.finish(&request.table))
    }

    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>> {
        let state = self.state();
        let table = state.table(&request.table)?;
        let reading = Reading::of_scan(&table.schema, &request)?;
        let mut page = PageBuilder::of_scan(reading.source, &request)?;
        table.fill(&reading, &mut page)?;
        Ok(page.finish(&request.table))
    }

    async fn put_item(
        &self,
        request: PutItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.write(TransactAction::Put(request), returns)
    }

    async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.write(TransactAction::Update(request), returns)
    }

    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.write(TransactAction::Delete(request), returns)
    }

    async fn batch_write_item(
        &self,
        request: BatchWriteItem,
    ) -> StoreResult<Metered<Vec<BatchWrite>>> {
        let mut state = self.state();
        let mut metered = Metered::<Vec<BatchWrite>>::default();
        for action in write::batch(request, &*state)? {
            let (change, written) = write::single(&action, ReturnValues::None, &*state)?;
            state.make(change);
            metered.add(&written.consumed);
        }
        Ok(metered)
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        let mut state = self.state();
        let now = self.clock.now_millis();
        state.tokens.retain(|_, (_, until)| *until > now);
        let fingerprint = write::fingerprint(&request);
        let token = request.token.as_ref();
        if let Some((known, _)) = token.and_then(|token| state.tokens.get(token)) {
            return match *known == fingerprint {
                true => write::repeated(&request, &*state),
                false => Err(StoreError::IdempotentParameterMismatch),
            };
        }
        let Metered { answer, consumed } = write::transaction(&request, &*state)?;
        for change in answer {
            state.make(change);
        }
        if let Some(token) = request.token {
            let until = now + CLIENT_REQUEST_TOKEN_SECONDS as i64 * 1000;
            state.tokens.insert(token, (fingerprint, until));
        }
        Ok(Metered {
            answer: (),
            consumed,
        })
    }
}
