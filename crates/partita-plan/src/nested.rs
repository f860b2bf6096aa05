//! Attributes inside maps: the value of `stats.reads` stands in the map `stats`.

use partita_core::{Map, Value};

/// The value under a name with dots.
pub(crate) fn get<'m>(item: &'m Map, name: &str) -> Option<&'m Value> {
    match split(name) {
        None => item.get(name),
        Some((outer, inner)) => get(item.get(outer)?.as_map()?, inner),
    }
}

/// Puts a value under a name with dots, and the maps around it where they are missing.
pub(crate) fn set(item: &mut Map, name: &str, value: Value) {
    match split(name) {
        None => {
            item.insert(name.to_owned(), value);
        }
        Some((outer, inner)) => set(open(item, outer), inner, value),
    }
}

/// Removes the value under a name with dots; the maps around it stay.
pub(crate) fn remove(item: &mut Map, name: &str) {
    match split(name) {
        None => {
            item.remove(name);
        }
        Some((outer, inner)) => {
            if let Some(Value::M(map)) = item.get_mut(outer) {
                remove(map, inner);
            }
        }
    }
}

/// Makes the maps that an attribute stands in, so that a later update finds its way.
pub(crate) fn make_room(item: &mut Map, name: &str) {
    if let Some((outer, inner)) = split(name) {
        make_room(open(item, outer), inner);
    }
}

/// The outermost map and the name inside it. Names are short and looked up all the time, so that
/// the search for patterns of `str` would cost more than it finds.
fn split(name: &str) -> Option<(&str, &str)> {
    let dot = name.bytes().position(|byte| byte == b'.')?;
    Some((&name[..dot], &name[dot + 1..]))
}

fn open<'m>(item: &'m mut Map, name: &str) -> &'m mut Map {
    let value = item.entry(name.to_owned()).or_insert(Value::Null);
    if !matches!(value, Value::M(_)) {
        *value = Value::M(Map::new());
    }
    match value {
        Value::M(map) => map,
        _ => unreachable!("it was made a map just now"),
    }
}
