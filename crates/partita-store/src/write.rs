//! What one write makes of one item.
//!
//! Every store that evaluates writes itself (the model, the engine) uses these functions; what
//! is its own is how items are kept. Nothing here touches a store.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use partita_core::expression::{Condition, Projection, Update};
use partita_core::limits::{
    BATCH_WRITE_ITEMS_MAX, CLIENT_REQUEST_TOKEN_CHARS_MAX, TRANSACTION_ACTIONS_MAX,
    TRANSACTION_BYTES_MAX,
};
use partita_core::size::item_bytes;
use partita_core::{Item, Value};

use crate::capacity::{self, Consumed, Metered, Rate};
use crate::error::{CancellationReason, StoreError, StoreResult};
use crate::index::IndexSchema;
use crate::item::{check_item, check_updated_item, check_value};
use crate::request::{
    BatchWrite, BatchWriteItem, DeleteItem, ItemAddress, PutItem, ReturnValues, TransactAction,
    TransactWriteItems,
};
use crate::table::{Key, KeySchema, TableName, TableSchema};

/// What happens to an item.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Nothing.
    Keep,
    /// It is there now, as given, whatever was there before.
    Put(Item),
    /// It is there now, as given, and was only changed if it was there before.
    Update(Item),
    /// It is gone.
    Delete,
}

/// A write with its place, ready to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedChange {
    /// The table.
    pub table: TableName,
    /// The item's key.
    pub key: Key,
    /// The item as it was.
    pub old: Option<Item>,
    /// What happens to it.
    pub change: Change,
}

impl PlacedChange {
    /// The item as it is now.
    pub fn new_item(&self) -> Option<&Item> {
        match &self.change {
            Change::Keep => self.old.as_ref(),
            Change::Put(item) | Change::Update(item) => Some(item),
            Change::Delete => None,
        }
    }

    fn consumed(&self, schema: &TableSchema, rate: Rate) -> Consumed {
        let (old, new) = (self.old.as_ref(), self.new_item());
        capacity::written(&schema.key, &schema.indexes, old, new, rate)
    }
}

/// Where writes find what they need to know.
pub trait Tables {
    /// The keys and indexes of a table.
    fn schema(&self, table: &TableName) -> StoreResult<Arc<TableSchema>>;
    /// The item as it is.
    fn read(&self, table: &TableName, key: &Key) -> StoreResult<Option<Item>>;
}

impl TransactAction {
    /// The table that is written.
    pub fn table(&self) -> &TableName {
        match self {
            TransactAction::Put(put) => &put.table,
            TransactAction::Update(update) => &update.table,
            TransactAction::Delete(delete) => &delete.table,
            TransactAction::Check(check) => &check.table,
        }
    }

    /// The key that is written.
    pub fn key(&self, schema: &KeySchema) -> StoreResult<Key> {
        match self {
            TransactAction::Put(put) => schema.key_of(&put.item),
            TransactAction::Update(update) => schema.exact_key(&update.key),
            TransactAction::Delete(delete) => schema.exact_key(&delete.key),
            TransactAction::Check(check) => schema.exact_key(&check.key),
        }
    }

    fn has_empty_key(&self, schema: &KeySchema) -> bool {
        let attributes = match self {
            TransactAction::Put(put) => &put.item,
            TransactAction::Update(update) => &update.key,
            TransactAction::Delete(delete) => &delete.key,
            TransactAction::Check(check) => &check.key,
        };
        empty_key(attributes, schema).is_some()
    }

    /// What must hold of the item.
    pub fn condition(&self) -> Option<&Condition> {
        match self {
            TransactAction::Put(put) => put.condition.as_ref(),
            TransactAction::Update(update) => update.condition.as_ref(),
            TransactAction::Delete(delete) => delete.condition.as_ref(),
            TransactAction::Check(check) => Some(&check.condition),
        }
    }

    fn returns_item_on_failure(&self) -> bool {
        match self {
            TransactAction::Put(put) => put.return_item_on_failure,
            TransactAction::Update(update) => update.return_item_on_failure,
            TransactAction::Delete(delete) => delete.return_item_on_failure,
            TransactAction::Check(check) => check.return_item_on_failure,
        }
    }

