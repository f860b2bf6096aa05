//! Queries held against a table's keys, and pages filled to their bounds.
//!
//! As with writes, the stores that evaluate reads themselves share this.

use partita_core::Item;
use partita_core::expression::{Condition, KeyCondition, KeyRange};
use partita_core::key::KeyValue;
use partita_core::limits::{
    BATCH_GET_KEYS_MAX, PAGE_BYTES_MAX, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX,
};
use partita_core::size::item_bytes;
use partita_core::{Type, Value};

use crate::error::{StoreError, StoreResult};
use crate::request::{BatchGetItem, Page, Query};
use crate::table::{Key, KeyAttribute, KeySchema};

/// A key condition that fits a table.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyQuery {
    /// The partition.
    pub partition: KeyValue,
    /// The sort keys in it; all of them without a range.
    pub range: Option<SortRange>,
}

/// A range of sort keys.
#[derive(Clone, Debug, PartialEq)]
pub enum SortRange {
    /// Exactly this one.
    Equal(KeyValue),
    /// Those below.
    Less(KeyValue),
    /// Those below, and this one.
    LessOrEqual(KeyValue),
    /// Those above.
    Greater(KeyValue),
    /// Those above, and this one.
    GreaterOrEqual(KeyValue),
    /// From the one to the other, both included.
    Between(KeyValue, KeyValue),
    /// Those that begin with it.
    BeginsWith(KeyValue),
}

impl KeyQuery {
    /// Whether a key is in the partition and in the range.
    pub fn contains(&self, key: &Key) -> bool {
        let in_range = |range: &SortRange| key.sort.as_ref().is_some_and(|it| range.contains(it));
        key.partition == self.partition && self.range.as_ref().is_none_or(in_range)
    }
}

impl SortRange {
    /// Whether the range holds a sort key.
    pub fn contains(&self, sort: &KeyValue) -> bool {
        match self {
            SortRange::Equal(value) => sort == value,
            SortRange::Less(value) => sort < value,
            SortRange::LessOrEqual(value) => sort <= value,
            SortRange::Greater(value) => sort > value,
            SortRange::GreaterOrEqual(value) => sort >= value,
            SortRange::Between(low, high) => low <= sort && sort <= high,
            SortRange::BeginsWith(prefix) => match (sort, prefix) {
                (KeyValue::S(sort), KeyValue::S(prefix)) => sort.starts_with(prefix.as_str()),
                (KeyValue::B(sort), KeyValue::B(prefix)) => sort.starts_with(prefix),
                _ => false,
            },
        }
    }
}

impl KeySchema {
    /// Holds a query against the keys of this table: what it asks for, and where it goes on.
    pub fn resolve_query(&self, query: &Query) -> StoreResult<(KeyQuery, Option<Key>)> {
        let keys = self.resolve(&query.keys)?;
        if let Some(filter) = &query.filter {
            self.check_filter(filter)?;
        }
        let start = self.start_key(query.start_after.as_ref())?;
        if start.as_ref().is_some_and(|start| !keys.contains(start)) {
            return Err(StoreError::validation(
                "The provided starting key is outside query boundaries based on provided conditions",
            ));
        }
        Ok((keys, start))
    }

    /// Holds a key condition against the keys of this table.
    pub fn resolve(&self, keys: &KeyCondition) -> StoreResult<KeyQuery> {
        let (partitions, sorts): (Vec<_>, Vec<_>) = keys
            .equals
            .iter()
            .partition(|(name, _)| *name == self.partition.name);
        let mut ranges: Vec<SortRange> = Vec::new();
        for (name, value) in sorts {
            ranges.push(SortRange::Equal(typed_sort(self.sort_named(name)?, value)?));
        }
        if let Some((name, range)) = &keys.range {
            ranges.push(sort_range(self.sort_named(name)?, range)?);
        }
        if partitions.len() > 1 || ranges.len() > 1 {
            return Err(StoreError::validation(
                "KeyConditionExpressions must only contain one condition per key",
            ));
        }
        let Some((_, partition)) = partitions.first() else {
            return Err(StoreError::validation(format!(
                "Query condition missed key schema element: {}",
                self.partition.name
            )));
        };
        Ok(KeyQuery {
            partition: typed(&self.partition, partition, PARTITION_KEY_BYTES_MAX)?,
            range: ranges.pop(),
        })
    }

    /// A filter sees what the keys let by; to ask for keys again is a mistake.
    fn check_filter(&self, filter: &Condition) -> StoreResult<()> {
        let mut key = None;
        filter.visit_paths(&mut |path| {
            if self.contains(&path.root) {
                key = Some(&path.root);
            }
        });
        match key {
            None => Ok(()),
            Some(name) => Err(StoreError::validation(format!(
                "Filter Expression can only contain non-primary key attributes: Primary key attribute: {name}"
            ))),
        }
    }

