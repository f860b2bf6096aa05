//! Items as they are stored: DynamoDB JSON, the one format that everybody knows.

use partita_core::Item;
use partita_store::table::Key;
use partita_store::{StoreError, StoreResult};

use crate::keys;
use crate::tables::Table;

/// The bytes of an item.
pub(crate) fn encode(item: &Item) -> Vec<u8> {
    serde_json::to_vec(item).expect("values under strings always make JSON")
}

/// Reads an item that was stored under a key.
///
/// The storage has held the bytes against a checksum. That they are an item, and the one that
/// belongs under this key, is checked here: a block in the wrong place has a good checksum too.
pub(crate) fn decode(table: &Table, stored_key: &[u8], bytes: &[u8]) -> StoreResult<(Key, Item)> {
    let damaged = |how: &str| StoreError::Corrupt {
        message: format!(
            "the item of table `{}` under the key `{}` {how}",
            table.name,
            stored_key.escape_ascii()
        ),
    };
    let item: Item = serde_json::from_slice(bytes)
        .map_err(|error| damaged(&format!("is not DynamoDB JSON: {error}")))?;
    let key = table
        .schema
        .key
        .key_of(&item)
        .map_err(|error| damaged(&format!("has no key: {error}")))?;
    if keys::item(table.id, &key) != stored_key {
        return Err(damaged("has another key"));
    }
    Ok((key, item))
}

#[cfg(test)]
mod tests;
