//! The parameters that expressions have replaced, lowered to the trees that expressions give.
//!
//! | module | what it lowers |
//! |---|---|
//! | `comparison` | a ComparisonOperator and its values: ScanFilter and QueryFilter |
//! | `expected` | Expected |
//! | `updates` | AttributeUpdates |
//! | `keys` | KeyConditions |
//!
//! AttributesToGet and ConditionalOperator are here. Each has the service's own checks and words;
//! what is left is evaluated like any expression.

mod comparison;
mod expected;
mod keys;
mod updates;

use std::collections::BTreeSet;

use partita_core::expression::{Condition, Path, Projection};
use partita_core::json::ValueError;
use partita_core::limits::ATTRIBUTE_NAME_BYTES_MAX;

use crate::constraints::{Choice, Constraints};
use crate::messages;
use crate::refusal::Refusal;

pub(crate) use comparison::{Comparisons, check_comparisons, filter};
pub(crate) use expected::{Expected, check_expected, expectation};
pub(crate) use keys::{LegacyKeys, key_conditions};
pub(crate) use updates::{AttributeUpdates, check_updates, reworded, update};

/// Whether a parameter is there, beside its name.
pub(crate) type Presence<'a> = (&'a str, bool);

/// Refuses parameters of both kinds in one request.
///
/// A request without legacy parameters allocates nothing here.
pub(crate) fn check_unmixed(
    legacy: &[Presence<'_>],
    expressions: &[(&str, &Option<String>)],
) -> Result<(), Refusal> {
    let used: Vec<&str> = legacy
        .iter()
        .filter_map(|(name, is_present)| is_present.then_some(*name))
        .collect();
    if used.is_empty() {
        return Ok(());
    }
    let beside: Vec<&str> = expressions
        .iter()
        .filter_map(|(name, text)| text.is_some().then_some(*name))
        .collect();
    if beside.is_empty() {
        return Ok(());
    }
    let message = messages::mixed_parameters(&used, &beside);
    Err(Refusal::validation(message))
}

/// ConditionalOperator: whether all of several conditions must hold, or any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConditionalOperator {
    Or,
    And,
}

impl Choice for ConditionalOperator {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("OR", ConditionalOperator::Or),
        ("AND", ConditionalOperator::And),
    ];
}

impl ConditionalOperator {
    pub(crate) fn of(constraints: &mut Constraints, text: &Option<String>) -> Option<Self> {
        constraints.choice("conditionalOperator", text)
    }
}

/// Joins conditions, which are checked already. An operator needs at least two.
fn join(
    operator: Option<ConditionalOperator>,
    mut conditions: Vec<Condition>,
) -> Result<Option<Condition>, Refusal> {
    match (operator, conditions.len()) {
        (Some(_), 0) => Err(Refusal::validation(messages::OPERATOR_WITHOUT_CONDITIONS)),
        (Some(_), 1) => Err(Refusal::validation(messages::OPERATOR_OF_ONE_CONDITION)),
        (None, 0 | 1) => Ok(conditions.pop()),
        (Some(ConditionalOperator::Or), _) => Ok(Some(Condition::Any(conditions))),
        (Some(ConditionalOperator::And) | None, _) => Ok(Some(Condition::All(conditions))),
    }
}

/// A whole attribute: these parameters know no paths, so that `a.b` is a name.
fn attribute(name: &str) -> Result<Path, Refusal> {
    if name.is_empty() {
        return Err(ValueError::EmptyName.into());
    }
    if name.len() > ATTRIBUTE_NAME_BYTES_MAX {
        return Err(Refusal::validation(messages::LONG_ATTRIBUTE_NAME));
    }
    Ok(Path::attribute(name))
}

/// The length of AttributesToGet.
pub(crate) fn check_attributes(
    constraints: &mut Constraints,
    at: &str,
    attributes: &Option<Vec<String>>,
) {
    if let Some(attributes) = attributes {
        constraints.length(at, attributes.len(), 1..=usize::MAX, || "[]".to_owned());
    }
}

/// AttributesToGet as a projection.
pub(crate) fn projection(attributes: &Option<Vec<String>>) -> Result<Option<Projection>, Refusal> {
    let Some(attributes) = attributes else {
        return Ok(None);
    };
    let mut seen = BTreeSet::new();
    if let Some(twice) = attributes.iter().find(|name| !seen.insert(*name)) {
        return Err(Refusal::validation(messages::attribute_twice(twice)));
    }
    let paths: Result<_, Refusal> = attributes.iter().map(|name| attribute(name)).collect();
    Ok(Some(Projection::new(paths?)?))
}
