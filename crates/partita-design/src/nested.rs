//! Attributes inside maps: the value of `stats.reads` is in the map `stats`.

use partita_core::{Map, Name, Value};

/// The value under a name with dots.
pub fn get<'m>(item: &'m Map, name: &str) -> Option<&'m Value> {
    match split(name) {
        None => item.get(name),
        Some((outer, inner)) => get(item.get(outer)?.as_map()?, inner),
    }
}

/// Puts a value under a name with dots, and the maps around it where they are missing.
pub fn set(item: &mut Map, name: &str, value: Value) {
    match split(name) {
        None => {
            item.insert(name, value);
        }
        Some((outer, inner)) => set(open(item, outer), inner, value),
    }
}

/// Removes the value under a name with dots; the maps around it stay.
pub fn remove(item: &mut Map, name: &str) {
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

/// Makes the maps around an attribute, so that a later update finds its way.
pub fn make_room(item: &mut Map, name: &str) {
    if let Some((outer, inner)) = split(name) {
        make_room(open(item, outer), inner);
    }
}

/// The attributes of an item as it is, each beside what it was. Both are in the order of their
/// names, so that nothing is searched for.
pub fn beside<'m>(
    old: &'m Map,
    new: &'m Map,
) -> impl Iterator<Item = (&'m Name, Option<&'m Value>, &'m Value)> {
    let mut old = old.iter().peekable();
    new.iter().map(move |(name, is)| {
        let was = loop {
            match old.peek() {
                // Mostly the same attributes are in both.
                Some((known, _)) if *known == name => break old.next().map(|(_, was)| was),
                Some((known, _)) if *known < name => drop(old.next()),
                Some(_) | None => break None,
            }
        };
        (name, was, is)
    })
}

/// What is different about an item: asked again and again, and found once.
#[derive(Debug)]
pub struct Difference<'m> {
    old: &'m Map,
    new: &'m Map,
    /// The attributes that differ, without what is inside.
    outer: Vec<&'m str>,
}

impl<'m> Difference<'m> {
    /// What is different between what an item was and what it is.
    pub fn between(old: &'m Map, new: &'m Map) -> Self {
        let mut outer = Vec::new();
        let mut kept = 0;
        for (name, was, is) in beside(old, new) {
            kept += usize::from(was.is_some());
            if was != Some(is) {
                outer.push(name.as_str());
            }
        }
        if kept < old.len() {
            let gone = old.keys().filter(|name| !new.contains_key(name));
            outer.extend(gone.map(Name::as_str));
        }
        Difference { old, new, outer }
    }

    /// Whether an attribute is not what it was.
    pub fn has(&self, name: &str) -> bool {
        match split(name) {
            None => self.outer.contains(&name),
            Some((outer, _)) => {
                self.outer.contains(&outer) && get(self.old, name) != get(self.new, name)
            }
        }
    }
}

/// The outermost map and the name inside it. Names are short and looked up all the time, so that
/// the search for patterns of `str` would cost more than it finds.
fn split(name: &str) -> Option<(&str, &str)> {
    let dot = name.bytes().position(|byte| byte == b'.')?;
    Some((&name[..dot], &name[dot + 1..]))
}

fn open<'m>(item: &'m mut Map, name: &str) -> &'m mut Map {
    let value = item.get_or_insert_with(name, || Value::Null);
    if !matches!(value, Value::M(_)) {
        *value = Value::M(Map::new());
    }
    match value {
        Value::M(map) => map,
        _ => unreachable!("it was made a map just now"),
    }
}
