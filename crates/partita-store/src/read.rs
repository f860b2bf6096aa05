//! Queries and scans held against a table's keys, and pages filled to their bounds.
//!
//! As with writes, the stores that evaluate reads themselves share this. A table and an index
//! are read alike: every row has a [`RowPlace`], a list of key values and the item's own key, and a
//! query is a prefix of those values and a range of the next one.
//!
//! | module | what it holds |
//! |---|---|
//! | `source` | [`ReadSource`]: a table or an index, its places and its rows |
//! | `key_query` | [`KeyQuery`]: what a query asks of places |
//! | `segment` | which part of a parallel scan a partition belongs to |
//! | `page` | [`PageBuilder`]: limits, filters, projections, units |
//! | `items` | [`one`], [`batch`], [`transaction`]: items by their keys |

mod items;
mod key_query;
mod page;
mod segment;
mod source;

use partita_core::expression::Condition;

use crate::error::{StoreError, StoreResult};
use crate::index::IndexKey;
use crate::request::{Query, Scan, Segment, Select};
use crate::table::TableSchema;

pub use items::{Items, batch, check_batch, check_transaction, one, transaction};
pub use key_query::{KeyQuery, SortRange};
pub use page::PageBuilder;
pub use source::ReadSource;

/// The place of a row. A table's rows are under their own keys.
pub type RowPlace = IndexKey;

/// Refuses to read an index that is still being built.
pub fn check_is_built(index: Option<&str>, building: &[String]) -> StoreResult<()> {
    match index.filter(|name| building.iter().any(|building| building == name)) {
        Some(name) => Err(StoreError::validation(format!(
            "Cannot read from backfilling global secondary index: {name}"
        ))),
        None => Ok(()),
    }
}

/// Refuses a filter or a projection that looks into a key.
fn check_scalar_keys(
    schema: &TableSchema,
    filter: Option<&Condition>,
    select: &Select,
) -> StoreResult<()> {
    if let Some(filter) = filter {
        schema.check_condition(filter)?;
    }
    match select {
        Select::Parts(parts) => schema.check_projection(Some(parts)),
        Select::Projected | Select::All | Select::Count => Ok(()),
    }
}

/// A query or scan that fits its table.
#[derive(Clone, Debug)]
pub struct Reading<'s> {
    /// What is read.
    pub source: ReadSource<'s>,
    /// Which rows.
    pub keys: KeyQuery,
    /// Where to go on.
    pub start: Option<RowPlace>,
    /// Which part of a parallel scan.
    pub segment: Option<Segment>,
    /// Whether the rows are read from the largest place to the smallest.
    pub descending: bool,
    /// Whether each row's item is read from the table too.
    pub fetches_items: bool,
}

impl<'s> Reading<'s> {
    /// Holds a query against a table.
    pub fn of_query(schema: &'s TableSchema, query: &Query) -> StoreResult<Self> {
        let source = ReadSource::named(schema, query.index.as_deref())?;
        source.check_consistency(query.consistent)?;
        source.check_start(query.start_after.as_ref())?;
        let keys = source.resolve(&query.keys)?;
        check_scalar_keys(schema, query.filter.as_ref(), &query.select)?;
        if let Some(filter) = &query.filter {
            source.check_filter(filter)?;
        }
        let start = source.start(query.start_after.as_ref())?;
        if start
            .as_ref()
            .is_some_and(|start| !keys.contains(&start.values))
        {
            return Err(StoreError::validation(
                "The provided starting key is outside query boundaries based on provided conditions",
            ));
        }
        Ok(Reading {
            source,
            keys,
            start,
            segment: None,
            descending: query.descending,
            fetches_items: source.fetches_items(&query.select)?,
        })
    }

    /// Holds a scan against a table.
    pub fn of_scan(schema: &'s TableSchema, scan: &Scan) -> StoreResult<Self> {
        let source = ReadSource::named(schema, scan.index.as_deref())?;
        source.check_consistency(scan.consistent)?;
        source.check_start(scan.start_after.as_ref())?;
        check_scalar_keys(schema, scan.filter.as_ref(), &scan.select)?;
        let start = source.start(scan.start_after.as_ref())?;
        if let Some(segment) = scan.segment {
            segment.check()?;
            let is_inside = |start: &RowPlace| segment.contains(source.partition_of(start));
            if !start.as_ref().is_none_or(is_inside) {
                return Err(StoreError::validation(
                    "Exclusive start key must lie within the segment",
                ));
            }
        }
        Ok(Reading {
            source,
            keys: KeyQuery::default(),
            start,
            segment: scan.segment,
            descending: false,
            fetches_items: source.fetches_items(&scan.select)?,
        })
    }

    /// Whether a row is among those that are read, and behind where the last page ended.
    pub fn contains(&self, place: &RowPlace) -> bool {
        let partition = self.source.partition_of(place);
        let is_after = |start: &RowPlace| {
            if self.descending {
                place < start
            } else {
                place > start
            }
        };
        self.keys.contains(&place.values)
            && self
                .segment
                .is_none_or(|segment| segment.contains(partition))
            && self.start.as_ref().is_none_or(is_after)
    }
}
