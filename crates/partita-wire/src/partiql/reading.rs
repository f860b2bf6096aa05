//! SELECT: queries of the partitions that the WHERE clause names, or a scan, page by page.

use std::collections::BTreeMap;

use partita_core::expression::{
    Comparator, Condition, KeyCondition, KeyRange, Operand, Path, Select,
};
use partita_core::key::KeyValue;
use partita_core::limits::PAGE_BYTES_MAX;
use partita_core::{Item, Value};
use partita_store::capacity::{Consumed, Metered};
use partita_store::index::{IndexKind, IndexSchema};
use partita_store::request::{Page, Query, Scan, Select as Selected, TableDescription};
use partita_store::table::{KeyAttribute, TableName};
use partita_store::{FoundItem, Store};

use super::keys::{address, all, equality, is_attribute, parts, take_equal, typed};
use crate::messages;
use crate::refusal::Refusal;

/// Partitions that one statement names at most.
const PARTITIONS_MAX: usize = 50;

/// What a SELECT reads.
#[derive(Debug)]
pub(crate) struct Reading {
    table: TableName,
    index: Option<String>,
    /// The partitions, in the order in which they are read; without any, everything.
    partitions: Option<Vec<KeyCondition>>,
    descending: bool,
    select: Selected,
    /// Which items the store answers.
    filter: Option<Condition>,
    /// Which of these are answered here. A query's filter cannot ask for keys.
    filter_here: Option<Condition>,
    columns: Columns,
}

/// Where a page begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Place {
    /// The first partition that is still read, counted from 0.
    pub(crate) partition: usize,
    /// The item in it after which reading goes on.
    pub(crate) after: Option<Item>,
}

/// One page.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) items: Vec<Item>,
    pub(crate) next: Option<Place>,
    pub(crate) consumed: BTreeMap<TableName, Consumed>,
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

impl Reading {
    /// Holds a SELECT against its table.
    pub(crate) fn new(select: Select, described: &TableDescription) -> Result<Self, Refusal> {
        let schema = &described.schema;
        let index = select.source.index.as_deref();
        let index = index.map(|name| schema.index(name)).transpose()?;
        let (partition, sort): (Vec<_>, Vec<_>) = match index {
            Some(index) => (
                index.partition.iter().collect(),
                index.sort.iter().collect(),
            ),
            None => (
                vec![&schema.key.partition],
                schema.key.sort.iter().collect(),
            ),
        };
        let has_condition = select.condition.is_some();
        let mut rest = parts(select.condition);
        let mut values = partition_values(&mut rest, &partition)?;
        let order = Order::new(&select.order, has_condition, &partition, &sort)?;
        order.apply(&mut values)?;
        let partitions = values.map(|values| -> Result<_, Refusal> {
            let range = sort
                .first()
                .map(|attribute| take_range(&mut rest, attribute))
                .transpose()?
                .flatten();
            Ok(conditions(&partition, values, range))
        });
        let partitions = partitions.transpose()?;
        let is_key = |path: &Path| {
            let mut keys = partition.iter().chain(&sort);
            keys.any(|attribute| path.root == *attribute.name)
        };
        let asks_keys = partitions.is_some() && rest.iter().any(|part| visits(part, is_key));
        let rest = all(rest);
        let (filter, filter_here) = if asks_keys {
            (None, rest)
        } else {
            (rest, None)
        };
        Ok(Reading {
            table: described.table.clone(),
            select: selected(&select.columns, described, index)?,
            index: select.source.index,
            partitions,
            descending: order.descends,
            filter,
            filter_here,
            columns: Columns(select.columns),
        })
    }

