//! Index entries: what is stored of an item in an index, and the row that is read from it.
//!
//! | projection | value of the entry |
//! |---|---|
//! | ALL | the item's own bytes, up to [`COPY_BYTES_MAX`]; nothing if it is larger, and the entry points to it |
//! | INCLUDE | the included attributes; the keys of index and item are in the entry's key |
//! | KEYS_ONLY | nothing |
//!
//! INVARIANT: an item and its entries are written in one commit, so every view has all of them
//! or none. An entry that says something else than its item is damage.

use partita_core::size::{item_bytes, value_bytes};
use partita_core::{Item, Name, Value};
use partita_store::index::{IndexProjection, IndexSchema};
use partita_store::read::{ReadSource, RowPlace};
use partita_store::{FoundItem, StoreError, StoreResult};

use crate::row_change::RowChange;
use crate::storage::{Bytes, Edit};
use crate::tables::Table;
use crate::totals::TableTotals;
use crate::{item, keys};

/// The largest item that an index with the projection ALL has a copy of.
///
/// Measured with two such indexes and 16 clients, copy against pointer, in µs of CPU, medians of
/// three runs on a machine with other work:
///
/// | item | put | query of 20 rows | queries a second | on disk |
/// |---|---|---|---|---|
/// | 1 KB | 97 and 73 | 182 and 380 | 9,000 and 4,200 | 218 and 98 MB (100,000 items) |
/// | 3 KB | 156 and 115 | 227 and 287 | 7,700 and 6,100 | 130 and 56 MB (16,000 items) |
/// | 8 KB | 328 and 197 | 282 and 348 | 4,200 and 4,200 | 328 and 96 MB (16,000 items) |
///
/// For small items a copy halves the cost of a query and adds a third to a put's. The larger the
/// item, the less is gained and the more is paid.
const COPY_BYTES_MAX: usize = 4_096;

/// What an item's change makes of the entries: only those that change are written. Also counts
/// them.
pub(crate) fn edits(change: &RowChange<'_>, totals: &mut TableTotals) -> Vec<Edit> {
    let mut edits = Vec::new();
    let table = change.now;
    for (id, index) in table.indexes() {
        let place = |item: &Item| index.place_of(&table.schema.key, item);
        let (before, after) = (change.before_in(id), change.after_in(id));
        let (old, new) = (before.and_then(place), after.and_then(place));
        let bytes = |item: Option<&Item>| item.map_or(0, |item| row_bytes(table, index, item));
        let old_bytes = old.as_ref().map(|_| bytes(before));
        let new_bytes = new.as_ref().map(|_| bytes(after));
        totals.change(id, old_bytes, new_bytes);
        let has_moved = old != new;
        if let Some(old) = old.filter(|_| has_moved) {
            edits.push(Edit::Remove(keys::entry(id, &old)));
        }
        if let (Some(new), Some(after)) = (new, after)
            && (has_moved || !is_same(table, index, before, after))
        {
            let value = value(table, index, after, change.after_bytes);
            edits.push(Edit::Put(keys::entry(id, &new), value));
        }
    }
    edits
}

/// The bytes of an item's row in an index, as DynamoDB counts them.
pub(crate) fn row_bytes(table: &Table, index: &IndexSchema, item: &Item) -> usize {
    let is_kept = |name: &str| index.projects(&table.schema.key, name);
    let kept = item.iter().filter(|(name, _)| is_kept(name));
    kept.map(|(name, value)| name.len() + value_bytes(value))
        .sum()
}

/// The value of an item's entry.
pub(crate) fn value(table: &Table, index: &IndexSchema, item: &Item, bytes: &[u8]) -> Vec<u8> {
    match &index.projection {
        IndexProjection::All if points(item) => Vec::new(),
        IndexProjection::All => bytes.to_vec(),
        IndexProjection::KeysOnly => Vec::new(),
        IndexProjection::Include(_) => {
            let included = included(table, index, item);
            let owned = included.map(|(name, value)| (name.clone(), value.clone()));
            let mut json = Vec::new();
            item::write_json(&owned.collect(), &mut json);
            json
        }
    }
}

/// Whether the entries of an item point to it instead of copying it. The size is DynamoDB's, which
/// is known without encoding the item.
fn points(item: &Item) -> bool {
    item_bytes(item) > COPY_BYTES_MAX
}

/// Whether an entry that stays in its place holds the same as before.
fn is_same(table: &Table, index: &IndexSchema, before: Option<&Item>, after: &Item) -> bool {
    let Some(before) = before else { return false };
    match index.projection {
        IndexProjection::All => before == after || (points(before) && points(after)),
        IndexProjection::KeysOnly => true,
        IndexProjection::Include(_) => {
            included(table, index, before).eq(included(table, index, after))
        }
    }
}

