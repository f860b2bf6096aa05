//! What DynamoDB says about an expression it refuses, word for word.
//!
//! All texts are here and only here, because the service changes them now and then. Each was
//! held against DynamoDB Local; where Amazon DynamoDB is known to say something else, its words
//! are used and a comment says so. Odd spacing and closing semicolons are the service's.

use std::fmt;

use super::Path;
use super::request::ExpressionKind;
use crate::{Type, Value};

/// One mistake, without the `Invalid …Expression: ` that a request puts in front.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ExpressionFault {
    #[error("The expression can not be empty;")]
    Empty,
    #[error("Expression size has exceeded the maximum allowed size;{}", size_suffix(.size))]
    TooLong { size: Option<usize> },
    #[error("Syntax error; token: \"{token}\", near: \"{near}\"")]
    Syntax { token: String, near: String },
    #[error("Statement wasn't well formed, can't be processed: {detail}")]
    Malformed { detail: String },
    #[error("The expression has redundant parentheses;")]
    RedundantParentheses,
    #[error("Invalid function name; function: {name}")]
    UnknownFunction { name: String },
    #[error("The function is not allowed in {place} expression; function: {name}")]
    ForeignFunction { name: String, place: &'static str },
    #[error("The function is not allowed to be used this way in an expression; function: {name}")]
    MisusedFunction { name: String },
    #[error("Attribute name is a reserved keyword; reserved keyword: {word}")]
    Reserved { word: String },
    #[error("List index is not within the allowable range; index: [{index}]")]
    IndexOutOfRange { index: String },
    #[error("The expression contains too many operators; operator count: {count}")]
    TooManyOperators { count: usize },
    #[error("The \"{section}\" section can only be used once in an update expression;")]
    RepeatedSection { section: &'static str },
    #[error(
        "An expression attribute name used in the document path is not defined; attribute name: {name}"
    )]
    UndefinedName { name: String },
    #[error(
        "An expression attribute value used in expression is not defined; attribute value: {name}"
    )]
    UndefinedValue { name: String },
    // Not the service's: it does not say how often a large value may be mentioned.
    #[error(
        "The expression attribute values are too large to be used that often; attribute value: {name}"
    )]
    TooManyCopies { name: String },
    #[error("The document path has too many nesting levels; nesting levels: {levels}")]
    PathTooDeep { levels: usize },
    #[error(
        "Incorrect number of operands for operator or function; operator or function: {operator}, number of operands: {count}"
    )]
    OperandCount { operator: String, count: usize },
    #[error("The IN operator is provided with too many operands; number of operands: {count}")]
    TooManyInOperands { count: usize },
    #[error(
        "The first operand must be distinct from the remaining operands for this operator or function; operator: {operator}, first operand: {}", Listed(.path)
    )]
    SameOperands { operator: &'static str, path: Path },
    #[error(
        "Incorrect operand type for operator or function; operator or function: {operator}, operand type: {kind}"
    )]
    OperandType { operator: &'static str, kind: Type },
    // DynamoDB Local lists its internal types too, in another order on every run. This is what
    // Amazon answered the authors of dynalite.
    #[error(
        "Incorrect operand type for operator or function; operator or function: {operator}, operand type: {{NS,SS,L,BS,N,M,B,BOOL,NULL,S}}"
    )]
    OperandTypeOpen { operator: &'static str },
    #[error("Operator or function requires a document path; operator or function: {operator}")]
    PathRequired { operator: &'static str },
    #[error(
        "Invalid attribute type name found; type: {name}, valid types: {{N,BS,L,B,NULL,M,S,SS,NS,BOOL}}"
    )]
    UnknownType { name: String },
    #[error(
        "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: {}, upper bound operand: {}", Bound(.low), Bound(.high)
    )]
    BoundTypes { low: Value, high: Value },
    #[error(
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: {}, upper bound operand: {}", Bound(.low), Bound(.high)
    )]
    BoundOrder { low: Value, high: Value },
    #[error(
        "Incorrect operand type for operator or function; operator: {operator}, operand type: {}, typeSet: ALLOWED_FOR_{operator}_OPERAND", type_name(.kind)
    )]
    ClauseType { operator: &'static str, kind: Type },
    #[error(
        "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: {}, path two: {}", Listed(.one), Listed(.two)
    )]
    PathsOverlap { one: Path, two: Path },
    #[error(
        "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: {}, path two: {}", Listed(.one), Listed(.two)
    )]
    PathsConflict { one: Path, two: Path },
}

