//! A stored item by itself, in which an attribute that is missing reads as its default.
//!
//! Whoever also follows refs has a scope of his own and asks [`Attribute::when_missing`] there.

use std::borrow::Cow;

use partita_core::expression::{Found, Path, Scope, Step};
use partita_core::{Map, Value};

use crate::design::Attribute;
use crate::template::dotted;

/// The attributes of a stored item, and how they are declared.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'i, F> {
    /// What is stored, with what its key holds.
    pub item: &'i Map,
    /// The declared attribute of a stored name.
    pub declared: F,
}

impl<'i, 'd, F: Fn(&str) -> Option<&'d Attribute>> Stored<'i, F> {
    /// The value of an attribute: the one that is stored, or what it reads as without it.
    pub fn read(&self, name: &str) -> Option<Cow<'i, Value>> {
        match dotted(name).find(self.item) {
            Some(value) => Some(Cow::Borrowed(value)),
            None => (self.declared)(name)?.when_missing(self).map(Cow::Owned),
        }
    }
}

impl<'d, F: Fn(&str) -> Option<&'d Attribute>> Scope for Stored<'_, F> {
    fn find(&self, path: &Path) -> Found<'_> {
        if let Some(value) = path.find(self.item) {
            return Found::Value(Cow::Borrowed(value));
        }
        let mut name = path.root.to_string();
        let mut steps = path.steps.as_slice();
        loop {
            if (self.declared)(&name).is_some() {
                let value = self.read(&name);
                let value = value.and_then(|value| inside(&value, steps).cloned());
                return value.map_or(Found::Missing, |value| Found::Value(Cow::Owned(value)));
            }
            let Some((Step::Field(field), rest)) = steps.split_first() else {
                return Found::Missing;
            };
            name.push('.');
            name.push_str(field);
            steps = rest;
        }
    }
}

/// What stands inside a value.
pub fn inside<'v>(value: &'v Value, steps: &[Step]) -> Option<&'v Value> {
    let mut steps = steps.iter();
    steps.try_fold(value, |value, step| match (step, value) {
        (Step::Field(name), Value::M(map)) => map.get(name),
        (Step::Index(index), Value::L(list)) => list.get(*index),
        _ => None,
    })
}
