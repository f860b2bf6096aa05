//! Queries and scans held against a table's keys, and pages filled to their bounds.
//!
//! As with writes, the stores that evaluate reads themselves share this. A table and an index
//! are read alike: every row has a [`Place`], a list of key values and the item's own key, and a
//! query is a prefix of those values and a range of the next one.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use partita_core::expression::{Condition, KeyCondition, KeyRange, Path};
use partita_core::key::KeyValue;
use partita_core::limits::{
    BATCH_GET_BYTES_MAX, BATCH_GET_KEYS_MAX, PAGE_BYTES_MAX, PARTITION_KEY_BYTES_MAX,
    SORT_KEY_BYTES_MAX, TRANSACTION_ACTIONS_MAX, TRANSACTION_BYTES_MAX,
};
use partita_core::size::item_bytes;
use partita_core::{Item, Type, Value};

use crate::capacity::{Consumed, HalfUnits, Metered, Rate, read_units};
use crate::error::{StoreError, StoreResult};
use crate::index::{IndexKey, IndexKind, IndexProjection, IndexSchema};
use crate::request::{
    BatchGetItem, BatchGot, ItemAddress, Page, Query, Scan, Segment, Select, TransactGetItems,
};
use crate::table::{KeyAttribute, TableName, TableSchema};

/// Where a row stands. A table's rows stand under their own keys.
pub type Place = IndexKey;

/// What is read: a table, or one of its indexes.
#[derive(Clone, Copy, Debug)]
pub struct Source<'s> {
    /// The table.
    pub schema: &'s TableSchema,
    /// The index, if it is one that is read.
    pub index: Option<&'s IndexSchema>,
}

/// A query or scan that fits its table.
#[derive(Clone, Debug)]
pub struct Reading<'s> {
    /// What is read.
    pub source: Source<'s>,
    /// Which rows.
    pub keys: KeyQuery,
    /// Where to go on.
    pub start: Option<Place>,
    /// Which part of a parallel scan.
    pub segment: Option<Segment>,
    /// Whether the rows are read from the largest place to the smallest.
    pub descending: bool,
    /// Whether each row's item is read from the table too.
    pub fetches_items: bool,
}

/// A prefix of a place's values, and a range of the next one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyQuery {
    /// What the values begin with; a scan's is empty.
    pub prefix: Vec<KeyValue>,
    /// The range of the value behind it.
    pub range: Option<SortRange>,
}

/// A range of sort keys.
#[derive(Clone, Debug, PartialEq)]
pub enum SortRange {
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
    /// Whether the values have the prefix and are in the range.
    pub fn contains(&self, values: &[KeyValue]) -> bool {
        let Some(rest) = values.strip_prefix(self.prefix.as_slice()) else {
            return false;
        };
        let in_range = |range: &SortRange| rest.first().is_some_and(|next| range.contains(next));
        self.range.as_ref().is_none_or(in_range)
    }
}

