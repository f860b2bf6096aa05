//! Projections: which parts of an item a reader asks for.

use std::collections::BTreeMap;

use super::path_tree::PathTree;
use super::{ExpressionError, Path, Step};
use crate::{Item, Map, Name, Value};

/// Paths into an item, none of which touches another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    paths: Vec<Path>,
    attributes: BTreeMap<Name, ProjectedPart>,
}

/// How much of a value is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ProjectedPart {
    Whole,
    Fields(BTreeMap<Name, ProjectedPart>),
    Elements(BTreeMap<usize, ProjectedPart>),
}

impl Projection {
    /// The projection to these paths.
    ///
    /// # Errors
    ///
    /// Fails where two of them overlap or conflict.
    pub fn new(paths: Vec<Path>) -> Result<Projection, ExpressionError> {
        let mut tree = PathTree::default();
        for path in paths.iter().rev() {
            tree.insert(path)?;
        }
        Ok(Projection::of_distinct(paths))
    }

    /// As [`Projection::new`], for paths that were held against each other already.
    pub(super) fn of_distinct(paths: Vec<Path>) -> Projection {
        let mut attributes = BTreeMap::new();
        for path in &paths {
            let part = attributes
                .entry(path.root.clone())
                .or_insert_with(|| ProjectedPart::starting(&path.steps));
            part.add(&path.steps);
        }
        Projection { paths, attributes }
    }

    /// The paths, as they were written.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// The parts of an item that are asked for and there.
    ///
    /// A map keeps the fields, a list the elements in their order but without the gaps. What is
    /// left without any part is left out, as DynamoDB does.
    pub fn apply(&self, item: &Item) -> Item {
        let chosen = self.attributes.iter().filter_map(|(name, part)| {
            let value = part.of(item.get(name)?)?;
            Some((name.clone(), value))
        });
        chosen.collect()
    }
}

impl ProjectedPart {
    /// An empty part of the shape that the first of these steps asks for.
    fn starting(steps: &[Step]) -> ProjectedPart {
        match steps.first() {
            None => ProjectedPart::Whole,
            Some(Step::Field(_)) => ProjectedPart::Fields(BTreeMap::new()),
            Some(Step::Index(_)) => ProjectedPart::Elements(BTreeMap::new()),
        }
    }

    fn add(&mut self, steps: &[Step]) {
        let Some((first, rest)) = steps.split_first() else {
            return;
        };
        let inner = match (self, first) {
            (ProjectedPart::Fields(fields), Step::Field(name)) => fields
                .entry(name.clone())
                .or_insert_with(|| ProjectedPart::starting(rest)),
            (ProjectedPart::Elements(elements), Step::Index(index)) => elements
                .entry(*index)
                .or_insert_with(|| ProjectedPart::starting(rest)),
            // Such paths touch each other.
            _ => return,
        };
        inner.add(rest);
    }

    fn of(&self, value: &Value) -> Option<Value> {
        match (self, value) {
            (ProjectedPart::Whole, value) => Some(value.clone()),
            (ProjectedPart::Fields(fields), Value::M(map)) => {
                let chosen: Map = fields
                    .iter()
                    .filter_map(|(name, part)| Some((name.clone(), part.of(map.get(name)?)?)))
                    .collect();
                (!chosen.is_empty()).then_some(Value::M(chosen))
            }
            (ProjectedPart::Elements(elements), Value::L(list)) => {
                let chosen: Vec<_> = elements
                    .iter()
                    .filter_map(|(index, part)| part.of(list.get(*index)?))
                    .collect();
                (!chosen.is_empty()).then_some(Value::L(chosen))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
