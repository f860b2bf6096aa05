//! The bytes under which everything is stored.
//!
//! | key | value |
//! |---|---|
//! | `c` | the time, in milliseconds since 1970: written when the store is closed |
//! | `d`, id | nothing: the rows under this id belong to something that was deleted and are on their way out |
//! | `f` | the format, a number of four bytes |
//! | `h`, id of a stream | the two ends of its records |
//! | `k`, client request token | the transaction's fingerprint, and until when it counts |
//! | `l` | the time of a recent commit, in milliseconds since 1970 |
//! | `m` | the last commit: its number, the number of the last that was known to be on disk, its time, its chain |
//! | `n` | the last id that was handed out, a number of four bytes |
//! | `o`, id of a table | how much it and its indexes hold |
//! | `q` | the last number that a record of a stream got, of eight bytes |
//! | `r`, id of a table, partition key, sort key | an item: its size, and its DynamoDB JSON |
//! | `r`, id of an index, values of the index's key, key of the item | an index entry |
//! | `r`, id of an expiry, second, key of the item | nothing: the item expires at that second |
//! | `r`, id of a stream, number | a record |
//! | `s`, id of a stream | the stream's description |
//! | `t`, table name | the table's description: its ids, keys, indexes and settings |
//!
//! Key values sort in bytes as they do in DynamoDB and end by themselves (see
//! [`partita_core::key`]), so a query is a range of bytes, of a table and of an index alike.
//!
//! Everything with rows draws its id from one sequence, and none is ever used again. So the rows
//! of a deleted table can be cleared away at leisure, whatever has been created since.

use std::ops::Bound::{self, Excluded, Included, Unbounded};

use partita_core::key::KeyValue;
use partita_store::read::{KeyQuery, ReadSource, RowPlace, SortRange};
use partita_store::table::{Key, KeyAttribute, TableName};

use crate::storage::{Bounds, Direction};

pub(crate) const CLOSED: &[u8] = b"c";
pub(crate) const FORMAT: &[u8] = b"f";
pub(crate) const LAST_ID: &[u8] = b"n";
pub(crate) const LAST_TIME: &[u8] = b"l";
pub(crate) const MARK: &[u8] = b"m";
pub(crate) const LAST_RECORD: &[u8] = b"q";
const DROPPED: u8 = b'd';
const HEAD: u8 = b'h';
const STREAM: u8 = b's';
const TOTALS: u8 = b'o';
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

/// The key of the numbers of a table and its indexes.
pub(crate) fn totals(table_id: u32) -> Vec<u8> {
    numbered(TOTALS, table_id)
}

/// The key of a stream's description.
pub(crate) fn stream(id: u32) -> Vec<u8> {
    numbered(STREAM, id)
}

/// Every stream's description.
pub(crate) fn streams() -> Bounds {
    prefix(vec![STREAM])
}

/// The id of a key that [`streams`] found.
pub(crate) fn stream_id(key: &[u8]) -> Option<u32> {
    let id = key.strip_prefix(&[STREAM])?;
    Some(u32::from_be_bytes(id.try_into().ok()?))
}

/// The key of a stream's two ends.
pub(crate) fn head(id: u32) -> Vec<u8> {
    numbered(HEAD, id)
}

/// The key of a record.
pub(crate) fn record(stream_id: u32, number: u64) -> Vec<u8> {
    let mut bytes = row_prefix(stream_id);
    bytes.extend(number.to_be_bytes());
    bytes
}

/// The records from a number on.
pub(crate) fn records(stream_id: u32, number: u64) -> Bounds {
    let (_, end) = rows(stream_id);
    (Included(record(stream_id, number)), end)
}

/// The records before a number; none if there can be none.
pub(crate) fn records_before(stream_id: u32, number: u64) -> Option<Bounds> {
    let (first, _) = rows(stream_id);
    let bounds = (first, Excluded(record(stream_id, number)));
    (number > 0).then_some(bounds)
}

/// The number of a record's key.
pub(crate) fn record_number(key: &[u8]) -> Option<u64> {
    let number = key.get(ROW_PREFIX_BYTES..)?;
    Some(u64::from_be_bytes(number.try_into().ok()?))
}

/// The key that says when the item of a stored key expires.
pub(crate) fn expiry(id: u32, seconds: i64, stored_key: &[u8]) -> Vec<u8> {
    let mut bytes = row_prefix(id);
    bytes.extend(second(seconds));
    bytes.extend(&stored_key[ROW_PREFIX_BYTES..]);
    bytes
}

/// The rows of an expiry from one second to another, both among them.
pub(crate) fn expiries(id: u32, first: i64, last: i64) -> Option<Bounds> {
    let at = |seconds: i64| prefix([row_prefix(id), second(seconds).to_vec()].concat());
    (first <= last).then(|| (at(first).0, at(last).1))
}

/// The second of an expiry's row, and the stored key of the item, which is in this table.
pub(crate) fn expiring(table_id: u32, key: &[u8]) -> Option<(i64, Vec<u8>)> {
    let (seconds, item) = key.get(ROW_PREFIX_BYTES..)?.split_first_chunk()?;
    let seconds = u64::from_be_bytes(*seconds) ^ SIGN;
    let stored_key = [row_prefix(table_id).as_slice(), item].concat();
    Some((seconds.cast_signed(), stored_key))
}

/// A second so that bytes sort as numbers do, those before 1970 too.
fn second(seconds: i64) -> [u8; 8] {
    (seconds.cast_unsigned() ^ SIGN).to_be_bytes()
}

const SIGN: u64 = 1 << 63;

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
    numbered(DROPPED, id)
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
pub(crate) fn entry(index_id: u32, place: &RowPlace) -> Vec<u8> {
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
pub(crate) fn place(source: &ReadSource<'_>, key: &[u8]) -> Option<RowPlace> {
    let mut rest = key.get(ROW_PREFIX_BYTES..)?;
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
        Some(_) => RowPlace { values, item },
        None => place_of_item(item),
    })
}

/// The place of an item in its table.
pub(crate) fn place_of_item(item: Key) -> RowPlace {
    let values = item.values().cloned().collect();
    RowPlace { values, item }
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

/// The bytes that all rows of a row's partition begin with, if the first value of its key is
/// text or binary. Of a number it is anything or nothing.
pub(crate) fn partition(key: &[u8]) -> Option<&[u8]> {
    let value = key.strip_prefix(&[ROW])?.get(ROW_PREFIX_BYTES - 1..)?;
    let end = ROW_PREFIX_BYTES + KeyValue::text_end(value)?;
    key.get(..end)
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

/// What every row begins with: its kind, and the id of what it belongs to.
const ROW_PREFIX_BYTES: usize = 5;

fn row_prefix(id: u32) -> Vec<u8> {
    numbered(ROW, id)
}

fn numbered(kind: u8, id: u32) -> Vec<u8> {
    [&[kind], id.to_be_bytes().as_slice()].concat()
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
