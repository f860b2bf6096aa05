//! Expected: conditions on a write.

use std::collections::BTreeMap;

use partita_core::Value;
use partita_core::expression::Condition;
use partita_core::json::Received;
use serde::Deserialize;

use super::comparison::{Checked, Operator, values};
use super::{ConditionalOperator, attribute, join};
use crate::constraints::Constraints;
use crate::messages;
use crate::refusal::Refusal;

/// What is expected of each attribute.
pub(crate) type Expected = BTreeMap<String, ExpectedValue>;

/// What is expected of one attribute, in either of two ways: that it has a value or does not
/// exist, or a comparison.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ExpectedValue {
    value: Option<Received<Value>>,
    exists: Option<bool>,
    attribute_value_list: Option<Vec<Received<Value>>>,
    comparison_operator: Option<String>,
}

/// What the model of the API asks of it.
pub(crate) fn check_expected(constraints: &mut Constraints, expected: &Option<Expected>) {
    for (name, expected) in expected.iter().flatten() {
        let at = format!("expected.{name}.member.comparisonOperator");
        constraints.choice::<Operator>(&at, &expected.comparison_operator);
    }
}

/// The condition of a write.
pub(crate) fn expectation(
    expected: Option<Expected>,
    operator: Option<ConditionalOperator>,
) -> Result<Option<Condition>, Refusal> {
    let mut conditions = Vec::new();
    for (name, expected) in expected.into_iter().flatten() {
        let checked = expected.checked(&name)?;
        conditions.push(checked.condition(attribute(&name)?));
    }
    join(operator, conditions)
}

impl ExpectedValue {
    fn checked(self, name: &str) -> Result<Checked, Refusal> {
        let refuse = |detail: &str| {
            let message = messages::expected(detail, name);
            Err(Refusal::validation(message))
        };
        if self.value.is_some() && self.attribute_value_list.is_some() {
            return refuse("Value and AttributeValueList cannot be used together");
        }
        let has_values = self.value.is_some() || self.attribute_value_list.is_some();
        let operator = Operator::named(self.comparison_operator.as_deref());
        let operator = match (operator, self.exists) {
            (Some(_), Some(_)) => {
                return refuse("Exists and ComparisonOperator cannot be used together");
            }
            (Some(operator), None) => {
                let is_alone = matches!(operator, Operator::Null | Operator::NotNull);
                if !has_values && !is_alone {
                    let name = operator.name();
                    return refuse(&format!(
                        "Value or AttributeValueList must be used with ComparisonOperator: {name}"
                    ));
                }
                operator
            }
            (None, _) if self.attribute_value_list.is_some() => {
                return refuse("AttributeValueList can only be used with a ComparisonOperator");
            }
            (None, Some(false)) if has_values => {
                return refuse("Value cannot be used when Exists is false");
            }
            (None, Some(false)) => Operator::Null,
            (None, exists) if !has_values => {
                let exists = exists.map_or("null", |_| "true");
                return refuse(&format!("Value must be provided when Exists is {exists}"));
            }
            (None, _) => Operator::Eq,
        };
        let one = self.value.map(|value| vec![value]);
        Checked::new(operator, values(one.or(self.attribute_value_list))?)
    }
}