/// What is wrong with a request's expressions as a whole; these are complete messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RequestFault {
    #[error("Invalid {kind}: {fault}")]
    Expression { kind: ExpressionKind, fault: String },
    #[error("{map} must not be empty")]
    EmptyMap { map: &'static str },
    #[error("{map} contains invalid key: Syntax error; key: \"{key}\"")]
    InvalidKey { map: &'static str, key: String },
    #[error("{map} contains invalid key: The expression attribute map contains an empty key;")]
    EmptyKey { map: &'static str },
    #[error(
        "ExpressionAttributeNames contains invalid key: The expression attribute map contains a key that is too long; size of key: {size}"
    )]
    LongNameKey { size: usize },
    #[error(
        "ExpressionAttributeValues contains invalid key: The expression attribute map contains a key that is too long;"
    )]
    LongValueKey,
    #[error("ExpressionAttributeValues exceeds max size")]
    LargeValues,
    #[error("ExpressionAttributeNames contains invalid value: Empty attribute name for key {key}")]
    EmptyName { key: String },
    #[error(
        "ExpressionAttributeNames contains invalid value: Attribute name is too large, must be less than 65536 bytes for key {key}"
    )]
    LongName { key: String },
    #[error("ExpressionAttributeValues contains invalid value: {fault} for key {key}")]
    InvalidValue { fault: String, key: String },
    #[error("Value provided in {map} unused in expressions: keys: {{{}}}", .keys.join(", "))]
    Unused {
        map: &'static str,
        keys: Vec<String>,
    },
    #[error("ExpressionAttributeNames can only be specified when using expressions")]
    NamesAlone,
    #[error(
        "ExpressionAttributeValues can only be specified when using expressions: {} null", are(.missing)
    )]
    ValuesAlone { missing: Vec<ExpressionKind> },
}

/// What a key condition may not hold; complete messages again, in DynamoDB's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum KeyFault {
    #[error("Invalid operator used in KeyConditionExpression: {operator}")]
    Operator { operator: &'static str },
    #[error("KeyConditionExpressions cannot contain nested operations")]
    Nested,
    #[error("KeyConditionExpressions cannot have conditions on nested attributes")]
    NestedAttribute,
    #[error("KeyConditionExpressions must only contain one condition per key")]
    RepeatedKey,
    #[error(
        "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"
    )]
    TwoAttributes,
    #[error("Invalid condition in KeyConditionExpression: No key attribute specified")]
    NoAttribute,
    #[error(
        "Invalid condition in KeyConditionExpression: {operator} operator must have the key attribute as its first operand"
    )]
    AttributeFirst { operator: &'static str },
    #[error("Query key condition not supported")]
    NotSupported,
}

fn size_suffix(size: &Option<usize>) -> String {
    size.map(|size| format!(" expression size: {size}"))
        .unwrap_or_default()
}

/// `A is`, or `A and B are`.
fn are(kinds: &[ExpressionKind]) -> String {
    let names: Vec<_> = kinds.iter().map(ToString::to_string).collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", names.join(" and "))
}

fn type_name(kind: &Type) -> &'static str {
    match kind {
        Type::S => "STRING",
        Type::N => "NUMBER",
        Type::B => "BINARY",
        Type::Bool => "BOOLEAN",
        Type::Null => "NULL",
        Type::L => "LIST",
        Type::M => "MAP",
        Type::Ss => "STRING_SET",
        Type::Ns => "NUMBER_SET",
        Type::Bs => "BINARY_SET",
    }
}

/// A path as Java prints a list: `[a, b, [0]]`.
struct Listed<'a>(&'a Path);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}", self.0.root)?;
        for step in &self.0.steps {
            match step {
                super::Step::Field(name) => write!(f, ", {name}")?,
                super::Step::Index(index) => write!(f, ", [{index}]")?,
            }
        }
        f.write_str("]")
    }
}

/// A bound of BETWEEN as Java prints an attribute value.
struct Bound<'a>(&'a Value);

impl fmt::Display for Bound<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = self.0.kind().letters();
        match self.0 {
            Value::S(text) => write!(f, "AttributeValue: {{{letters}:{text}}}"),
            Value::N(number) => write!(f, "AttributeValue: {{{letters}:{number}}}"),
            Value::B(bytes) => {
                let length = bytes.len();
                write!(
                    f,
                    "AttributeValue: {{{letters}:java.nio.HeapByteBuffer[pos=0 lim={length} cap={length}]}}"
                )
            }
            _ => write!(f, "AttributeValue: {{{letters}}}"),
        }
    }
}
