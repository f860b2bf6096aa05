//! How many bytes DynamoDB counts for an item.
//!
//! The rules are documented only in part; the figures for numbers, lists and maps are the ones
//! that the service applies when it refuses an item as too large.

use crate::{Map, Value};

/// The bytes of an item: every name and every value.
pub fn item_bytes(item: &Map) -> usize {
    entries_bytes(item)
}

/// The bytes of one value.
pub fn value_bytes(value: &Value) -> usize {
    match value {
        Value::S(text) => text.len(),
        Value::N(number) => number.size_bytes(),
        Value::B(bytes) => bytes.len(),
        Value::Bool(_) | Value::Null => 1,
        // Three bytes for the container and one for each element.
        Value::L(list) => {
            3 + list
                .iter()
                .map(|value| 1 + value_bytes(value))
                .sum::<usize>()
        }
        Value::M(map) => 3 + map.len() + entries_bytes(map),
        Value::Ss(set) => set.iter().map(String::len).sum(),
        Value::Ns(set) => set.iter().map(|number| number.size_bytes()).sum(),
        Value::Bs(set) => set.iter().map(Vec::len).sum(),
    }
}

fn entries_bytes(map: &Map) -> usize {
    map.iter()
        .map(|(name, value)| name.len() + value_bytes(value))
        .sum()
}
