//! The tables and streams: what is known of each, and the copy in memory that every request
//! looks into.

mod catalog;
mod stored;

use std::collections::BTreeMap;
use std::iter;
use std::sync::Arc;

use partita_store::index::IndexSchema;
use partita_store::request::{CreateTable, TableDescription, TableStatus, Tags};
use partita_store::settings::TableSettings;
use partita_store::stream::{KeptStream, SequenceNumber, StreamName, StreamView};
use partita_store::table::{TableName, TableSchema};
use partita_store::{StoreError, StoreResult};

use crate::keys;
use crate::storage::{Direction, Edit, StorageError, View};
use crate::streams::Stream;
use crate::totals::TableTotals;

pub(crate) use catalog::Catalog;

/// One table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    pub(crate) name: TableName,
    /// Part of the keys of its items, in place of the longer name.
    pub(crate) id: u32,
    pub(crate) schema: Arc<TableSchema>,
    /// Part of the keys of index entries; in the order of the schema's indexes.
    pub(crate) index_ids: Vec<u32>,
    pub(crate) created_millis: i64,
    /// When it was last put on demand.
    pub(crate) on_demand_millis: Option<i64>,
    pub(crate) settings: TableSettings,
    pub(crate) tags: Tags,
    /// The attribute with the time at which items expire.
    pub(crate) expiry: Option<Expiry>,
    /// The stream that it has, or the last that it had.
    pub(crate) stream: Option<StreamName>,
    /// What is being built for it.
    pub(crate) building: Vec<Building>,
}

/// How a table's items expire.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expiry {
    pub(crate) attribute: String,
    /// Part of the keys of its rows.
    pub(crate) id: u32,
}

/// An index that is being built, or the rows of an expiry.
///
/// INVARIANT: it has the rows of the items up to a certain one, all of them, and no others.
/// A write to an item up to there maintains its rows, and a write behind it leaves them to the
/// building.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Building {
    pub(crate) id: u32,
    /// The stored key of that item; nothing at the beginning.
    pub(crate) up_to: Vec<u8>,
}

impl Table {
    /// An empty table.
    pub(crate) fn new(
        request: CreateTable,
        id: u32,
        index_ids: Vec<u32>,
        created_millis: i64,
    ) -> Self {
        Table {
            name: request.table,
            id,
            schema: Arc::new(request.schema),
            index_ids,
            created_millis,
            on_demand_millis: request
                .settings
                .billing
                .on_demand_millis(None, None, created_millis),
            settings: request.settings,
            tags: request.tags,
            expiry: None,
            stream: None,
            building: Vec::new(),
        }
    }

    /// The ids of all rows that belong to the table.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> {
        let expiry = self.expiry.as_ref().map(|expiry| expiry.id);
        let indexes = self.index_ids.iter().copied();
        iter::once(self.id).chain(indexes).chain(expiry)
    }

    /// The indexes with their ids.
    pub(crate) fn indexes(&self) -> impl Iterator<Item = (u32, &IndexSchema)> {
        self.index_ids.iter().copied().zip(&self.schema.indexes)
    }

    /// The id in the keys of the table's rows, or of one of its indexes' rows.
    pub(crate) fn id_of(&self, index: Option<&IndexSchema>) -> u32 {
        let named =
            |index: &IndexSchema| self.indexes().find(|(_, other)| other.name == index.name);
        let found = index.and_then(named);
        found.map_or(self.id, |(id, _)| id)
    }

    /// Whether an index or expiry, which the table has, has the row of an item.
    pub(crate) fn covers(&self, id: u32, stored_key: &[u8]) -> bool {
        let building = self.building.iter().find(|building| building.id == id);
        building.is_none_or(|building| *stored_key <= *building.up_to)
    }

    /// The names of the indexes that are being built.
    pub(crate) fn building_names(&self) -> Vec<String> {
        let is_building = |id: u32| self.building.iter().any(|building| building.id == id);
        let building = self.indexes().filter(|(id, _)| is_building(*id));
        building.map(|(_, index)| index.name.clone()).collect()
    }

    pub(crate) fn describe(&self, totals: &TableTotals) -> TableDescription {
        let of_index = |(id, index): (u32, &IndexSchema)| (index.name.clone(), totals.of(id));
        TableDescription {
            table: self.name.clone(),
            status: TableStatus::Active,
            schema: (*self.schema).clone(),
            settings: self.settings.clone(),
            created_millis: self.created_millis,
            on_demand_millis: self.on_demand_millis,
            building: self.building_names(),
            latest_stream: self.stream.clone(),
            totals: totals.of(self.id),
            index_totals: self.indexes().map(of_index).collect(),
        }
    }
}

/// All tables and streams at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    by_name: BTreeMap<TableName, Arc<Table>>,
    streams: BTreeMap<StreamName, Arc<Stream>>,
    /// INVARIANT: it only ever grows, and what is stored under an id was stored after it was
    /// handed out. A number that is used again would show a new table the rows of an old one.
    last_id: u32,
}

