//! The reference: a map in memory that is right because there is nothing in it to go wrong.
//!
//! It is the oracle of every test and the store behind `--memory`. Keys are compared as values,
//! not as bytes, so that it can find fault with the engine's key encoding.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use partita_core::Item;
use partita_core::limits::{BATCH_GET_BYTES_MAX, CLIENT_REQUEST_TOKEN_SECONDS};
use partita_core::size::item_bytes;

use crate::error::{StoreError, StoreResult};
use crate::read::{PageBuilder, check_batch};
use crate::request::{
    BatchGetItem, BatchGot, CreateTable, DeleteItem, GetItem, Page, PutItem, Query, ReturnValues,
    Scan, TableDescription, TransactAction, TransactWriteItems, UpdateItem,
};
use crate::store::Store;
use crate::surroundings::{Clock, SystemClock};
use crate::table::{Key, KeySchema, TableName};
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
    schema: KeySchema,
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

    fn write(&self, action: TransactAction, returns: ReturnValues) -> StoreResult<Option<Item>> {
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
        let PlacedChange { table, key, change } = change;
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

impl Tables for State {
    fn schema(&self, table: &TableName) -> StoreResult<KeySchema> {
        Ok(self.table(table)?.schema.clone())
    }

    fn read(&self, table: &TableName, key: &Key) -> StoreResult<Option<Item>> {
        Ok(self.table(table)?.items.get(key).cloned())
    }
}

#[async_trait]
impl Store for ModelStore {
    async fn create_table(&self, request: CreateTable) -> StoreResult<TableDescription> {
        let CreateTable { table, schema } = request;
        let mut state = self.state();
        if state.tables.contains_key(&table) {
            return Err(StoreError::TableExists { table });
        }
        let items = BTreeMap::new();
        let description = TableDescription {
            table: table.clone(),
            schema: schema.clone(),
        };
        state.tables.insert(table, Table { schema, items });
        Ok(description)
    }

    async fn describe_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        Ok(TableDescription {
            table: table.clone(),
            schema: self.state().schema(table)?,
        })
    }

    async fn get_item(&self, request: GetItem) -> StoreResult<Option<Item>> {
        let state = self.state();
        let table = state.table(&request.table)?;
        let key = table.schema.exact_key(&request.key)?;
        Ok(table.items.get(&key).cloned())
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Vec<BatchGot>> {
        check_batch(&request)?;
        let state = self.state();
        let mut bytes = 0;
        let mut answers = Vec::with_capacity(request.addresses.len());
        for address in &request.addresses {
            let table = state.table(&address.table)?;
            let key = table.schema.exact_key(&address.key)?;
            answers.push(match table.items.get(&key) {
                _ if bytes >= BATCH_GET_BYTES_MAX => BatchGot::Unprocessed,
                None => BatchGot::Missing,
                Some(item) => {
                    bytes += item_bytes(item);
                    BatchGot::Found(item.clone())
                }
            });
        }
        Ok(answers)
    }

    async fn query(&self, request: Query) -> StoreResult<Page> {
        let state = self.state();
        let table = state.table(&request.table)?;
        let (keys, start) = table.schema.resolve_query(&request)?;
        let mut page = PageBuilder::new(request.filter.as_ref(), request.limit)?;
        let is_after = |key: &Key| match &start {
            None => true,
            Some(start) if request.descending => key < start,
            Some(start) => key > start,
        };
        let mut matching: Vec<_> = table
            .items
            .iter()
            .filter(|(key, _)| keys.contains(key) && is_after(key))
            .collect();
        if request.descending {
            matching.reverse();
        }
        for (key, item) in matching {
            if page.is_full() {
                break;
            }
            page.push(key.clone(), item.clone());
        }
        Ok(page.finish(&table.schema))
    }

    async fn scan(&self, request: Scan) -> StoreResult<Page> {
        let state = self.state();
        let table = state.table(&request.table)?;
        let start = table.schema.start_key(request.start_after.as_ref())?;
        let mut page = PageBuilder::new(request.filter.as_ref(), request.limit)?;
        for (key, item) in &table.items {
            if page.is_full() {
                break;
            }
            if start.as_ref().is_none_or(|start| key > start) {
                page.push(key.clone(), item.clone());
            }
        }
        Ok(page.finish(&table.schema))
    }

    async fn put_item(&self, request: PutItem, returns: ReturnValues) -> StoreResult<Option<Item>> {
        self.write(TransactAction::Put(request), returns)
    }

    async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Option<Item>> {
        self.write(TransactAction::Update(request), returns)
    }

    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Option<Item>> {
        self.write(TransactAction::Delete(request), returns)
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<()> {
        let mut state = self.state();
        let now = self.clock.now_millis();
        state.tokens.retain(|_, (_, until)| *until > now);
        let fingerprint = write::fingerprint(&request);
        if let Some((known, _)) = request
            .token
            .as_ref()
            .and_then(|token| state.tokens.get(token))
        {
            return match *known == fingerprint {
                true => Ok(()),
                false => Err(StoreError::IdempotentParameterMismatch),
            };
        }
        for change in write::transaction(&request, &*state)? {
            state.make(change);
        }
        if let Some(token) = request.token {
            let until = now + CLIENT_REQUEST_TOKEN_SECONDS as i64 * 1000;
            state.tokens.insert(token, (fingerprint, until));
        }
        Ok(())
    }
}