    /// Reads one page.
    pub(crate) async fn page(
        &self,
        store: &dyn Store,
        consistent: bool,
        limit: Option<usize>,
        start: Place,
    ) -> Result<Found, Refusal> {
        let mut found = Found::default();
        let (mut scanned, mut bytes) = (0, 0);
        let Place {
            mut partition,
            mut after,
        } = start;
        let count = self.partitions.as_ref().map_or(1, Vec::len);
        while partition < count {
            let limit = limit.map(|limit| limit - scanned);
            let page = self.read(store, consistent, limit, partition, after.take());
            let Metered { answer, consumed } = page.await?;
            for (table, consumed) in &consumed {
                let sum = found.consumed.entry(table.clone()).or_default();
                sum.add(consumed);
            }
            scanned += answer.scanned;
            bytes += answer.items.iter().map(FoundItem::size).sum::<usize>();
            self.take(answer.items, &mut found.items)?;
            if answer.last_key.is_some() {
                let after = answer.last_key;
                found.next = Some(Place { partition, after });
                return Ok(found);
            }
            partition += 1;
            let is_full = limit == Some(answer.scanned) || bytes >= PAGE_BYTES_MAX;
            if is_full && partition < count {
                let after = None;
                found.next = Some(Place { partition, after });
                return Ok(found);
            }
        }
        Ok(found)
    }

