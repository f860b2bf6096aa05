//! The ten types of DynamoDB.

use std::collections::BTreeSet;
use std::fmt;

use crate::{Map, Number};

/// A whole item. It is the same shape as a nested map; the name says which of the two is meant.
pub type Item = Map;

/// One attribute's value.
///
/// Sets are ordered here, because two sets with the same members are equal in DynamoDB
/// whatever order they were written in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A string.
    S(String),
    /// An exact decimal number.
    N(Number),
    /// Bytes.
    B(Vec<u8>),
    /// True or false.
    Bool(bool),
    /// The null value, which is not the same as a missing attribute.
    Null,
    /// A list of any values.
    L(Vec<Value>),
    /// A map of any values.
    M(Map),
    /// A set of strings.
    Ss(BTreeSet<String>),
    /// A set of numbers.
    Ns(BTreeSet<Number>),
    /// A set of byte strings.
    Bs(BTreeSet<Vec<u8>>),
}

/// The type of a [`Value`], under DynamoDB's own letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// String.
    S,
    /// Number.
    N,
    /// Binary.
    B,
    /// Boolean.
    Bool,
    /// Null.
    Null,
    /// List.
    L,
    /// Map.
    M,
    /// String set.
    Ss,
    /// Number set.
    Ns,
    /// Binary set.
    Bs,
}

impl Type {
    const LETTERS: [(Type, &'static str); 10] = [
        (Type::S, "S"),
        (Type::N, "N"),
        (Type::B, "B"),
        (Type::Bool, "BOOL"),
        (Type::Null, "NULL"),
        (Type::L, "L"),
        (Type::M, "M"),
        (Type::Ss, "SS"),
        (Type::Ns, "NS"),
        (Type::Bs, "BS"),
    ];

    /// The type that DynamoDB's letters name.
    pub fn from_letters(letters: &str) -> Option<Type> {
        Self::LETTERS
            .iter()
            .find(|(_, name)| *name == letters)
            .map(|(kind, _)| *kind)
    }

    /// DynamoDB's letters for this type, as in `{"S": …}`.
    pub fn letters(self) -> &'static str {
        Self::LETTERS[self as usize].1
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.letters())
    }
}

impl Value {
    /// This value's type.
    pub fn kind(&self) -> Type {
        match self {
            Value::S(_) => Type::S,
            Value::N(_) => Type::N,
            Value::B(_) => Type::B,
            Value::Bool(_) => Type::Bool,
            Value::Null => Type::Null,
            Value::L(_) => Type::L,
            Value::M(_) => Type::M,
            Value::Ss(_) => Type::Ss,
            Value::Ns(_) => Type::Ns,
            Value::Bs(_) => Type::Bs,
        }
    }

    /// The text of a string value.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::S(text) => Some(text),
            _ => None,
        }
    }

    /// The number of a number value.
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Value::N(number) => Some(number),
            _ => None,
        }
    }

    /// The entries of a map value.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Value::M(map) => Some(map),
            _ => None,
        }
    }

    /// What the function `size` gives: how many bytes, members, or UTF-16 units of text, because
    /// the service counts as Java does. Numbers, booleans and nulls have no size.
    pub fn size(&self) -> Option<usize> {
        Some(match self {
            Value::S(text) => text.encode_utf16().count(),
            Value::B(bytes) => bytes.len(),
            Value::L(list) => list.len(),
            Value::M(map) => map.len(),
            Value::Ss(set) => set.len(),
            Value::Ns(set) => set.len(),
            Value::Bs(set) => set.len(),
            Value::N(_) | Value::Bool(_) | Value::Null => return None,
        })
    }

    /// How many levels of lists and maps this value has; a scalar has none.
    pub fn depth(&self) -> usize {
        match self {
            Value::L(list) => 1 + list.iter().map(Value::depth).max().unwrap_or(0),
            Value::M(map) => 1 + map.values().map(Value::depth).max().unwrap_or(0),
            _ => 0,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::S(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::S(text)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Value::Bool(truth)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::N(Number::from(number))
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        Value::N(number)
    }
}
