//! Our values to the SDK's and back.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{
    AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure, ScalarAttributeType,
};
use partita_core::key::KeyType;
use partita_core::{Item, Name, Number, Value};
use partita_store::request::ReturnValues;
use partita_store::{StoreError, StoreResult};

/// Attributes as the SDK has them.
pub(crate) type Attributes = HashMap<String, AttributeValue>;

pub(crate) fn to_attributes(item: &Item) -> Attributes {
    let attribute = |(name, value): (&Name, &Value)| (name.to_string(), to_attribute(value));
    item.iter().map(attribute).collect()
}

pub(crate) fn to_attribute(value: &Value) -> AttributeValue {
    match value {
        Value::S(text) => AttributeValue::S(text.clone()),
        Value::N(number) => AttributeValue::N(number.to_string()),
        Value::B(bytes) => AttributeValue::B(Blob::new(bytes.clone())),
        Value::Bool(truth) => AttributeValue::Bool(*truth),
        Value::Null => AttributeValue::Null(true),
        Value::L(list) => AttributeValue::L(list.iter().map(to_attribute).collect()),
        Value::M(map) => AttributeValue::M(to_attributes(map)),
        Value::Ss(set) => AttributeValue::Ss(set.iter().cloned().collect()),
        Value::Ns(set) => AttributeValue::Ns(set.iter().map(Number::to_string).collect()),
        Value::Bs(set) => AttributeValue::Bs(set.iter().cloned().map(Blob::new).collect()),
    }
}

/// An answer that we cannot represent. What it means depends on the operation: after a read the
/// data is damaged, after a write it is the outcome that stays unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable(String);

impl Unreadable {
    pub(crate) fn after_read(self) -> StoreError {
        StoreError::Corrupt { message: self.0 }
    }

    pub(crate) fn after_write(self) -> StoreError {
        StoreError::OutcomeUnknown { message: self.0 }
    }
}

/// A value as the SDK has it. Tables and streams are two services, with a type each.
pub(crate) trait FromService {
    fn value(self) -> Result<Value, Unreadable>;
}

macro_rules! from_service {
    ($($attribute:path),*) => {$(
        impl FromService for $attribute {
            fn value(self) -> Result<Value, Unreadable> {
                use $attribute as Attribute;
                Ok(match self {
                    Attribute::S(text) => Value::S(text),
                    Attribute::N(text) => Value::N(from_number(text)?),
                    Attribute::B(bytes) => Value::B(bytes.into_inner()),
                    Attribute::Bool(truth) => Value::Bool(truth),
                    Attribute::Null(_) => Value::Null,
                    Attribute::L(list) => {
                        let values = list.into_iter().map(FromService::value);
                        Value::L(values.collect::<Result<_, _>>()?)
                    }
                    Attribute::M(map) => Value::M(from_attributes(map)?),
                    Attribute::Ss(set) => Value::Ss(set.into_iter().collect()),
                    Attribute::Ns(set) => {
                        let numbers = set.into_iter().map(from_number);
                        Value::Ns(numbers.collect::<Result<BTreeSet<_>, _>>()?)
                    }
                    Attribute::Bs(set) => Value::Bs(set.into_iter().map(Blob::into_inner).collect()),
                    other => {
                        return Err(Unreadable(format!(
                            "a value of a type that this release does not know: {other:?}"
                        )));
                    }
                })
            }
        }
    )*};
}

from_service!(
    aws_sdk_dynamodb::types::AttributeValue,
    aws_sdk_dynamodbstreams::types::AttributeValue
);

pub(crate) fn from_attributes(
    attributes: HashMap<String, impl FromService>,
) -> Result<Item, Unreadable> {
    let entry = |(name, attribute): (String, _)| match FromService::value(attribute) {
        Ok(value) => Ok((name, value)),
        Err(Unreadable(detail)) => Err(Unreadable(format!("`{name}`: {detail}"))),
    };
    attributes.into_iter().map(entry).collect()
}

fn from_number(text: String) -> Result<Number, Unreadable> {
    text.parse()
        .map_err(|error| Unreadable(format!("a number out of bounds: {error}")))
}

/// DynamoDB says "nothing" in two ways: no attributes, and none in them.
pub(crate) fn present(attributes: Option<Attributes>) -> Option<Attributes> {
    attributes.filter(|attributes| !attributes.is_empty())
}

/// What a read found.
pub(crate) fn read(attributes: Option<Attributes>) -> StoreResult<Option<Item>> {
    let item = present(attributes).map(from_attributes).transpose();
    item.map_err(Unreadable::after_read)
}

/// What a read found that may have asked for nothing: an item without any part is there.
pub(crate) fn read_parts(attributes: Option<Attributes>) -> StoreResult<Option<Item>> {
    let item = attributes.map(from_attributes).transpose();
    item.map_err(Unreadable::after_read)
}

/// What a write returned.
pub(crate) fn returned(attributes: Option<Attributes>) -> StoreResult<Option<Item>> {
    let item = present(attributes).map(from_attributes).transpose();
    item.map_err(Unreadable::after_write)
}

pub(crate) fn to_return_value(returns: ReturnValues) -> ReturnValue {
    match returns {
        ReturnValues::None => ReturnValue::None,
        ReturnValues::AllOld => ReturnValue::AllOld,
        ReturnValues::AllNew => ReturnValue::AllNew,
        ReturnValues::UpdatedOld => ReturnValue::UpdatedOld,
        ReturnValues::UpdatedNew => ReturnValue::UpdatedNew,
    }
}

pub(crate) fn on_failure(return_item: bool) -> ReturnValuesOnConditionCheckFailure {
    if return_item {
        ReturnValuesOnConditionCheckFailure::AllOld
    } else {
        ReturnValuesOnConditionCheckFailure::None
    }
}

pub(crate) fn to_scalar_type(kind: KeyType) -> ScalarAttributeType {
    match kind {
        KeyType::S => ScalarAttributeType::S,
        KeyType::N => ScalarAttributeType::N,
        KeyType::B => ScalarAttributeType::B,
    }
}

/// The type of a key; the SDK may know types that this release does not.
pub(crate) fn from_scalar_type(kind: &ScalarAttributeType) -> Option<KeyType> {
    match kind {
        ScalarAttributeType::S => Some(KeyType::S),
        ScalarAttributeType::N => Some(KeyType::N),
        ScalarAttributeType::B => Some(KeyType::B),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
