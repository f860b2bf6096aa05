//! How items are stored in a table: the keys of a record, and a stored item back to its attributes.
//!
//! In memory an item is the map of its attributes, with those that are stored only inside its key;
//! in the table it has its keys and its discriminator besides. Planner and `verify` both read the
//! table through this module.

use std::collections::BTreeMap;

use partita_core::expression::{Comparator, KeyCondition, KeyRange, Scope};
use partita_core::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use partita_core::{Item, Map, Name, Type, Value};

use crate::design::{
    Design, Index, IndexKey, KeyBound, KeyTemplates, KeyValue, Pattern, Read, Record, RecordIndex,
    SortRange, Table, Unique,
};
use crate::expression::Predicate;
use crate::nested;
use crate::template::{PartError, PartProblem};

impl Index {
    /// Its key attributes.
    pub fn keys(&self) -> impl Iterator<Item = &IndexKey> {
        std::iter::once(&self.partition).chain(&self.sort)
    }

    /// The names of the keys that are made for it, and are no attributes of any record.
    pub fn made_keys(&self) -> impl Iterator<Item = &str> {
        let made = self.keys().filter(|key| !key.native);
        made.map(|key| key.name.as_str())
    }
}

impl Table {
    /// The names of all keys that are made for its indexes.
    pub fn made_keys(&self) -> impl Iterator<Item = &str> {
        self.indexes.iter().flat_map(Index::made_keys)
    }

    /// Whether an item with this partition key belongs to another program, and is left alone.
    pub fn ignores(&self, partition: &str) -> bool {
        let mut prefixes = self.ignore.iter();
        prefixes.any(|prefix| partition.starts_with(prefix.as_str()))
    }

    /// Whether an attribute of stored items is there for the table or an index.
    pub fn is_key(&self, name: &str) -> bool {
        name == self.partition || name == self.sort || self.made_keys().any(|key| key == name)
    }

    /// A key that is asked for, in the type that its index has it in; `None` while a parameter is
    /// missing.
    fn bound(&self, asked: &KeyBound, values: &Map) -> Result<Option<Value>, PartError> {
        let mut keys = self.indexes.iter().flat_map(Index::keys);
        let is_number = keys.any(|key| key.name == asked.attribute && key.kind == Type::N);
        let text = asked.value.key(values)?;
        Ok(text.map(|text| match text.parse() {
            Ok(number) if is_number => Value::N(number),
            _ => Value::S(text),
        }))
    }
}

impl KeyTemplates {
    /// The partition key and the sort key; `None` while a part of one is missing.
    pub fn render(&self, scope: &impl Scope) -> Result<Option<(String, String)>, PartError> {
        let (partition, sort) = self.parts(scope)?;
        Ok(partition.zip(sort))
    }

    /// The partition key and the sort key, each `None` while a part of it is missing.
    pub fn parts(&self, scope: &impl Scope) -> Result<(Option<String>, Option<String>), PartError> {
        let partition = self.partition.key_within(scope, PARTITION_KEY_BYTES_MAX)?;
        let sort = self.sort.key_within(scope, SORT_KEY_BYTES_MAX)?;
        Ok((partition, sort))
    }
}

impl Record {
    /// Refuses a value of an attribute that is the key of an index itself, and longer than a store
    /// takes.
    pub fn check_native(&self, name: &str, value: &Value) -> Result<(), PartError> {
        let Some(text) = value.as_str() else {
            return Ok(());
        };
        let is_native = |key: &KeyValue| matches!(key, KeyValue::Native(one) if one == name);
        for index in &self.indexes {
            let is_sort = index.sort.as_ref().is_some_and(is_native);
            for (is_key, bytes_max) in [
                (is_native(&index.partition), PARTITION_KEY_BYTES_MAX),
                (is_sort, SORT_KEY_BYTES_MAX),
            ] {
                if is_key && text.len() > bytes_max {
                    return Err(PartError {
                        name: name.to_owned(),
                        problem: PartProblem::Long { bytes_max },
                    });
                }
            }
        }
        Ok(())
    }
}

