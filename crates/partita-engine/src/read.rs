//! Reads of one moment, or of items as they are now. They may wait for the disk, so they run where waiting is allowed.

use std::sync::Arc;

use partita_store::capacity::Metered;
use partita_store::read::{Items, PageBuilder, Reading, check_is_built};
use partita_store::request::{ItemAddress, Page, Query, Scan};
use partita_store::table::Key;
use partita_store::{FoundItem, StoreResult};

use crate::storage::{Bytes, Direction, View, Views};
use crate::tables::{Catalog, Table, Tables};
use crate::{entry, item, keys};

/// What is stored at one moment: the tables, and a view of their rows.
pub(crate) struct Moment {
    tables: Arc<Tables>,
    view: Box<dyn View>,
}

impl Moment {
    /// The moment of now.
    ///
    /// A table that was deleted between the looks at the catalog and at the rows may have lost
    /// some of these already, so we look again. The same tables before and after mean that
    /// every row of them is in the view.
    pub(crate) fn now(catalog: &Catalog, views: &dyn Views) -> Moment {
        loop {
            let tables = catalog.tables();
            let view = views.view();
            if catalog.is_now(&tables) {
                return Moment { tables, view };
            }
        }
    }

    /// The tables.
    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The rows.
    pub(crate) fn view(&self) -> &dyn View {
        &*self.view
    }

    /// One page of a partition; none if more than so many rows would have to be read for it.
    pub(crate) fn query(
        &self,
        request: &Query,
        rows_max: usize,
    ) -> StoreResult<Option<Metered<Page>>> {
        let table = self.tables.find(&request.table)?;
        check_is_built(request.index.as_deref(), &table.building_names())?;
        let reading = Reading::of_query(&table.schema, request)?;
        let page = PageBuilder::of_query(reading.source, request)?;
        self.fill(table, &reading, page, rows_max)
    }

    /// One page of a table or index, with the same bound.
    pub(crate) fn scan(
        &self,
        request: &Scan,
        rows_max: usize,
    ) -> StoreResult<Option<Metered<Page>>> {
        let table = self.tables.find(&request.table)?;
        check_is_built(request.index.as_deref(), &table.building_names())?;
        let reading = Reading::of_scan(&table.schema, request)?;
        let page = PageBuilder::of_scan(reading.source, request)?;
        self.fill(table, &reading, page, rows_max)
    }

    fn fill(
        &self,
        table: &Table,
        reading: &Reading<'_>,
        mut page: PageBuilder<'_>,
        rows_max: usize,
    ) -> StoreResult<Option<Metered<Page>>> {
        let id = table.id_of(reading.source.index);
        let direction = match reading.descending {
            true => Direction::Descending,
            false => Direction::Ascending,
        };
        let start = reading
            .start
            .as_ref()
            .map(|place| match reading.source.index {
                Some(_) => keys::entry(id, place),
                None => keys::item(id, &place.item),
            });
        let bounds = keys::after(keys::query(id, &reading.keys), start, direction);
        let rows = bounds.map(|bounds| self.view.range(bounds, direction));
        let mut rows = rows.into_iter().flatten().zip(0..);
        let mut last = None;
        while !page.is_full()
            && let Some((row, count)) = rows.next()
        {
            if count == rows_max {
                return Ok(None);
            }
            let (stored_key, bytes) = row?;
            // The rows of other segments are passed over by their keys alone.
            if !is_in_segment(reading, &stored_key) {
                continue;
            }
            self.push(table, reading, &mut page, (&stored_key, bytes))?;
            last = Some(stored_key);
        }
        let last = last.and_then(|stored_key| keys::place(&reading.source, &stored_key));
        Ok(Some(page.finish(&table.name, last.as_ref())))
    }

    fn push(
        &self,
        table: &Table,
        reading: &Reading<'_>,
        page: &mut PageBuilder<'_>,
        (stored_key, bytes): (&[u8], Bytes),
    ) -> StoreResult<()> {
        let Some(index) = reading.source.index else {
            return page.push(item::read(table, stored_key, bytes)?, None);
        };
        let row = entry::read(table, index, stored_key, bytes)?;
        let item_of_entry = || {
            let place = entry::place(table, index, stored_key)?;
            let item = self.get(table, &place.item)?;
            item.ok_or_else(|| entry::lost(table, index, stored_key))
        };
        match row {
            Some(row) if reading.fetches_items => page.push(row, Some(item_of_entry()?)),
            Some(row) => page.push(row, None),
            // An entry that points holds all of its item, so nothing was fetched besides.
            None => page.push(item_of_entry()?, None),
        }
    }

    /// The item of a key.
    pub(crate) fn get(&self, table: &Table, key: &Key) -> StoreResult<Option<FoundItem>> {
        let stored_key = keys::item(table.id, key);
        match self.view.get(&stored_key)? {
            Some(bytes) => Ok(Some(item::read(table, &stored_key, bytes)?)),
            None => Ok(None),
        }
    }
}

impl Items for Moment {
    fn item(&self, address: &ItemAddress) -> StoreResult<Option<FoundItem>> {
        let table = self.tables.find(&address.table)?;
        let key = table.schema.key.exact_key(&address.key)?;
        self.get(table, &key)
    }
}

/// Items as they are now, each at a moment of its own.
pub(crate) struct Latest<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) views: &'a dyn Views,
}

impl Items for Latest<'_> {
    fn item(&self, address: &ItemAddress) -> StoreResult<Option<FoundItem>> {
        loop {
            let tables = self.catalog.tables();
            let table = tables.find(&address.table)?;
            let key = table.schema.key.exact_key(&address.key)?;
            let stored_key = keys::item(table.id, &key);
            let bytes = self.views.get(&stored_key)?;
            // As above: a table that is being deleted may have lost the item already.
            if self.catalog.is_now(&tables) {
                let read = |bytes| item::read(table, &stored_key, bytes);
                return bytes.map(read).transpose();
            }
        }
    }
}

fn is_in_segment(reading: &Reading<'_>, stored_key: &[u8]) -> bool {
    let Some(segment) = reading.segment else {
        return true;
    };
    // What cannot be read is told as damage by whoever reads all of it.
    keys::place(&reading.source, stored_key)
        .is_none_or(|place| segment.contains(&place.values[..reading.source.partition().len()]))
}
