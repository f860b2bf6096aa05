//! The reference: a map in memory that is right because there is nothing in it to go wrong.
//!
//! It is the oracle of every test and the store behind `--memory`. Keys are compared as values,
//! not as bytes, so that it can find fault with the engine's key encoding.

mod streams;
mod table;
mod tokens;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use partita_core::Item;
use partita_core::expression::Projection;

use crate::capacity::Metered;
use crate::error::{StoreError, StoreResult};
use crate::expiry::has_expired;
use crate::found::FoundItem;
use crate::read::{self, Items, PageBuilder, Reading};
use crate::request::{
    BatchGetItem, BatchGot, BatchWrite, BatchWriteItem, CreateTable, DeleteItem, GetItem,
    ItemAddress, ListTables, Page, PutItem, Query, ReturnValues, Scan, TableDescription,
    TableNames, Tags, TransactAction, TransactGetItems, TransactWriteItems, UpdateItem,
    UpdateTable, UpdateTimeToLive,
};
use crate::store::Store;
use crate::stream::{
    DescribeStream, GetRecords, GetShardIterator, ItemChange, ListStreams, Records, ShardIterator,
    StreamDescription, StreamNames,
};
use crate::surroundings::{Clock, SystemClock};
use crate::table::{Key, TableName, TableSchema};
use crate::tags;
use crate::write::{self, Change, PlacedChange, Tables};

use streams::Streams;
use table::ModelTable;
use tokens::Tokens;

/// A store in memory.
pub struct ModelStore {
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
}

#[derive(Default)]
struct State {
    tables: BTreeMap<TableName, ModelTable>,
    streams: Streams,
    tokens: Tokens,
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
        state.make(change, Cause::Request, self.clock.now_millis());
        Ok(returned)
    }

    /// Removes the items that have expired, and the records of streams that are too old.
    ///
    /// It happens at no other time, so that a test decides when it does.
    pub fn sweep(&self) {
        self.expire(|_, _| true);
        self.trim();
    }

    /// Removes those of the items that have expired that are chosen; answers with their places.
    pub fn expire(
        &self,
        mut is_chosen: impl FnMut(&TableName, &Key) -> bool,
    ) -> Vec<(TableName, Key)> {
        let now = self.clock.now_millis();
        let mut state = self.state();
        let mut removed = Vec::new();
        for change in state.expired(now) {
            if is_chosen(&change.table, &change.key) {
                removed.push((change.table.clone(), change.key.clone()));
                state.make(change, Cause::Expiry, now);
            }
        }
        removed
    }

    /// Removes the records of streams that are too old.
    pub fn trim(&self) {
        let now = self.clock.now_millis();
        self.state().streams.trim(now);
    }
}

/// Why an item changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    Request,
    Expiry,
}

impl State {
    fn table(&self, table: &TableName) -> StoreResult<&ModelTable> {
        self.tables.get(table).ok_or_else(|| not_found(table))
    }

    fn table_mut(&mut self, table: &TableName) -> StoreResult<&mut ModelTable> {
        self.tables.get_mut(table).ok_or_else(|| not_found(table))
    }

    fn make(&mut self, placed: PlacedChange, cause: Cause, now_millis: i64) {
        let table = self
            .tables
            .get_mut(&placed.table)
            .expect("the change was computed from this table");
        if let Some(stream) = &table.stream {
            let change = ItemChange {
                old: placed.old.as_ref(),
                new: placed.new_item(),
                is_expiry: cause == Cause::Expiry,
            };
            self.streams.record(stream, change, now_millis);
        }
        match placed.change {
            Change::Keep => {}
            Change::Put(item) | Change::Update(item) => {
                table.items.insert(placed.key, item);
            }
            Change::Delete => {
                table.items.remove(&placed.key);
            }
        }
    }

    /// The deletions of all items that have expired.
    fn expired(&self, now_millis: i64) -> Vec<PlacedChange> {
        let mut changes = Vec::new();
        for (name, table) in &self.tables {
            let Some(attribute) = &table.expiry else {
                continue;
            };
            let items = table.items.iter();
            let expired = items.filter(|(_, item)| has_expired(item, attribute, now_millis));
            changes.extend(expired.map(|(key, item)| PlacedChange {
                table: name.clone(),
                key: key.clone(),
                old: Some(item.clone()),
                change: Change::Delete,
            }));
        }
        changes
    }
}

fn not_found(table: &TableName) -> StoreError {
    let table = table.clone();
    StoreError::TableNotFound { table }
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
    fn item(
        &self,
        address: &ItemAddress,
        projection: Option<&Projection>,
    ) -> StoreResult<Option<FoundItem>> {
        let table = self.table(&address.table)?;
        table.schema.check_projection(projection)?;
        let key = table.schema.key.exact_key(&address.key)?;
        Ok(table.items.get(&key).cloned().map(FoundItem::from))
    }
}

#[async_trait]
impl Store for ModelStore {
    async fn create_table(&self, request: CreateTable) -> StoreResult<TableDescription> {
        let CreateTable {
            table,
            schema,
            settings,
            tags,
            // Nobody but its process has it.
            keeping: _,
        } = request;
        schema.check()?;
        settings.check(&schema)?;
        tags::check(&tags)?;
        let now = self.clock.now_millis();
        let mut state = self.state();
        if state.tables.contains_key(&table) {
            return Err(StoreError::TableExists { table });
        }
        let view = settings.stream;
        let begin = |view| state.streams.begin(&table, view, &schema.key, now);
        let stream = view.map(begin);
        let created = ModelTable {
            schema: Arc::new(schema),
            on_demand_millis: settings.billing.on_demand_millis(None, None, now),
            settings,
            tags,
            expiry: None,
            created_millis: now,
            stream,
            items: BTreeMap::new(),
        };
        let description = created.describe(&table);
        state.tables.insert(table, created);
        Ok(description)
    }

