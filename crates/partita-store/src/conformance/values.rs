//! What the items and expressions of the cases are made of.

use partita_core::expression::{Bindings, Condition, KeyCondition, Path, Update};
use partita_core::key::KeyType;
use partita_core::{Item, Number, Value};

use crate::table::{KeyAttribute, KeySchema};

/// The keys `PK` and `SK`, of the given types.
pub(super) fn schema(partition: KeyType, sort: Option<KeyType>) -> KeySchema {
    let attribute = |name: &str, kind| KeyAttribute {
        name: name.to_owned(),
        kind,
    };
    KeySchema {
        partition: attribute("PK", partition),
        sort: sort.map(|kind| attribute("SK", kind)),
    }
}

/// The key of an item in the partition `p`, where most cases play.
pub(super) fn row(sort: &str) -> Item {
    Item::from([
        ("PK".to_owned(), Value::from("p")),
        ("SK".to_owned(), Value::from(sort)),
    ])
}

/// Items that grow attribute by attribute: `row("1").with("pages", 412)`.
pub(super) trait With {
    fn with(self, name: &str, value: impl Into<Value>) -> Self;
}

impl With for Item {
    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.insert(name.to_owned(), value.into());
        self
    }
}

/// A condition in the dialect of designs, with literals in the text.
pub(super) fn condition(text: &str) -> Condition {
    Condition::parse(text, &Bindings::Literals).expect("the suite's conditions are right")
}

/// An update in the dialect of designs, with literals in the text.
pub(super) fn update(text: &str) -> Update {
    Update::parse(text, &Bindings::Literals).expect("the suite's updates are right")
}

/// A key condition in the dialect of designs, with literals in the text.
pub(super) fn keys(text: &str) -> KeyCondition {
    KeyCondition::parse(text, &Bindings::Literals).expect("the suite's key conditions are right")
}

/// `SET name = value`, for values that have no literal.
pub(super) fn setting(name: &str, value: impl Into<Value>) -> Update {
    Update::default().setting(Path::attribute(name), value)
}

/// A number with all its digits.
pub(super) fn number(text: &str) -> Number {
    text.parse().expect("the suite's numbers are right")
}

pub(super) fn bytes(bytes: impl Into<Vec<u8>>) -> Value {
    Value::B(bytes.into())
}

pub(super) fn list(elements: impl IntoIterator<Item = Value>) -> Value {
    Value::L(elements.into_iter().collect())
}

pub(super) fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::M(entries.map(|(name, value)| (name.to_owned(), value)).into())
}

pub(super) fn strings<const N: usize>(members: [&str; N]) -> Value {
    Value::Ss(members.map(str::to_owned).into())
}

pub(super) fn numbers<const N: usize>(members: [i64; N]) -> Value {
    Value::Ns(members.map(Number::from).into())
}

pub(super) fn binaries<const N: usize>(members: [&[u8]; N]) -> Value {
    Value::Bs(members.map(<[u8]>::to_vec).into())
}
