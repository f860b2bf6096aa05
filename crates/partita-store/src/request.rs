//! What the operations take and answer.

use std::collections::{BTreeMap, BTreeSet};

use partita_core::Item;
use partita_core::expression::{Condition, KeyCondition, Projection, Update};

use crate::error::{StoreError, StoreResult};
use crate::found::FoundItem;
use crate::index::IndexSchema;
use crate::settings::{Billing, Keeping, TableSettings};
use crate::stream::{StreamName, StreamView};
use crate::table::{TableName, TableSchema};

/// A new table.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// What requests call the table.
    pub table: TableName,
    /// Its keys and indexes.
    pub schema: TableSchema,
    /// Everything else about it.
    pub settings: TableSettings,
    /// How it is kept, where the store is a service.
    pub keeping: Keeping,
    /// Its tags.
    pub tags: Tags,
}

impl CreateTable {
    /// A table with indexes, or with a mere key.
    pub fn new(table: TableName, schema: impl Into<TableSchema>) -> Self {
        CreateTable {
            table,
            schema: schema.into(),
            settings: TableSettings::default(),
            keeping: Keeping::default(),
            tags: Tags::new(),
        }
    }
}

/// The tags of a table, by their keys.
pub type Tags = BTreeMap<String, String>;

/// How far a table has come. A store that is done when it answers has only active ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableStatus {
    /// It can be used.
    #[default]
    Active,
    /// It is not there yet.
    Creating,
    /// It can be used, and not be changed.
    Updating,
    /// It is about to go.
    Deleting,
}

/// What a store knows of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDescription {
    /// What requests call the table.
    pub table: TableName,
    /// Whether it can be used.
    pub status: TableStatus,
    /// Its keys and indexes, also those that are being built.
    pub schema: TableSchema,
    /// Everything else about it.
    pub settings: TableSettings,
    /// When it was created.
    pub created_millis: i64,
    /// When it was last put on demand; nothing if it was always provisioned.
    pub on_demand_millis: Option<i64>,
    /// The names of the indexes that are being built and cannot be read yet.
    pub building: Vec<String>,
    /// The stream that it has, or the last that it had.
    pub latest_stream: Option<StreamName>,
    /// How many items there are, and how large. Amazon counts every six hours or so.
    pub totals: Totals,
    /// The same for each index, by its name.
    pub index_totals: BTreeMap<String, Totals>,
}

impl TableDescription {
    /// An empty table with the default settings.
    pub fn new(table: TableName, schema: TableSchema, created_millis: i64) -> Self {
        TableDescription {
            table,
            status: TableStatus::Active,
            schema,
            settings: TableSettings::default(),
            created_millis,
            on_demand_millis: Some(created_millis),
            building: Vec::new(),
            latest_stream: None,
            totals: Totals::default(),
            index_totals: BTreeMap::new(),
        }
    }
}

/// How much a table or an index holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// How many items.
    pub items: u64,
    /// Their bytes, as DynamoDB counts them.
    pub bytes: u64,
}

/// Changes a table; what is not named stays as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateTable {
    /// The table.
    pub table: TableName,
    /// What changes, all of it or nothing: at most one index is created or deleted.
    pub changes: Vec<TableChange>,
}

impl UpdateTable {
    /// How the table is to be billed, if that changes.
    pub fn billing(&self) -> Option<&Billing> {
        self.changes.iter().find_map(|change| match change {
            TableChange::Billing(billing) => Some(billing),
            _ => None,
        })
    }

    /// Whether it creates the index of that name.
    pub fn creates(&self, index: &str) -> bool {
        self.changes.iter().any(|change| match change {
            TableChange::CreateIndex(created) => created.name == index,
            _ => false,
        })
    }
}

/// A change of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum TableChange {
    /// Adds a global index. It is filled while the table is used, and can be read thereafter.
    CreateIndex(IndexSchema),
    /// Removes a global index.
    DeleteIndex(String),
    /// Begins or ends a stream.
    Stream(Option<StreamView>),
    /// Changes how Amazon charges for it.
    Billing(Billing),
    /// Protects the table from being deleted, or no longer.
    Protection(bool),
}

/// Sets the attribute with the time at which items expire, or turns expiry off.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateTimeToLive {
    /// The table.
    pub table: TableName,
    /// The attribute.
    pub attribute: String,
    /// Whether items expire.
    pub is_enabled: bool,
}

/// Reads the names of tables, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListTables {
    /// Where the last page ended.
    pub start_after: Option<TableName>,
    /// How many names there are on a page, at most 100.
    pub limit: Option<usize>,
}

