//! Full pages, and results that are sorted after they were read.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::VecDeque;

use partita_core::size::item_memory;
use partita_core::{Item, Value};
use partita_design::design::{QueryRead, Read, SortOrder};

use super::PatternRead;
use super::budget::Budget;
use crate::cursor::Position;
use crate::error::PlanError;
use crate::operation::{Answer, Record};
use partita_design::nested;

/// How many rows one page may look at before it is answered short. A caller who may see almost
/// nothing of a large partition gets many short pages, not one that never ends.
const ROWS_EXAMINED_MAX: usize = 1000;

/// Bytes of memory that the records of one page take, but for the last. A page that would take more
/// is answered short.
const PAGE_MEMORY_MAX: usize = 4 * 1_048_576;

/// Bytes of memory of the rows that one page may look at, but for the last.
const EXAMINED_MEMORY_MAX: usize = 32 * 1_048_576;

/// Rows that are read at once when the first read did not fill the page.
const ROWS_READ_AGAIN: usize = 100;

/// What a row is ordered by, value by value.
pub(super) type Rank = Vec<Option<Value>>;

impl PatternRead<'_> {
    /// One page in the order of the keys, filled past what the caller may not see.
    pub(super) async fn page(&self, position: Option<Position>) -> Result<Answer, PlanError> {
        let mut behind = match position {
            None => None,
            // After a migration an index may have other keys.
            Some(Position::Key(key)) if self.key_of(&key) == key => Some(key),
            Some(_) => return Err(PlanError::BadCursor),
        };
        let mut records = Vec::new();
        let mut examined = Examined::default();
        let mut last_row = None;
        loop {
            // One row more than fits says whether there is another page. Where rows are hidden,
            // more are read at once, or a small page would take many reads.
            let wanted = self.limit - records.len() + 1;
            let wanted = if examined.rows == 0 {
                wanted
            } else {
                wanted.max(ROWS_READ_AGAIN)
            };
            let page = self.read(behind.clone(), wanted).await?;
            let mut found = VecDeque::from(page.items);
            while let Some(rows) = self.look(&mut found).await? {
                for seen in rows {
                    if records.len() == self.limit || examined.is_enough() {
                        let behind = last_row.map(|row| self.key_of(&row)).or(behind);
                        return Ok(self.answer(records, behind.map(Position::Key)));
                    }
                    examined.add(&seen.row, seen.record.as_ref());
                    records.extend(seen.record);
                    last_row = Some(seen.row);
                }
            }
            match page.last_key {
                None => return Ok(self.answer(records, None)),
                last_key => (behind, last_row) = (last_key, None),
            }
        }
    }

    /// One page of a result that is ordered after it was read as a whole. Of what was read only as
    /// many rows are kept as are shown.
    pub(super) async fn sorted(&self, position: Option<Position>) -> Result<Answer, PlanError> {
        let after = match position {
            None => None,
            Some(Position::Sorted(values)) => Some(values),
            Some(_) => return Err(PlanError::BadCursor),
        };
        let mut budget = Budget::new(self.pattern);
        let mut ordered: Vec<(Rank, Record)> = Vec::new();
        let mut start_after = None;
        loop {
            let page = self.read(start_after, budget.rows_wanted()).await?;
            let mut found = VecDeque::from(page.items);
            while let Some(rows) = self.look(&mut found).await? {
                for seen in rows {
                    budget.spend(&seen.row)?;
                    let rank = self.rank(seen.as_it_is());
                    let Some(record) = seen.record else { continue };
                    let is_behind = |after: &Rank| self.order(&rank, after).is_gt();
                    if after.as_ref().is_none_or(is_behind) {
                        ordered.push((rank, record));
                    }
                }
                ordered.sort_by(|(one, _), (two, _)| self.order(one, two));
                // One more than is shown says whether there is another page.
                ordered.truncate(self.fitting(&ordered) + 1);
            }
            match page.last_key {
                None => break,
                last_key => start_after = last_key,
            }
        }
        let shown = self.fitting(&ordered);
        let has_more = ordered.len() > shown;
        ordered.truncate(shown);
        let last = ordered.last().filter(|_| has_more);
        let position = last.map(|(rank, _)| Position::Sorted(rank.clone()));
        let records = ordered.into_iter().map(|(_, record)| record).collect();
        Ok(self.answer(records, position))
    }

    /// How many of the rows fit on a page.
    fn fitting(&self, ordered: &[(Rank, Record)]) -> usize {
        let mut memory = 0;
        let fits = |(_, record): &&(Rank, Record)| {
            let has_room = memory < PAGE_MEMORY_MAX;
            memory += item_memory(&record.attributes);
            has_room
        };
        ordered.iter().take(self.limit).take_while(fits).count()
    }

    pub(super) fn order(&self, one: &[Option<Value>], two: &[Option<Value>]) -> Ordering {
        let order = compare_ranks(one, two, &self.pattern.sort);
        if self.pattern.descending {
            order.reverse()
        } else {
            order
        }
    }

    /// What a row is ordered by: the pattern's attributes, and the sort key where they are equal.
    pub(super) fn rank(&self, row: &Item) -> Rank {
        let (table, _) = self.blueprint().table(self.pattern.table);
        let sort = self.pattern.sort.iter().map(|order| &order.attribute);
        let names = sort.chain([&table.sort]);
        let value = |name: &String| {
            let stored = nested::get(row, name).cloned();
            stored.or_else(|| self.default_of(row, name))
        };
        names.map(value).collect()
    }

    /// What a row that lacks an attribute is read as having.
    fn default_of(&self, row: &Item, name: &str) -> Option<Value> {
        let (record, item) = self.blueprint().recognise(&self.pattern.returns, row)?;
        record.read(&item, name).map(Cow::into_owned)
    }

    /// The key attributes of a row, those of the index that was read included.
    fn key_of(&self, row: &Item) -> Item {
        let (table, _) = self.blueprint().table(self.pattern.table);
        let mut names = vec![&table.partition, &table.sort];
        if let Read::Query(QueryRead {
            index: Some(index), ..
        }) = &self.pattern.read
        {
            let index = &table.indexes[index.index()];
            names.push(&index.partition.name);
            names.extend(index.sort.as_ref().map(|sort| &sort.name));
        }
        let keys = names.into_iter().filter_map(|name| {
            let value = row.get(name)?.clone();
            Some((name.clone(), value))
        });
        keys.collect()
    }
}

