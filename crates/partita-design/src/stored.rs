//! A stored item by itself, in which an attribute that is missing reads as its default.
//!
//! What also follows refs has a scope of its own, and asks [`Attribute::when_missing`] there.

use std::borrow::Cow;

use partita_core::expression::{Found, Path, Scope, Step};
use partita_core::{Map, Number, Value};

use crate::design::{Access, Attribute, Record, Rule};
use crate::nested;

/// The attributes of a stored item of a record.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'i, 'd> {
    /// What is stored, with what its key holds.
    pub item: &'i Map,
    /// What the item is.
    pub record: &'d Record,
}

impl Scope for Stored<'_, '_> {
    fn find(&self, path: &Path) -> Found<'_> {
        if let Some(value) = path.find(self.item) {
            return Found::Value(Cow::Borrowed(value));
        }
        let missing = || {
            let attribute = self.record.declared(&path.root, &path.steps)?;
            let value = attribute.when_missing(self)?;
            inside(&value, attribute.steps_inside(&path.steps)?).cloned()
        };
        missing().map_or(Found::Missing, |value| Found::Value(Cow::Owned(value)))
    }
}

impl Record {
    /// The declared attribute that a path leads to or into.
    pub fn declared(&self, root: &str, steps: &[Step]) -> Option<&Attribute> {
        if steps.is_empty() {
            return self.stored(root);
        }
        let mut attributes = self.attributes.iter();
        attributes.find(|one| leads_into(&one.name, root, steps))
    }

    /// The value of an item's attribute, where one that is missing reads as its default.
    pub fn read<'i>(&self, item: &'i Map, name: &str) -> Option<Cow<'i, Value>> {
        match nested::get(item, name) {
            Some(value) => Some(Cow::Borrowed(value)),
            None => self.when_missing(item, name).map(Cow::Owned),
        }
    }

    /// What an item is read as having under a name where it lacks the attribute.
    pub fn when_missing(&self, item: &Map, name: &str) -> Option<Value> {
        let record = self;
        self.stored(name)?.when_missing(&Stored { item, record })
    }

    /// The number of an item's attribute, where one that is missing reads as its default.
    pub fn number(&self, item: &Map, name: &str) -> Option<Number> {
        self.read(item, name)?.as_number().copied()
    }

    /// Whether the item is soft-deleted.
    pub fn is_deleted(&self, item: &Map) -> bool {
        let soft_delete = self.soft_delete.as_ref();
        soft_delete.is_some_and(|soft_delete| soft_delete.is_deleted(item))
    }

    /// Whether a rule lets callers remove a soft-deleted item for good.
    pub fn has_purge_rule(&self) -> bool {
        *self.rules.get(Access::Purge) != Rule::Never
    }

    /// What a write is besides a creation or a change: a delete where the item becomes a
    /// soft-deleted one, a restore where it is one no longer.
    pub fn crossing(&self, old: Option<&Map>, new: &Map) -> Option<Access> {
        let was_deleted = old.is_some_and(|old| self.is_deleted(old));
        match (was_deleted, self.is_deleted(new)) {
            (false, true) => Some(Access::Delete),
            (true, false) => Some(Access::Restore),
            _ => None,
        }
    }

    /// The identity of an item, as far as its attributes have it.
    pub fn identity_of(&self, item: &Map) -> Option<Map> {
        let mut identity = Map::new();
        for part in &self.identity {
            let value = nested::get(item, &part.attribute)?.clone();
            nested::set(&mut identity, &part.attribute, value);
        }
        Some(identity)
    }

    /// Whether some attributes are inside a map of this name.
    pub fn is_container(&self, name: &str) -> bool {
        let attributes = self.attributes.iter();
        attributes
            .map(|attribute| attribute.name.as_str())
            .any(|known| known.len() > name.len() && is_inside(known, name))
    }

    /// Whether nothing ever changes the attribute of that stored name, so that it needs no guard.
    pub fn is_lasting(&self, name: &str) -> bool {
        self.stored(name).is_some_and(|attribute| attribute.lasting)
    }
}

impl Attribute {
    /// Those steps of a path to or into this attribute that lead into its value.
    pub fn steps_inside<'p>(&self, steps: &'p [Step]) -> Option<&'p [Step]> {
        steps.get(self.name.matches('.').count()..)
    }
}

/// The value at some steps inside another.
pub fn inside<'v>(value: &'v Value, steps: &[Step]) -> Option<&'v Value> {
    let mut steps = steps.iter();
    steps.try_fold(value, |value, step| match (step, value) {
        (Step::Field(name), Value::M(map)) => map.get(name),
        (Step::Index(index), Value::L(list)) => list.get(*index),
        _ => None,
    })
}

/// Whether `known` is `name` or is inside the map of that name.
pub fn is_inside(known: &str, name: &str) -> bool {
    let rest = known.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Whether a path leads to the attribute of that name.
pub fn is_path(name: &str, root: &str, steps: &[Step]) -> bool {
    match steps {
        [] => name == root,
        _ => leads_into(name, root, steps) && name.matches('.').count() == steps.len(),
    }
}

/// Whether a path leads to the attribute of that name, or into it.
fn leads_into(name: &str, root: &str, steps: &[Step]) -> bool {
    let Some(mut rest) = name.strip_prefix(root) else {
        return false;
    };
    let mut steps = steps.iter();
    while !rest.is_empty() {
        let Some(Step::Field(field)) = steps.next() else {
            return false;
        };
        let inner = rest.strip_prefix('.');
        match inner.and_then(|inner| inner.strip_prefix(field.as_str())) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    true
}
