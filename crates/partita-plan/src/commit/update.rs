//! The update that makes of an item what it will be.

use partita_core::expression::{Path, SetOperand, SetValue, Step as PathStep, Update};
use partita_core::{Map, Name, Number, Value};
use partita_design::nested;
use partita_design::template::dotted;

use super::emit::KeyChange;
use crate::draft::Entry;

/// Writes what differs, adds what is added, and nothing else.
pub(super) fn update(entry: &Entry<'_>, keys: Vec<KeyChange>) -> Update {
    let mut update = Update::default();
    if let (Some(old), Some(after)) = (entry.old(), &entry.after) {
        let update = &mut update;
        Walk { entry, update }.go(old, after, &mut Vec::new());
    }
    for name in entry.computed() {
        restate(entry, name, &mut update);
    }
    for (name, amount) in entry.adds() {
        let path = dotted(name);
        let is_written = update.paths().any(|written| written.overlaps(&path));
        if *amount != Number::ZERO && !is_written {
            let start = entry.start_of(name);
            update.set.push(addition(path, start, *amount));
        }
    }
    for (name, key) in keys {
        let path = Path::attribute(name);
        match key {
            Some(key) => update = update.setting(path, key),
            None => update.remove.push(path),
        }
    }
    update
}

/// Writes a computed attribute that has come out as it was.
fn restate(entry: &Entry<'_>, name: &str, update: &mut Update) {
    let (Some(old), Some(after)) = (entry.old(), &entry.after) else {
        return;
    };
    let path = dotted(name);
    let is_written = update.paths().any(|written| written.overlaps(&path));
    // In a map that is not there, nothing can be written or removed.
    let has_room = path.steps.is_empty() || old.contains_key(&path.root);
    if is_written || !has_room || entry.adds().contains_key(name) {
        return;
    }
    match nested::get(after, name) {
        Some(value) => {
            let value = SetValue::Is(SetOperand::Value(value.clone()));
            update.set.push((path, value));
        }
        None => update.remove.push(path),
    }
}

/// `SET x = if_not_exists(x, start) + d`: right whatever the number is by then.
pub(crate) fn addition(path: Path, start: Number, amount: Number) -> (Path, SetValue) {
    let start = SetOperand::Value(Value::N(start));
    let now = SetOperand::IfNotExists(path.clone(), Box::new(start));
    let amount = SetOperand::Value(Value::N(amount));
    (path, SetValue::Plus(now, amount))
}

impl Entry<'_> {
    /// What a number is added to while it is missing: its default, or 0.
    fn start_of(&self, name: &str) -> Number {
        let nothing = Map::new();
        let item = self.old().map_or(&nothing, |old| &**old);
        match self.record.when_missing(item, name) {
            Some(Value::N(start)) => start,
            _ => Number::ZERO,
        }
    }
}

/// Finds what differs. Maps that attributes of the design are inside of are gone through; every
/// other value is written whole.
struct Walk<'w, 'a> {
    entry: &'w Entry<'a>,
    update: &'w mut Update,
}

impl Walk<'_, '_> {
    fn go(&mut self, old: &Map, new: &Map, way: &mut Vec<Name>) {
        let mut kept = 0;
        for (name, was, is) in nested::beside(old, new) {
            kept += usize::from(was.is_some());
            if was == Some(is) {
                continue;
            }
            way.push(name.clone());
            let dots = way.join(".");
            if !self.entry.adds().contains_key(dots.as_str()) {
                // A map that is not there yet is written with the numbers in it.
                match (was, is) {
                    (Some(Value::M(was)), Value::M(is))
                        if self.entry.record.is_container(&dots) =>
                    {
                        self.go(was, is, way);
                    }
                    _ if self.is_stored(&dots) => {
                        let value = SetValue::Is(SetOperand::Value(is.clone()));
                        self.update.set.push((path(way), value));
                    }
                    _ => {}
                }
            }
            way.pop();
        }
        if kept == old.len() {
            return;
        }
        for name in old.keys().filter(|name| !new.contains_key(name)) {
            way.push(name.clone());
            self.update.remove.push(path(way));
            way.pop();
        }
    }

    fn is_stored(&self, name: &str) -> bool {
        let attribute = self.entry.record.stored(name);
        attribute.is_none_or(|attribute| !attribute.key_only)
    }
}

fn path(way: &[Name]) -> Path {
    let mut path = Path::attribute(way[0].clone());
    let fields = way[1..].iter().cloned();
    path.steps.extend(fields.map(PathStep::Field));
    path
}
