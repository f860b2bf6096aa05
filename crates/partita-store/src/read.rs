//! Queries held against a table's keys, and pages filled to their bounds.
//!
//! As with writes, the stores that evaluate reads themselves share this.

use partita_core::Item;
use partita_core::expression::{Condition, KeyCondition, KeyRange};
use partita_core::key::KeyValue;
use partita_core::limits::{BATCH_GET_KEYS_MAX, PAGE_BYTES_MAX};
use partita_core::size::item_bytes;
use partita_core::{Type, Value};

use crate::error::{StoreError, StoreResult};
use crate::request::{BatchGetItem, Page};
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
    /// Holds a key condition against the keys of this table.
    pub fn resolve(&self, keys: &KeyCondition) -> StoreResult<KeyQuery> {
        let missed = |name: &str| {
            StoreError::validation(format!("Query condition missed key schema element: {name}"))
        };
        let mut equals = keys.equals.iter();
        let partition = equals
            .clone()
            .find(|(name, _)| *name == self.partition.name)
            .ok_or_else(|| missed(&self.partition.name))?;
        let partition = typed(&self.partition, &partition.1)?;
        let mut ranges: Vec<SortRange> = Vec::new();
        for (name, value) in equals
            .by_ref()
            .filter(|(name, _)| *name != self.partition.name)
        {
            ranges.push(SortRange::Equal(typed(self.sort_named(name)?, value)?));
        }
        if let Some((name, range)) = &keys.range {
            ranges.push(sort_range(self.sort_named(name)?, range)?);
        }
        if ranges.len() > 1 || keys.equals.len() > 2 {
            return Err(StoreError::validation(
                "KeyConditionExpressions must only contain one condition per key",
            ));
        }
        Ok(KeyQuery {
            partition,
            range: ranges.pop(),
        })
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

fn typed(attribute: &KeyAttribute, value: &Value) -> StoreResult<KeyValue> {
    match KeyValue::from_value(value) {
        Some(key) if key.kind() == attribute.kind => Ok(key),
        _ => Err(StoreError::validation(format!(
            "One or more parameter values were invalid: Condition parameter type does not match schema type: `{}` is of type {}",
            attribute.name,
            Type::from(attribute.kind),
        ))),
    }
}

fn sort_range(attribute: &KeyAttribute, range: &KeyRange) -> StoreResult<SortRange> {
    let typed = |value| typed(attribute, value);
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
