//! A table's description as it is stored: JSON, in the words of DynamoDB's own.

use std::sync::Arc;

use partita_core::Type;
use partita_core::key::KeyType;
use partita_store::index::{IndexKind, IndexProjection, IndexSchema};
use partita_store::table::{KeyAttribute, KeySchema, TableSchema};
use serde::{Deserialize, Serialize};

use super::Table;

/// The bytes of a table's description.
pub(super) fn write(table: &Table) -> Vec<u8> {
    let stored = StoredTable {
        id: table.id,
        created_millis: table.created_millis,
        partition: StoredAttribute::from(&table.schema.key.partition),
        sort: table.schema.key.sort.as_ref().map(StoredAttribute::from),
        indexes: table.indexes().map(StoredIndex::from).collect(),
    };
    serde_json::to_vec(&stored).expect("strings and numbers always make JSON")
}

/// The table that a description tells of.
pub(super) fn read(key: &[u8], value: &[u8]) -> Option<Table> {
    let name = std::str::from_utf8(key.get(1..)?).ok()?;
    let stored: StoredTable = serde_json::from_slice(value).ok()?;
    let sort = match stored.sort {
        Some(sort) => Some(sort.attribute()?),
        None => None,
    };
    let partition = stored.partition.attribute()?;
    let index_ids = stored.indexes.iter().map(|index| index.id).collect();
    let indexes = stored.indexes.into_iter().map(StoredIndex::index);
    Some(Table {
        name: name.parse().ok()?,
        id: stored.id,
        schema: Arc::new(TableSchema {
            key: KeySchema { partition, sort },
            indexes: indexes.collect::<Option<_>>()?,
        }),
        index_ids,
        created_millis: stored.created_millis,
    })
}

#[derive(Serialize, Deserialize)]
struct StoredTable {
    id: u32,
    created_millis: i64,
    partition: StoredAttribute,
    sort: Option<StoredAttribute>,
    indexes: Vec<StoredIndex>,
}

#[derive(Serialize, Deserialize)]
struct StoredIndex {
    id: u32,
    name: String,
    kind: StoredKind,
    partition: Vec<StoredAttribute>,
    sort: Vec<StoredAttribute>,
    projection: StoredProjection,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredKind {
    Global,
    Local,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum StoredProjection {
    All,
    KeysOnly,
    Include(Vec<String>),
}

#[derive(Serialize, Deserialize)]
struct StoredAttribute {
    name: String,
    /// DynamoDB's letter.
    kind: String,
}

impl From<(u32, &IndexSchema)> for StoredIndex {
    fn from((id, index): (u32, &IndexSchema)) -> Self {
        StoredIndex {
            id,
            name: index.name.clone(),
            kind: match index.kind {
                IndexKind::Global => StoredKind::Global,
                IndexKind::Local => StoredKind::Local,
            },
            partition: index.partition.iter().map(StoredAttribute::from).collect(),
            sort: index.sort.iter().map(StoredAttribute::from).collect(),
            projection: match &index.projection {
                IndexProjection::All => StoredProjection::All,
                IndexProjection::KeysOnly => StoredProjection::KeysOnly,
                IndexProjection::Include(names) => StoredProjection::Include(names.clone()),
            },
        }
    }
}

impl StoredIndex {
    fn index(self) -> Option<IndexSchema> {
        let attributes = |stored: Vec<StoredAttribute>| {
            let attributes = stored.into_iter().map(StoredAttribute::attribute);
            attributes.collect::<Option<Vec<_>>>()
        };
        Some(IndexSchema {
            name: self.name,
            kind: match self.kind {
                StoredKind::Global => IndexKind::Global,
                StoredKind::Local => IndexKind::Local,
            },
            partition: attributes(self.partition)?,
            sort: attributes(self.sort)?,
            projection: match self.projection {
                StoredProjection::All => IndexProjection::All,
                StoredProjection::KeysOnly => IndexProjection::KeysOnly,
                StoredProjection::Include(names) => IndexProjection::Include(names),
            },
        })
    }
}

impl From<&KeyAttribute> for StoredAttribute {
    fn from(attribute: &KeyAttribute) -> Self {
        StoredAttribute {
            name: attribute.name.clone(),
            kind: Type::from(attribute.kind).letters().to_owned(),
        }
    }
}

impl StoredAttribute {
    fn attribute(self) -> Option<KeyAttribute> {
        let kind = match self.kind.as_str() {
            "S" => KeyType::S,
            "N" => KeyType::N,
            "B" => KeyType::B,
            _ => return None,
        };
        let name = self.name;
        Some(KeyAttribute { name, kind })
    }
}
