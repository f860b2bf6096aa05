//! Reads of one moment. They may wait for the disk, so they run where waiting is allowed.

use std::sync::Arc;

use partita_core::Item;
use partita_store::StoreResult;
use partita_store::capacity::Metered;
use partita_store::read::{Items, PageBuilder, Reading};
use partita_store::request::{ItemAddress, Page, Query, Scan};
use partita_store::table::Key;

use crate::storage::{Direction, View, Views};
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

    /// One page of a partition.
    pub(crate) fn query(&self, request: &Query) -> StoreResult<Metered<Page>> {
        let table = self.tables.find(&request.table)?;
        let reading = Reading::of_query(&table.schema, request)?;
        let page = PageBuilder::of_query(reading.source, request)?;
        self.fill(table, &reading, page)
    }

    /// One page of a table or index.
    pub(crate) fn scan(&self, request: &Scan) -> StoreResult<Metered<Page>> {
        let table = self.tables.find(&request.table)?;
        let reading = Reading::of_scan(&table.schema, request)?;
        let page = PageBuilder::of_scan(reading.source, request)?;
        self.fill(table, &reading, page)
    }

    fn fill(
        &self,
        table: &Table,
        reading: &Reading<'_>,
        mut page: PageBuilder<'_>,
    ) -> StoreResult<Metered<Page>> {
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
        let mut rows = rows.into_iter().flatten();
        while !page.is_full()
            && let Some(row) = rows.next()
        {
            let (stored_key, bytes) = row?;
            // The rows of other segments are passed over by their keys alone.
            if !is_in_segment(reading, &stored_key) {
                continue;
            }
            self.push(table, reading, &mut page, (&stored_key, &bytes))?;
        }
        Ok(page.finish(&table.name))
    }

    fn push(
        &self,
        table: &Table,
        reading: &Reading<'_>,
        page: &mut PageBuilder<'_>,
        (stored_key, bytes): (&[u8], &[u8]),
    ) -> StoreResult<()> {
        let Some(index) = reading.source.index else {
            let (key, item) = item::decode(table, stored_key, bytes)?;
            page.push(keys::place_of_item(key), item, None);
            return Ok(());
        };
        let (place, row) = entry::row(table, index, stored_key, bytes)?;
        let fetched = match row.is_none() || reading.fetches_items {
            true => {
                let item = self.get(table, &place.item)?;
                Some(entry::check(table, index, (&place, row.as_ref()), item)?)
            }
            false => None,
        };
        match (row, fetched) {
            (Some(row), fetched) => page.push(place, row, fetched),
            // An entry that points holds all of its item, so nothing was fetched besides.
            (None, row) => page.push(place, row.unwrap_or_default(), None),
        }
        Ok(())
    }

    /// The item of a key.
    pub(crate) fn get(&self, table: &Table, key: &Key) -> StoreResult<Option<Item>> {
        let stored_key = keys::item(table.id, key);
        match self.view.get(&stored_key)? {
            Some(bytes) => Ok(Some(item::decode(table, &stored_key, &bytes)?.1)),
            None => Ok(None),
        }
    }
}

impl Items for Moment {
    fn item(&self, address: &ItemAddress) -> StoreResult<Option<Item>> {
        let table = self.tables.find(&address.table)?;
        let key = table.schema.key.exact_key(&address.key)?;
        self.get(table, &key)
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