    /// Checks what can be checked without the item.
    fn check(&self, schema: &TableSchema) -> StoreResult<()> {
        if let Some(condition) = self.condition() {
            condition.check()?;
            schema.check_condition(condition)?;
        }
        match self {
            TransactAction::Put(put) => {
                check_item(&put.item)?;
                check_index_keys(schema, None, &put.item)
            }
            TransactAction::Update(update) => {
                check_update(&update.update, &schema.key)?;
                schema.check_update(&update.update)
            }
            TransactAction::Delete(_) | TransactAction::Check(_) => Ok(()),
        }
    }

    /// What the write makes of the item, once its condition holds.
    fn change(&self, schema: &TableSchema, old: Option<&Item>) -> StoreResult<Change> {
        Ok(match self {
            TransactAction::Put(put) => Change::Put(put.item.clone()),
            // Not even a path that leads nowhere is refused where there is no item.
            TransactAction::Update(update) if old.is_none() && update.update.only_removes() => {
                Change::Keep
            }
            TransactAction::Update(update) => {
                let mut item = old.unwrap_or(&update.key).clone();
                update.update.apply(&mut item)?;
                check_updated_item(&item)?;
                let mut indexes = schema.indexes.iter();
                indexes.try_for_each(|index| index.check_emptied(old, &item))?;
                check_index_keys(schema, old, &item)?;
                Change::Update(item)
            }
            TransactAction::Delete(_) => Change::Delete,
            TransactAction::Check(_) => Change::Keep,
        })
    }
}

/// Carries a single write out in thought; also gives what `returns` asks for.
pub fn single(
    action: &TransactAction,
    returns: ReturnValues,
    tables: &impl Tables,
) -> StoreResult<(PlacedChange, Metered<Option<Item>>)> {
    let table = action.table();
    check_returns(action, returns)?;
    let schema = tables.schema(table)?;
    let key = action.key(&schema.key)?;
    action.check(&schema)?;
    let old = tables.read(table, &key)?;
    if !condition_holds(action, old.as_ref()) {
        let item = old.filter(|_| action.returns_item_on_failure());
        return Err(StoreError::ConditionFailed {
            table: table.clone(),
            item: item.map(Box::new),
        });
    }
    let change = action.change(&schema, old.as_ref())?;
    let table = table.clone();
    let placed = PlacedChange {
        table: table.clone(),
        key,
        old,
        change,
    };
    let consumed = placed.consumed(&schema, Rate::Standard);
    let metered = Metered {
        answer: returned(action, returns, &placed),
        consumed: BTreeMap::from([(table, consumed)]),
    };
    Ok((placed, metered))
}

fn returned(action: &TransactAction, returns: ReturnValues, placed: &PlacedChange) -> Option<Item> {
    let item = match returns {
        ReturnValues::None => None,
        ReturnValues::AllOld | ReturnValues::UpdatedOld => placed.old.as_ref(),
        ReturnValues::AllNew | ReturnValues::UpdatedNew => placed.new_item(),
    }?;
    match (returns, action) {
        (ReturnValues::UpdatedOld | ReturnValues::UpdatedNew, TransactAction::Update(update)) => {
            let parts = Projection::new(update.update.paths().cloned().collect())
                .expect("an update that was carried out has paths that do not touch")
                .apply(item);
            Some(parts).filter(|parts| !parts.is_empty())
        }
        _ => Some(item.clone()),
    }
}

/// Carries a transaction out in thought: every change, or the reasons against it.
pub fn transaction(
    request: &TransactWriteItems,
    tables: &impl Tables,
) -> StoreResult<Metered<Vec<PlacedChange>>> {
    let places = check_transaction(request, tables)?;
    let mut metered = Metered::<Vec<PlacedChange>>::default();
    let mut reasons = Vec::with_capacity(places.len());
    let mut bytes = 0;
    for (action, (schema, key)) in request.actions.iter().zip(places) {
        let table = action.table().clone();
        let old = tables.read(&table, &key)?;
        if !condition_holds(action, old.as_ref()) {
            let item = old.filter(|_| action.returns_item_on_failure());
            reasons.push(CancellationReason::ConditionalCheckFailed { item });
            continue;
        }
        match action.change(&schema, old.as_ref()) {
            Err(error) => reasons.push(CancellationReason::Validation {
                message: error.to_string(),
            }),
            Ok(change) => {
                reasons.push(CancellationReason::None);
                let placed = PlacedChange {
                    table,
                    key,
                    old,
                    change,
                };
                if let Change::Put(item) | Change::Update(item) = &placed.change {
                    bytes += item_bytes(item);
                }
                // Nothing is kept of a transaction that is too large; it may have other faults.
                if bytes > TRANSACTION_BYTES_MAX {
                    metered.answer.clear();
                    continue;
                }
                let consumed = placed.consumed(&schema, Rate::Transaction);
                let table = placed.table.clone();
                metered.consumed.entry(table).or_default().add(&consumed);
                metered.answer.push(placed);
            }
        }
    }
    if reasons
        .iter()
        .any(|reason| *reason != CancellationReason::None)
    {
        return Err(StoreError::TransactionCanceled { reasons });
    }
    if bytes > TRANSACTION_BYTES_MAX {
        // The words are those of the service's documentation; its answer is not on record.
        return Err(StoreError::validation(
            "The aggregate size of the items in the transaction cannot exceed 4 MB",
        ));
    }
    Ok(metered)
}