impl ListTables {
    /// The page of these names, which come in their order.
    pub fn page(&self, names: impl Iterator<Item = TableName>) -> StoreResult<TableNames> {
        let limit = self.limit.unwrap_or(TABLE_NAMES_MAX);
        if !(1..=TABLE_NAMES_MAX).contains(&limit) {
            return Err(StoreError::validation(format!(
                "a page has 1 to {TABLE_NAMES_MAX} names of tables, not {limit}"
            )));
        }
        let start = self.start_after.as_ref();
        let mut names = names.skip_while(|name| start.is_some_and(|start| name <= start));
        let page: Vec<TableName> = names.by_ref().take(limit).collect();
        let last = names.next().and_then(|_| page.last().cloned());
        Ok(TableNames { names: page, last })
    }
}

/// The names on a page at most.
const TABLE_NAMES_MAX: usize = 100;

/// One page of the names of tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableNames {
    /// The names.
    pub names: Vec<TableName>,
    /// Where to go on; the end is reached when there is none.
    pub last: Option<TableName>,
}

/// Reads one item.
#[derive(Clone, Debug, PartialEq)]
pub struct GetItem {
    /// The table.
    pub table: TableName,
    /// The key attributes.
    pub key: Item,
    /// Whether every acknowledged write must be seen.
    pub consistent: bool,
    /// Which parts of the item are answered; all of them without.
    pub projection: Option<Projection>,
}

impl GetItem {
    /// A read of a whole item that sees every acknowledged write.
    pub fn new(table: TableName, key: Item) -> Self {
        GetItem {
            table,
            key,
            consistent: true,
            projection: None,
        }
    }
}

/// The address of one item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ItemAddress {
    /// The table.
    pub table: TableName,
    /// The key attributes.
    pub key: Item,
}

/// Reads up to 100 items, of any tables, each for itself.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchGetItem {
    /// The items, each at most once.
    pub addresses: Vec<ItemAddress>,
    /// The tables of which the last writes may be missed; of all others every acknowledged
    /// write is seen.
    pub eventual: BTreeSet<TableName>,
    /// Which parts of a table's items are answered; all of them where none is named.
    pub projections: BTreeMap<TableName, Projection>,
}

impl BatchGetItem {
    /// A read of whole items that sees every acknowledged write.
    pub fn new(addresses: Vec<ItemAddress>) -> Self {
        BatchGetItem {
            addresses,
            eventual: BTreeSet::new(),
            projections: BTreeMap::new(),
        }
    }
}

/// Writes up to 25 items, each for itself.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchWriteItem {
    /// The writes, each on another item.
    pub writes: Vec<BatchWrite>,
}

/// One write of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum BatchWrite {
    /// Writes a whole item.
    Put {
        /// The table.
        table: TableName,
        /// The item with its key.
        item: Item,
    },
    /// Removes an item, if it is there.
    Delete(ItemAddress),
}

/// Reads up to 100 items as they are at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactGetItems {
    /// The items, and which parts of each are answered.
    pub gets: Vec<(ItemAddress, Option<Projection>)>,
}

/// What became of one key of a [`BatchGetItem`].
#[derive(Clone, Debug, PartialEq)]
pub enum BatchGot<I = FoundItem> {
    /// The item.
    Found(I),
    /// There is no such item.
    Missing,
    /// The answer had no room for it; ask again.
    Unprocessed,
}

impl BatchGot {
    /// The same with its item in parts.
    pub fn into_parts(self) -> StoreResult<BatchGot<Item>> {
        Ok(match self {
            BatchGot::Found(item) => BatchGot::Found(item.into_item()?),
            BatchGot::Missing => BatchGot::Missing,
            BatchGot::Unprocessed => BatchGot::Unprocessed,
        })
    }
}

/// Which attributes a query or scan answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Select {
    /// Whatever the table or index holds.
    #[default]
    Projected,
    /// All of the item's; a local index then reads the table too.
    All,
    /// These parts.
    Parts(Projection),
    /// None: only the numbers of items matter.
    Count,
}

/// Reads the items of one partition in the order of their sort keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The table.
    pub table: TableName,
    /// The index that is read, if it is not the table itself.
    pub index: Option<String>,
    /// The partition, and perhaps a range of sort keys.
    pub keys: KeyCondition,
    /// Which of the items read are answered.
    pub filter: Option<Condition>,
    /// What is answered of them.
    pub select: Select,
    /// From the largest sort key to the smallest.
    pub descending: bool,
    /// How many items are read at most, before the filter.
    pub limit: Option<usize>,
    /// Where the last page ended.
    pub start_after: Option<Item>,
    /// Whether every acknowledged write must be seen.
    pub consistent: bool,
}

