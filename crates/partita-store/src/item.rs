//! What an item may hold: its size, its depth, its names and its sets.

use partita_core::limits::{ATTRIBUTE_NAME_BYTES_MAX, ITEM_BYTES_MAX, NESTING_MAX};
use partita_core::size::item_bytes;
use partita_core::{Item, Map, Value};

use crate::error::{StoreError, StoreResult};

/// Checks a whole item that is put.
pub(crate) fn check_item(item: &Item) -> StoreResult<()> {
    check(item, "Item size has exceeded the maximum allowed size")
}

/// Checks an item as an update leaves it.
pub(crate) fn check_updated_item(item: &Item) -> StoreResult<()> {
    let too_large = "Item size to update has exceeded the maximum allowed size";
    check(item, too_large)
}

fn check(item: &Item, too_large: &str) -> StoreResult<()> {
    if item_bytes(item) > ITEM_BYTES_MAX {
        return Err(StoreError::validation(too_large));
    }
    // The item itself is the first level.
    if item.values().map(|value| 1 + value.depth()).max() > Some(NESTING_MAX) {
        return Err(StoreError::validation(
            "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit",
        ));
    }
    check_entries(item)
}

/// Checks one value: the names and sets in it.
pub(crate) fn check_value(value: &Value) -> StoreResult<()> {
    let is_empty_set = match value {
        Value::Ss(set) => set.is_empty(),
        Value::Ns(set) => set.is_empty(),
        Value::Bs(set) => set.is_empty(),
        Value::L(list) => return list.iter().try_for_each(check_value),
        Value::M(map) => return check_entries(map),
        _ => false,
    };
    if is_empty_set {
        return Err(StoreError::validation(
            "One or more parameter values were invalid: a set may not be empty",
        ));
    }
    Ok(())
}

fn check_entries(map: &Map) -> StoreResult<()> {
    for (name, value) in map {
        if name.is_empty() {
            return Err(StoreError::validation("Empty attribute name"));
        }
        if name.len() > ATTRIBUTE_NAME_BYTES_MAX {
            return Err(StoreError::validation(format!(
                "an attribute's name has at most {ATTRIBUTE_NAME_BYTES_MAX} bytes"
            )));
        }
        check_value(value)?;
    }
    Ok(())
}
