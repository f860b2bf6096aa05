//! The query that a pattern is, once its parameters are known.

use partita_core::expression::{Comparator, KeyCondition, KeyRange};
use partita_core::{Map, Value};
use partita_design::design::{KeyBound, Pattern, QueryRead, Read, SortRange, Table};
use partita_design::template::Template;

use crate::blueprint::Blueprint;
use crate::error::PlanError;
use crate::evaluate::Listing;
use crate::pattern::rows_max;

impl Blueprint {
    /// The query that a pattern is with these parameters; none while one is missing.
    pub(crate) fn listing(
        &self,
        pattern: &Pattern,
        values: &Map,
    ) -> Result<Option<Listing>, PlanError> {
        let (table, name) = self.table(pattern.table);
        let text = |template: &Template| template.key(values);
        let (index, keys) = match &pattern.read {
            Read::Get(templates) => {
                let (partition, sort) = (text(&templates.partition)?, text(&templates.sort)?);
                let (Some(partition), Some(sort)) = (partition, sort) else {
                    return Ok(None);
                };
                let mut keys = KeyCondition::partition(&table.partition, partition);
                keys.equals.push((table.sort.clone(), sort.into()));
                (None, keys)
            }
            Read::Query(QueryRead {
                index,
                partition,
                sort,
            }) => {
                let Some(value) = bound(table, partition, values)? else {
                    return Ok(None);
                };
                let mut keys = KeyCondition::partition(&partition.attribute, value);
                match range(table, sort, values)? {
                    None => return Ok(None),
                    Some(None) => {}
                    Some(Some(Range::Equals(name, value))) => keys.equals.push((name, value)),
                    Some(Some(Range::Within(name, range))) => keys.range = Some((name, range)),
                }
                let index = index.map(|index| table.indexes[index.index()].name.clone());
                (index, keys)
            }
            // Nothing that is written goes through a whole table.
            Read::Scan { .. } => return Ok(None),
        };
        Ok(Some(Listing {
            table: name.clone(),
            index,
            keys,
            last_only: false,
            rows_max: pattern.one.then(|| rows_max(pattern)),
        }))
    }
}

/// The range of sort keys; `None` outside where a parameter is missing.
fn range(
    table: &Table,
    sort: &SortRange,
    values: &Map,
) -> Result<Option<Option<Range>>, PlanError> {
    let one = |asked: &KeyBound| -> Result<Option<(String, Value)>, PlanError> {
        let value = bound(table, asked, values)?;
        Ok(value.map(|value| (asked.attribute.clone(), value)))
    };
    let within = |found: Option<(String, Value)>, make: fn(Value) -> KeyRange| {
        found.map(|(name, value)| Some(Range::Within(name, make(value))))
    };
    Ok(match sort {
        SortRange::All => Some(None),
        SortRange::Equals(bound) => {
            one(bound)?.map(|(name, value)| Some(Range::Equals(name, value)))
        }
        SortRange::BeginsWith(bound) => within(one(bound)?, KeyRange::BeginsWith),
        SortRange::Compared(bound, comparator) => match comparator {
            Comparator::Less => within(one(bound)?, KeyRange::Less),
            Comparator::LessOrEqual => within(one(bound)?, KeyRange::LessOrEqual),
            Comparator::Greater => within(one(bound)?, KeyRange::Greater),
            Comparator::GreaterOrEqual => within(one(bound)?, KeyRange::GreaterOrEqual),
            Comparator::Equal | Comparator::NotEqual => Some(None),
        },
        SortRange::Between(low, high) => match (one(low)?, one(high)?) {
            (Some((name, low)), Some((_, high))) => {
                Some(Some(Range::Within(name, KeyRange::Between(low, high))))
            }
            _ => None,
        },
    })
}

/// A key that is asked for, in the type that the index has it in.
fn bound(table: &Table, asked: &KeyBound, values: &Map) -> Result<Option<Value>, PlanError> {
    let indexes = table.indexes.iter();
    let mut keys = indexes.flat_map(|index| std::iter::once(&index.partition).chain(&index.sort));
    let native = keys.find(|key| key.native && key.name == asked.attribute);
    let text = asked.value.key(values)?;
    Ok(text.map(|text| match native.map(|key| key.kind) {
        Some(partita_core::Type::N) => match text.parse() {
            Ok(number) => Value::N(number),
            Err(_) => Value::S(text),
        },
        _ => Value::S(text),
    }))
}

/// What is asked of a sort key.
enum Range {
    Equals(String, Value),
    Within(String, KeyRange),
}
