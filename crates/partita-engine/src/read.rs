//! Reads of one moment, or of what is stored now. They may wait for the disk, so they run where
//! waiting is allowed.

mod asked;
pub(crate) mod snapshot;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use partita_core::expression::Projection;
use partita_store::capacity::Metered;
use partita_store::index::IndexSchema;
use partita_store::read::{Items, PageBuilder};
use partita_store::request::{ItemAddress, Page, Query, Scan};
use partita_store::table::Key;
use partita_store::{FoundItem, StoreError, StoreResult};

use self::asked::{CheckedRead, RowContent};
use crate::storage::cache::{CacheLookup, CachedRead};
use crate::storage::run::Recorder;
use crate::storage::{View, Views};
use crate::tables::{Catalog, Table, Tables};
use crate::{entry, item, keys};

/// What is stored at one moment: the tables, and a view of their rows.
pub(crate) struct Moment {
    tables: Arc<Tables>,
    view: Box<dyn View>,
}

/// How far a read of a page goes.
#[derive(Clone, Copy)]
pub(crate) struct Reach<'a> {
    /// It ends without a page where more rows than that would have to be read.
    rows_max: usize,
    /// Set when nobody waits for it any more.
    is_left: Option<&'a AtomicBool>,
}

impl<'a> Reach<'a> {
    /// At most so many rows.
    pub(crate) fn rows(rows_max: usize) -> Reach<'a> {
        Reach {
            rows_max,
            is_left: None,
        }
    }

    /// All rows, as long as somebody waits for them.
    pub(crate) fn while_awaited(is_left: &'a AtomicBool) -> Reach<'a> {
        Reach {
            rows_max: usize::MAX,
            is_left: Some(is_left),
        }
    }

    /// Ends a read that nobody waits for. A filter with large operands may take seconds for a
    /// page, and a process waits for its reads before it ends.
    pub(crate) fn check(self) -> StoreResult<()> {
        let is_left = self
            .is_left
            .is_some_and(|left| left.load(Ordering::Relaxed));
        if is_left {
            let message = "nobody waits for this read any more".to_owned();
            return Err(StoreError::Unavailable { message });
        }
        Ok(())
    }
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
        reach: Reach<'_>,
    ) -> StoreResult<Option<Metered<Page>>> {
        self.query_recorded(request, reach, &mut None)
    }

    /// The same, and the rows are written down as far as the recorder stays.
    fn query_recorded(
        &self,
        request: &Query,
        reach: Reach<'_>,
        recorder: &mut Option<Recorder>,
    ) -> StoreResult<Option<Metered<Page>>> {
        let asked = CheckedRead::by_query(&self.tables, request)?;
        let page = PageBuilder::of_query(asked.reading.source, request)?;
        self.fill(&asked, page, reach, recorder)
    }

    /// One page of a table or index, with the same bound.
    pub(crate) fn scan(
        &self,
        request: &Scan,
        reach: Reach<'_>,
    ) -> StoreResult<Option<Metered<Page>>> {
        let asked = CheckedRead::by_scan(&self.tables, request)?;
        let page = PageBuilder::of_scan(asked.reading.source, request)?;
        self.fill(&asked, page, reach, &mut None)
    }

    fn fill(
        &self,
        asked: &CheckedRead<'_>,
        mut page: PageBuilder<'_>,
        reach: Reach<'_>,
        recorder: &mut Option<Recorder>,
    ) -> StoreResult<Option<Metered<Page>>> {
        let bounds = asked.bounds.clone();
        let rows = bounds.map(|bounds| self.view.range(bounds, asked.direction));
        let mut rows = rows.into_iter().flatten().zip(0..);
        let mut last = None;
        while !page.is_full()
            && let Some((row, count)) = rows.next()
        {
            if count == reach.rows_max {
                return Ok(None);
            }
            reach.check()?;
            let (stored_key, bytes) = row?;
            // The rows of other segments are passed over by their keys alone.
            if !asked.has_in_segment(&stored_key) {
                continue;
            }
            match asked.row(&stored_key, bytes)? {
                RowContent::Whole(row) => {
                    if let Some(recorder) = recorder {
                        recorder.push(&stored_key, &row);
                    }
                    page.push(row, None)?;
                }
                RowContent::Part(row, index) => {
                    let item = self.item_of_entry(asked.table, index, &stored_key)?;
                    page.push(row, Some(item))?;
                }
                // Such an entry covers its whole item, so nothing was fetched besides.
                RowContent::Pointer(index) => {
                    *recorder = None;
                    page.push(self.item_of_entry(asked.table, index, &stored_key)?, None)?;
                }
            }
            last = Some(stored_key);
        }
        Ok(Some(asked.finish(page, last.as_deref())))
    }

    fn item_of_entry(
        &self,
        table: &Table,
        index: &IndexSchema,
        stored_key: &[u8],
    ) -> StoreResult<FoundItem> {
        let place = entry::place(table, index, stored_key)?;
        let item = self.get(table, &place.item)?;
        item.ok_or_else(|| entry::lost(table, index, stored_key))
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
    fn item(
        &self,
        address: &ItemAddress,
        projection: Option<&Projection>,
    ) -> StoreResult<Option<FoundItem>> {
        let table = self.tables.find(&address.table)?;
        table.schema.check_projection(projection)?;
        let key = table.schema.key.exact_key(&address.key)?;
        self.get(table, &key)
    }
}

/// What is stored now, for items each at a moment of its own, and for pages that no moment binds
/// to another read.
pub(crate) struct Latest<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) views: &'a dyn Views,
}

impl Latest<'_> {
    /// One page of a partition; none if more than so many rows would have to be read for it.
    pub(crate) fn query(
        &self,
        request: &Query,
        reach: Reach<'_>,
    ) -> StoreResult<Option<Metered<Page>>> {
        let tables = self.catalog.tables();
        let asked = CheckedRead::by_query(&tables, request)?;
        let Some((cache, partition)) = self.views.cache().zip(asked.partition()) else {
            return self.now().query(request, reach);
        };
        let mut known = cache.run(partition);
        if let CacheLookup::This(run) = &known {
            let page = PageBuilder::of_query(asked.reading.source, request)?;
            let page = asked.page_of(run, page)?;
            // As above: a table that is being deleted may have lost rows already.
            if page.is_some() && self.catalog.is_now(&tables) {
                return Ok(page);
            }
            // Another part of the partition is asked for now.
            cache.forget_run(partition);
            known = cache.run(partition);
        }
        let CacheLookup::Nothing(announced) = known else {
            return self.now().query(request, reach);
        };
        let mut recorder = Some(Recorder::default());
        let page = self.now().query_recorded(request, reach, &mut recorder)?;
        if let Some((page, recorder)) = page.as_ref().zip(recorder)
            && let Some(run) = asked.run_of(recorder, page.answer.last_key.is_none())
        {
            announced.keep(CachedRead::Run(run));
        }
        Ok(page)
    }

    fn now(&self) -> Moment {
        Moment::now(self.catalog, self.views)
    }
}

impl Items for Latest<'_> {
    fn item(
        &self,
        address: &ItemAddress,
        projection: Option<&Projection>,
    ) -> StoreResult<Option<FoundItem>> {
        loop {
            let tables = self.catalog.tables();
            let table = tables.find(&address.table)?;
            table.schema.check_projection(projection)?;
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
