//! Tables: their names, their key schemas, and the keys of items.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use partita_core::key::{KeyType, KeyValue};
use partita_core::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use partita_core::{Item, Type, Value};
use serde::{Deserialize, Serialize};

use crate::error::{StoreError, StoreResult};
use crate::index::{IndexKind, IndexSchema};

/// The name of a table: 3 to 255 letters, digits, `_`, `-` and `.`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TableName(String);

impl TableName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TableName {
    type Err = StoreError;

    fn from_str(text: &str) -> StoreResult<Self> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if (3..=255).contains(&text.len()) && text.bytes().all(is_allowed) {
            return Ok(TableName(text.to_owned()));
        }
        Err(StoreError::validation(format!(
            "the table name `{}` must have 3 to 255 letters, digits, `_`, `-` or `.`",
            text.escape_debug()
        )))
    }
}

impl TryFrom<String> for TableName {
    type Error = StoreError;

    fn try_from(text: String) -> StoreResult<Self> {
        text.parse()
    }
}

impl From<TableName> for String {
    fn from(name: TableName) -> String {
        name.0
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
    /// As for a table's key, with the index in the message.
    pub(crate) fn check_index_size(
        &self,
        value: &KeyValue,
        bytes_max: usize,
        index: &str,
    ) -> StoreResult<()> {
        let name = &self.name;
        if is_empty(value) {
            return Err(refuse(format!(
                "One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: {index}, IndexKey: {name}"
            )));
        }
        if value.size_bytes() > bytes_max {
            return Err(refuse(format!(
                "Size of the index key {name} of {index} has exceeded the maximum size limit of {bytes_max} bytes"
            )));
        }
        Ok(())
    }

    /// Refuses an empty value and one that is too large.
    pub(crate) fn check_size(&self, value: &KeyValue, bytes_max: usize) -> StoreResult<()> {
        let name = &self.name;
        if is_empty(value) {
            return Err(refuse(format!(
                "The AttributeValue for a key attribute cannot contain an empty string value. Key: {name}"
            )));
        }
        if value.size_bytes() > bytes_max {
            return Err(refuse(format!(
                "Size of the key {name} has exceeded the maximum size limit of {bytes_max} bytes"
            )));
        }
        Ok(())
    }
}

fn is_empty(value: &KeyValue) -> bool {
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

/// Indexes of a table at most.
const GLOBAL_INDEXES_MAX: usize = 20;
const LOCAL_INDEXES_MAX: usize = 5;
/// Attributes of one side of a global index's key at most.
const INDEX_KEY_ATTRIBUTES_MAX: usize = 4;

impl TableSchema {
    /// Refuses a schema that DynamoDB would refuse.
    pub fn check(&self) -> StoreResult<()> {
        let of = |kind| self.indexes.iter().filter(move |index| index.kind == kind);
        if of(IndexKind::Global).count() > GLOBAL_INDEXES_MAX
            || of(IndexKind::Local).count() > LOCAL_INDEXES_MAX
        {
            return Err(refuse(format!(
                "a table has at most {GLOBAL_INDEXES_MAX} global and {LOCAL_INDEXES_MAX} local secondary indexes"
            )));
        }
        for (position, index) in self.indexes.iter().enumerate() {
            if self.indexes[..position]
                .iter()
                .any(|other| other.name == index.name)
            {
                return Err(refuse(format!("Duplicate index name: {}", index.name)));
            }
            self.check_index(index)?;
        }
        let mut kinds: BTreeMap<&str, KeyType> = BTreeMap::new();
        let of_indexes = self.indexes.iter().flat_map(IndexSchema::attributes);
        for KeyAttribute { name, kind } in self.key.attributes().chain(of_indexes) {
            if *kinds.entry(name).or_insert(*kind) != *kind {
                return Err(refuse(format!("the key attribute {name} has two types")));
            }
        }
        Ok(())
    }

    fn check_index(&self, index: &IndexSchema) -> StoreResult<()> {
        let most = match index.kind {
            IndexKind::Global => INDEX_KEY_ATTRIBUTES_MAX,
            IndexKind::Local => 1,
        };
        let fits = (1..=most).contains(&index.partition.len()) && index.sort.len() <= most;
        let is_local_of_another =
            index.kind == IndexKind::Local && index.partition[..] != [self.key.partition.clone()];
        if !fits || is_local_of_another {
            return Err(refuse(format!(
                "the key of the index {} does not fit: a global index has 1 to {INDEX_KEY_ATTRIBUTES_MAX} partition and up to {INDEX_KEY_ATTRIBUTES_MAX} sort attributes, a local one has the table's partition key and a sort key of its own",
                index.name
            )));
        }
        Ok(())
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
        if key.len() != self.attributes().count() {
            return Err(StoreError::validation(
                "The provided key element does not match the schema",
            ));
        }
        self.key_of(key)
    }

    /// The key attributes of an item, as a request gives them.
    pub fn attributes_of(&self, key: &Key) -> Item {
        let mut attributes = Item::new();
        attributes.insert(self.partition.name.clone(), key.partition.clone().into());
        if let (Some(attribute), Some(sort)) = (&self.sort, &key.sort) {
            attributes.insert(attribute.name.clone(), sort.clone().into());
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
