//! Rows of one partition that stand one behind another, as they were read lately.
//!
//! Stepping through the storage's merged iterator costs more than everything else that a query
//! of a few rows does. Partitions that are asked for again and again are answered from here.

use std::cmp::Ordering;
use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::ops::Range;
use std::sync::Arc;

use super::cache::{Cache, Kept};
use super::{Bounds, Bytes, Direction};

/// The runs by the bytes that all keys of their partition begin with; one for each.
pub(crate) type Runs = Cache<Arc<Run>>;

/// What a row costs besides its bytes.
const ROW_BYTES: usize = size_of::<Row>();

/// A run is one read's, and a small part of the cache.
const RUN_BYTES_MAX: usize = 64 * 1_024;

/// All rows within bounds.
#[derive(Debug)]
pub(crate) struct Run {
    low: Bound<Vec<u8>>,
    high: Bound<Vec<u8>>,
    /// Ascending by their keys.
    rows: Vec<Row>,
    /// Keys and values in one piece.
    bytes: Bytes,
}

#[derive(Debug)]
struct Row {
    key: Range<usize>,
    value: Range<usize>,
}

impl Kept for Arc<Run> {
    fn bytes(&self) -> usize {
        self.bytes.len() + self.rows.len() * ROW_BYTES
    }
}

/// The part of a run that was asked for.
pub(crate) struct Part<'a> {
    run: &'a Run,
    rows: Range<usize>,
    direction: Direction,
    /// Whether these are all rows that were asked for, or only the first of them.
    pub(crate) is_all: bool,
}

impl Run {
    /// What the run knows of a range from its beginning on; none if it does not know that.
    pub(crate) fn part(&self, bounds: &Bounds, direction: Direction) -> Option<Part<'_>> {
        let (low, high) = bounds;
        let knows_low = low_order(&self.low, low).is_le();
        let knows_high = high_order(&self.high, high).is_ge();
        let (knows_first, is_all) = match direction {
            Direction::Ascending => (knows_low, knows_high),
            Direction::Descending => (knows_high, knows_low),
        };
        let first = self
            .rows
            .partition_point(|row| is_below(self.key(row), low));
        let end = self
            .rows
            .partition_point(|row| !is_above(self.key(row), high));
        knows_first.then_some(Part {
            run: self,
            // Bounds beside the run, of which it knows nothing, have no rows in it.
            rows: first..end.max(first),
            direction,
            is_all,
        })
    }

    fn key(&self, row: &Row) -> &[u8] {
        &self.bytes[row.key.clone()]
    }
}

impl<'a> Part<'a> {
    /// The rows, in the direction that was asked for.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&'a [u8], Bytes)> + use<'a> {
        let Part { run, direction, .. } = *self;
        let mut rows = run.rows[self.rows.clone()].iter();
        let next = move || match direction {
            Direction::Ascending => rows.next(),
            Direction::Descending => rows.next_back(),
        };
        std::iter::from_fn(next).map(|row| (run.key(row), run.bytes.slice(row.value.clone())))
    }
}

/// Writes down rows as they are read, to make a run of them.
#[derive(Default)]
pub(crate) struct Recorder {
    rows: Vec<Row>,
    bytes: Vec<u8>,
    is_too_large: bool,
}

impl Recorder {
    /// Takes the next row.
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) {
        self.is_too_large |= self.bytes.len() + key.len() + value.len() > RUN_BYTES_MAX;
        if self.is_too_large {
            return;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.rows.push(Row {
            key: start..middle,
            value: middle..self.bytes.len(),
        });
    }

    /// The run, if these were all rows within the bounds, or all up to the last that was taken.
    /// None if it would be too large.
    pub(crate) fn finish(
        mut self,
        bounds: Bounds,
        direction: Direction,
        is_all: bool,
    ) -> Option<Arc<Run>> {
        let (mut low, mut high) = bounds;
        if !is_all {
            let last = Included(self.bytes[self.rows.last()?.key.clone()].to_vec());
            match direction {
                Direction::Ascending => high = last,
                Direction::Descending => low = last,
            }
        }
        if direction == Direction::Descending {
            self.rows.reverse();
        }
        let run = Run {
            low,
            high,
            rows: self.rows,
            // Without the room that the vector has left.
            bytes: self.bytes.into_boxed_slice().into(),
        };
        (!self.is_too_large).then(|| Arc::new(run))
    }
}

/// Which of two ranges begins first.
fn low_order(one: &Bound<Vec<u8>>, other: &Bound<Vec<u8>>) -> Ordering {
    let place = |bound: &Bound<Vec<u8>>| matches!(bound, Excluded(_));
    match (one, other) {
        (Unbounded, Unbounded) => Ordering::Equal,
        (Unbounded, _) => Ordering::Less,
        (_, Unbounded) => Ordering::Greater,
        (Included(a) | Excluded(a), Included(b) | Excluded(b)) => {
            a.cmp(b).then(place(one).cmp(&place(other)))
        }
    }
}

/// Which of two ranges ends first.
fn high_order(one: &Bound<Vec<u8>>, other: &Bound<Vec<u8>>) -> Ordering {
    let place = |bound: &Bound<Vec<u8>>| matches!(bound, Included(_));
    match (one, other) {
        (Unbounded, Unbounded) => Ordering::Equal,
        (Unbounded, _) => Ordering::Greater,
        (_, Unbounded) => Ordering::Less,
        (Included(a) | Excluded(a), Included(b) | Excluded(b)) => {
            a.cmp(b).then(place(one).cmp(&place(other)))
        }
    }
}

fn is_below(key: &[u8], low: &Bound<Vec<u8>>) -> bool {
    match low {
        Unbounded => false,
        Included(low) => key < low.as_slice(),
        Excluded(low) => key <= low.as_slice(),
    }
}

fn is_above(key: &[u8], high: &Bound<Vec<u8>>) -> bool {
    match high {
        Unbounded => false,
        Included(high) => key > high.as_slice(),
        Excluded(high) => key >= high.as_slice(),
    }
}

#[cfg(test)]
mod tests;