impl Query {
    /// A query in ascending order, without filter or limit, that sees every acknowledged write.
    pub fn new(table: TableName, keys: KeyCondition) -> Self {
        Query {
            table,
            index: None,
            keys,
            filter: None,
            select: Select::Projected,
            descending: false,
            limit: None,
            start_after: None,
            consistent: true,
        }
    }
}

/// Reads a whole table, in no particular order.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// The table.
    pub table: TableName,
    /// The index that is read, if it is not the table itself.
    pub index: Option<String>,
    /// Which of the items read are answered.
    pub filter: Option<Condition>,
    /// What is answered of them.
    pub select: Select,
    /// How many items are read at most, before the filter.
    pub limit: Option<usize>,
    /// Where the last page ended.
    pub start_after: Option<Item>,
    /// Whether every acknowledged write must be seen.
    pub consistent: bool,
    /// Which of how many parts of the table is read.
    pub segment: Option<Segment>,
}

/// One of several scans that together read a table, each item once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Which one, from 0.
    pub number: u32,
    /// Of how many, at most 1,000,000.
    pub total: u32,
}

impl Scan {
    /// A consistent scan from the beginning, without filter or limit.
    pub fn new(table: TableName) -> Self {
        Scan {
            table,
            index: None,
            filter: None,
            select: Select::Projected,
            limit: None,
            start_after: None,
            consistent: true,
            segment: None,
        }
    }
}

/// One page of a query or scan.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<I = FoundItem> {
    /// The items that passed the filter; none if only their number was asked for.
    pub items: Vec<I>,
    /// How many passed the filter.
    pub count: usize,
    /// How many were read.
    pub scanned: usize,
    /// Where to go on; the end is reached when there is none.
    pub last_key: Option<Item>,
}

impl<I> Default for Page<I> {
    fn default() -> Self {
        Page {
            items: Vec::new(),
            count: 0,
            scanned: 0,
            last_key: None,
        }
    }
}

impl Page {
    /// The same with its items in parts.
    pub fn into_parts(self) -> StoreResult<Page<Item>> {
        let items = self.items.into_iter().map(FoundItem::into_item);
        Ok(Page {
            items: items.collect::<StoreResult<_>>()?,
            count: self.count,
            scanned: self.scanned,
            last_key: self.last_key,
        })
    }
}

/// Writes a whole item, in place of the one that was there.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct PutItem {
    /// The table.
    pub table: TableName,
    /// The item with its key.
    pub item: Item,
    /// What must hold of the item that is there.
    pub condition: Option<Condition>,
    /// Whether a failed condition answers with the item that is there.
    pub return_item_on_failure: bool,
}

impl PutItem {
    /// An unconditional put.
    pub fn new(table: TableName, item: Item) -> Self {
        PutItem {
            table,
            item,
            condition: None,
            return_item_on_failure: false,
        }
    }
}

/// Changes some attributes of an item, or creates it.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct UpdateItem {
    /// The table.
    pub table: TableName,
    /// The key attributes.
    pub key: Item,
    /// What changes.
    pub update: Update,
    /// What must hold of the item that is there.
    pub condition: Option<Condition>,
    /// Whether a failed condition answers with the item that is there.
    pub return_item_on_failure: bool,
}

/// Removes an item, if it is there.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct DeleteItem {
    /// The table.
    pub table: TableName,
    /// The key attributes.
    pub key: Item,
    /// What must hold of the item that is there.
    pub condition: Option<Condition>,
    /// Whether a failed condition answers with the item that is there.
    pub return_item_on_failure: bool,
}

/// Changes nothing, but lets the transaction pass only if the condition holds.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct ConditionCheck {
    /// The table.
    pub table: TableName,
    /// The key attributes.
    pub key: Item,
    /// What must hold of the item that is there.
    pub condition: Condition,
    /// Whether a failed condition answers with the item that is there.
    pub return_item_on_failure: bool,
}

/// What a single write answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturnValues {
    /// Nothing.
    None,
    /// The whole item as it was before.
    AllOld,
    /// The whole item as it is now; for updates only.
    AllNew,
    /// What the update wrote to, as it was before.
    UpdatedOld,
    /// What the update wrote to, as it is now.
    UpdatedNew,
}

/// One write of a transaction.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum TransactAction {
    /// A put.
    Put(PutItem),
    /// An update.
    Update(UpdateItem),
    /// A delete.
    Delete(DeleteItem),
    /// A check.
    Check(ConditionCheck),
}

/// Up to 100 writes on as many items: all are carried out, or none.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct TransactWriteItems {
    /// The writes, each on another item.
    pub actions: Vec<TransactAction>,
    /// Makes repeating the same request harmless for ten minutes.
    pub token: Option<String>,
}