    async fn delete_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        let mut state = self.state();
        let description = state.table(table)?.describe(table);
        description.settings.check_deletion()?;
        if let Some(stream) = &description.latest_stream {
            state.streams.end(stream, self.clock.now_millis());
        }
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

    async fn update_table(&self, request: UpdateTable) -> StoreResult<TableDescription> {
        let now = self.clock.now_millis();
        let State {
            tables, streams, ..
        } = &mut *self.state();
        let name = &request.table;
        let table = tables.get_mut(name).ok_or_else(|| not_found(name))?;
        // An index is computed from the items, so it is there as soon as it is in the schema.
        let updated = request.apply(&table.describe(name))?;
        match (updated.stream, &table.stream) {
            (Some(Some(view)), _) => {
                table.stream = Some(streams.begin(name, view, &updated.schema.key, now));
            }
            (Some(None), Some(stream)) => streams.end(stream, now),
            _ => {}
        }
        table.schema = Arc::new(updated.schema);
        let (before, last) = (&table.settings.billing, table.on_demand_millis);
        let billing = &updated.settings.billing;
        table.on_demand_millis = billing.on_demand_millis(Some(before), last, now);
        table.settings = updated.settings;
        Ok(table.describe(name))
    }

    async fn update_time_to_live(&self, request: UpdateTimeToLive) -> StoreResult<()> {
        let mut state = self.state();
        let table = state.table_mut(&request.table)?;
        table.expiry = request.apply(table.expiry.as_deref())?;
        Ok(())
    }

    async fn describe_time_to_live(&self, table: &TableName) -> StoreResult<Option<String>> {
        Ok(self.state().table(table)?.expiry.clone())
    }

    async fn tag_resource(&self, table: &TableName, more: Tags) -> StoreResult<()> {
        let mut state = self.state();
        let table = state.table_mut(table)?;
        table.tags = tags::added(&table.tags, more)?;
        Ok(())
    }

    async fn untag_resource(&self, table: &TableName, keys: Vec<String>) -> StoreResult<()> {
        let mut state = self.state();
        let table = state.table_mut(table)?;
        table.tags = tags::removed(&table.tags, &keys)?;
        Ok(())
    }

    async fn list_tags_of_resource(&self, table: &TableName) -> StoreResult<Tags> {
        Ok(self.state().table(table)?.tags.clone())
    }

    async fn list_streams(&self, request: ListStreams) -> StoreResult<StreamNames> {
        self.state().streams.list(&request)
    }

    async fn describe_stream(&self, request: DescribeStream) -> StoreResult<StreamDescription> {
        self.state().streams.describe(&request)
    }

    async fn get_shard_iterator(&self, request: GetShardIterator) -> StoreResult<ShardIterator> {
        let now = self.clock.now_millis();
        self.state().streams.shard_iterator(&request, now)
    }

    async fn get_records(&self, request: GetRecords) -> StoreResult<Records> {
        let now = self.clock.now_millis();
        self.state().streams.records(&request, now)
    }

    async fn get_item(&self, request: GetItem) -> StoreResult<Metered<Option<FoundItem>>> {
        let GetItem {
            table,
            key,
            consistent,
            projection,
        } = request;
        let address = ItemAddress { table, key };
        let item = self.state().item(&address, projection.as_ref())?;
        read::one(&address.table, item, projection.as_ref(), consistent)
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        read::batch(&request, &*self.state())
    }

    async fn transact_get_items(
        &self,
        request: TransactGetItems,
    ) -> StoreResult<Metered<Vec<Option<FoundItem>>>> {
        read::transaction(&request, &*self.state())
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        let state = self.state();
        let table = state.table(&request.table)?;
        let reading = Reading::of_query(&table.schema, &request)?;
        let page = PageBuilder::of_query(reading.source, &request)?;
        table.fill(&request.table, &reading, page)
    }

    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>> {
        let state = self.state();
        let table = state.table(&request.table)?;
        let reading = Reading::of_scan(&table.schema, &request)?;
        let page = PageBuilder::of_scan(reading.source, &request)?;
        table.fill(&request.table, &reading, page)
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
        let now = self.clock.now_millis();
        let mut metered = Metered::<Vec<BatchWrite>>::default();
        for action in write::batch(request, &*state)? {
            let (change, written) = write::single(&action, ReturnValues::None, &*state)?;
            state.make(change, Cause::Request, now);
            metered.add(&written.consumed);
        }
        Ok(metered)
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        let mut state = self.state();
        let now = self.clock.now_millis();
        let fingerprint = write::fingerprint(&request);
        let token = request.token.as_deref();
        if let Some(known) = token.and_then(|token| state.tokens.get(token, now)) {
            return if known == fingerprint {
                write::repeated(&request, &*state)
            } else {
                Err(StoreError::IdempotentParameterMismatch)
            };
        }
        let Metered { answer, consumed } = write::transaction(&request, &*state)?;
        for change in answer {
            state.make(change, Cause::Request, now);
        }
        if let Some(token) = request.token {
            state.tokens.keep(token, fingerprint, now);
        }
        Ok(Metered {
            answer: (),
            consumed,
        })
    }
}
