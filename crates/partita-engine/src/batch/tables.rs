//! What is done to tables.

use std::sync::Arc;

use partita_store::StoreResult;
use partita_store::request::{CreateTable, TableDescription, Tags, UpdateTable, UpdateTimeToLive};
use partita_store::stream::StreamView;
use partita_store::table::TableName;
use partita_store::tags;
use partita_store::update::UpdatedTable;

use super::Batch;
use crate::keys;
use crate::storage::Edit;
use crate::streams::Stream;
use crate::tables::{Building, Expiry, Table};
use crate::totals::TableTotals;

// What can fail comes first, so that an error leaves the batch as it was.
impl Batch<'_> {
    pub(crate) fn create_table(&mut self, request: CreateTable) -> StoreResult<TableDescription> {
        request.schema.check()?;
        request.settings.check(&request.schema)?;
        tags::check(&request.tags)?;
        self.recording.next(&*self.view)?;
        self.tables.check_ids(2 + request.schema.indexes.len())?;
        let stream = request.settings.stream;
        let tables = Arc::make_mut(&mut self.tables);
        let mut table = (*tables.create(request, self.now_millis)?).clone();
        if let Some(view) = stream {
            self.begin_stream(&mut table, view)?;
        }
        let description = table.describe(&TableTotals::default());
        self.put_table(table);
        Ok(description)
    }

    /// Deletes a table. Its rows stay until they are cleared, but nothing leads to them; its stream
    /// can still be read.
    pub(crate) fn delete_table(&mut self, name: &TableName) -> StoreResult<TableDescription> {
        let table = self.tables.find(name)?.clone();
        table.settings.check_deletion()?;
        let totals = TableTotals::load(&*self.view, table.id)?;
        self.end_stream(&table);
        Arc::make_mut(&mut self.tables).delete(name)?;
        self.items.retain(|_, written| written.table.id != table.id);
        self.dropped.extend(table.ids());
        self.cleared.push(Edit::Remove(keys::totals(table.id)));
        self.changed_tables.insert(table.name.clone());
        Ok(table.describe(&totals))
    }

    pub(crate) fn update_table(&mut self, request: UpdateTable) -> StoreResult<TableDescription> {
        let old = self.tables.find(&request.table)?.clone();
        // The numbers are those before the batch: its other writes are not acknowledged yet.
        let totals = TableTotals::load(&*self.view, old.id)?;
        let UpdatedTable {
            schema,
            settings,
            created,
            deleted,
            stream,
        } = request.apply(&old.describe(&totals))?;
        self.recording.next(&*self.view)?;
        self.tables.check_ids(2)?;
        let mut table = (*old).clone();
        table.schema = Arc::new(schema);
        let (before, last) = (&old.settings.billing, old.on_demand_millis);
        let billing = &settings.billing;
        table.on_demand_millis = billing.on_demand_millis(Some(before), last, self.now_millis);
        table.settings = settings;
        if let Some(deleted) = deleted {
            let id = old.id_of(Some(&deleted));
            table.index_ids.retain(|other| *other != id);
            self.drop_rows(&mut table, id);
        }
        if created.is_some() {
            // The schema has it behind all others.
            let id = self.begin_building(&mut table)?;
            table.index_ids.push(id);
        }
        match stream {
            Some(Some(view)) => self.begin_stream(&mut table, view)?,
            Some(None) => self.end_stream(&table),
            None => {}
        }
        let description = table.describe(&totals);
        self.put_table(table);
        Ok(description)
    }

    pub(crate) fn update_time_to_live(&mut self, request: UpdateTimeToLive) -> StoreResult<()> {
        let mut table = (**self.tables.find(&request.table)?).clone();
        let current = table.expiry.as_ref().map(|expiry| &*expiry.attribute);
        let attribute = request.apply(current)?;
        self.tables.check_ids(1)?;
        if let Some(old) = table.expiry.take() {
            self.drop_rows(&mut table, old.id);
        }
        if let Some(attribute) = attribute {
            let id = self.begin_building(&mut table)?;
            table.expiry = Some(Expiry { attribute, id });
        }
        self.put_table(table);
        Ok(())
    }

    pub(crate) fn tag_resource(&mut self, name: &TableName, more: Tags) -> StoreResult<()> {
        let mut table = (**self.tables.find(name)?).clone();
        table.tags = tags::added(&table.tags, more)?;
        self.put_table(table);
        Ok(())
    }

    pub(crate) fn untag_resource(&mut self, name: &TableName, keys: &[String]) -> StoreResult<()> {
        let mut table = (**self.tables.find(name)?).clone();
        table.tags = tags::removed(&table.tags, keys)?;
        self.put_table(table);
        Ok(())
    }

    pub(super) fn put_table(&mut self, table: Table) {
        self.changed_tables.insert(table.name.clone());
        Arc::make_mut(&mut self.tables).put(table);
    }

    /// Begins to build an index or an expiry; there is nothing in it.
    fn begin_building(&mut self, table: &mut Table) -> StoreResult<u32> {
        let id = Arc::make_mut(&mut self.tables).hand_out()?;
        let up_to = Vec::new();
        table.building.push(Building { id, up_to });
        Ok(id)
    }

    /// Lets the rows of an index or expiry vanish.
    fn drop_rows(&mut self, table: &mut Table, id: u32) {
        table.building.retain(|building| building.id != id);
        self.dropped.push(id);
    }

    fn begin_stream(&mut self, table: &mut Table, view: StreamView) -> StoreResult<()> {
        let next = self.recording.next(&*self.view)?;
        let tables = Arc::make_mut(&mut self.tables);
        let stream = tables.begin_stream(table, view, self.now_millis, next)?;
        self.recording.begin(&stream);
        self.changed_streams.insert(stream.id, stream.name.clone());
        table.stream = Some(stream.name.clone());
        Ok(())
    }

    fn end_stream(&mut self, table: &Table) {
        let Some(stream) = self.tables.stream_of(table).cloned() else {
            return;
        };
        self.changed_streams.insert(stream.id, stream.name.clone());
        let ended_millis = Some(self.now_millis);
        let ended = Stream {
            ended_millis,
            ..(*stream).clone()
        };
        Arc::make_mut(&mut self.tables).put_stream(ended);
    }
}
