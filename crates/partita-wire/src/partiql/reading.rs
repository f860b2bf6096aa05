//! SELECT: queries of the partitions that the WHERE clause names, or a scan, page by page.

use std::collections::BTreeMap;

use partita_core::Item;
use partita_core::expression::{Condition, KeyCondition, Path, Select};
use partita_core::limits::PAGE_BYTES_MAX;
use partita_store::capacity::{Consumed, HalfUnits, Metered, Rate, read_units};
use partita_store::index::{IndexKind, IndexSchema};
use partita_store::request::{Page, Query, Scan, Select as Selected, TableDescription};
use partita_store::table::{TableName, TableSchema};
use partita_store::{FoundItem, Store};

use super::keys::{address, all, parts};
use super::order::Order;
use super::partitions::SourceKeys;
use crate::messages;
use crate::refusal::Refusal;

/// What a SELECT reads.
#[derive(Debug)]
pub(crate) struct SelectReading {
    table: TableName,
    index: Option<String>,
    /// The partitions, in the order in which they are read; without any, everything.
    partitions: Option<Vec<KeyCondition>>,
    descending: bool,
    consistent: bool,
    select: Selected,
    filter: Option<Condition>,
    /// What remains to be asked of the items that the store answers: a query's filter cannot ask
    /// for keys.
    filter_here: Option<Condition>,
    columns: Columns,
}

/// Where a page begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PageStart {
    /// The first partition that is still read, counted from 0.
    pub(crate) partition: usize,
    /// The item in it after which reading goes on.
    pub(crate) after: Option<Item>,
}

/// One page.
#[derive(Default)]
pub(crate) struct StatementPage {
    pub(crate) items: Vec<Item>,
    pub(crate) next: Option<PageStart>,
    pub(crate) consumed: BTreeMap<TableName, Consumed>,
}

impl StatementPage {
    fn add_consumed(&mut self, consumed: &BTreeMap<TableName, Consumed>) {
        for (table, consumed) in consumed {
            let sum = self.consumed.entry(table.clone()).or_default();
            sum.add(consumed);
        }
    }

    fn read_units(&self) -> HalfUnits {
        let units = self.consumed.values().map(Consumed::total_read);
        units.fold(HalfUnits::default(), std::ops::Add::add)
    }
}

/// The names under which parts of items are answered; whole items without.
#[derive(Debug)]
pub(crate) struct Columns(Option<Vec<(String, Path)>>);

impl Columns {
    /// The parts of an item that are answered. Each is found in the whole item, because a part of
    /// a list has other positions.
    pub(crate) fn of(&self, item: Item) -> Item {
        let Columns(Some(columns)) = self else {
            return item;
        };
        let columns = columns.iter();
        let found = columns.filter_map(|(name, path)| {
            let value = path.find(&item)?;
            Some((name.clone(), value.clone()))
        });
        found.collect()
    }
}

/// The key of the one item that a SELECT reads, and its columns; nothing if it asks for more than
/// a key, or of an index.
pub(crate) fn single(
    select: Select,
    described: &TableDescription,
) -> Result<Option<(Item, Columns)>, Refusal> {
    if select.source.index.is_some() || !select.order.is_empty() {
        return Ok(None);
    }
    let addressed = address(&described.schema.key, select.condition)?;
    let key = addressed.filter(|(_, rest)| rest.is_empty());
    Ok(key.map(|(key, _)| (key, Columns(select.columns))))
}

impl SelectReading {
    /// Holds a SELECT against its table.
    pub(crate) fn new(
        select: Select,
        described: &TableDescription,
        consistent: bool,
    ) -> Result<Self, Refusal> {
        let schema = &described.schema;
        let index = find_index(schema, select.source.index.as_deref(), consistent)?;
        let keys = SourceKeys::new(&schema.key, index);
        let has_condition = select.condition.is_some();
        let mut rest = parts(select.condition);
        let mut values = keys.take_partitions(&mut rest)?;
        let order = Order::new(&select.order, has_condition, &keys)?;
        order.apply(values.as_mut())?;
        let partitions = values.map(|values| keys.take_queries(&mut rest, values));
        let partitions = partitions.transpose()?;
        let is_query = partitions.is_some();
        let (here, filter): (Vec<_>, Vec<_>) = rest
            .into_iter()
            .partition(|part| is_query && keys.are_asked_by(part));
        Ok(SelectReading {
            table: described.table.clone(),
            select: selected(&select.columns, described, index)?,
            index: select.source.index,
            partitions,
            descending: order.descends(),
            consistent,
            filter: all(filter),
            filter_here: all(here),
            columns: Columns(select.columns),
        })
    }