impl Unique {
    /// The partition key of the guard; `None` while a value is missing.
    pub fn key(&self, scope: &impl Scope) -> Result<Option<String>, PartError> {
        self.partition.key_within(scope, PARTITION_KEY_BYTES_MAX)
    }
}

impl Record {
    /// Whether the discriminator of a stored item says that it is one of this record.
    pub fn is_marked(&self, table: &Table, item: &Item) -> bool {
        table.discriminator.as_ref().is_none_or(|name| {
            let mark = item.get(name).and_then(Value::as_str);
            mark == self.discriminator.as_deref()
                || (mark.is_some() && mark == self.also_marked.as_deref())
        })
    }

    /// A stored item without its keys, but with what its primary key holds; `None` if that is not
    /// the key of such a record.
    pub fn attributes_of(&self, table: &Table, item: &Item) -> Option<Map> {
        let (partition, sort) = (item.get(&table.partition)?, item.get(&table.sort)?);
        let parts = [
            self.key.partition.read(partition.as_str()?)?,
            self.key.sort.read(sort.as_str()?)?,
        ];
        let mut attributes = item.part(|name| !table.is_key(name));
        for (name, text) in parts.into_iter().flatten() {
            if nested::get(&attributes, &name).is_none() {
                let value = match self.stored(&name) {
                    Some(attribute) => attribute.kind.from_text(text).ok()?,
                    None => Value::from(text),
                };
                nested::set(&mut attributes, &name, value);
            }
        }
        if let (Some(name), Some(mark), Some(other)) =
            (&table.discriminator, &self.discriminator, &self.also_marked)
            && item.get(name).and_then(Value::as_str) == Some(other)
        {
            // Readers know the mark of the design that is served.
            attributes.insert(name.as_str(), Value::from(mark.as_str()));
        }
        Some(attributes)
    }
}

/// The attributes of an item that its record lists, and in maps those of the map. They are in the
/// order of their names, as those of an item are, so that nothing is searched for.
pub struct Listed(Vec<(Name, Extent)>);

enum Extent {
    Whole,
    Inside(Listed),
}

impl Record {
    /// What the record lists, and the discriminator of its table, which is no attribute.
    pub fn listed(&self, discriminator: Option<&str>) -> Listed {
        let attributes = self.attributes.iter().map(|one| one.name.as_str());
        let identity = self.identity.iter().map(|part| part.attribute.as_str());
        Listed::of(attributes.chain(identity).chain(discriminator))
    }
}

impl Listed {
    fn of<'p>(paths: impl Iterator<Item = &'p str>) -> Listed {
        let mut heads: BTreeMap<&str, (bool, Vec<&str>)> = BTreeMap::new();
        for path in paths {
            match path.split_once('.') {
                None => heads.entry(path).or_default().0 = true,
                Some((head, rest)) => heads.entry(head).or_default().1.push(rest),
            }
        }
        let listed = heads.into_iter().map(|(head, (is_whole, inside))| {
            let extent = if is_whole {
                Extent::Whole
            } else {
                Extent::Inside(Listed::of(inside.into_iter()))
            };
            (Name::from(head), extent)
        });
        Listed(listed.collect())
    }

    /// Takes out of an item what is not listed: what other programs and earlier designs left there.
    pub fn retain(&self, item: &mut Map) {
        let mut listed = self.0.iter().peekable();
        item.retain(|name, value| {
            while listed.next_if(|(known, _)| known < name).is_some() {}
            match (listed.next_if(|(known, _)| known == name), value) {
                (Some((_, Extent::Whole)), _) => true,
                (Some((_, Extent::Inside(inside))), Value::M(map)) => {
                    inside.retain(map);
                    true
                }
                _ => false,
            }
        });
    }
}