impl SortRange {
    /// Whether the range holds a sort key.
    pub fn contains(&self, sort: &KeyValue) -> bool {
        match self {
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

impl Segment {
    /// Whether a row belongs to this part: whole partitions do, spread by a hash.
    pub fn contains(self, partition: &[KeyValue]) -> bool {
        let mut hasher = DefaultHasher::new();
        partition.hash(&mut hasher);
        hasher.finish() % u64::from(self.total) == u64::from(self.number)
    }
}

impl<'s> Reading<'s> {
    /// Holds a query against a table.
    pub fn of_query(schema: &'s TableSchema, query: &Query) -> StoreResult<Self> {
        let source = Source::named(schema, query.index.as_deref())?;
        source.check_consistency(query.consistent)?;
        let keys = source.resolve(&query.keys)?;
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
        let source = Source::named(schema, scan.index.as_deref())?;
        source.check_consistency(scan.consistent)?;
        if let Some(Segment { number, total }) = scan.segment
            && (total == 0 || total > 1_000_000 || number >= total)
        {
            return Err(StoreError::validation(format!(
                "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: {number} is not less than TotalSegments: {total}"
            )));
        }
        Ok(Reading {
            source,
            keys: KeyQuery::default(),
            start: source.start(scan.start_after.as_ref())?,
            segment: scan.segment,
            descending: false,
            fetches_items: source.fetches_items(&scan.select)?,
        })
    }

    /// Whether a row is among those that are read, and behind where the last page ended.
    pub fn contains(&self, place: &Place) -> bool {
        let partition = &place.values[..self.source.partition().len()];
        let is_after = |start: &Place| match self.descending {
            true => place < start,
            false => place > start,
        };
        self.keys.contains(&place.values)
            && self
                .segment
                .is_none_or(|segment| segment.contains(partition))
            && self.start.as_ref().is_none_or(is_after)
    }
}

impl<'s> Source<'s> {
    fn named(schema: &'s TableSchema, index: Option<&str>) -> StoreResult<Self> {
        let index = index.map(|name| schema.index(name)).transpose()?;
        Ok(Source { schema, index })
    }

    /// The attributes of the partition key.
    pub fn partition(&self) -> &'s [KeyAttribute] {
        match self.index {
            Some(index) => &index.partition,
            None => std::slice::from_ref(&self.schema.key.partition),
        }
    }

    /// The attributes of the sort key.
    pub fn sort(&self) -> &'s [KeyAttribute] {
        match self.index {
            Some(index) => &index.sort,
            None => self.schema.key.sort.as_slice(),
        }
    }

    /// Where an item stands; an index may leave it out.
    pub fn place(&self, item: &Item) -> StoreResult<Option<Place>> {
        match self.index {
            Some(index) => index.key_of(&self.schema.key, item),
            None => {
                let item = self.schema.key.key_of(item)?;
                let values = item.values().cloned().collect();
                Ok(Some(Place { values, item }))
            }
        }
    }

    /// What is there of an item.
    pub fn row(&self, item: &Item) -> Item {
        match self.index {
            Some(index) => index.projected(&self.schema.key, item),
            None => item.clone(),
        }
    }

    /// The key attributes at which a page ends.
    fn end(&self, place: &Place) -> Item {
        match self.index {
            Some(index) => index.attributes_of(&self.schema.key, place),
            None => self.schema.key.attributes_of(&place.item),
        }
    }

    /// The place that such key attributes stand for.
    fn start(&self, start_after: Option<&Item>) -> StoreResult<Option<Place>> {
        let Some(key) = start_after else {
            return Ok(None);
        };
        let invalid = || StoreError::validation("The provided starting key is invalid");
        let place = self
            .place(key)
            .map_err(|_| invalid())?
            .ok_or_else(invalid)?;
        match self.end(&place) == *key {
            true => Ok(Some(place)),
            false => Err(invalid()),
        }
    }

    /// Only a table, or an index inside one partition, has seen every acknowledged write.
    fn check_consistency(&self, consistent: bool) -> StoreResult<()> {
        let is_global = |index: &IndexSchema| index.kind == IndexKind::Global;
        if consistent && self.index.is_some_and(is_global) {
            return Err(StoreError::validation(
                "Consistent reads are not supported on global secondary indexes",
            ));
        }
        Ok(())
    }

    /// Whether an index lacks what is asked for: a local one then reads the table, a global one
    /// refuses.
    fn fetches_items(&self, select: &Select) -> StoreResult<bool> {
        let Some(index) = self.index else {
            return Ok(false);
        };
        let lacks = |path: &Path| !index.projects(&self.schema.key, &path.root);
        let lacking: Vec<&str> = match select {
            Select::All if index.projection != IndexProjection::All => vec!["ALL_ATTRIBUTES"],
            Select::Parts(parts) => {
                let paths = parts.paths.iter().filter(|path| lacks(path));
                paths.map(|path| path.root.as_str()).collect()
            }
            _ => Vec::new(),
        };
        match (lacking.is_empty(), index.kind) {
            (true, _) => Ok(false),
            (false, IndexKind::Local) => Ok(true),
            (false, IndexKind::Global) => Err(StoreError::validation(format!(
                "One or more parameter values were invalid: Global secondary index {} does not project [{}]",
                index.name,
                lacking.join(", ")
            ))),
        }
    }

    /// Holds a key condition against the keys.
    pub fn resolve(&self, keys: &KeyCondition) -> StoreResult<KeyQuery> {
        let (partition, sort) = (self.partition(), self.sort());
        let names = keys.equals.iter().map(|(name, _)| name);
        let mut seen = HashSet::new();
        if !names
            .chain(keys.range.iter().map(|(name, _)| name))
            .all(|name| seen.insert(name))
        {
            return Err(StoreError::validation(
                "KeyConditionExpressions must only contain one condition per key",
            ));
        }
        let equal = |attribute: &KeyAttribute| {
            let found = keys.equals.iter().find(|(name, _)| *name == attribute.name);
            found.map(|(_, value)| value)
        };
        let mut query = KeyQuery::default();
        for attribute in partition {
            let value = equal(attribute).ok_or_else(|| missed(&attribute.name))?;
            query
                .prefix
                .push(typed(attribute, value, PARTITION_KEY_BYTES_MAX)?);
        }
        for attribute in sort {
            let Some(value) = equal(attribute) else { break };
            query
                .prefix
                .push(typed(attribute, value, SORT_KEY_BYTES_MAX)?);
        }
        let used = query.prefix.len();
        if let Some((name, range)) = &keys.range {
            let next = sort.get(used - partition.len());
            let next = next.filter(|attribute| attribute.name == *name);
            query.range = Some(sort_range(next.ok_or_else(|| not_asked(name))?, range)?);
        }
        // An equality behind a gap, or on no key at all, was not used.
        match keys
            .equals
            .iter()
            .find(|(name, _)| !self.attributes_up_to(used, name))
        {
            None => Ok(query),
            Some((name, _)) => Err(not_asked(name)),
        }
    }

    fn attributes_up_to(&self, count: usize, name: &str) -> bool {
        let mut attributes = self.partition().iter().chain(self.sort()).take(count);
        attributes.any(|attribute| attribute.name == *name)
    }

    /// A filter sees what the keys let by; to ask for keys again is a mistake.
    fn check_filter(&self, filter: &Condition) -> StoreResult<()> {
        let mut key = None;
        filter.visit_paths(&mut |path| {
            if self.attributes_up_to(usize::MAX, &path.root) {
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
}

fn missed(name: &str) -> StoreError {
    StoreError::validation(format!("Query condition missed key schema element: {name}"))
}

fn not_asked(name: &str) -> StoreError {
    StoreError::validation(format!(
        "Query key condition not supported: `{name}` is not the next key of what is read"
    ))
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
    source: Source<'a>,
    filter: Option<&'a Condition>,
    select: &'a Select,
    limit: usize,
    rate: Rate,
    bytes: usize,
    fetched: HalfUnits,
    page: Page,
    last: Option<Place>,
}

impl<'a> PageBuilder<'a> {
    /// An empty page of a query.
    pub fn of_query(source: Source<'a>, query: &'a Query) -> StoreResult<Self> {
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
    pub fn of_scan(source: Source<'a>, scan: &'a Scan) -> StoreResult<Self> {
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
        source: Source<'a>,
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
            rate: match consistent {
                true => Rate::Standard,
                false => Rate::Eventual,
            },
            bytes: 0,
            fetched: HalfUnits::default(),
            page: Page::default(),
            last: None,
        })
    }

    /// Whether no further row may be read.
    pub fn is_full(&self) -> bool {
        self.page.scanned >= self.limit || self.bytes >= PAGE_BYTES_MAX
    }

    /// Takes a row that was read, and its item if that was fetched too.
    pub fn push(&mut self, place: Place, row: Item, item: Option<Item>) {
        self.bytes += item_bytes(&row);
        self.page.scanned += 1;
        self.last = Some(place);
        if let Some(item) = &item {
            self.fetched += read_units(item_bytes(item), self.rate);
        }
        let item = item.unwrap_or(row);
        if !self.filter.is_none_or(|filter| filter.holds(&item)) {
            return;
        }
        self.page.count += 1;
        match self.select {
            Select::Count => {}
            Select::Parts(parts) => self.page.items.push(parts.apply(&item)),
            Select::Projected | Select::All => self.page.items.push(item),
        }
    }

    /// The page. A full one says where to go on, even if nothing more will be found there, as
    /// DynamoDB does.
    pub fn finish(mut self, table: &TableName) -> Metered<Page> {
        if self.is_full() {
            self.page.last_key = self.last.as_ref().map(|place| self.source.end(place));
        }
        let rows = read_units(self.bytes, self.rate);
        let mut consumed = Consumed {
            read: self.fetched,
            ..Consumed::default()
        };
        match self.source.index {
            Some(index) => {
                consumed.index_read.insert(index.name.clone(), rows);
            }
            None => consumed.read += rows,
        }
        Metered {
            answer: self.page,
            consumed: BTreeMap::from([(table.clone(), consumed)]),
        }
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
    let mut seen = HashSet::new();
    if !request.addresses.iter().all(|address| seen.insert(address)) {
        return Err(StoreError::validation(
            "Provided list of item keys contains duplicates",
        ));
    }
    Ok(())
}

/// Reads one item, as a store does it for itself.
pub trait Items {
    /// The item with these key attributes.
    fn item(&self, address: &ItemAddress) -> StoreResult<Option<Item>>;
}

/// Answers a batch get from a store's items.
pub fn batch(request: &BatchGetItem, items: &impl Items) -> StoreResult<Metered<Vec<BatchGot>>> {
    check_batch(request)?;
    let rate = match request.consistent {
        true => Rate::Standard,
        false => Rate::Eventual,
    };
    let mut metered = Metered::<Vec<BatchGot>>::default();
    let mut bytes = 0;
    for address in &request.addresses {
        let item = items.item(address)?;
        if bytes >= BATCH_GET_BYTES_MAX {
            metered.answer.push(BatchGot::Unprocessed);
            continue;
        }
        let size = item.as_ref().map_or(0, item_bytes);
        bytes += size;
        metered
            .consumed
            .entry(address.table.clone())
            .or_default()
            .read += read_units(size, rate);
        let projection = request.projections.get(&address.table);
        metered.answer.push(match (item, projection) {
            (None, _) => BatchGot::Missing,
            (Some(item), Some(projection)) => BatchGot::Found(projection.apply(&item)),
            (Some(item), None) => BatchGot::Found(item),
        });
    }
    Ok(metered)
}

/// Answers a transactional get from a store's items at one moment.
pub fn transaction(
    request: &TransactGetItems,
    items: &impl Items,
) -> StoreResult<Metered<Vec<Option<Item>>>> {
    let count = request.gets.len();
    if !(1..=TRANSACTION_ACTIONS_MAX).contains(&count) {
        return Err(StoreError::validation(format!(
            "a transaction has 1 to {TRANSACTION_ACTIONS_MAX} actions, not {count}"
        )));
    }
    let mut seen = HashSet::new();
    if !request.gets.iter().all(|(address, _)| seen.insert(address)) {
        return Err(StoreError::validation(
            "Transaction request cannot include multiple operations on one item",
        ));
    }
    let mut metered = Metered::<Vec<Option<Item>>>::default();
    let mut bytes = 0;
    for (address, projection) in &request.gets {
        let item = items.item(address)?;
        let size = item.as_ref().map_or(0, item_bytes);
        bytes += size;
        let consumed = metered.consumed.entry(address.table.clone()).or_default();
        consumed.read += read_units(size, Rate::Transaction);
        let shown = |item: Item| {
            projection
                .as_ref()
                .map_or(item.clone(), |parts| parts.apply(&item))
        };
        metered.answer.push(item.map(shown));
    }
    match bytes > TRANSACTION_BYTES_MAX {
        true => Err(StoreError::validation(format!(
            "the items of a transaction have at most {TRANSACTION_BYTES_MAX} bytes together"
        ))),
        false => Ok(metered),
    }
}

/// Answers a get from a store's item.
pub fn one(
    table: &TableName,
    item: Option<Item>,
    projection: Option<&partita_core::expression::Projection>,
    consistent: bool,
) -> Metered<Option<Item>> {
    let rate = match consistent {
        true => Rate::Standard,
        false => Rate::Eventual,
    };
    let consumed = Consumed {
        read: read_units(item.as_ref().map_or(0, item_bytes), rate),
        ..Consumed::default()
    };
    let answer = match (item, projection) {
        (Some(item), Some(projection)) => Some(projection.apply(&item)),
        (item, _) => item,
    };
    Metered {
        answer,
        consumed: BTreeMap::from([(table.clone(), consumed)]),
    }
}
