//! Which partitions of a table or index a WHERE clause names, and which sort keys in them.

use partita_core::Value;
use partita_core::expression::{Comparator, Condition, KeyCondition, KeyRange, Operand, Path};
use partita_store::index::IndexSchema;
use partita_store::table::{KeyAttribute, KeySchema};

use super::keys::{equality, is_attribute, take_equal, typed};
use crate::messages;
use crate::refusal::Refusal;

/// Partitions that one statement names at most.
const PARTITIONS_MAX: usize = 50;

/// The key attributes of a table or an index.
pub(super) struct SourceKeys<'a> {
    pub(super) partition: Vec<&'a KeyAttribute>,
    pub(super) sort: Vec<&'a KeyAttribute>,
}

impl<'a> SourceKeys<'a> {
    pub(super) fn new(table: &'a KeySchema, index: Option<&'a IndexSchema>) -> Self {
        match index {
            Some(index) => SourceKeys {
                partition: index.partition.iter().collect(),
                sort: index.sort.iter().collect(),
            },
            None => SourceKeys {
                partition: vec![&table.partition],
                sort: table.sort.iter().collect(),
            },
        }
    }

    /// Whether a condition asks for a key attribute.
    pub(super) fn are_asked_by(&self, condition: &Condition) -> bool {
        let is_key = |path: &Path| {
            let mut attributes = self.partition.iter().chain(&self.sort);
            attributes.any(|attribute| path.root == *attribute.name)
        };
        let mut is_asked = false;
        condition.visit_paths(&mut |path| is_asked |= is_key(path));
        is_asked
    }

    /// Takes the values of the partitions out of the conditions: one by an equality, or several
    /// by IN or OR. There are none if the conditions name no partition.
    pub(super) fn take_partitions(
        &self,
        parts: &mut Vec<Condition>,
    ) -> Result<Option<Vec<Vec<Value>>>, Refusal> {
        if let [attribute] = self.partition.as_slice() {
            return take_alternatives(parts, attribute);
        }
        let mut rest = parts.clone();
        let mut values = Vec::new();
        for attribute in &self.partition {
            match take_equal(&mut rest, attribute)? {
                Some(value) => values.push(value),
                None => return Ok(None),
            }
        }
        *parts = rest;
        Ok(Some(vec![values]))
    }

    /// The query of each partition, with what the conditions ask of the sort key, which is taken
    /// out of them.
    pub(super) fn take_queries(
        &self,
        parts: &mut Vec<Condition>,
        partitions: Vec<Vec<Value>>,
    ) -> Result<Vec<KeyCondition>, Refusal> {
        let mut sort = KeyCondition {
            equals: Vec::new(),
            range: None,
        };
        if let Some(attribute) = self.sort.first() {
            take_sort(parts, attribute, &mut sort)?;
        }
        let names = || {
            self.partition
                .iter()
                .map(|attribute| attribute.name.clone())
        };
        let query = |values: Vec<Value>| {
            let mut query = sort.clone();
            query.equals.splice(..0, names().zip(values));
            query
        };
        Ok(partitions.into_iter().map(query).collect())
    }
}

fn take_alternatives(
    parts: &mut Vec<Condition>,
    attribute: &KeyAttribute,
) -> Result<Option<Vec<Vec<Value>>>, Refusal> {
    let mut found = parts.iter().enumerate();
    let found = found.find_map(|(at, part)| Some((at, alternatives(part, &attribute.name)?)));
    let Some((at, alternatives)) = found else {
        return Ok(None);
    };
    parts.remove(at);
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
    Ok(Some(values))
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

/// Takes what is asked of the sort key out of the conditions, if a query can ask it.
fn take_sort(
    parts: &mut Vec<Condition>,
    attribute: &KeyAttribute,
    query: &mut KeyCondition,
) -> Result<(), Refusal> {
    let name = &attribute.name;
    if let Some(value) = take_equal(parts, attribute)? {
        query.equals.push((name.clone(), value));
        return Ok(());
    }
    let mut found = parts.iter().enumerate();
    let found = found.find_map(|(at, part)| Some((at, range(part, name)?)));
    let Some((at, range)) = found else {
        return Ok(());
    };
    parts.remove(at);
    for value in bounds(&range) {
        typed(attribute, value.clone())?;
    }
    query.range = Some((name.clone(), range));
    Ok(())
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
