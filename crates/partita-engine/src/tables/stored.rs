//! The description of a table or stream as it is stored: JSON, in the words of DynamoDB's own.

use std::sync::Arc;

use partita_core::Type;
use partita_core::key::KeyType;
use partita_store::index::{IndexKind, IndexProjection, IndexSchema};
use partita_store::request::Tags;
use partita_store::settings::{Billing, TableSettings};
use partita_store::stream::{StreamName, StreamView};
use partita_store::table::{KeyAttribute, KeySchema, TableSchema};
use serde::{Deserialize, Serialize};

use super::{Building, Expiry, Table};
use crate::keys;
use crate::streams::Stream;

/// The bytes of a table's description.
pub(super) fn write(table: &Table) -> Vec<u8> {
    let stored = StoredTable {
        id: table.id,
        created_millis: table.created_millis,
        on_demand_millis: table.on_demand_millis,
        key: StoredKey::from(&table.schema.key),
        indexes: table.indexes().map(StoredIndex::from).collect(),
        settings: table.settings.clone(),
        tags: table.tags.clone(),
        expiry: table.expiry.as_ref().map(StoredExpiry::from),
        stream: table.stream.clone(),
        building: table.building.iter().map(StoredBuilding::from).collect(),
    };
    serde_json::to_vec(&stored).expect("strings and numbers always make JSON")
}

/// The table in a stored description.
pub(super) fn read(key: &[u8], value: &[u8]) -> Option<Table> {
    let name = std::str::from_utf8(key.get(1..)?).ok()?;
    let stored: StoredTable = serde_json::from_slice(value).ok()?;
    let index_ids = stored.indexes.iter().map(|index| index.id).collect();
    let indexes = stored.indexes.into_iter().map(StoredIndex::index);
    let building = stored.building.into_iter();
    Some(Table {
        name: name.parse().ok()?,
        id: stored.id,
        schema: Arc::new(TableSchema {
            key: stored.key.schema()?,
            indexes: indexes.collect::<Option<_>>()?,
        }),
        index_ids,
        created_millis: stored.created_millis,
        on_demand_millis: stored.on_demand_millis.or_else(|| {
            let is_on_demand = stored.settings.billing == Billing::OnDemand;
            is_on_demand.then_some(stored.created_millis)
        }),
        settings: stored.settings,
        tags: stored.tags,
        expiry: stored
            .expiry
            .map(|StoredExpiry { attribute, id }| Expiry { attribute, id }),
        stream: stored.stream,
        building: building
            .map(|StoredBuilding { id, up_to }| Building { id, up_to })
            .collect(),
    })
}

/// The bytes of a stream's description.
pub(super) fn write_stream(stream: &Stream) -> Vec<u8> {
    let stored = StoredStream {
        name: stream.name.clone(),
        view: stream.view,
        key: StoredKey::from(&stream.key),
        created_millis: stream.created_millis,
        ended_millis: stream.ended_millis,
        first: stream.first,
    };
    serde_json::to_vec(&stored).expect("strings and numbers always make JSON")
}

/// The stream in a stored description.
pub(super) fn read_stream(key: &[u8], value: &[u8]) -> Option<Stream> {
    let stored: StoredStream = serde_json::from_slice(value).ok()?;
    Some(Stream {
        id: keys::stream_id(key)?,
        name: stored.name,
        view: stored.view,
        key: stored.key.schema()?,
        created_millis: stored.created_millis,
        ended_millis: stored.ended_millis,
        first: stored.first,
    })
}

#[derive(Serialize, Deserialize)]
struct StoredTable {
    id: u32,
    created_millis: i64,
    /// Version 0.1.0 did not write it; its tables on demand count as created that way.
    #[serde(default)]
    on_demand_millis: Option<i64>,
    key: StoredKey,
    indexes: Vec<StoredIndex>,
    settings: TableSettings,
    tags: Tags,
    expiry: Option<StoredExpiry>,
    stream: Option<StreamName>,
    building: Vec<StoredBuilding>,
}

#[derive(Serialize, Deserialize)]
struct StoredStream {
    name: StreamName,
    view: StreamView,
    key: StoredKey,
    created_millis: i64,
    ended_millis: Option<i64>,
    first: u64,
}

#[derive(Serialize, Deserialize)]
struct StoredKey {
    partition: StoredAttribute,
    sort: Option<StoredAttribute>,
}

#[derive(Serialize, Deserialize)]
struct StoredExpiry {
    attribute: String,
    id: u32,
}

#[derive(Serialize, Deserialize)]
struct StoredBuilding {
    id: u32,
    up_to: Vec<u8>,
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

impl From<&KeySchema> for StoredKey {
    fn from(key: &KeySchema) -> Self {
        StoredKey {
            partition: StoredAttribute::from(&key.partition),
            sort: key.sort.as_ref().map(StoredAttribute::from),
        }
    }
}

impl StoredKey {
    fn schema(self) -> Option<KeySchema> {
        let sort = match self.sort {
            Some(sort) => Some(sort.attribute()?),
            None => None,
        };
        let partition = self.partition.attribute()?;
        Some(KeySchema { partition, sort })
    }
}

impl From<&Expiry> for StoredExpiry {
    fn from(expiry: &Expiry) -> Self {
        StoredExpiry {
            attribute: expiry.attribute.clone(),
            id: expiry.id,
        }
    }
}

impl From<&Building> for StoredBuilding {
    fn from(building: &Building) -> Self {
        StoredBuilding {
            id: building.id,
            up_to: building.up_to.clone(),
        }
    }
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