    fn sort_named(&self, name: &str) -> StoreResult<&KeyAttribute> {
        self.sort
            .as_ref()
            .filter(|attribute| attribute.name == name)
            .ok_or_else(|| StoreError::validation(format!("`{name}` is not a key of this table")))
    }

    /// The key at which a query or scan goes on.
    pub fn start_key(&self, start_after: Option<&Item>) -> StoreResult<Option<Key>> {
        let invalid = |_| StoreError::validation("The provided starting key is invalid");
        start_after
            .map(|key| self.exact_key(key).map_err(invalid))
            .transpose()
    }
}

fn typed(attribute: &KeyAttribute, value: &Value, bytes_max: usize) -> StoreResult<KeyValue> {
    let Some(key) = KeyValue::from_value(value).filter(|key| key.kind() == attribute.kind) else {
        return Err(StoreError::validation(format!(
            "One or more parameter values were invalid: Condition parameter type does not match schema type: `{}` is of type {}",
            attribute.name,
            Type::from(attribute.kind),
        )));
    };
    attribute.check_size(&key, bytes_max)?;
    Ok(key)
}

/// The bounds of a range, and prefixes too, are held to what a sort key may be.
fn typed_sort(attribute: &KeyAttribute, value: &Value) -> StoreResult<KeyValue> {
    typed(attribute, value, SORT_KEY_BYTES_MAX)
}

fn sort_range(attribute: &KeyAttribute, range: &KeyRange) -> StoreResult<SortRange> {
    let typed = |value| typed_sort(attribute, value);
    Ok(match range {
        KeyRange::Less(value) => SortRange::Less(typed(value)?),
        KeyRange::LessOrEqual(value) => SortRange::LessOrEqual(typed(value)?),
        KeyRange::Greater(value) => SortRange::Greater(typed(value)?),
        KeyRange::GreaterOrEqual(value) => SortRange::GreaterOrEqual(typed(value)?),
        KeyRange::Between(low, high) => {
            let (low, high) = (typed(low)?, typed(high)?);
            if low > high {
                return Err(StoreError::validation(
                    "The BETWEEN operator requires upper bound to be greater than or equal to lower bound",
                ));
            }
            SortRange::Between(low, high)
        }
        KeyRange::BeginsWith(prefix) => match typed(prefix)? {
            KeyValue::N(_) => {
                return Err(StoreError::validation(
                    "begins_with cannot be asked of a number",
                ));
            }
            prefix => SortRange::BeginsWith(prefix),
        },
    })
}

/// Fills one page: at most `limit` items and one megabyte are read, whatever the filter lets by.
#[derive(Debug)]
pub struct PageBuilder<'a> {
    filter: Option<&'a Condition>,
    limit: usize,
    bytes: usize,
    page: Page,
    last: Option<Key>,
}

impl<'a> PageBuilder<'a> {
    /// An empty page.
    pub fn new(filter: Option<&'a Condition>, limit: Option<usize>) -> StoreResult<Self> {
        if limit == Some(0) {
            return Err(StoreError::validation("Limit must be at least 1"));
        }
        if let Some(filter) = filter {
            filter.check()?;
        }
        Ok(PageBuilder {
            filter,
            limit: limit.unwrap_or(usize::MAX),
            bytes: 0,
            page: Page::default(),
            last: None,
        })
    }

    /// Whether no further item may be read.
    pub fn is_full(&self) -> bool {
        self.page.scanned >= self.limit || self.bytes >= PAGE_BYTES_MAX
    }

    /// Takes an item that was read.
    pub fn push(&mut self, key: Key, item: Item) {
        self.bytes += item_bytes(&item);
        self.page.scanned += 1;
        self.last = Some(key);
        if self.filter.is_none_or(|filter| filter.holds(&item)) {
            self.page.items.push(item);
        }
    }

    /// The page. A full one says where to go on, even if nothing more will be found there, as
    /// DynamoDB does.
    pub fn finish(mut self, schema: &KeySchema) -> Page {
        if self.is_full() {
            self.page.last_key = self.last.as_ref().map(|key| schema.attributes_of(key));
        }
        self.page
    }
}

/// Checks the number of keys of a batch get, and that each is there once.
pub fn check_batch(request: &BatchGetItem) -> StoreResult<()> {
    let count = request.addresses.len();
    if !(1..=BATCH_GET_KEYS_MAX).contains(&count) {
        return Err(StoreError::validation(format!(
            "a batch get has 1 to {BATCH_GET_KEYS_MAX} keys, not {count}"
        )));
    }
    let mut seen = std::collections::HashSet::new();
    if !request.addresses.iter().all(|address| seen.insert(address)) {
        return Err(StoreError::validation(
            "Provided list of item keys contains duplicates",
        ));
    }
    Ok(())
}