impl Design {
    /// The keys that a record has in one index, by the names of the key attributes; none while a
    /// part of one is missing.
    pub fn index_keys(
        &self,
        record: &Record,
        index: &RecordIndex,
        scope: &impl Scope,
    ) -> Result<Vec<(&str, String)>, PartError> {
        let schema = self.index_of(record, index.index);
        let partition = std::iter::once((&index.partition, PARTITION_KEY_BYTES_MAX));
        let sort = index.sort.iter().map(|sort| (sort, SORT_KEY_BYTES_MAX));
        let mut keys = Vec::new();
        for (key, (value, bytes_max)) in schema.keys().zip(partition.chain(sort)) {
            let KeyValue::Cases(cases) = value else {
                continue;
            };
            let holds = |when: &Predicate| when.holds(scope);
            let mut cases = cases.iter();
            let Some(case) = cases.find(|case| case.when.as_ref().is_none_or(holds)) else {
                return Ok(Vec::new());
            };
            match case.is.key_within(scope, bytes_max)? {
                Some(text) => keys.push((key.name.as_str(), text)),
                None => return Ok(Vec::new()),
            }
        }
        Ok(keys)
    }
}

impl Pattern {
    /// The keys that a pattern of the table asks for with these parameters; `None` while one is
    /// missing, and for a scan.
    pub fn keys(&self, table: &Table, values: &Map) -> Result<Option<KeyCondition>, PartError> {
        match &self.read {
            Read::Get(templates) => {
                let Some((partition, sort)) = templates.render(values)? else {
                    return Ok(None);
                };
                let mut keys = KeyCondition::partition(&table.partition, partition);
                keys.equals.push((table.sort.clone(), Value::S(sort)));
                Ok(Some(keys))
            }
            Read::Query(query) => {
                let Some(value) = table.bound(&query.partition, values)? else {
                    return Ok(None);
                };
                let keys = KeyCondition::partition(&query.partition.attribute, value);
                query.sort.within(keys, table, values)
            }
            Read::Scan { .. } => Ok(None),
        }
    }
}

impl SortRange {
    /// The keys of a partition, only those in this range.
    fn within(
        &self,
        mut keys: KeyCondition,
        table: &Table,
        values: &Map,
    ) -> Result<Option<KeyCondition>, PartError> {
        let one = |asked: &KeyBound| -> Result<Option<(String, Value)>, PartError> {
            let value = table.bound(asked, values)?;
            Ok(value.map(|value| (asked.attribute.clone(), value)))
        };
        let (bound, make): (_, fn(Value) -> KeyRange) = match self {
            SortRange::All => return Ok(Some(keys)),
            SortRange::Equals(bound) => {
                let found = one(bound)?;
                keys.equals.extend(found.clone());
                return Ok(found.map(|_| keys));
            }
            SortRange::Between(low, high) => {
                let found = one(low)?.zip(table.bound(high, values)?);
                let range = found.map(|((name, low), high)| (name, KeyRange::Between(low, high)));
                return Ok(range.map(|range| with_range(keys, range)));
            }
            SortRange::BeginsWith(bound) => (bound, KeyRange::BeginsWith),
            SortRange::Compared(bound, comparator) => match comparator {
                Comparator::Less => (bound, KeyRange::Less),
                Comparator::LessOrEqual => (bound, KeyRange::LessOrEqual),
                Comparator::Greater => (bound, KeyRange::Greater),
                Comparator::GreaterOrEqual => (bound, KeyRange::GreaterOrEqual),
                Comparator::Equal | Comparator::NotEqual => return Ok(Some(keys)),
            },
        };
        let range = one(bound)?.map(|(name, value)| (name, make(value)));
        Ok(range.map(|range| with_range(keys, range)))
    }
}

fn with_range(keys: KeyCondition, range: (String, KeyRange)) -> KeyCondition {
    KeyCondition {
        range: Some(range),
        ..keys
    }
}
