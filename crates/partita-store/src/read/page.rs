//! Pages, filled to their bounds.

use std::collections::BTreeMap;

use partita_core::expression::Condition;
use partita_core::limits::PAGE_BYTES_MAX;

use super::{ReadSource, RowPlace};
use crate::capacity::{Consumed, HalfUnits, IndexUnits, Metered, Rate, read_units};
use crate::error::{StoreError, StoreResult};
use crate::found::FoundItem;
use crate::request::{Page, Query, Scan, Select};
use crate::table::TableName;

/// Fills one page: at most `limit` items and one megabyte are read, whatever the filter lets by.
#[derive(Debug)]
pub struct PageBuilder<'a> {
    source: ReadSource<'a>,
    filter: Option<&'a Condition>,
    select: &'a Select,
    limit: usize,
    rate: Rate,
    bytes: usize,
    fetched: HalfUnits,
    page: Page,
}

impl<'a> PageBuilder<'a> {
    /// An empty page of a query.
    pub fn of_query(source: ReadSource<'a>, query: &'a Query) -> StoreResult<Self> {
        let Query {
            filter,
            select,
            limit,
            consistent,
            ..
        } = query;
        PageBuilder::new(source, filter.as_ref(), select, *limit, *consistent)
    }

    /// An empty page of a scan.
    pub fn of_scan(source: ReadSource<'a>, scan: &'a Scan) -> StoreResult<Self> {
        let Scan {
            filter,
            select,
            limit,
            consistent,
            ..
        } = scan;
        PageBuilder::new(source, filter.as_ref(), select, *limit, *consistent)
    }

    fn new(
        source: ReadSource<'a>,
        filter: Option<&'a Condition>,
        select: &'a Select,
        limit: Option<usize>,
        consistent: bool,
    ) -> StoreResult<Self> {
        if limit == Some(0) {
            return Err(StoreError::validation("Limit must be at least 1"));
        }
        if let Some(filter) = filter {
            filter.check()?;
        }
        Ok(PageBuilder {
            source,
            filter,
            select,
            limit: limit.unwrap_or(usize::MAX),
            rate: Rate::of_read(consistent),
            bytes: 0,
            fetched: HalfUnits::default(),
            page: Page::default(),
        })
    }

    /// Whether no further row may be read.
    pub fn is_full(&self) -> bool {
        self.page.scanned >= self.limit || self.bytes >= PAGE_BYTES_MAX
    }

    /// Takes a row that was read, and its item if that was fetched too.
    pub fn push(&mut self, row: FoundItem, item: Option<FoundItem>) -> StoreResult<()> {
        self.bytes += row.size();
        self.page.scanned += 1;
        if let Some(item) = &item {
            self.fetched += read_units(item.size(), self.rate);
        }
        let mut item = item.unwrap_or(row);
        if let Some(filter) = self.filter {
            let parts = item.into_item()?;
            if !filter.holds(&parts) {
                return Ok(());
            }
            item = parts.into();
        }
        self.page.count += 1;
        match self.select {
            Select::Count => {}
            Select::Parts(parts) => {
                let shown = parts.apply(&item.into_item()?);
                self.page.items.push(shown.into());
            }
            Select::Projected | Select::All => self.page.items.push(item),
        }
        Ok(())
    }

    /// The page, given the place of the last row that was taken. A full one says where to go
    /// on, even if nothing more will be found there, as DynamoDB does.
    pub fn finish(mut self, table: &TableName, last: Option<&RowPlace>) -> Metered<Page> {
        if self.is_full() {
            self.page.last_key = last.map(|place| self.source.end(place));
        }
        let rows = read_units(self.bytes, self.rate);
        let mut consumed = Consumed {
            read: self.fetched,
            ..Consumed::default()
        };
        match self.source.index {
            Some(index) => {
                let units = IndexUnits {
                    kind: index.kind,
                    read: rows,
                    write: HalfUnits::default(),
                };
                consumed.add_index(&index.name, units);
            }
            None => consumed.read += rows,
        }
        Metered {
            answer: self.page,
            consumed: BTreeMap::from([(table.clone(), consumed)]),
        }
    }
}
