//! How many bytes DynamoDB counts for an item, and how many it takes in memory.
//!
//! DynamoDB's rules are documented only in part; the figures for numbers, lists and maps are the
//! ones that the service applies when it refuses an item as too large.

use crate::{Map, Name, Number, Value};

/// What the allocator adds to a piece of memory.
const ALLOCATION_BYTES: usize = 16;

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

/// About how many bytes an item takes in memory.
///
/// DynamoDB counts one byte for an empty text in a list, which takes as much memory as any value. So
/// whatever bounds memory counts this, and not [`item_bytes`].
pub fn item_memory(item: &Map) -> usize {
    let entry = |(name, value): (&Name, &Value)| {
        let long = name.is_heap_allocated().then_some(name.len());
        size_of::<Name>() + long.unwrap_or(0) + value_memory(value)
    };
    item.iter().map(entry).sum()
}

/// About how many bytes a value takes in memory.
pub fn value_memory(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::N(_) | Value::Bool(_) | Value::Null => 0,
            Value::S(text) => allocated(text.len()),
            Value::B(bytes) => allocated(bytes.len()),
            Value::L(list) => list.iter().map(value_memory).sum(),
            Value::M(map) => item_memory(map),
            Value::Ss(set) => members(set.iter().map(String::len), size_of::<String>()),
            Value::Ns(set) => members(set.iter().map(|_| 0), size_of::<Number>()),
            Value::Bs(set) => members(set.iter().map(Vec::len), size_of::<Vec<u8>>()),
        }
}

fn allocated(bytes: usize) -> usize {
    if bytes == 0 {
        0
    } else {
        bytes + ALLOCATION_BYTES
    }
}

/// The nodes of a tree are at least half full.
fn members(lengths: impl Iterator<Item = usize>, each: usize) -> usize {
    lengths.map(|length| 2 * each + allocated(length)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bounds on memory rely on this: a value takes at most four times the bytes of its JSON.
    #[test]
    fn a_value_takes_32_bytes() {
        assert_eq!(size_of::<Value>(), 32);
        let list = Value::L(vec![Value::from(""); 1_000]);
        assert_eq!(value_memory(&list), 32 * 1_001);
        assert_eq!(value_bytes(&list), 3 + 1_000);
        let text = Value::from("x".repeat(1_000));
        assert_eq!(value_memory(&text), 32 + 1_000 + ALLOCATION_BYTES);
    }
}
