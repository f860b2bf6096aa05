//! What the operations take and answer.

use partita_core::Item;
use partita_core::expression::{Condition, KeyCondition, Update};

use crate::table::{KeySchema, TableName};

/// A new table.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// Its name.
    pub table: TableName,
    /// Its keys.
    pub schema: KeySchema,
}

/// What a store knows of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDescription {
    /// Its name.
    pub table: TableName,
    /// Its keys.
    pub schema: KeySchema,
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
    /// Whether every acknowledged write must be seen.
    pub consistent: bool,
}

/// What became of one key of a [`BatchGetItem`].
#[derive(Clone, Debug, PartialEq)]
pub enum BatchGot {
    /// The item.
    Found(Item),
    /// There is no such item.
    Missing,
    /// The answer had no room for it; ask again.
    Unprocessed,
}

/// Reads the items of one partition in the order of their sort keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The table.
    pub table: TableName,
    /// The partition, and perhaps a range of sort keys.
    pub keys: KeyCondition,
    /// Which of the items read are answered.
    pub filter: Option<Condition>,
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
            keys,
            filter: None,
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
    /// Which of the items read are answered.
    pub filter: Option<Condition>,
    /// How many items are read at most, before the filter.
    pub limit: Option<usize>,
    /// Where the last page ended.
    pub start_after: Option<Item>,
}

impl Scan {
    /// A scan from the beginning, without filter or limit.
    pub fn new(table: TableName) -> Self {
        Scan {
            table,
            filter: None,
            limit: None,
            start_after: None,
        }
    }
}

/// One page of a query or scan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The items that passed the filter.
    pub items: Vec<Item>,
    /// How many were read.
    pub scanned: usize,
    /// Where to go on; the end is reached when there is none.
    pub last_key: Option<Item>,
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
