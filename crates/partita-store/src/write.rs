//! What one write makes of one item.
//!
//! Every store that evaluates writes itself (the model, the engine) uses these functions; what
//! is its own is how items are kept. Nothing here touches a store.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use partita_core::Item;
use partita_core::expression::{Condition, Update};
use partita_core::limits::{
    CLIENT_REQUEST_TOKEN_CHARS_MAX, TRANSACTION_ACTIONS_MAX, TRANSACTION_BYTES_MAX,
};
use partita_core::size::item_bytes;

use crate::error::{CancellationReason, StoreError, StoreResult};
use crate::item::{check_item, check_value};
use crate::request::{ReturnValues, TransactAction, TransactWriteItems};
use crate::table::{Key, KeySchema, TableName};

/// What happens to an item.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Nothing.
    Keep,
    /// It is there now, as given.
    Put(Item),
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
    /// What happens to it.
    pub change: Change,
}

/// Where writes find what they need to know.
pub trait Tables {
    /// The keys of a table.
    fn schema(&self, table: &TableName) -> StoreResult<KeySchema>;
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

    fn condition(&self) -> Option<&Condition> {
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
    fn check(&self, schema: &KeySchema) -> StoreResult<()> {
        if let Some(condition) = self.condition() {
            condition.check()?;
        }
        match self {
            TransactAction::Put(put) => check_item(&put.item),
            TransactAction::Update(update) => check_update(&update.update, schema),
            TransactAction::Delete(_) | TransactAction::Check(_) => Ok(()),
        }
    }

    /// What the write makes of the item, once its condition holds.
    fn change(&self, old: Option<&Item>) -> StoreResult<Change> {
        Ok(match self {
            TransactAction::Put(put) => Change::Put(put.item.clone()),
            TransactAction::Update(update) => {
                let mut item = old.unwrap_or(&update.key).clone();
                update.update.apply(&mut item)?;
                check_item(&item)?;
                Change::Put(item)
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
) -> StoreResult<(PlacedChange, Option<Item>)> {
    let table = action.table();
    check_returns(action, returns)?;
    let schema = tables.schema(table)?;
    let key = action.key(&schema)?;
    action.check(&schema)?;
    let old = tables.read(table, &key)?;
    if !condition_holds(action, old.as_ref()) {
        let item = old.filter(|_| action.returns_item_on_failure());
        return Err(StoreError::ConditionFailed {
            table: table.clone(),
            item: item.map(Box::new),
        });
    }
    let change = action.change(old.as_ref())?;
    let returned = match (returns, &change) {
        (ReturnValues::None, _) => None,
        (ReturnValues::AllOld, _) => old,
        (ReturnValues::AllNew, Change::Put(item)) => Some(item.clone()),
        (ReturnValues::AllNew, _) => None,
    };
    let table = table.clone();
    Ok((PlacedChange { table, key, change }, returned))
}

/// Carries a transaction out in thought: every change, or the reasons against it.
pub fn transaction(
    request: &TransactWriteItems,
    tables: &impl Tables,
) -> StoreResult<Vec<PlacedChange>> {
    let keys = check_transaction(request, tables)?;
    let mut changes = Vec::with_capacity(keys.len());
    let mut reasons = Vec::with_capacity(keys.len());
    let mut bytes = 0;
    for (action, key) in request.actions.iter().zip(keys) {
        let old = tables.read(action.table(), &key)?;
        if !condition_holds(action, old.as_ref()) {
            let item = old.filter(|_| action.returns_item_on_failure());
            reasons.push(CancellationReason::ConditionalCheckFailed { item });
            continue;
        }
        match action.change(old.as_ref()) {
            Err(error) => reasons.push(CancellationReason::Validation {
                message: error.to_string(),
            }),
            Ok(change) => {
                reasons.push(CancellationReason::None);
                if let Change::Put(item) = &change {
                    bytes += item_bytes(item);
                }
                let table = action.table().clone();
                changes.push(PlacedChange { table, key, change });
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
        return Err(StoreError::validation(format!(
            "the items of a transaction have at most {TRANSACTION_BYTES_MAX} bytes together"
        )));
    }
    Ok(changes)
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
    if returns == ReturnValues::AllNew && !matches!(action, TransactAction::Update(_)) {
        return Err(StoreError::validation(
            "Return values set to invalid value: ALL_NEW is for updates",
        ));
    }
    Ok(())
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

fn check_transaction(request: &TransactWriteItems, tables: &impl Tables) -> StoreResult<Vec<Key>> {
    check_shape(request)?;
    let count = request.actions.len();
    let mut keys = Vec::with_capacity(count);
    let mut seen = HashSet::new();
    for action in &request.actions {
        let schema = tables.schema(action.table())?;
        let key = action.key(&schema)?;
        action.check(&schema)?;
        if !seen.insert((action.table(), key.clone())) {
            return Err(StoreError::validation(
                "Transaction request cannot include multiple operations on one item",
            ));
        }
        keys.push(key);
    }
    Ok(keys)
}

fn condition_holds(action: &TransactAction, old: Option<&Item>) -> bool {
    let nothing = Item::new();
    action
        .condition()
        .is_none_or(|condition| condition.holds(old.unwrap_or(&nothing)))
}