/// What a transaction consumes that was carried out before, under the same token: DynamoDB reads
/// its items and writes nothing.
pub fn repeated(request: &TransactWriteItems, tables: &impl Tables) -> StoreResult<Metered<()>> {
    let mut metered = Metered::<()>::default();
    for action in &request.actions {
        let table = action.table();
        let key = action.key(&tables.schema(table)?.key)?;
        let bytes = tables.read(table, &key)?.as_ref().map_or(0, item_bytes);
        let consumed = metered.consumed.entry(table.clone()).or_default();
        consumed.read += capacity::read_units(bytes, Rate::Transaction);
    }
    Ok(metered)
}

/// The writes of a batch as writes of their own, checked together.
pub fn batch(request: BatchWriteItem, tables: &impl Tables) -> StoreResult<Vec<TransactAction>> {
    let count = request.writes.len();
    if !(1..=BATCH_WRITE_ITEMS_MAX).contains(&count) {
        return Err(StoreError::validation(format!(
            "a batch write has 1 to {BATCH_WRITE_ITEMS_MAX} items, not {count}"
        )));
    }
    let mut seen = HashSet::new();
    let mut actions = Vec::with_capacity(count);
    for write in request.writes {
        let action = match write {
            BatchWrite::Put { table, item } => TransactAction::Put(PutItem::new(table, item)),
            BatchWrite::Delete(ItemAddress { table, key }) => TransactAction::Delete(DeleteItem {
                table,
                key,
                condition: None,
                return_item_on_failure: false,
            }),
        };
        let schema = tables.schema(action.table())?;
        let key = action.key(&schema.key)?;
        action.check(&schema)?;
        if !seen.insert((action.table().clone(), key)) {
            return Err(StoreError::validation(
                "Provided list of item keys contains duplicates",
            ));
        }
        actions.push(action);
    }
    Ok(actions)
}

/// A number that two equal requests share. It is kept for ten minutes only, so it need not
/// survive another release of the standard library.
pub fn fingerprint(request: &TransactWriteItems) -> u64 {
    let mut hasher = DefaultHasher::new();
    request.actions.hash(&mut hasher);
    hasher.finish()
}

/// Only an update may be asked for the new item: a put's is known, and a delete leaves none.
fn check_returns(action: &TransactAction, returns: ReturnValues) -> StoreResult<()> {
    match (returns, action) {
        (_, TransactAction::Update(_)) | (ReturnValues::None | ReturnValues::AllOld, _) => Ok(()),
        _ => Err(StoreError::validation("Return values set to invalid value")),
    }
}

/// Refuses an item that no table of this schema takes, whatever it holds.
pub fn check_put(schema: &TableSchema, item: &Item) -> StoreResult<Key> {
    let key = schema.key.key_of(item)?;
    if let Some(attribute) = empty_key(item, &schema.key) {
        let message = format!("the key {attribute} is empty");
        return Err(StoreError::validation(message));
    }
    check_item(item)?;
    check_index_keys(schema, None, item)?;
    Ok(key)
}

/// The key attribute of an item that is empty, if there is one.
fn empty_key<'s>(attributes: &Item, schema: &'s KeySchema) -> Option<&'s str> {
    let is_empty = |name: &str| match attributes.get(name) {
        Some(Value::S(text)) => text.is_empty(),
        Some(Value::B(bytes)) => bytes.is_empty(),
        _ => false,
    };
    let mut names = schema.attributes().map(|attribute| attribute.name.as_str());
    names.find(|name| is_empty(name))
}

