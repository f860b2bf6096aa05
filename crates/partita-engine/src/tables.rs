//! The tables: what is known of each, and the copy in memory that every request looks into.

mod stored;

use std::collections::BTreeMap;
use std::iter;
use std::sync::{Arc, PoisonError, RwLock};

use partita_store::index::IndexSchema;
use partita_store::request::{CreateTable, TableDescription};
use partita_store::table::{TableName, TableSchema};
use partita_store::{StoreError, StoreResult};

use crate::keys;
use crate::storage::{Direction, Edit, StorageError, View};

/// One table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    pub(crate) name: TableName,
    /// Stands in the keys of its items, in place of the longer name.
    pub(crate) id: u32,
    pub(crate) schema: Arc<TableSchema>,
    /// Stand in the keys of index entries; in the order of the schema's indexes.
    pub(crate) index_ids: Vec<u32>,
    pub(crate) created_millis: i64,
}

impl Table {
    /// The ids of the table and of its indexes.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> {
        iter::once(self.id).chain(self.index_ids.iter().copied())
    }

    /// The indexes with their ids.
    pub(crate) fn indexes(&self) -> impl Iterator<Item = (u32, &IndexSchema)> {
        self.index_ids.iter().copied().zip(&self.schema.indexes)
    }

    /// The id under which the table's rows stand, or those of one of its indexes.
    pub(crate) fn id_of(&self, index: Option<&IndexSchema>) -> u32 {
        let named =
            |index: &IndexSchema| self.indexes().find(|(_, other)| other.name == index.name);
        let found = index.and_then(named);
        found.map_or(self.id, |(id, _)| id)
    }

    pub(crate) fn describe(&self) -> TableDescription {
        let schema = (*self.schema).clone();
        TableDescription::new(self.name.clone(), schema, self.created_millis)
    }
}

/// All tables at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    by_name: BTreeMap<TableName, Arc<Table>>,
    /// INVARIANT: it only ever grows, and what is stored under an id was stored after it was
    /// handed out. A number that is used again would show a new table the rows of an old one.
    last_id: u32,
}

impl Tables {
    /// Reads the tables that are stored.
    pub(crate) fn load(view: &dyn View) -> Result<Tables, StorageError> {
        let damaged = |what: String| StorageError::Damaged(what.into());
        let mut tables = Tables::default();
        for entry in view.range(keys::tables(), Direction::Ascending) {
            let (key, value) = entry?;
            let table = stored::read(&key, &value).ok_or_else(|| {
                damaged(format!(
                    "the table under `{}` cannot be read",
                    key.escape_ascii()
                ))
            })?;
            tables.by_name.insert(table.name.clone(), Arc::new(table));
        }
        if let Some(bytes) = view.get(keys::LAST_ID)? {
            let id = bytes.as_ref().try_into().map(u32::from_be_bytes);
            tables.last_id = id.map_err(|_| damaged("the last id cannot be read".to_owned()))?;
        }
        let last = tables.all().flat_map(|table| table.ids()).max();
        match last.filter(|last| *last > tables.last_id) {
            None => Ok(tables),
            Some(id) => Err(damaged(format!("the id {id} was never handed out"))),
        }
    }

    /// The table of this name.
    pub(crate) fn find(&self, name: &TableName) -> StoreResult<&Arc<Table>> {
        self.by_name
            .get(name)
            .ok_or_else(|| StoreError::TableNotFound {
                table: name.clone(),
            })
    }

    /// All tables, by name.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.by_name.values()
    }

    /// Adds a table, with ids that no other has had.
    pub(crate) fn create(
        &mut self,
        request: CreateTable,
        now_millis: i64,
    ) -> StoreResult<Arc<Table>> {
        let CreateTable {
            table: name,
            schema,
            ..
        } = request;
        if self.by_name.contains_key(&name) {
            return Err(StoreError::TableExists { table: name });
        }
        let id = self.hand_out()?;
        let index_ids = schema.indexes.iter().map(|_| self.hand_out());
        let table = Arc::new(Table {
            name,
            id,
            index_ids: index_ids.collect::<StoreResult<_>>()?,
            schema: Arc::new(schema),
            created_millis: now_millis,
        });
        self.by_name.insert(table.name.clone(), table.clone());
        Ok(table)
    }

    /// Removes a table.
    pub(crate) fn delete(&mut self, name: &TableName) -> StoreResult<Arc<Table>> {
        let table = self.find(name)?.clone();
        self.by_name.remove(name);
        Ok(table)
    }

    /// Stores the table as it is here, or that it is gone.
    pub(crate) fn edit(&self, name: &TableName) -> Edit {
        match self.by_name.get(name) {
            Some(table) => Edit::Put(keys::table(name), stored::write(table)),
            None => Edit::Remove(keys::table(name)),
        }
    }

    /// Stores the last id.
    pub(crate) fn edit_last_id(&self) -> Edit {
        Edit::Put(keys::LAST_ID.to_vec(), self.last_id.to_be_bytes().to_vec())
    }

    fn hand_out(&mut self) -> StoreResult<u32> {
        let next = self.last_id.checked_add(1);
        self.last_id = next.ok_or_else(|| StoreError::Unavailable {
            message: "there are no ids left for another table".to_owned(),
        })?;
        Ok(self.last_id)
    }
}

/// The tables of now.
///
/// INVARIANT: what stands here is on disk. Only the committer replaces it, and only after a
/// commit.
pub(crate) struct Catalog(RwLock<Arc<Tables>>);

impl Catalog {
    pub(crate) fn new(tables: Tables) -> Self {
        Catalog(RwLock::new(Arc::new(tables)))
    }

    /// The tables of now; they stay as they are, and what is created later is not among them.
    pub(crate) fn tables(&self) -> Arc<Tables> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Whether nothing was created or deleted since.
    pub(crate) fn is_now(&self, tables: &Arc<Tables>) -> bool {
        Arc::ptr_eq(&self.tables(), tables)
    }

    /// Replaces the tables by what is on disk now.
    pub(crate) fn replace(&self, tables: Arc<Tables>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = tables;
    }
}

#[cfg(test)]
mod tests;
