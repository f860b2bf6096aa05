//! What a query or scan asks of the storage: a range of keys, and how its rows become a page.

use std::ops::Bound;
use std::sync::Arc;

use partita_core::key::KeyType;
use partita_store::capacity::Metered;
use partita_store::index::IndexSchema;
use partita_store::read::{PageBuilder, Reading, check_is_built};
use partita_store::request::{Page, Query, Scan};
use partita_store::{FoundItem, StoreResult};

use crate::storage::run::{Recorder, Run};
use crate::storage::{Bounds, Bytes, Direction};
use crate::tables::{Table, Tables};
use crate::{entry, item, keys};

/// A request, held against its table.
pub(super) struct CheckedRead<'a> {
    pub(super) table: &'a Table,
    pub(super) reading: Reading<'a>,
    /// The keys of the rows; none if there can be no rows.
    pub(super) bounds: Option<Bounds>,
    pub(super) direction: Direction,
}

/// What a row holds of what was asked for.
pub(super) enum RowContent<'a> {
    /// All.
    Whole(FoundItem),
    /// Not all: the item of this entry of an index is read too.
    Part(FoundItem, &'a IndexSchema),
    /// Nothing: this entry of an index points to its item.
    Pointer(&'a IndexSchema),
}

impl<'a> CheckedRead<'a> {
    pub(super) fn by_query(tables: &'a Tables, request: &Query) -> StoreResult<Self> {
        let table = tables.find(&request.table)?;
        check_is_built(request.index.as_deref(), &table.building_names())?;
        Ok(CheckedRead::new(
            table,
            Reading::of_query(&table.schema, request)?,
        ))
    }

    pub(super) fn by_scan(tables: &'a Tables, request: &Scan) -> StoreResult<Self> {
        let table = tables.find(&request.table)?;
        check_is_built(request.index.as_deref(), &table.building_names())?;
        Ok(CheckedRead::new(
            table,
            Reading::of_scan(&table.schema, request)?,
        ))
    }

    fn new(table: &'a Table, reading: Reading<'a>) -> Self {
        let id = table.id_of(reading.source.index);
        let direction = if reading.descending {
            Direction::Descending
        } else {
            Direction::Ascending
        };
        let start = reading
            .start
            .as_ref()
            .map(|place| match reading.source.index {
                Some(_) => keys::entry(id, place),
                None => keys::item(id, &place.item),
            });
        let bounds = keys::after(keys::query(id, &reading.keys), start, direction);
        CheckedRead {
            table,
            reading,
            bounds,
            direction,
        }
    }

    /// Whether a row is in the segment that was asked for.
    pub(super) fn has_in_segment(&self, stored_key: &[u8]) -> bool {
        let Some(segment) = self.reading.segment else {
            return true;
        };
        let source = &self.reading.source;
        // A row that cannot be read is reported as damage when it is read as a whole.
        keys::place(source, stored_key)
            .is_none_or(|place| segment.contains(&place.values[..source.partition().len()]))
    }

    /// What is stored under a key.
    pub(super) fn row(&self, stored_key: &[u8], bytes: Bytes) -> StoreResult<RowContent<'a>> {
        let Some(index) = self.reading.source.index else {
            return item::read(self.table, stored_key, bytes).map(RowContent::Whole);
        };
        Ok(match entry::read(self.table, index, stored_key, bytes)? {
            Some(row) if self.reading.fetches_items => RowContent::Part(row, index),
            Some(row) => RowContent::Whole(row),
            None => RowContent::Pointer(index),
        })
    }

    /// The page, after the row of this key.
    pub(super) fn finish(&self, page: PageBuilder<'_>, last: Option<&[u8]>) -> Metered<Page> {
        let last = last.filter(|_| page.is_full());
        let place = last.and_then(|stored_key| keys::place(&self.reading.source, stored_key));
        page.finish(&self.table.name, place.as_ref())
    }

    /// What all keys of the partition begin with; none if its rows cannot be known from another
    /// read, because they are read from two places, or because a commit would not find them.
    pub(super) fn partition(&self) -> Option<&[u8]> {
        let kind = self.reading.source.partition().first()?.kind;
        let (low, _) = self.bounds.as_ref()?;
        match low {
            Bound::Included(low) | Bound::Excluded(low)
                if kind != KeyType::N && !self.reading.fetches_items =>
            {
                keys::partition(low)
            }
            _ => None,
        }
    }

    /// The page, from rows that are known; none if they do not suffice.
    pub(super) fn page_of(
        &self,
        run: &Run,
        mut page: PageBuilder<'_>,
    ) -> StoreResult<Option<Metered<Page>>> {
        let Some(bounds) = &self.bounds else {
            return Ok(None);
        };
        let Some(part) = run.part(bounds, self.direction) else {
            return Ok(None);
        };
        let mut rows = part.rows();
        let mut last = None;
        while !page.is_full()
            && let Some((stored_key, row)) = rows.next()
        {
            page.push(row, None)?;
            last = Some(stored_key);
        }
        let is_enough = page.is_full() || part.is_all;
        Ok(is_enough.then(|| self.finish(page, last)))
    }

    /// A run of the rows that were read.
    pub(super) fn run_of(&self, recorder: Recorder, is_all: bool) -> Option<Arc<Run>> {
        recorder.finish(self.bounds.clone()?, self.direction, is_all)
    }
}