/// Refuses an item whose attributes do not fit an index that they are keys of. What an update
/// leaves as it was may have been there before the index was, and need not fit.
fn check_index_keys(schema: &TableSchema, old: Option<&Item>, new: &Item) -> StoreResult<()> {
    let is_untouched = |index: &IndexSchema| {
        let mut names = index.attributes().map(|attribute| &attribute.name);
        old.is_some_and(|old| names.all(|name| old.get(name) == new.get(name)))
    };
    let mut touched = schema.indexes.iter().filter(|index| !is_untouched(index));
    touched.try_for_each(|index| index.key_of(&schema.key, new).map(drop))
}

fn check_update(update: &Update, schema: &KeySchema) -> StoreResult<()> {
    update.check()?;
    for (_, value) in update.add.iter().chain(&update.delete) {
        check_value(value)?;
    }
    match update.paths().find(|path| schema.contains(&path.root)) {
        None => Ok(()),
        Some(path) => Err(StoreError::validation(format!(
            "One or more parameter values were invalid: Cannot update attribute {}. This attribute is part of the key",
            path.root
        ))),
    }
}

/// Checks what can be wrong with a transaction whatever the tables are like.
pub fn check_shape(request: &TransactWriteItems) -> StoreResult<()> {
    let count = request.actions.len();
    if !(1..=TRANSACTION_ACTIONS_MAX).contains(&count) {
        return Err(StoreError::validation(format!(
            "a transaction has 1 to {TRANSACTION_ACTIONS_MAX} actions, not {count}"
        )));
    }
    let token_chars = request.token.as_ref().map(|token| token.chars().count());
    if token_chars.is_some_and(|chars| !(1..=CLIENT_REQUEST_TOKEN_CHARS_MAX).contains(&chars)) {
        return Err(StoreError::validation(format!(
            "a client request token has 1 to {CLIENT_REQUEST_TOKEN_CHARS_MAX} characters"
        )));
    }
    let is_empty = |action: &TransactAction| match action {
        TransactAction::Update(update) => update.update.is_empty(),
        _ => false,
    };
    // A single update may do without an expression, and then creates the item; not so here.
    if request.actions.iter().any(is_empty) {
        return Err(StoreError::validation(
            "an update in a transaction needs an update expression",
        ));
    }
    Ok(())
}

/// Where an action writes.
type ActionPlace = (Arc<TableSchema>, Key);

/// The places of all actions. The first that does not fit its table cancels the transaction
/// before any item is read, so that no other action has a reason.
fn check_transaction(
    request: &TransactWriteItems,
    tables: &impl Tables,
) -> StoreResult<Vec<ActionPlace>> {
    check_shape(request)?;
    let count = request.actions.len();
    let mut places = Vec::with_capacity(count);
    let mut misfit: Option<(usize, StoreError)> = None;
    let mut seen = HashSet::new();
    for (number, action) in request.actions.iter().enumerate() {
        let schema = tables.schema(action.table())?;
        let key = match action.key(&schema.key) {
            Ok(key) => key,
            // Amazon refuses the request for an empty key, and cancels it for other misfits.
            Err(error) if action.has_empty_key(&schema.key) => return Err(error),
            Err(error) => {
                misfit.get_or_insert((number, error));
                continue;
            }
        };
        if !seen.insert((action.table(), key.clone())) {
            return Err(StoreError::validation(
                "Transaction request cannot include multiple operations on one item",
            ));
        }
        match action.check(&schema) {
            Ok(()) => places.push((schema, key)),
            Err(error) => drop(misfit.get_or_insert((number, error))),
        }
    }
    let Some((number, error)) = misfit else {
        return Ok(places);
    };
    let mut reasons = vec![CancellationReason::None; count];
    let message = error.to_string();
    reasons[number] = CancellationReason::Validation { message };
    Err(StoreError::TransactionCanceled { reasons })
}

fn condition_holds(action: &TransactAction, old: Option<&Item>) -> bool {
    let nothing = Item::new();
    action
        .condition()
        .is_none_or(|condition| condition.holds(old.unwrap_or(&nothing)))
}
