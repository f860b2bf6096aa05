//! Comparison operators with their values, as filters and key conditions have them.

use std::collections::BTreeMap;

use partita_core::expression::{Comparator, Condition, Operand, Path};
use partita_core::json::Received;
use partita_core::{Type, Value};
use serde::Deserialize;

use super::{ConditionalOperator, attribute, join};
use crate::constraints::{Choice, Constraints};
use crate::messages;
use crate::refusal::Refusal;

/// Comparisons by the attribute that they are of.
pub(crate) type Comparisons = BTreeMap<String, Comparison>;

/// One comparison, as a request has it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Comparison {
    attribute_value_list: Option<Vec<Received<Value>>>,
    comparison_operator: Option<String>,
}

/// ComparisonOperator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    In,
    Null,
    Between,
    Lt,
    NotContains,
    Eq,
    Gt,
    NotNull,
    Ne,
    Le,
    BeginsWith,
    Ge,
    Contains,
}

impl Choice for Operator {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("IN", Operator::In),
        ("NULL", Operator::Null),
        ("BETWEEN", Operator::Between),
        ("LT", Operator::Lt),
        ("NOT_CONTAINS", Operator::NotContains),
        ("EQ", Operator::Eq),
        ("GT", Operator::Gt),
        ("NOT_NULL", Operator::NotNull),
        ("NE", Operator::Ne),
        ("LE", Operator::Le),
        ("BEGINS_WITH", Operator::BeginsWith),
        ("GE", Operator::Ge),
        ("CONTAINS", Operator::Contains),
    ];
}

impl Operator {
    /// The operator of a request that has passed its constraints.
    pub(super) fn named(text: Option<&str>) -> Option<Operator> {
        let mut names = Self::NAMES.iter();
        names
            .find(|(name, _)| Some(*name) == text)
            .map(|(_, operator)| *operator)
    }

    pub(super) fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    fn takes_count(self, count: usize) -> bool {
        match self {
            Operator::Null | Operator::NotNull => count == 0,
            Operator::Between => count == 2,
            Operator::In => count > 0,
            _ => count == 1,
        }
    }

    fn takes_type(self, kind: Type) -> bool {
        let is_scalar = matches!(kind, Type::S | Type::N | Type::B);
        match self {
            Operator::Eq | Operator::Ne | Operator::Null | Operator::NotNull => true,
            Operator::Contains | Operator::NotContains => {
                is_scalar || matches!(kind, Type::Bool | Type::Null)
            }
            Operator::BeginsWith => matches!(kind, Type::S | Type::B),
            _ => is_scalar,
        }
    }
}

/// An operator with as many values of the right types as it takes.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) operator: Operator,
    pub(super) values: Vec<Value>,
}

impl Checked {
    pub(super) fn new(operator: Operator, values: Vec<Value>) -> Result<Self, Refusal> {
        let refuse = |message: String| Err(Refusal::validation(message));
        if !operator.takes_count(values.len()) {
            return refuse(messages::argument_count(operator.name()));
        }
        if values
            .windows(2)
            .any(|pair| pair[0].kind() != pair[1].kind())
        {
            return refuse(messages::MIXED_ARGUMENTS.to_owned());
        }
        let misfit = values.iter().find(|it| !operator.takes_type(it.kind()));
        if let Some(value) = misfit {
            let letters = value.kind().letters();
            return refuse(messages::argument_type(operator.name(), letters));
        }
        if let (Operator::Between, [low, high]) = (operator, values.as_slice())
            && is_reversed(low, high)
        {
            return refuse(messages::REVERSED_BETWEEN.to_owned());
        }
        Ok(Checked { operator, values })
    }

    /// What is asked of an attribute.
    ///
    /// A missing attribute contains nothing, but NOT_CONTAINS does not hold for it either; NE
    /// does, as `<>` in an expression.
    pub(super) fn condition(self, path: Path) -> Condition {
        let subject = Operand::Path(path.clone());
        let mut values = self.values.into_iter().map(Operand::value);
        // The values were counted.
        let mut value = || values.next().unwrap_or(Operand::value(Value::Null));
        let compare = |comparator, value| Condition::Compare(subject.clone(), comparator, value);
        match self.operator {
            Operator::Null => Condition::NotExists(path),
            Operator::NotNull => Condition::Exists(path),
            Operator::Eq => compare(Comparator::Equal, value()),
            Operator::Ne => compare(Comparator::NotEqual, value()),
            Operator::Lt => compare(Comparator::Less, value()),
            Operator::Le => compare(Comparator::LessOrEqual, value()),
            Operator::Gt => compare(Comparator::Greater, value()),
            Operator::Ge => compare(Comparator::GreaterOrEqual, value()),
            Operator::Between => Condition::Between(subject, value(), value()),
            Operator::BeginsWith => Condition::BeginsWith(subject, value()),
            Operator::Contains => Condition::Contains(subject, value()),
            Operator::NotContains => Condition::All(vec![
                Condition::Exists(path),
                Condition::Not(Box::new(Condition::Contains(subject, value()))),
            ]),
            Operator::In => Condition::In(subject, values.collect()),
        }
    }
}

fn is_reversed(low: &Value, high: &Value) -> bool {
    match (low, high) {
        (Value::S(low), Value::S(high)) => low > high,
        (Value::N(low), Value::N(high)) => low > high,
        (Value::B(low), Value::B(high)) => low > high,
        _ => false,
    }
}

impl Comparison {
    pub(super) fn checked(self) -> Result<Checked, Refusal> {
        let operator = Operator::named(self.comparison_operator.as_deref());
        // It is required, and so is there.
        let operator = operator.unwrap_or(Operator::Null);
        Checked::new(operator, values(self.attribute_value_list)?)
    }
}

pub(super) fn values(list: Option<Vec<Received<Value>>>) -> Result<Vec<Value>, Refusal> {
    let values = list.into_iter().flatten().map(Received::into_result);
    Ok(values.collect::<Result<_, _>>()?)
}

/// What the model of the API asks of comparisons.
pub(crate) fn check_comparisons(
    constraints: &mut Constraints,
    at: &str,
    comparisons: &Option<Comparisons>,
) {
    for (name, comparison) in comparisons.iter().flatten() {
        let at = format!("{at}.{name}.member.comparisonOperator");
        constraints.required(&at, &comparison.comparison_operator);
        constraints.choice::<Operator>(&at, &comparison.comparison_operator);
    }
}

/// A filter.
pub(crate) fn filter(
    comparisons: Option<Comparisons>,
    operator: Option<ConditionalOperator>,
) -> Result<Option<Condition>, Refusal> {
    let mut conditions = Vec::new();
    for (name, comparison) in comparisons.into_iter().flatten() {
        let checked = comparison.checked()?;
        conditions.push(checked.condition(attribute(&name)?));
    }
    join(operator, conditions)
}