impl Tables {
    /// Reads the tables and streams that are stored.
    pub(crate) fn load(view: &dyn View) -> Result<Tables, StorageError> {
        let damaged = |what: String| StorageError::Damaged(what.into());
        let unreadable = |what: &str, key: &[u8]| {
            let key = key.escape_ascii();
            damaged(format!("the {what} under `{key}` cannot be read"))
        };
        let mut tables = Tables::default();
        for entry in view.range(keys::tables(), Direction::Ascending) {
            let (key, value) = entry?;
            let table = stored::read(&key, &value).ok_or_else(|| unreadable("table", &key))?;
            tables.by_name.insert(table.name.clone(), Arc::new(table));
        }
        for entry in view.range(keys::streams(), Direction::Ascending) {
            let (key, value) = entry?;
            let stream = stored::read_stream(&key, &value);
            let stream = stream.ok_or_else(|| unreadable("stream", &key))?;
            tables.put_stream(stream);
        }
        if let Some(bytes) = view.get(keys::LAST_ID)? {
            let id = bytes.as_ref().try_into().map(u32::from_be_bytes);
            tables.last_id = id.map_err(|_| damaged("the last id cannot be read".to_owned()))?;
        }
        let last = tables.ids().max();
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

    /// The table of this name, if it is still the one of this id.
    pub(crate) fn find_same(&self, name: &TableName, id: u32) -> Option<&Arc<Table>> {
        self.by_name.get(name).filter(|table| table.id == id)
    }

    /// All tables, by name.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.by_name.values()
    }

    /// The stream of this name.
    pub(crate) fn stream(&self, name: &StreamName) -> StoreResult<&Arc<Stream>> {
        self.streams
            .get(name)
            .ok_or_else(|| StoreError::StreamNotFound {
                stream: name.clone(),
            })
    }

    /// The stream that a table's changes are added to.
    pub(crate) fn stream_of(&self, table: &Table) -> Option<&Arc<Stream>> {
        let stream = self.streams.get(table.stream.as_ref()?)?;
        stream.is_enabled().then_some(stream)
    }

    /// All streams, by name.
    pub(crate) fn streams(&self) -> impl Iterator<Item = &Arc<Stream>> {
        self.streams.values()
    }

    /// The ids of all rows that belong to something.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> {
        let of_tables = self.all().flat_map(|table| table.ids());
        of_tables.chain(self.streams().map(|stream| stream.id))
    }

    /// Adds a table, with ids that no other has had.
    pub(crate) fn create(
        &mut self,
        request: CreateTable,
        now_millis: i64,
    ) -> StoreResult<Arc<Table>> {
        if self.by_name.contains_key(&request.table) {
            return Err(StoreError::TableExists {
                table: request.table,
            });
        }
        let id = self.hand_out()?;
        let index_ids = request.schema.indexes.iter().map(|_| self.hand_out());
        let index_ids = index_ids.collect::<StoreResult<_>>()?;
        Ok(self.put(Table::new(request, id, index_ids, now_millis)))
    }

    /// Puts a table in the place of the one that has its name.
    pub(crate) fn put(&mut self, table: Table) -> Arc<Table> {
        let table = Arc::new(table);
        self.by_name.insert(table.name.clone(), table.clone());
        table
    }

    /// Removes a table.
    pub(crate) fn delete(&mut self, name: &TableName) -> StoreResult<Arc<Table>> {
        let table = self.find(name)?.clone();
        self.by_name.remove(name);
        Ok(table)
    }

    /// Begins a stream of a table.
    pub(crate) fn begin_stream(
        &mut self,
        table: &Table,
        view: StreamView,
        now_millis: i64,
        next: u64,
    ) -> StoreResult<Arc<Stream>> {
        let of_table = self
            .streams()
            .filter(|other| other.name.table == table.name);
        let kept = KeptStream::begin(
            table.name.clone(),
            view,
            table.schema.key.clone(),
            now_millis,
            of_table.map(|other| other.created_millis).max(),
            SequenceNumber(next.into()),
        );
        let id = self.hand_out()?;
        Ok(self.put_stream(Stream::new(id, kept)))
    }

    /// Puts a stream in the place of the one that has its name.
    pub(crate) fn put_stream(&mut self, stream: Stream) -> Arc<Stream> {
        let stream = Arc::new(stream);
        self.streams.insert(stream.name.clone(), stream.clone());
        stream
    }

    /// Forgets a stream.
    pub(crate) fn remove_stream(&mut self, name: &StreamName) -> Option<Arc<Stream>> {
        self.streams.remove(name)
    }

    /// Stores the table as it is here, or that it is gone.
    pub(crate) fn edit(&self, name: &TableName) -> Edit {
        match self.by_name.get(name) {
            Some(table) => Edit::Put(keys::table(name), stored::write(table)),
            None => Edit::Remove(keys::table(name)),
        }
    }

    /// Stores the stream of a name and id as it is here, or that it is gone.
    pub(crate) fn edit_stream(&self, name: &StreamName, id: u32) -> Edit {
        match self.streams.get(name) {
            Some(stream) => Edit::Put(keys::stream(id), stored::write_stream(stream)),
            None => Edit::Remove(keys::stream(id)),
        }
    }

    /// Stores the last id.
    pub(crate) fn edit_last_id(&self) -> Edit {
        Edit::Put(keys::LAST_ID.to_vec(), self.last_id.to_be_bytes().to_vec())
    }

    /// Refuses if there are not so many ids left.
    pub(crate) fn check_ids(&self, count: usize) -> StoreResult<()> {
        let count = u32::try_from(count).ok();
        let last = count.and_then(|count| self.last_id.checked_add(count));
        last.map(drop).ok_or_else(no_ids)
    }

    /// An id that nothing else has had.
    pub(crate) fn hand_out(&mut self) -> StoreResult<u32> {
        let next = self.last_id.checked_add(1);
        self.last_id = next.ok_or_else(no_ids)?;
        Ok(self.last_id)
    }
}

fn no_ids() -> StoreError {
    StoreError::Unavailable {
        message: "there are no ids left for another table".to_owned(),
    }
}

#[cfg(test)]
mod tests;