/// The attributes that an entry copies from its item, besides the keys.
fn included<'a>(
    table: &'a Table,
    index: &'a IndexSchema,
    item: &'a Item,
) -> impl Iterator<Item = (&'a Name, &'a Value)> {
    let is_included =
        |name: &str| index.projects(&table.schema.key, name) && !is_key(table, index, name);
    item.iter().filter(move |(name, _)| is_included(name))
}

fn is_key(table: &Table, index: &IndexSchema, name: &str) -> bool {
    table.schema.key.contains(name) || index.contains(name)
}

/// Finds the row of an entry that was stored under a key; none if it points to its item. A copy
/// is handed out as it is.
pub(crate) fn read(
    table: &Table,
    index: &IndexSchema,
    stored_key: &[u8],
    bytes: Bytes,
) -> StoreResult<Option<FoundItem>> {
    if index.projection != IndexProjection::All {
        let (_, row) = row(table, index, stored_key, &bytes)?;
        return Ok(row.map(FoundItem::from));
    }
    if bytes.is_empty() {
        return Ok(None);
    }
    let found = item::found(&bytes);
    let damaged = || damaged(table, index, stored_key, "is not DynamoDB JSON");
    found.map(Some).ok_or_else(damaged)
}

/// The place of an entry that was stored under a key.
pub(crate) fn place(
    table: &Table,
    index: &IndexSchema,
    stored_key: &[u8],
) -> StoreResult<RowPlace> {
    let place = keys::place(&source(table, index), stored_key);
    place.ok_or_else(|| damaged(table, index, stored_key, "is not under a key of the index"))
}

/// Takes the row of an entry apart that was stored under a key, and checks that it belongs
/// there; none if it points to its item.
pub(crate) fn row(
    table: &Table,
    index: &IndexSchema,
    stored_key: &[u8],
    bytes: &[u8],
) -> StoreResult<(RowPlace, Option<Item>)> {
    let damaged = |how: String| damaged(table, index, stored_key, &how);
    let source = source(table, index);
    let place = place(table, index, stored_key)?;
    let is_all = index.projection == IndexProjection::All;
    if is_all && bytes.is_empty() {
        return Ok((place, None));
    }
    if is_all {
        let content = item::found(&Bytes::copy_from_slice(bytes));
        let content = content.ok_or_else(|| damaged("is not DynamoDB JSON".to_owned()))?;
        let content = content
            .into_item()
            .map_err(|error| damaged(error.to_string()))?;
        return match source.place(&content) {
            Ok(Some(found)) if found == place => Ok((place, Some(content))),
            _ => Err(damaged("has another key".to_owned())),
        };
    }
    let content: Item = if bytes.is_empty() {
        Item::new()
    } else {
        serde_json::from_slice(bytes)
            .map_err(|error| damaged(format!("is not DynamoDB JSON: {error}")))?
    };
    let key = &table.schema.key;
    let mut row = index.attributes_of(key, &place);
    for (name, value) in content {
        if is_key(table, index, &name) || !index.projects(key, &name) {
            return Err(damaged(format!("holds the attribute `{name}`")));
        }
        row.insert(name, value);
    }
    Ok((place, Some(row)))
}

/// Compares an entry with its item, which must exist, have this place in the index, and contain
/// what the row contains.
pub(crate) fn check(
    table: &Table,
    index: &IndexSchema,
    (place, row): (&RowPlace, Option<&Item>),
    item: Option<&Item>,
) -> StoreResult<()> {
    let stored_key = keys::entry(table.id_of(Some(index)), place);
    let item = item.ok_or_else(|| lost(table, index, &stored_key))?;
    let source = source(table, index);
    let is_here = source
        .place(item)
        .is_ok_and(|found| found.as_ref() == Some(place));
    let agrees = row.is_none_or(|row| source.row(item) == *row);
    if is_here && agrees {
        Ok(())
    } else {
        Err(damaged(
            table,
            index,
            &stored_key,
            "disagrees with its item",
        ))
    }
}

/// An entry whose item is not there.
pub(crate) fn lost(table: &Table, index: &IndexSchema, stored_key: &[u8]) -> StoreError {
    damaged(table, index, stored_key, "has no item")
}

fn source<'a>(table: &'a Table, index: &'a IndexSchema) -> ReadSource<'a> {
    ReadSource {
        schema: &table.schema,
        index: Some(index),
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
