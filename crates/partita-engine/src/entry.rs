//! Index entries: what is stored of an item in an index, and the row that is read from it.
//!
//! | projection | value of the entry |
//! |---|---|
//! | ALL | the item's own bytes |
//! | INCLUDE | the included attributes; the keys of index and item stand in the entry's key |
//! | KEYS_ONLY | nothing |
//!
//! INVARIANT: an item and its entries are written in one commit, so every view has all of them
//! or none. An entry that says something else than its item is damage.

use partita_core::{Item, Value};
use partita_store::index::{IndexProjection, IndexSchema};
use partita_store::read::{Place, Source};
use partita_store::{StoreError, StoreResult};

use crate::storage::Edit;
use crate::tables::Table;
use crate::{item, keys};

/// What an item's change makes of the entries: only those that change are written.
pub(crate) fn edits(
    table: &Table,
    before: Option<&Item>,
    after: Option<&Item>,
    after_bytes: &[u8],
) -> StoreResult<Vec<Edit>> {
    let mut edits = Vec::new();
    for (id, index) in table.indexes() {
        let place = |item: Option<&Item>| -> StoreResult<_> {
            let place = item.map(|item| index.key_of(&table.schema.key, item));
            Ok(place.transpose()?.flatten())
        };
        let (old, new) = (place(before)?, place(after)?);
        let has_moved = old != new;
        if let Some(old) = old.filter(|_| has_moved) {
            edits.push(Edit::Remove(keys::entry(id, &old)));
        }
        if let (Some(new), Some(after)) = (new, after)
            && (has_moved || !is_same(table, index, before, after))
        {
            let value = value(table, index, after, after_bytes);
            edits.push(Edit::Put(keys::entry(id, &new), value));
        }
    }
    Ok(edits)
}

/// The value of an item's entry.
pub(crate) fn value(table: &Table, index: &IndexSchema, item: &Item, bytes: &[u8]) -> Vec<u8> {
    match &index.projection {
        IndexProjection::All => bytes.to_vec(),
        IndexProjection::KeysOnly => Vec::new(),
        IndexProjection::Include(_) => {
            let included = included(table, index, item);
            let owned = included.map(|(name, value)| (name.clone(), value.clone()));
            item::encode(&owned.collect())
        }
    }
}

/// Whether an entry that stays in its place holds the same as before.
fn is_same(table: &Table, index: &IndexSchema, before: Option<&Item>, after: &Item) -> bool {
    let Some(before) = before else { return false };
    match index.projection {
        IndexProjection::All => before == after,
        IndexProjection::KeysOnly => true,
        IndexProjection::Include(_) => {
            included(table, index, before).eq(included(table, index, after))
        }
    }
}

/// What an entry holds of an item besides the keys.
fn included<'a>(
    table: &'a Table,
    index: &'a IndexSchema,
    item: &'a Item,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let is_included =
        |name: &str| index.projects(&table.schema.key, name) && !is_key(table, index, name);
    item.iter().filter(move |(name, _)| is_included(name))
}

fn is_key(table: &Table, index: &IndexSchema, name: &str) -> bool {
    table.schema.key.contains(name) || index.contains(name)
}

/// Reads the row of an entry that was stored under a key.
pub(crate) fn row(
    table: &Table,
    index: &IndexSchema,
    stored_key: &[u8],
    bytes: &[u8],
) -> StoreResult<(Place, Item)> {
    let damaged = |how: String| damaged(table, index, stored_key, &how);
    let schema = &*table.schema;
    let index = &index;
    let source = Source {
        schema,
        index: Some(index),
    };
    let place = keys::place(&source, stored_key);
    let place = place.ok_or_else(|| damaged("is not under a key of the index".to_owned()))?;
    let content: Item = match bytes.is_empty() {
        true => Item::new(),
        false => serde_json::from_slice(bytes)
            .map_err(|error| damaged(format!("is not DynamoDB JSON: {error}")))?,
    };
    let row = match &index.projection {
        IndexProjection::All => content,
        IndexProjection::KeysOnly | IndexProjection::Include(_) => {
            let mut row = index.attributes_of(&schema.key, &place);
            for (name, value) in content {
                if is_key(table, index, &name) || !index.projects(&schema.key, &name) {
                    return Err(damaged(format!("holds the attribute `{name}`")));
                }
                row.insert(name, value);
            }
            row
        }
    };
    match source.place(&row) {
        Ok(Some(found)) if found == place => Ok((place, row)),
        _ => Err(damaged("has another key".to_owned())),
    }
}

/// Holds a row against the item that it is a row of.
pub(crate) fn check(
    table: &Table,
    index: &IndexSchema,
    stored_key: &[u8],
    row: &Item,
    item: Option<&Item>,
) -> StoreResult<()> {
    let Some(item) = item else {
        return Err(damaged(table, index, stored_key, "has no item"));
    };
    match index.projected(&table.schema.key, item) == *row {
        true => Ok(()),
        false => Err(damaged(table, index, stored_key, "disagrees with its item")),
    }
}

fn damaged(table: &Table, index: &IndexSchema, stored_key: &[u8], how: &str) -> StoreError {
    StoreError::Corrupt {
        message: format!(
            "the entry of index `{}` of table `{}` under the key `{}` {how}",
            index.name,
            table.name,
            stored_key.escape_ascii()
        ),
    }
}

#[cfg(test)]
mod tests;
