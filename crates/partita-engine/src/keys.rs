//! The bytes under which everything is stored.
//!
//! | key | value |
//! |---|---|
//! | `c` | nothing that matters: written when the store is closed |
//! | `d`, id | nothing: the rows under this id belong to a deleted table and are on their way out |
//! | `f` | the format, a number of four bytes |
//! | `k`, client request token | the transaction's fingerprint, and until when it counts |
//! | `m` | the number of the last commit, and of the last that was known to be on disk; only written when commits are not synced each |
//! | `n` | the last id that was handed out, a number of four bytes |
//! | `r`, id of a table, partition key, sort key | an item: its size, and its DynamoDB JSON |
//! | `r`, id of an index, values of the index's key, key of the item | an index entry |
//! | `t`, table name | the table's description: its ids, keys and indexes |
//!
//! Key values sort in bytes as they do in DynamoDB and end by themselves (see
//! [`partita_core::key`]), so a query is a range of bytes, of a table and of an index alike.
//!
//! Tables and indexes draw their ids from one sequence, and none is ever used again. So the rows
//! of a deleted table can be cleared away at leisure, whatever has been created since.

use std::ops::Bound::{self, Excluded, Included, Unbounded};

use partita_core::key::KeyValue;
use partita_store::read::{KeyQuery, Place, SortRange, Source};
use partita_store::table::{Key, KeyAttribute, TableName};

use crate::storage::{Bounds, Direction};

pub(crate) const CLOSED: &[u8] = b"c";
pub(crate) const FORMAT: &[u8] = b"f";
pub(crate) const LAST_ID: &[u8] = b"n";
pub(crate) const MARK: &[u8] = b"m";
const DROPPED: u8 = b'd';
const TOKEN: u8 = b'k';
const ROW: u8 = b'r';
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

/// The key that says that the rows under an id are to be removed.
pub(crate) fn dropped(id: u32) -> Vec<u8> {
    [&[DROPPED], id.to_be_bytes().as_slice()].concat()
}

/// Every id whose rows are to be removed.
pub(crate) fn all_dropped() -> Bounds {
    prefix(vec![DROPPED])
}

/// The id of a key that [`all_dropped`] found.
pub(crate) fn dropped_id(key: &[u8]) -> Option<u32> {
    let id = key.strip_prefix(&[DROPPED])?;
    Some(u32::from_be_bytes(id.try_into().ok()?))
}

/// The key of an item.
pub(crate) fn item(table_id: u32, key: &Key) -> Vec<u8> {
    let mut bytes = row_prefix(table_id);
    key.values().for_each(|value| value.write(&mut bytes));
    bytes
}

// INVARIANT: no key reaches 65,536 bytes, because the journal writes its length in two. The
// largest is an index entry's: 2,048 and 1,024 bytes for the two sides of the index's key, as
// much for the item's, and everything twice if it is all zeros. That is 12 KB.
/// The key of an index entry.
pub(crate) fn entry(index_id: u32, place: &Place) -> Vec<u8> {
    let mut bytes = row_prefix(index_id);
    let values = place.values.iter().chain(place.item.values());
    values.for_each(|value| value.write(&mut bytes));
    bytes
}

/// Every row of a table or index.
pub(crate) fn rows(id: u32) -> Bounds {
    prefix(row_prefix(id))
}

/// Every row of every table and index.
pub(crate) fn all_rows() -> Bounds {
    prefix(vec![ROW])
}

/// The id of the table or index that a row belongs to.
pub(crate) fn row_id(key: &[u8]) -> Option<u32> {
    let (id, _) = key.strip_prefix(&[ROW])?.split_first_chunk()?;
    Some(u32::from_be_bytes(*id))
}

/// The place of a row that [`rows`] found; none if it cannot be one of this source.
pub(crate) fn place(source: &Source<'_>, key: &[u8]) -> Option<Place> {
    let mut rest = key.get(row_prefix(0).len()..)?;
    let mut next = |attribute: &KeyAttribute| {
        let (value, used) = KeyValue::read(attribute.kind, rest)?;
        rest = &rest[used..];
        Some(value)
    };
    let mut values = Vec::new();
    if let Some(index) = source.index {
        for attribute in index.attributes() {
            values.push(next(attribute)?);
        }
    }
    let partition = next(&source.schema.key.partition)?;
    let sort = match &source.schema.key.sort {
        Some(attribute) => Some(next(attribute)?),
        None => None,
    };
    let item = Key { partition, sort };
    let is_whole = rest.is_empty();
    is_whole.then(|| match source.index {
        Some(_) => Place { values, item },
        None => place_of_item(item),
    })
}

/// The place of an item in its table.
pub(crate) fn place_of_item(item: Key) -> Place {
    let values = item.values().cloned().collect();
    Place { values, item }
}

/// The rows that a query asks for.
pub(crate) fn query(id: u32, query: &KeyQuery) -> Bounds {
    let mut fixed = row_prefix(id);
    query
        .prefix
        .iter()
        .for_each(|value| value.write(&mut fixed));
    // More may follow behind a value, so the rows that have it are a range too.
    let at = |next: &KeyValue| {
        let mut bytes = fixed.clone();
        next.write(&mut bytes);
        prefix(bytes)
    };
    let (first, end) = prefix(fixed.clone());
    match &query.range {
        None => (first, end),
        Some(SortRange::Less(next)) => (first, before(at(next).0)),
        Some(SortRange::LessOrEqual(next)) => (first, at(next).1),
        Some(SortRange::Greater(next)) => (behind(at(next).1), end),
        Some(SortRange::GreaterOrEqual(next)) => (at(next).0, end),
        Some(SortRange::Between(low, high)) => (at(low).0, at(high).1),
        Some(SortRange::BeginsWith(next)) => {
            let mut bytes = fixed.clone();
            next.write_prefix(&mut bytes);
            prefix(bytes)
        }
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

fn row_prefix(id: u32) -> Vec<u8> {
    [&[ROW], id.to_be_bytes().as_slice()].concat()
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

/// The end of a range that stops where another begins.
fn before(first: Bound<Vec<u8>>) -> Bound<Vec<u8>> {
    match first {
        Included(key) => Excluded(key),
        other => other,
    }
}

/// The beginning of a range that starts where another has ended.
fn behind(end: Bound<Vec<u8>>) -> Bound<Vec<u8>> {
    match end {
        Excluded(key) => Included(key),
        other => other,
    }
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
