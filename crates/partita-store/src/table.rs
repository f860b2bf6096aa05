//! Tables: their names, their key schemas, and the keys of items.

mod check;
mod scalars;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use partita_core::key::{KeyType, KeyValue};
use partita_core::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use partita_core::{Item, Type, Value};
use serde::{Deserialize, Serialize};

use crate::error::{StoreError, StoreResult};
use crate::index::IndexSchema;

/// The name of a table: 3 to 255 letters, digits, `_`, `-` and `.`.
///
/// Shared, because every action of every request says which table it is on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TableName(Arc<str>);

impl TableName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TableName {
    type Err = StoreError;

    fn from_str(text: &str) -> StoreResult<Self> {
        if is_name(text) {
            return Ok(TableName(text.into()));
        }
        Err(StoreError::validation(format!(
            "the table name `{}` must have 3 to 255 letters, digits, `_`, `-` or `.`",
            text.escape_debug()
        )))
    }
}

/// Whether a table or an index may be named so.
fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (3..=255).contains(&text.len()) && text.bytes().all(is_allowed)
}

impl TryFrom<String> for TableName {
    type Error = StoreError;

    fn try_from(text: String) -> StoreResult<Self> {
        text.parse()
    }
}

impl From<TableName> for String {
    fn from(name: TableName) -> String {
        name.as_str().to_owned()
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A key attribute and its type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyAttribute {
    /// The attribute's name.
    pub name: String,
    /// Its type.
    pub kind: KeyType,
}

impl KeyAttribute {
    /// Whether there is a value, and it is of the attribute's type.
    pub(crate) fn fits(&self, value: Option<&Value>) -> bool {
        value.is_some_and(|value| value.kind() == Type::from(self.kind))
    }

    /// Its type, as DynamoDB's messages name it.
    pub(crate) fn kind_name(&self) -> &'static str {
        match self.kind {
            KeyType::S => "string",
            KeyType::N => "number",
            KeyType::B => "binary",
        }
    }

    /// Refuses an empty value and one that is too large.
    pub(crate) fn check_size(&self, value: &KeyValue, bytes_max: usize) -> StoreResult<()> {
        if is_empty(value) {
            return Err(empty_key(self.kind_name(), &self.name));
        }
        if value.size_bytes() <= bytes_max {
            return Ok(());
        }
        // The missing space is the service's.
        Err(refuse(match bytes_max {
            SORT_KEY_BYTES_MAX => format!(
                "Aggregated size of all range keys has exceeded the size limit of {bytes_max} bytes"
            ),
            _ => format!("Size of hashkey has exceeded the maximum size limit of{bytes_max} bytes"),
        }))
    }
}

pub(crate) fn empty_key(kind: &str, name: &str) -> StoreError {
    StoreError::validation(format!(
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty {kind} value. Key: {name}"
    ))
}

pub(crate) fn is_empty(value: &KeyValue) -> bool {
    match value {
        KeyValue::S(text) => text.is_empty(),
        KeyValue::B(bytes) => bytes.is_empty(),
        KeyValue::N(_) => false,
    }
}

fn refuse(detail: String) -> StoreError {
    StoreError::validation(format!(
        "One or more parameter values were invalid: {detail}"
    ))
}

/// A table's keys and its secondary indexes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableSchema {
    /// Its keys.
    pub key: KeySchema,
    /// Its indexes.
    pub indexes: Vec<IndexSchema>,
}

impl TableSchema {
    /// The index of that name.
    pub fn index(&self, name: &str) -> StoreResult<&IndexSchema> {
        let found = self.indexes.iter().find(|index| index.name == name);
        found.ok_or_else(|| {
            StoreError::validation(format!(
                "The table does not have the specified index: {name}"
            ))
        })
    }
}

impl From<KeySchema> for TableSchema {
    fn from(key: KeySchema) -> Self {
        let indexes = Vec::new();
        TableSchema { key, indexes }
    }
}

/// The key attributes of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeySchema {
    /// The partition key.
    pub partition: KeyAttribute,
    /// The sort key, if the table has one.
    pub sort: Option<KeyAttribute>,
}

impl KeySchema {
    /// A schema of two strings, which single-table designs use.
    pub fn strings(partition: impl Into<String>, sort: impl Into<String>) -> Self {
        let string = |name| KeyAttribute {
            name,
            kind: KeyType::S,
        };
        KeySchema {
            partition: string(partition.into()),
            sort: Some(string(sort.into())),
        }
    }

    /// The key attributes, the partition key first.
    pub fn attributes(&self) -> impl Iterator<Item = &KeyAttribute> {
        std::iter::once(&self.partition).chain(&self.sort)
    }

    /// Whether the attribute is part of the key.
    pub fn contains(&self, name: &str) -> bool {
        self.attributes().any(|attribute| attribute.name == name)
    }

    /// The key of an item, checked for presence, type and size.
    pub fn key_of(&self, item: &Item) -> StoreResult<Key> {
        let partition = key_value(item, &self.partition, PARTITION_KEY_BYTES_MAX)?;
        let sort = match &self.sort {
            Some(attribute) => Some(key_value(item, attribute, SORT_KEY_BYTES_MAX)?),
            None => None,
        };
        Ok(Key { partition, sort })
    }

    /// The key that consists of these attributes and nothing else.
    pub fn exact_key(&self, key: &Item) -> StoreResult<Key> {
        let fits = |attribute: &KeyAttribute| attribute.fits(key.get(&attribute.name));
        if key.len() != self.attributes().count() || !self.attributes().all(fits) {
            return Err(StoreError::validation(
                "The provided key element does not match the schema",
            ));
        }
        self.key_of(key)
    }

    /// The key attributes of an item, as a request gives them.
    pub fn attributes_of(&self, key: &Key) -> Item {
        let mut attributes = Item::new();
        attributes.insert(self.partition.name.as_str(), key.partition.clone().into());
        if let (Some(attribute), Some(sort)) = (&self.sort, &key.sort) {
            attributes.insert(attribute.name.as_str(), sort.clone().into());
        }
        attributes
    }
}

fn key_value(item: &Item, attribute: &KeyAttribute, bytes_max: usize) -> StoreResult<KeyValue> {
    let KeyAttribute { name, kind } = attribute;
    let value = item
        .get(name)
        .ok_or_else(|| refuse(format!("Missing the key {name} in the item")))?;
    if value.kind() != Type::from(*kind) {
        return Err(refuse(format!(
            "Type mismatch for key {name} expected: {} actual: {}",
            Type::from(*kind),
            value.kind()
        )));
    }
    let value = KeyValue::from_value(value).expect("the type was compared with a key's");
    attribute.check_size(&value, bytes_max)?;
    Ok(value)
}

/// The key of one item. Its order is the order of items in a partition, and of a whole table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The partition key's value.
    pub partition: KeyValue,
    /// The sort key's value, if the table has one.
    pub sort: Option<KeyValue>,
}

impl Key {
    /// The values, the partition key's first.
    pub fn values(&self) -> impl Iterator<Item = &KeyValue> {
        std::iter::once(&self.partition).chain(&self.sort)
    }
}

/// The key attributes of an item with two string keys.
pub fn string_key(partition: (&str, &str), sort: (&str, &str)) -> Item {
    Item::from([partition, sort].map(|(name, text)| (name.to_owned(), Value::from(text))))
}
