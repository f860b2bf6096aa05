//! Syntax trees and a request's names and values, put together.
//!
//! | module | what it makes |
//! |---|---|
//! | `condition` | [`Condition`](super::Condition) |
//! | `keys` | [`KeyCondition`](super::KeyCondition) |
//! | `update` | [`Update`](super::Update) |
//!
//! Every placeholder is looked up when its turn comes, because DynamoDB reports the first
//! mistake on its way, be it a missing name or an operand of the wrong type.

mod condition;
mod keys;
mod update;

use std::collections::{BTreeMap, BTreeSet};

use super::messages::ExpressionFault;
use super::parser::Parsed;
use super::path_tree::PathTree;
use super::syntax::{RawName, RawPath, RawStep, Term};
use super::{AttributeNames, AttributeValues, ExpressionError, Path, Projection, Span, Step};
use crate::Value;
use crate::limits::NESTING_MAX;
use crate::size::value_memory;

/// Bytes of memory that the copies of values may take which one request mentions several times. An
/// expression of 4 KB mentions a value hundreds of times.
const COPIES_BYTES_MAX: usize = 1_048_576;

/// Where values are looked up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum ValueSource<'a> {
    #[default]
    None,
    Plain(&'a BTreeMap<String, Value>),
    Received(&'a AttributeValues),
}

impl<'a> ValueSource<'a> {
    /// The value, and the key as the map has it.
    fn get(self, placeholder: &str) -> Option<(&'a str, &'a Value)> {
        match self {
            ValueSource::None => None,
            ValueSource::Plain(values) => {
                let (key, value) = values.get_key_value(placeholder)?;
                Some((key, value))
            }
            ValueSource::Received(values) => {
                let (key, value) = values.get_key_value(placeholder)?;
                // A malformed value is refused before the first look-up.
                Some((key, value.as_result().ok()?))
            }
        }
    }
}

/// The names and values of one request, and which of them were asked for.
#[derive(Debug, Default)]
pub(super) struct Binder<'a> {
    pub(super) names: Option<&'a AttributeNames>,
    pub(super) values: ValueSource<'a>,
    pub(super) used_names: BTreeSet<&'a str>,
    pub(super) used_values: BTreeSet<&'a str>,
    /// Bytes that values take again because they were mentioned before.
    pub(super) copies_bytes: usize,
    /// Whether operands are held to what DynamoDB takes. In a design that comes later, when the
    /// types of its attributes are known.
    pub(super) checks_operands: bool,
}

impl<'a> Binder<'a> {
    /// A binder of a request.
    pub(super) fn new(
        names: Option<&'a AttributeNames>,
        values: Option<&'a AttributeValues>,
    ) -> Self {
        Binder {
            names,
            values: values.map_or(ValueSource::None, ValueSource::Received),
            checks_operands: true,
            ..Binder::default()
        }
    }

    /// The paths of a projection. DynamoDB goes through them from the last to the first.
    pub(super) fn projection(&mut self, raw: &[RawPath]) -> Parsed<Projection> {
        let mut tree = PathTree::default();
        let mut paths = Vec::with_capacity(raw.len());
        for raw in raw.iter().rev() {
            let path = self.path(raw)?;
            tree.insert(&path)?;
            paths.push(path);
        }
        paths.reverse();
        Ok(Projection::of_distinct(paths))
    }

    pub(super) fn path(&mut self, raw: &RawPath) -> Parsed<Path> {
        let root = self.name(&raw.root, raw.span)?;
        let mut steps = Vec::with_capacity(raw.steps.len());
        for step in &raw.steps {
            steps.push(match step {
                RawStep::Field(name) => Step::Field(self.name(name, raw.span)?.into()),
                RawStep::Index(index) => Step::Index(*index),
            });
        }
        let levels = steps.len() + 1;
        if levels > NESTING_MAX {
            return Err(ExpressionError::fault(
                ExpressionFault::PathTooDeep { levels },
                raw.span,
            ));
        }
        Ok(Path {
            root: root.into(),
            steps,
            span: raw.span,
        })
    }

    fn name(&mut self, raw: &RawName, span: Span) -> Parsed<String> {
        let placeholder = match raw {
            RawName::Word(word) => return Ok(word.clone()),
            RawName::Placeholder(placeholder) => placeholder,
        };
        let defined = self
            .names
            .and_then(|names| names.get_key_value(placeholder));
        let Some((placeholder, name)) = defined else {
            let name = placeholder.clone();
            return Err(ExpressionError::fault(
                ExpressionFault::UndefinedName { name },
                span,
            ));
        };
        self.used_names.insert(placeholder);
        Ok(name.clone())
    }

    fn value(&mut self, placeholder: &str, span: Span) -> Parsed<Value> {
        let Some((placeholder, value)) = self.values.get(placeholder) else {
            let name = placeholder.to_owned();
            return Err(ExpressionError::fault(
                ExpressionFault::UndefinedValue { name },
                span,
            ));
        };
        if !self.used_values.insert(placeholder) {
            self.copies_bytes += value_memory(value);
            if self.copies_bytes > COPIES_BYTES_MAX {
                let name = placeholder.to_owned();
                return Err(ExpressionError::fault(
                    ExpressionFault::TooManyCopies { name },
                    span,
                ));
            }
        }
        Ok(value.clone())
    }

    /// The value of a placeholder or literal; nothing for other operands.
    fn constant(&mut self, term: &Term) -> Parsed<Option<(Value, Span)>> {
        match term {
            Term::Placeholder(name, span) => Ok(Some((self.value(name, *span)?, *span))),
            Term::Literal(value, span) => Ok(Some((value.clone(), *span))),
            Term::Path(_) | Term::Call(_) => Ok(None),
        }
    }
}
