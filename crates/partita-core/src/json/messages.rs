//! What DynamoDB says about a value it refuses, word for word.
//!
//! As with expressions, all texts are here, and Amazon's words win over DynamoDB Local's.

use crate::NumberError;

/// Why a value is not one that DynamoDB takes; a ValidationException's whole message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// No type is set.
    #[error(
        "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
    )]
    Empty,
    /// More than one type is set.
    #[error(
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
    )]
    SeveralTypes,
    /// There is a JSON null where a value should be.
    #[error("The supplied Item contains a null AttributeValue{}", is_null(.name))]
    Null {
        /// The attribute or field, where it has a name.
        name: Option<String>,
    },
    /// `{"NULL": false}`.
    #[error(
        "One or more parameter values were invalid: Null attribute value types must have the value of true"
    )]
    NullIsFalse,
    /// A set of strings has no member.
    #[error("One or more parameter values were invalid: An string set  may not be empty")]
    EmptyStringSet,
    /// A set of numbers has no member.
    #[error("One or more parameter values were invalid: An number set  may not be empty")]
    EmptyNumberSet,
    /// A set of binaries has no member.
    #[error("One or more parameter values were invalid: Binary sets should not be empty")]
    EmptyBinarySet,
    /// A member of a set is null.
    #[error(
        "One or more parameter values were invalid: An string set may not have a null string as a member"
    )]
    NullMember,
    /// A set of strings has a member twice. DynamoDB Local leaves the full stop out.
    #[error(
        "One or more parameter values were invalid: Input collection [{}] contains duplicates.", .members.join(", ")
    )]
    StringDuplicates {
        /// The members as they were sent.
        members: Vec<String>,
    },
    /// A set of numbers has a member twice, however it is written.
    #[error("Input collection contains duplicates")]
    NumberDuplicates,
    /// A set of binaries has a member twice. Amazon lists the members; DynamoDB Local does not.
    #[error(
        "One or more parameter values were invalid: Input collection [{}]of type BS contains duplicates.", .members.join(", ")
    )]
    BinaryDuplicates {
        /// The members in base64, as they were sent.
        members: Vec<String>,
    },
    /// Not a number, or not one that DynamoDB stores.
    #[error(transparent)]
    Number(#[from] NumberError),
    /// An attribute or field without a name.
    #[error("Empty attribute name")]
    EmptyName,
    /// Lists and maps are nested too deeply.
    #[error(
        "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
    )]
    TooDeep,
}

fn is_null(name: &Option<String>) -> String {
    name.as_ref()
        .map(|name| format!(": {name} is null"))
        .unwrap_or_default()
}

/// JSON of the wrong shape. DynamoDB answers these with a SerializationException.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ShapeFault {
    #[error("{found} cannot be converted to {wanted}")]
    Scalar {
        found: &'static str,
        wanted: &'static str,
    },
    #[error("only base-64-encoded strings are convertible to bytes")]
    NotBase64Text,
    #[error("Base64 encoded length is expected a multiple of 4 bytes but found: {length}")]
    Base64Length { length: usize },
    // The spelling is the service's.
    #[error("Invalid last non-pad Base64 character dectected")]
    Base64Character,
    #[error("Unexpected token received from parser")]
    UnknownTruth,
    #[error("Unrecognized collection type class {class}")]
    List { class: &'static str },
    #[error("Unrecognized collection type java.util.Map<java.lang.String, {VALUE_CLASS}>")]
    ListForMap,
    #[error("Start of structure or map found where not expected")]
    Structure,
    #[error("Unexpected field type")]
    Field,
    #[error("Unexpected value type in payload")]
    Value,
}

pub(super) const VALUE_CLASS: &str = "com.amazonaws.dynamodb.v20120810.AttributeValue";
