//! Consecutive rows of one partition, as they were read lately.
//!
//! Stepping through the storage's merged iterator costs more than everything else that a query
//! of a few rows does. Partitions that are asked for again and again are answered from here.
//!
//! The rows are kept as they are answered: DynamoDB JSON, one behind another in one piece, so
//! that an answer is made of them without a look inside.

use std::cmp::Ordering;
use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::ops::Range;
use std::sync::Arc;

use partita_store::FoundItem;

use super::{Bounds, Bytes, Direction};

/// What a row costs besides its bytes.
const ROW_BYTES: usize = size_of::<RunRow>();

/// A run is one read's, and a small part of the cache.
const RUN_BYTES_MAX: usize = 64 * 1_024;

/// All rows within bounds.
#[derive(Debug)]
pub(crate) struct Run {
    low: Bound<Vec<u8>>,
    high: Bound<Vec<u8>>,
    /// Ascending by their keys.
    rows: Vec<RunRow>,
    /// The keys, apart: a search goes through them, and through nothing else.
    keys: Vec<u8>,
    json: Bytes,
}

#[derive(Debug)]
struct RunRow {
    key: Range<usize>,
    json: Range<usize>,
    /// As DynamoDB counts.
    size: usize,
}

/// The part of a run that was asked for.
pub(crate) struct RunPart<'a> {
    run: &'a Run,
    rows: Range<usize>,
    direction: Direction,
    /// Whether these are all rows that were asked for, or only the first of them.
    pub(crate) is_all: bool,
}

impl Run {
    /// The memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.keys.len() + self.json.len() + self.rows.len() * ROW_BYTES
    }

    /// What the run knows of a range from its beginning on; none if it does not know that.
    pub(crate) fn part(&self, bounds: &Bounds, direction: Direction) -> Option<RunPart<'_>> {
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
        knows_first.then_some(RunPart {
            run: self,
            // Bounds beside the run, of which it knows nothing, have no rows in it.
            rows: first..end.max(first),
            direction,
            is_all,
        })
    }

    fn key(&self, row: &RunRow) -> &[u8] {
        &self.keys[row.key.clone()]
    }
}

impl<'a> RunPart<'a> {
    /// The rows, in the direction that was asked for.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&'a [u8], FoundItem)> + use<'a> {
        let RunPart { run, direction, .. } = *self;
        let mut rows = run.rows[self.rows.clone()].iter();
        let next = move || match direction {
            Direction::Ascending => rows.next(),
            Direction::Descending => rows.next_back(),
        };
        std::iter::from_fn(next).map(|row| {
            let json = run.json.slice(row.json.clone());
            (run.key(row), FoundItem::from_json(json, row.size))
        })
    }
}

/// Writes down rows as they are read, to make a run of them.
#[derive(Default)]
pub(crate) struct Recorder {
    rows: Vec<RunRow>,
    keys: Vec<u8>,
    json: Vec<u8>,
}

impl Recorder {
    /// Takes the next row.
    pub(crate) fn push(&mut self, key: &[u8], row: &FoundItem) {
        if self.is_too_large() {
            return;
        }
        let (key_start, json_start) = (self.keys.len(), self.json.len());
        self.keys.extend_from_slice(key);
        row.write_json(&mut self.json);
        self.rows.push(RunRow {
            key: key_start..self.keys.len(),
            json: json_start..self.json.len(),
            size: row.size(),
        });
    }

    fn is_too_large(&self) -> bool {
        self.keys.len() + self.json.len() > RUN_BYTES_MAX
    }

    /// The run, if these were all rows within the bounds, or all up to the last that was taken.
    /// None if it would be too large.
    pub(crate) fn finish(
        mut self,
        bounds: Bounds,
        direction: Direction,
        is_all: bool,
    ) -> Option<Arc<Run>> {
        if self.is_too_large() {
            return None;
        }
        let (mut low, mut high) = bounds;
        if !is_all {
            let last = Included(self.keys[self.rows.last()?.key.clone()].to_vec());
            match direction {
                Direction::Ascending => high = last,
                Direction::Descending => low = last,
            }
        }
        if direction == Direction::Descending {
            self.rows.reverse();
        }
        // Without the room that the vectors have left.
        self.rows.shrink_to_fit();
        self.keys.shrink_to_fit();
        let Recorder { rows, keys, json } = self;
        Some(Arc::new(Run {
            low,
            high,
            rows,
            keys,
            json: json.into_boxed_slice().into(),
        }))
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
