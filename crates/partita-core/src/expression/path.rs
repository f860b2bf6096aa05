//! Paths to values inside items, and spans of words inside texts.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use crate::{Map, Name, Value};

/// A range of bytes in the text that something was read from.
///
/// All spans are equal: where a thing was written does not change what it means, and trees that
/// were parsed compare with trees that were built.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The span from `start` up to, but not including, `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Span { start, end }
    }

    /// The span from the start of this one to the end of `other`, which comes after it.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span::new(self.start, other.end)
    }
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Span::new(range.start, range.end)
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Span {}

impl Hash for Span {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// One step from a value into a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// `.name`, into a map.
    Field(Name),
    /// `[3]`, into a list.
    Index(usize),
}

/// A document path such as `stats.reads` or `tags[0]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// The attribute of the item.
    pub root: Name,
    /// The way down from there.
    pub steps: Vec<Step>,
    /// Where the path was written.
    pub span: Span,
}

impl Path {
    /// The path of a top-level attribute.
    pub fn attribute(name: impl Into<Name>) -> Self {
        Path {
            root: name.into(),
            steps: Vec::new(),
            span: Span::default(),
        }
    }

    /// The value at this path.
    pub fn find<'a>(&self, item: &'a Map) -> Option<&'a Value> {
        let mut value = item.get(&self.root)?;
        for step in &self.steps {
            value = match (step, value) {
                (Step::Field(name), Value::M(map)) => map.get(name)?,
                (Step::Index(index), Value::L(list)) => list.get(*index)?,
                _ => return None,
            };
        }
        Some(value)
    }

    /// Whether one of the two paths leads to the other, or to a part of it.
    pub fn overlaps(&self, other: &Path) -> bool {
        self.root == other.root && self.steps.iter().zip(&other.steps).all(|(a, b)| a == b)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.root)?;
        for step in &self.steps {
            match step {
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