    async fn read(
        &self,
        store: &dyn Store,
        consistent: bool,
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
                consistent,
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
            consistent,
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

/// The values of the partitions that the conditions name, which are then taken out: one by an
/// equality, or several of them by IN or OR.
fn partition_values(
    parts: &mut Vec<Condition>,
    partition: &[&KeyAttribute],
) -> Result<Option<Vec<Vec<Value>>>, Refusal> {
    if let [attribute] = partition {
        let found = parts
            .iter()
            .position(|part| alternatives(part, &attribute.name).is_some());
        let Some(at) = found else { return Ok(None) };
        let alternatives = alternatives(&parts.remove(at), &attribute.name).unwrap_or_default();
        let mut values: Vec<Vec<Value>> = Vec::new();
        for value in alternatives {
            let value = vec![typed(attribute, value)?];
            if !values.contains(&value) {
                values.push(value);
            }
        }
        if values.len() > PARTITIONS_MAX {
            let message = messages::too_many_partitions(values.len());
            return Err(Refusal::validation(message));
        }
        return Ok(Some(values));
    }
    let mut rest = parts.clone();
    let mut values = Vec::new();
    for attribute in partition {
        match take_equal(&mut rest, attribute)? {
            Some(value) => values.push(value),
            None => return Ok(None),
        }
    }
    *parts = rest;
    Ok(Some(vec![values]))
}

/// The values of which an attribute must equal one, if that is what a condition asks.
fn alternatives(part: &Condition, name: &str) -> Option<Vec<Value>> {
    match part {
        Condition::In(Operand::Path(path), list) if is_attribute(path, name) => {
            let values = list.iter().map(|operand| match operand {
                Operand::Value(value, _) => Some(value.clone()),
                _ => None,
            });
            values.collect()
        }
        Condition::Any(parts) => {
            let values = parts.iter().map(|part| equality(part, name).cloned());
            values.collect()
        }
        part => equality(part, name).map(|value| vec![value.clone()]),
    }
}

/// What is asked of the sort key, if a query can ask it.
fn take_range(
    parts: &mut Vec<Condition>,
    attribute: &KeyAttribute,
) -> Result<Option<Asked>, Refusal> {
    if let Some(value) = take_equal(parts, attribute)? {
        return Ok(Some(Asked::Equal(attribute.name.clone(), value)));
    }
    let found = parts
        .iter()
        .position(|part| range(part, &attribute.name).is_some());
    let Some(at) = found else { return Ok(None) };
    let Some(range) = range(&parts.remove(at), &attribute.name) else {
        return Ok(None);
    };
    for value in bounds(&range) {
        typed(attribute, value.clone())?;
    }
    Ok(Some(Asked::Range(attribute.name.clone(), range)))
}

#[derive(Clone)]
enum Asked {
    Equal(String, Value),
    Range(String, KeyRange),
}

fn range(part: &Condition, name: &str) -> Option<KeyRange> {
    match part {
        Condition::Compare(Operand::Path(path), comparator, Operand::Value(value, _))
            if is_attribute(path, name) =>
        {
            let value = value.clone();
            match comparator {
                Comparator::Less => Some(KeyRange::Less(value)),
                Comparator::LessOrEqual => Some(KeyRange::LessOrEqual(value)),
                Comparator::Greater => Some(KeyRange::Greater(value)),
                Comparator::GreaterOrEqual => Some(KeyRange::GreaterOrEqual(value)),
                Comparator::Equal | Comparator::NotEqual => None,
            }
        }
        Condition::Between(
            Operand::Path(path),
            Operand::Value(low, _),
            Operand::Value(high, _),
        ) if is_attribute(path, name) => Some(KeyRange::Between(low.clone(), high.clone())),
        Condition::BeginsWith(Operand::Path(path), Operand::Value(prefix, _))
            if is_attribute(path, name) =>
        {
            Some(KeyRange::BeginsWith(prefix.clone()))
        }
        _ => None,
    }
}

fn bounds(range: &KeyRange) -> Vec<&Value> {
    match range {
        KeyRange::Less(value)
        | KeyRange::LessOrEqual(value)
        | KeyRange::Greater(value)
        | KeyRange::GreaterOrEqual(value)
        | KeyRange::BeginsWith(value) => vec![value],
        KeyRange::Between(low, high) => vec![low, high],
    }
}

fn conditions(
    partition: &[&KeyAttribute],
    values: Vec<Vec<Value>>,
    asked: Option<Asked>,
) -> Vec<KeyCondition> {
    let names = || partition.iter().map(|attribute| attribute.name.clone());
    let condition = |values: Vec<Value>| {
        let mut keys = KeyCondition {
            equals: names().zip(values).collect(),
            range: None,
        };
        match asked.clone() {
            Some(Asked::Equal(name, value)) => keys.equals.push((name, value)),
            Some(Asked::Range(name, range)) => keys.range = Some((name, range)),
            None => {}
        }
        keys
    };
    values.into_iter().map(condition).collect()
}

fn visits(part: &Condition, is_key: impl Fn(&Path) -> bool) -> bool {
    let mut visits = false;
    part.visit_paths(&mut |path| visits |= is_key(path));
    visits
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

/// ORDER BY.
struct Order {
    /// Whether the partitions are read in the order of their keys, and which one.
    partitions_descend: Option<bool>,
    is_sorted: bool,
    /// Whether sort keys descend.
    descends: bool,
}

impl Order {
    fn new(
        order: &[(String, bool)],
        has_condition: bool,
        partition: &[&KeyAttribute],
        sort: &[&KeyAttribute],
    ) -> Result<Self, Refusal> {
        let mut read = Order {
            partitions_descend: None,
            is_sorted: false,
            descends: false,
        };
        if !order.is_empty() && !has_condition {
            return Err(Refusal::validation(messages::ORDER_WITHOUT_WHERE));
        }
        for (name, descends) in order {
            let has = |keys: &[&KeyAttribute]| keys.iter().any(|key| key.name == *name);
            if has(partition) {
                read.partitions_descend = Some(*descends);
            } else if has(sort) {
                read.is_sorted = true;
                read.descends = *descends;
            } else {
                return Err(Refusal::validation(messages::order_of_no_key(name)));
            }
        }
        Ok(read)
    }

    /// Puts the partitions in order.
    fn apply(&self, values: &mut Option<Vec<Vec<Value>>>) -> Result<(), Refusal> {
        let is_ordered = self.is_sorted || self.partitions_descend.is_some();
        let Some(values) = values else {
            return if is_ordered {
                Err(Refusal::validation(messages::ORDER_WITHOUT_PARTITION))
            } else {
                Ok(())
            };
        };
        let Some(descends) = self.partitions_descend else {
            return if self.is_sorted && values.len() > 1 {
                Err(Refusal::validation(messages::ORDER_OF_SEVERAL_PARTITIONS))
            } else {
                Ok(())
            };
        };
        let key = |values: &Vec<Value>| -> Vec<Option<KeyValue>> {
            values.iter().map(KeyValue::from_value).collect()
        };
        values.sort_by_key(key);
        if descends {
            values.reverse();
        }
        Ok(())
    }
}
