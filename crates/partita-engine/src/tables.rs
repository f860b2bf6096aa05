//! The tables: what is stored of each, and the copy in memory that every request looks into.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use partita_core::Type;
use partita_core::key::KeyType;
use partita_store::table::{KeyAttribute, KeySchema, TableName};
use partita_store::{StoreError, StoreResult};
use serde::{Deserialize, Serialize};

use crate::keys;
use crate::storage::{Direction, Edit, StorageError, View};

/// One table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    pub(crate) name: TableName,
    /// Stands in the keys of its items, in place of the longer name.
    pub(crate) id: u32,
    pub(crate) schema: KeySchema,
}

impl Table {
    /// Stores the table's description.
    pub(crate) fn edit(&self) -> Edit {
        let stored = StoredTable {
            id: self.id,
            partition: StoredAttribute::from(&self.schema.partition),
            sort: self.schema.sort.as_ref().map(StoredAttribute::from),
        };
        let bytes = serde_json::to_vec(&stored).expect("strings and numbers always make JSON");
        Edit::Put(keys::table(&self.name), bytes)
    }

    fn read(key: &[u8], value: &[u8]) -> Option<Table> {
        let name = std::str::from_utf8(key.get(1..)?).ok()?;
        let stored: StoredTable = serde_json::from_slice(value).ok()?;
        let sort = match stored.sort {
            Some(sort) => Some(sort.attribute()?),
            None => None,
        };
        let partition = stored.partition.attribute()?;
        Some(Table {
            name: name.parse().ok()?,
            id: stored.id,
            schema: KeySchema { partition, sort },
        })
    }
}

#[derive(Serialize, Deserialize)]
struct StoredTable {
    id: u32,
    partition: StoredAttribute,
    sort: Option<StoredAttribute>,
}

#[derive(Serialize, Deserialize)]
struct StoredAttribute {
    name: String,
    /// DynamoDB's letter.
    kind: String,
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

/// All tables, by name.
///
/// INVARIANT: what stands here is on disk. Only the committer adds, and only after a commit.
#[derive(Default)]
pub(crate) struct Catalog(RwLock<HashMap<TableName, Arc<Table>>>);

impl Catalog {
    /// Reads the tables that are stored.
    pub(crate) fn load(view: &dyn View) -> Result<Catalog, StorageError> {
        let mut tables = HashMap::new();
        for entry in view.range(keys::tables(), Direction::Ascending) {
            let (key, value) = entry?;
            let table = Table::read(&key, &value).ok_or_else(|| {
                let key = key.escape_ascii();
                StorageError::Damaged(format!("the table under `{key}` cannot be read").into())
            })?;
            tables.insert(table.name.clone(), Arc::new(table));
        }
        Ok(Catalog(RwLock::new(tables)))
    }

    /// The table of this name.
    pub(crate) fn find(&self, name: &TableName) -> StoreResult<Arc<Table>> {
        let tables = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let found = tables.get(name).cloned();
        found.ok_or_else(|| StoreError::TableNotFound {
            table: name.clone(),
        })
    }

    /// Adds tables that are on disk now.
    pub(crate) fn add(&self, new: impl IntoIterator<Item = Arc<Table>>) {
        let mut tables = self.0.write().unwrap_or_else(PoisonError::into_inner);
        tables.extend(new.into_iter().map(|table| (table.name.clone(), table)));
    }

    /// An id that no table has.
    pub(crate) fn next_id(&self) -> u32 {
        let tables = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let last = tables.values().map(|table| table.id).max();
        last.map_or(1, |id| id + 1)
    }
}
