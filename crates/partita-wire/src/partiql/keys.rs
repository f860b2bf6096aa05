//! The key that a WHERE clause names, and what else it asks.

use partita_core::expression::{Comparator, Condition, Operand, Path};
use partita_core::key::KeyValue;
use partita_core::{Item, Value};
use partita_store::table::{KeyAttribute, KeySchema};

use crate::messages;
use crate::refusal::Refusal;

/// The conditions that must all hold.
pub(super) fn parts(condition: Option<Condition>) -> Vec<Condition> {
    match condition {
        None => Vec::new(),
        Some(Condition::All(inner)) => inner
            .into_iter()
            .flat_map(|part| parts(Some(part)))
            .collect(),
        Some(one) => vec![one],
    }
}

/// The condition that they are together.
pub(super) fn all(mut parts: Vec<Condition>) -> Option<Condition> {
    match parts.len() {
        0 | 1 => parts.pop(),
        _ => Some(Condition::All(parts)),
    }
}

/// The key of one item, if there is an equality for each of its attributes, and what is asked
/// besides.
pub(super) fn address(
    schema: &KeySchema,
    condition: Option<Condition>,
) -> Result<Option<(Item, Vec<Condition>)>, Refusal> {
    let mut parts = parts(condition);
    let mut key = Item::new();
    for attribute in schema.attributes() {
        let Some(value) = take_equal(&mut parts, attribute)? else {
            return Ok(None);
        };
        key.insert(attribute.name.as_str(), value);
    }
    Ok(Some((key, parts)))
}

/// Takes the first equality of a key attribute out.
pub(super) fn take_equal(
    parts: &mut Vec<Condition>,
    attribute: &KeyAttribute,
) -> Result<Option<Value>, Refusal> {
    let is_equality = |part: &Condition| equality(part, &attribute.name).is_some();
    let Some(at) = parts.iter().position(is_equality) else {
        return Ok(None);
    };
    let value = equality(&parts[at], &attribute.name).cloned();
    parts.remove(at);
    value.map(|value| typed(attribute, value)).transpose()
}

/// The value that an attribute must equal.
pub(super) fn equality<'c>(part: &'c Condition, name: &str) -> Option<&'c Value> {
    let Condition::Compare(left, Comparator::Equal, right) = part else {
        return None;
    };
    match (left, right) {
        (Operand::Path(path), Operand::Value(value, _))
        | (Operand::Value(value, _), Operand::Path(path))
            if is_attribute(path, name) =>
        {
            Some(value)
        }
        _ => None,
    }
}

pub(super) fn is_attribute(path: &Path, name: &str) -> bool {
    path.steps.is_empty() && path.root == *name
}

/// Refuses a value that no key of the attribute has.
pub(super) fn typed(attribute: &KeyAttribute, value: Value) -> Result<Value, Refusal> {
    let kind = KeyValue::from_value(&value).map(|key| key.kind());
    if kind == Some(attribute.kind) {
        return Ok(value);
    }
    let message = messages::wrong_key_type(&attribute.name);
    Err(Refusal::validation(message))
}
