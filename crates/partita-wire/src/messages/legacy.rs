//! What concerns the parameters that expressions have replaced.

pub(crate) const OPERATOR_WITHOUT_CONDITIONS: &str =
    "ConditionalOperator cannot be used without Filter or Expected";
pub(crate) const OPERATOR_OF_ONE_CONDITION: &str =
    "ConditionalOperator can only be used when Filter or Expected has two or more elements";
/// Ours: what the service says here is not known.
pub(crate) const LONG_ATTRIBUTE_NAME: &str = "an attribute's name has at most 65535 bytes";
pub(crate) const MIXED_ARGUMENTS: &str = "One or more parameter values were invalid: AttributeValues inside AttributeValueList must be of same type";
pub(crate) const REVERSED_BETWEEN: &str = "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound";
pub(crate) const NO_VALUE_TO_UPDATE: &str = "One or more parameter values were invalid: Only DELETE action is allowed when no attribute value is specified";
pub(crate) const UPDATE_TYPE_MISMATCH: &str = "Type mismatch for attribute to update";
pub(crate) const KEY_CONDITIONS_COUNT: &str = "Conditions can be of length 1 or 2 only";
pub(crate) const KEYS_NOT_SUPPORTED: &str = "Query key condition not supported";
pub(crate) const NOT_INDEXABLE: &str =
    "Attempted conditional constraint is not an indexable operation";

pub(crate) fn mixed_parameters(legacy: &[&str], expressions: &[&str]) -> String {
    format!(
        "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {{{}}} Expression parameters: {{{}}}",
        legacy.join(", "),
        expressions.join(", ")
    )
}

pub(crate) fn attribute_twice(name: &str) -> String {
    format!("One or more parameter values were invalid: Duplicate value in attribute name: {name}")
}

pub(crate) fn argument_count(operator: &str) -> String {
    format!(
        "One or more parameter values were invalid: Invalid number of argument(s) for the {operator} ComparisonOperator"
    )
}

pub(crate) fn argument_type(operator: &str, kind: &str) -> String {
    format!(
        "One or more parameter values were invalid: ComparisonOperator {operator} is not valid for {kind} AttributeValue type"
    )
}

pub(crate) fn expected(detail: &str, attribute: &str) -> String {
    format!("One or more parameter values were invalid: {detail} for Attribute: {attribute}")
}

pub(crate) fn no_addition_of(kind: &str) -> String {
    format!(
        "One or more parameter values were invalid: ADD action is not supported for the type {kind}"
    )
}

pub(crate) fn no_deletion_of(kind: &str) -> String {
    format!(
        "One or more parameter values were invalid: DELETE action with value is not supported for the type {kind}"
    )
}

pub(crate) fn missed_key(attribute: &str) -> String {
    format!("Query condition missed key schema element: {attribute}")
}

/// A filter of keys, in the words for QueryFilter; other sentences stay as they are.
pub(crate) fn of_query_filter(message: &str) -> String {
    match message.strip_prefix("Filter Expression can only contain") {
        Some(rest) => format!("QueryFilter can only contain{rest}"),
        None => message.to_owned(),
    }
}