/// What one page has looked at so far.
#[derive(Default)]
struct Examined {
    rows: usize,
    memory: usize,
    /// Of the records that are shown.
    shown_memory: usize,
}

impl Examined {
    fn add(&mut self, row: &Item, record: Option<&Record>) {
        self.rows += 1;
        self.memory += item_memory(row);
        self.shown_memory += record.map_or(0, |record| item_memory(&record.attributes));
    }

    fn is_enough(&self) -> bool {
        self.rows >= ROWS_EXAMINED_MAX
            || self.memory >= EXAMINED_MEMORY_MAX
            || self.shown_memory >= PAGE_MEMORY_MAX
    }
}

/// Ranks are compared value by value; a missing one stands last, whichever way the others go.
fn compare_ranks(one: &[Option<Value>], two: &[Option<Value>], sort: &[SortOrder]) -> Ordering {
    let mut orders = one.iter().zip(two).enumerate().map(|(at, (one, two))| {
        let is_descending = sort.get(at).is_some_and(|order| order.descending);
        match (one, two) {
            (Some(one), Some(two)) if is_descending => compare_values(two, one),
            (Some(one), Some(two)) => compare_values(one, two),
            (one, two) => one.is_none().cmp(&two.is_none()),
        }
    });
    orders
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// Values of one type by their order, others by their type.
fn compare_values(one: &Value, two: &Value) -> Ordering {
    match (one, two) {
        (Value::S(one), Value::S(two)) => one.cmp(two),
        (Value::N(one), Value::N(two)) => one.cmp(two),
        (Value::B(one), Value::B(two)) => one.cmp(two),
        (Value::Bool(one), Value::Bool(two)) => one.cmp(two),
        _ => one.kind().cmp(&two.kind()),
    }
}
