//! Items as they are stored: DynamoDB JSON, which any tool can read. Before it is the item's size
//! as DynamoDB counts it, in four bytes, so that a read can be metered and answered without being
//! parsed.
//!
//! The storage verifies a checksum over what a read copies, together with its key: a block of the
//! storage contains both, and so does a batch of its journal.
//! Bytes that changed, or a block in the wrong place, are noticed there. That an item is the one
//! that belongs under its key is a question about our own writing, which `verify` asks.

use partita_core::Item;
use partita_core::size::item_bytes;
use partita_store::FoundItem;
use partita_store::table::Key;
use partita_store::{StoreError, StoreResult};

use crate::keys;
use crate::storage::Bytes;
use crate::tables::Table;

/// The size of an item, in front of its JSON.
type Size = u32;

/// The bytes of an item.
pub(crate) fn encode(item: &Item) -> Vec<u8> {
    let size = item_bytes(item);
    // The punctuation of JSON adds a little to what DynamoDB counts.
    let mut bytes = Vec::with_capacity(size + size / 4 + 128);
    // No item reaches four gigabytes: larger ones than 400 KB are refused.
    bytes.extend_from_slice(&(size as Size).to_be_bytes());
    write_json(item, &mut bytes);
    bytes
}

/// Appends an item's DynamoDB JSON.
pub(crate) fn write_json(item: &Item, out: &mut Vec<u8>) {
    serde_json::to_writer(out, item)
        .expect("values under strings always make JSON, and a vector takes it");
}

/// Finds an item's size and JSON in its bytes; none if these cannot be an item's.
pub(crate) fn found(bytes: &Bytes) -> Option<FoundItem> {
    let (size, json) = split(bytes)?;
    let is_object = json.starts_with(b"{") && json.ends_with(b"}");
    is_object.then(|| {
        let json = bytes.slice(size_of::<Size>()..);
        FoundItem::from_json(json, size)
    })
}

fn split(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (size, json) = bytes.split_first_chunk()?;
    Some((Size::from_be_bytes(*size) as usize, json))
}

/// Finds an item that was stored under a key, without looking into it.
pub(crate) fn read(table: &Table, stored_key: &[u8], bytes: Bytes) -> StoreResult<FoundItem> {
    found(&bytes).ok_or_else(|| damaged(table, stored_key, "is not DynamoDB JSON"))
}

/// Takes an item apart that was stored under a key, and checks that it belongs there.
pub(crate) fn decode(table: &Table, stored_key: &[u8], bytes: &[u8]) -> StoreResult<(Key, Item)> {
    let damaged = |how: &str| damaged(table, stored_key, how);
    let (size, json) = split(bytes).ok_or_else(|| damaged("is not DynamoDB JSON"))?;
    let item: Item = serde_json::from_slice(json)
        .map_err(|error| damaged(&format!("is not DynamoDB JSON: {error}")))?;
    if item_bytes(&item) != size {
        return Err(damaged("has another size"));
    }
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

fn damaged(table: &Table, stored_key: &[u8], how: &str) -> StoreError {
    StoreError::Corrupt {
        message: format!(
            "the item of table `{}` under the key `{}` {how}",
            table.name,
            stored_key.escape_ascii()
        ),
    }
}

#[cfg(test)]
mod tests;
