//! What a commit did to items, read from its edits.

use partita_core::Item;
use partita_store::read::ReadSource;
use partita_store::table::{Key, TableName};
use partita_store::{StoreError, StoreResult};

use crate::commit::{Commit, Edit};
use crate::item;
use crate::keys;
use crate::tables::{Table, Tables};

/// What became of one item.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemEdit {
    /// Its table.
    pub table: TableName,
    /// Its key.
    pub key: Key,
    /// The item from then on; none if it was removed.
    pub item: Option<Item>,
}

/// The edits of items in these tables. Index entries and stream records follow from them, and the
/// rows of a table that is gone concern nobody.
pub(crate) fn of(commit: &Commit, tables: &Tables) -> StoreResult<Vec<ItemEdit>> {
    let mut edits = Vec::new();
    for edit in &commit.edits {
        let (stored_key, value) = match edit {
            Edit::Put(key, value) => (key, Some(value)),
            Edit::Remove(key) => (key, None),
        };
        let id = keys::row_id(stored_key);
        let table = id.and_then(|id| tables.all().find(|table| table.id == id));
        let Some(table) = table else { continue };
        edits.push(read(table, stored_key, value.map(Vec::as_slice))?);
    }
    Ok(edits)
}

fn read(table: &Table, stored_key: &[u8], value: Option<&[u8]>) -> StoreResult<ItemEdit> {
    let (key, item) = match value {
        Some(bytes) => {
            let (key, item) = item::decode(table, stored_key, bytes)?;
            (key, Some(item))
        }
        None => (removed(table, stored_key)?, None),
    };
    Ok(ItemEdit {
        table: table.name.clone(),
        key,
        item,
    })
}

fn removed(table: &Table, stored_key: &[u8]) -> StoreResult<Key> {
    let source = ReadSource {
        schema: &table.schema,
        index: None,
    };
    let place = keys::place(&source, stored_key);
    let place = place.ok_or_else(|| StoreError::Corrupt {
        message: format!(
            "a commit removes from table `{}` what is under no key of it: `{}`",
            table.name,
            stored_key.escape_ascii()
        ),
    })?;
    Ok(place.item)
}
