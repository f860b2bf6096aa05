//! What the items and expressions of the cases are made of.

use partita_core::expression::{Bindings, Condition, KeyCondition, Path, Projection, Update};
use partita_core::key::KeyType;
use partita_core::{Item, Number, Value};

use partita_store::index::{IndexKind, IndexProjection, IndexSchema};
use partita_store::table::{KeyAttribute, KeySchema, TableSchema};

/// The keys `PK` and `SK`, of the given types.
pub(super) fn schema(partition: KeyType, sort: Option<KeyType>) -> KeySchema {
    KeySchema {
        partition: attribute("PK", partition),
        sort: sort.map(|kind| attribute("SK", kind)),
    }
}

pub(super) fn attribute(name: &str, kind: KeyType) -> KeyAttribute {
    let name = name.to_owned();
    KeyAttribute { name, kind }
}

/// A table with the string keys `PK` and `SK` and these indexes.
pub(super) fn indexed(indexes: impl Into<Vec<IndexSchema>>) -> TableSchema {
    TableSchema {
        key: schema(KeyType::S, Some(KeyType::S)),
        indexes: indexes.into(),
    }
}

/// A global index over string attributes, which holds whole items.
pub(super) fn global<const P: usize, const S: usize>(
    name: &str,
    partition: [&str; P],
    sort: [&str; S],
) -> IndexSchema {
    IndexSchema {
        name: name.to_owned(),
        kind: IndexKind::Global,
        partition: partition.map(|name| attribute(name, KeyType::S)).into(),
        sort: sort.map(|name| attribute(name, KeyType::S)).into(),
        projection: IndexProjection::All,
    }
}

/// A local index over a string attribute, which holds whole items.
pub(super) fn local(name: &str, sort: &str) -> IndexSchema {
    IndexSchema {
        kind: IndexKind::Local,
        ..global(name, ["PK"], [sort])
    }
}

/// The same index with nothing but keys in it.
pub(super) fn keys_only(index: IndexSchema) -> IndexSchema {
    IndexSchema {
        projection: IndexProjection::KeysOnly,
        ..index
    }
}

/// The same index with keys and these attributes in it.
pub(super) fn including<const N: usize>(index: IndexSchema, names: [&str; N]) -> IndexSchema {
    IndexSchema {
        projection: IndexProjection::Include(names.map(str::to_owned).into()),
        ..index
    }
}

/// The parts of an item that a list of paths leads to, such as `a, m.x, l[0]`.
pub(super) fn parts(paths: &str) -> Projection {
    let paths = update(&format!("REMOVE {paths}")).remove;
    Projection::new(paths).expect("the suite's projections are right")
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
        self.insert(name, value.into());
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
