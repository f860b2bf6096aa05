//! Attributes inside maps: the value of `stats.reads` stands in the map `stats`.

use partita_core::{Map, Value};
use partita_design::template::dotted;

/// The value under a name with dots.
pub(crate) fn get<'m>(item: &'m Map, name: &str) -> Option<&'m Value> {
    dotted(name).find(item)
}

/// Puts a value under a name with dots, and the maps around it where they are missing.
pub(crate) fn set(item: &mut Map, name: &str, value: Value) {
    let Some((outer, inner)) = name.split_once('.') else {
        item.insert(name, value);
        return;
    };
    let slot = item.get_or_insert_with(outer, || Value::Null);
    if !matches!(slot, Value::M(_)) {
        *slot = Value::M(Map::new());
    }
    if let Value::M(map) = slot {
        set(map, inner, value);
    }
}

/// Removes the value under a name with dots; the maps around it stay, for numbers that are added
/// to later.
pub(crate) fn remove(item: &mut Map, name: &str) {
    let Some((outer, inner)) = name.split_once('.') else {
        item.remove(name);
        return;
    };
    if let Some(Value::M(map)) = item.get_mut(outer) {
        remove(map, inner);
    }
}
