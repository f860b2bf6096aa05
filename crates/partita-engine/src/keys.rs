//! The bytes under which everything is stored.
//!
//! | key | value |
//! |---|---|
//! | `f` | the format, a number of four bytes |
//! | `i`, table id, partition key, sort key | an item |
//! | `k`, client request token | the transaction's fingerprint, and until when it counts |
//! | `t`, table name | the table's id and schema |
//!
//! The key values of items sort in bytes as they do in DynamoDB and end by themselves (see
//! [`partita_core::key`]), so a query is a range of bytes.

use std::ops::Bound::{self, Excluded, Included, Unbounded};

use partita_core::key::KeyValue;
use partita_store::read::{KeyQuery, SortRange};
use partita_store::table::{Key, TableName};

use crate::storage::{Bounds, Direction};

pub(crate) const FORMAT: &[u8] = b"f";
const ITEM: u8 = b'i';
const TOKEN: u8 = b'k';
const TABLE: u8 = b't';

/// The key of a table's description.
pub(crate) fn table(name: &TableName) -> Vec<u8> {
    [&[TABLE], name.as_str().as_bytes()].concat()
}

/// Every table's description.
pub(crate) fn tables() -> Bounds {
    prefix(vec![TABLE])
}

/// The key of a client request token.
pub(crate) fn token(token: &str) -> Vec<u8> {
    [&[TOKEN], token.as_bytes()].concat()
}

/// Every client request token.
pub(crate) fn tokens() -> Bounds {
    prefix(vec![TOKEN])
}

/// The token of a key that [`tokens`] found.
pub(crate) fn token_of(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(key.strip_prefix(&[TOKEN])?).ok()
}

/// The key of an item.
pub(crate) fn item(table_id: u32, key: &Key) -> Vec<u8> {
    let mut bytes = partition(table_id, &key.partition);
    if let Some(sort) = &key.sort {
        sort.write(&mut bytes);
    }
    bytes
}

/// Every item of a table.
pub(crate) fn items(table_id: u32) -> Bounds {
    prefix(table_prefix(table_id))
}

/// The items that a query asks for.
pub(crate) fn query(table_id: u32, query: &KeyQuery) -> Bounds {
    let partition = partition(table_id, &query.partition);
    let at = |sort: &KeyValue| {
        let mut bytes = partition.clone();
        sort.write(&mut bytes);
        bytes
    };
    let beginning_with = |sort: &KeyValue| {
        let mut bytes = partition.clone();
        sort.write_prefix(&mut bytes);
        bytes
    };
    let (first, end) = prefix(partition.clone());
    match &query.range {
        None => (first, end),
        Some(SortRange::Equal(sort)) => (Included(at(sort)), Included(at(sort))),
        Some(SortRange::Less(sort)) => (first, Excluded(at(sort))),
        Some(SortRange::LessOrEqual(sort)) => (first, Included(at(sort))),
        Some(SortRange::Greater(sort)) => (Excluded(at(sort)), end),
        Some(SortRange::GreaterOrEqual(sort)) => (Included(at(sort)), end),
        Some(SortRange::Between(low, high)) => (Included(at(low)), Included(at(high))),
        Some(SortRange::BeginsWith(sort)) => prefix(beginning_with(sort)),
    }
}

/// The part of a range that comes after a key; none if nothing can be left.
pub(crate) fn after(
    bounds: Bounds,
    start: Option<Vec<u8>>,
    direction: Direction,
) -> Option<Bounds> {
    let (low, high) = bounds;
    let bounds = match (start, direction) {
        (None, _) => (low, high),
        (Some(start), Direction::Ascending) if is_at_or_after(&start, &low) => {
            (Excluded(start), high)
        }
        (Some(start), Direction::Descending) if is_at_or_before(&start, &high) => {
            (low, Excluded(start))
        }
        (Some(_), _) => (low, high),
    };
    // The storage may panic at bounds that are the wrong way round.
    (!is_empty(&bounds)).then_some(bounds)
}

fn table_prefix(table_id: u32) -> Vec<u8> {
    [&[ITEM], table_id.to_be_bytes().as_slice()].concat()
}

fn partition(table_id: u32, partition: &KeyValue) -> Vec<u8> {
    let mut bytes = table_prefix(table_id);
    partition.write(&mut bytes);
    bytes
}

/// Every key that begins with these bytes.
fn prefix(bytes: Vec<u8>) -> Bounds {
    let mut end = bytes.clone();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return (Included(bytes), Excluded(end));
        }
    }
    (Included(bytes), Unbounded)
}

fn is_at_or_after(key: &Vec<u8>, low: &Bound<Vec<u8>>) -> bool {
    match low {
        Unbounded => true,
        Included(low) | Excluded(low) => key >= low,
    }
}

fn is_at_or_before(key: &Vec<u8>, high: &Bound<Vec<u8>>) -> bool {
    match high {
        Unbounded => true,
        Included(high) | Excluded(high) => key <= high,
    }
}

fn is_empty(bounds: &Bounds) -> bool {
    match bounds {
        (Unbounded, _) | (_, Unbounded) => false,
        (Included(low), Included(high)) => low > high,
        (Included(low) | Excluded(low), Included(high) | Excluded(high)) => low >= high,
    }
}

#[cfg(test)]
mod tests;
