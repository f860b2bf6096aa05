//! Paths that must not touch each other, as the tree that they form together.
//!
//! Two paths overlap where one leads to the other or to a part of it, and they conflict where one
//! takes a list for what the other takes for a map.

use std::collections::BTreeMap;

use super::java_order::{JavaHash, order_of_growth};
use super::messages::ExpressionFault;
use super::{ExpressionError, Path, Step};

/// The paths that were inserted so far.
#[derive(Debug, Default)]
pub(super) struct PathTree {
    branches: BTreeMap<Step, PathTree>,
    /// Which branch of its parent this is, in the order of arrival.
    arrival: usize,
    /// The path that ends here; then there are no branches.
    ends: Option<Path>,
}

impl PathTree {
    /// Adds a path, unless it touches one that is there.
    pub(super) fn insert(&mut self, path: &Path) -> Result<(), ExpressionError> {
        let root = Step::Field(path.root.clone());
        let mut node = self;
        let mut steps = std::iter::once(&root).chain(&path.steps).peekable();
        while let Some(step) = steps.next() {
            if let Some(fault) = node.obstacle(step, steps.peek().is_none(), path) {
                return Err(ExpressionError::fault(fault, path.span));
            }
            let arrival = node.branches.len();
            node = node.branches.entry(step.clone()).or_default();
            // A branch that was here keeps its place.
            if node.branches.is_empty() {
                node.arrival = arrival;
            }
        }
        node.ends = Some(path.clone());
        Ok(())
    }

    /// What keeps `path` from going down this step.
    fn obstacle(&self, step: &Step, is_last: bool, path: &Path) -> Option<ExpressionFault> {
        let other = self.branches.keys().next()?;
        let is_conflict = std::mem::discriminant(other) != std::mem::discriminant(step);
        let is_overlap = self
            .branches
            .get(step)
            .is_some_and(|branch| is_last || branch.ends.is_some());
        if !is_conflict && !is_overlap {
            return None;
        }
        // DynamoDB names the first path of this level, be it the one in the way or not.
        let (one, two) = (path.clone(), self.first_path()?.clone());
        Some(if is_conflict {
            ExpressionFault::PathsConflict { one, two }
        } else {
            ExpressionFault::PathsOverlap { one, two }
        })
    }

    /// The path at the end of the first branches, in the order of Java's maps.
    fn first_path(&self) -> Option<&Path> {
        let mut node = self;
        while !node.branches.is_empty() {
            let mut branches: Vec<_> = node.branches.iter().collect();
            branches.sort_by_key(|(_, branch)| branch.arrival);
            let steps = branches.into_iter().map(|(step, _)| step).collect();
            node = &node.branches[*order_of_growth(steps).first()?];
        }
        node.ends.as_ref()
    }
}

impl JavaHash for &Step {
    fn java_hash(&self) -> u32 {
        // What DynamoDB Local adds to the hash of a name or position was found by experiment: of
        // two paths it names the one that this makes the first.
        const ADDED: u32 = 0xf_df81;
        let hash = match self {
            Step::Field(name) => name.as_str().java_hash(),
            // Positions are 32 bits wide; the parser has seen to it.
            Step::Index(index) => *index as u32,
        };
        hash.wrapping_add(ADDED)
    }
}