    /// Reads one page, perhaps of several partitions: at most `limit` items, and no further
    /// partition once a page's bytes are read.
    pub(crate) async fn page(
        &self,
        store: &dyn Store,
        limit: Option<usize>,
        start: PageStart,
    ) -> Result<StatementPage, Refusal> {
        let mut found = StatementPage::default();
        let mut left = limit;
        let full = read_units(PAGE_BYTES_MAX, Rate::of_read(self.consistent));
        let count = self.partitions.as_ref().map_or(1, Vec::len);
        let PageStart {
            mut partition,
            mut after,
        } = start;
        while partition < count {
            if left == Some(0) || found.read_units() >= full {
                found.next = Some(PageStart { partition, after });
                break;
            }
            let page = self.read(store, left, partition, after.take());
            let Metered { answer, consumed } = page.await?;
            found.add_consumed(&consumed);
            left = left.map(|left| left.saturating_sub(answer.scanned));
            self.take(answer.items, &mut found.items)?;
            if answer.last_key.is_some() {
                let after = answer.last_key;
                found.next = Some(PageStart { partition, after });
                break;
            }
            partition += 1;
        }
        Ok(found)
    }

    async fn read(
        &self,
        store: &dyn Store,
        limit: Option<usize>,
        partition: usize,
        start_after: Option<Item>,
    ) -> Result<Metered<Page>, Refusal> {
        let Some(partitions) = &self.partitions else {
            let scan = Scan {
                index: self.index.clone(),
                filter: self.filter.clone(),
                select: self.select.clone(),
                limit,
                start_after,
                consistent: self.consistent,
                ..Scan::new(self.table.clone())
            };
            return Ok(store.scan(scan).await?);
        };
        let query = Query {
            index: self.index.clone(),
            filter: self.filter.clone(),
            select: self.select.clone(),
            descending: self.descending,
            limit,
            start_after,
            consistent: self.consistent,
            ..Query::new(self.table.clone(), partitions[partition].clone())
        };
        Ok(store.query(query).await?)
    }

    fn take(&self, found: Vec<FoundItem>, items: &mut Vec<Item>) -> Result<(), Refusal> {
        for item in found {
            let item = item.into_item()?;
            let filter = self.filter_here.as_ref();
            if filter.is_none_or(|filter| filter.holds(&item)) {
                items.push(self.columns.of(item));
            }
        }
        Ok(())
    }
}

/// The index that a SELECT reads. The service words these refusals otherwise than those of a
/// query.
fn find_index<'s>(
    schema: &'s TableSchema,
    name: Option<&str>,
    consistent: bool,
) -> Result<Option<&'s IndexSchema>, Refusal> {
    let Some(name) = name else {
        return Ok(None);
    };
    let refuse = |message| Err(Refusal::validation(message));
    match schema.index(name) {
        Err(_) => refuse(messages::NO_SUCH_INDEX),
        Ok(index) if consistent && index.kind == IndexKind::Global => {
            refuse(messages::CONSISTENT_GLOBAL_INDEX)
        }
        Ok(index) => Ok(Some(index)),
    }
}

/// What the store answers of each item. An index that lacks a column reads the table if it is
/// local, and cannot if it is global.
fn selected(
    columns: &Option<Vec<(String, Path)>>,
    described: &TableDescription,
    index: Option<&IndexSchema>,
) -> Result<Selected, Refusal> {
    let (Some(index), Some(columns)) = (index, columns) else {
        return Ok(Selected::Projected);
    };
    let roots = columns.iter().map(|(_, path)| path.root.as_str());
    let lacking = roots.filter(|root| !index.projects(&described.schema.key, root));
    let lacking: Vec<&str> = lacking.collect();
    match index.kind {
        _ if lacking.is_empty() => Ok(Selected::Projected),
        IndexKind::Local => Ok(Selected::All),
        IndexKind::Global => {
            let message = messages::not_projected(&index.name, &lacking);
            Err(Refusal::validation(message))
        }
    }
}
