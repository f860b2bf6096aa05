//! Projections: which parts of an item are answered.

use std::collections::BTreeMap;

use super::{ExpressionError, Path, Step};
use crate::{Item, Map, Value};

/// The parts of an item that a read answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Projection {
    /// Where they stand. No path leads into another.
    pub paths: Vec<Path>,
}

impl Projection {
    /// The parts that these paths lead to.
    ///
    /// # Errors
    ///
    /// Fails where one of them leads into another.
    pub fn new(paths: Vec<Path>) -> Result<Self, ExpressionError> {
        for (position, path) in paths.iter().enumerate() {
            if let Some(other) = paths[..position].iter().find(|other| other.overlaps(path)) {
                let message =
                    format!("Two document paths overlap with each other: {other}, {path}");
                return Err(ExpressionError::new(message, path.span));
            }
        }
        Ok(Projection { paths })
    }

    /// The paths, as they were given.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// The parts, in the maps and lists that they stand in. The elements taken from a list move
    /// together.
    pub fn apply(&self, item: &Item) -> Item {
        let mut roots: BTreeMap<&str, Vec<&[Step]>> = BTreeMap::new();
        for path in &self.paths {
            roots.entry(&path.root).or_default().push(&path.steps);
        }
        let parts = roots.into_iter().filter_map(|(name, ways)| {
            let part = part(item.get(name)?, &ways)?;
            Some((name.to_owned(), part))
        });
        parts.collect()
    }
}

/// What of a value the ways lead to.
fn part(value: &Value, ways: &[&[Step]]) -> Option<Value> {
    if ways.iter().any(|way| way.is_empty()) {
        return Some(value.clone());
    }
    match value {
        Value::M(map) => {
            let fields = branches(ways, |step| match step {
                Step::Field(name) => Some(name),
                Step::Index(_) => None,
            });
            let parts = fields.into_iter().filter_map(|(name, ways)| {
                let part = part(map.get(name)?, &ways)?;
                Some((name.clone(), part))
            });
            let parts: Map = parts.collect();
            (!parts.is_empty()).then_some(Value::M(parts))
        }
        Value::L(list) => {
            let elements = branches(ways, |step| match step {
                Step::Index(index) => Some(index),
                Step::Field(_) => None,
            });
            let parts = elements.into_iter();
            let parts = parts.filter_map(|(index, ways)| part(list.get(*index)?, &ways));
            let parts: Vec<Value> = parts.collect();
            (!parts.is_empty()).then_some(Value::L(parts))
        }
        _ => None,
    }
}

/// The ways by their first step, in order.
fn branches<'w, K: Ord>(
    ways: &[&'w [Step]],
    key: impl Fn(&'w Step) -> Option<&'w K>,
) -> BTreeMap<&'w K, Vec<&'w [Step]>> {
    let mut branches: BTreeMap<&K, Vec<&[Step]>> = BTreeMap::new();
    for way in ways {
        if let Some((first, rest)) = way.split_first()
            && let Some(key) = key(first)
        {
            branches.entry(key).or_default().push(rest);
        }
    }
    branches
}
