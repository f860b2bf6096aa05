//! What is counted while a store works, without a lock: for operators, not for callers.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a store has counted since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meters {
    /// The writes that shared a commit.
    pub commit_writes: Buckets,
    /// How long commits took, in microseconds.
    pub commit_micros: Buckets,
    /// The bytes that commits wrote, keys and values.
    pub commit_bytes: u64,
    /// How many writes are waiting for their commit.
    pub waiting: usize,
    /// Why no writes are taken, if that is so.
    pub stopped: Option<String>,
}

/// Counts values by their size.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    /// One for each bound, and one for what is beyond them.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    /// A histogram of these bounds, each of which belongs to the bucket below it.
    pub fn new(bounds: &'static [u64]) -> Self {
        Histogram {
            bounds,
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
        }
    }

    /// Counts a value.
    pub fn observe(&self, value: u64) {
        let at = self.bounds.partition_point(|bound| *bound < value);
        self.counts[at].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// What was counted so far.
    pub fn read(&self) -> Buckets {
        let counts = self.counts.iter();
        Buckets {
            bounds: self.bounds,
            counts: counts.map(|count| count.load(Ordering::Relaxed)).collect(),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

/// What a histogram had counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buckets {
    /// The bounds of the buckets; the last bucket has none.
    pub bounds: &'static [u64],
    /// How many values each bucket has.
    pub counts: Vec<u64>,
    /// All values together.
    pub sum: u64,
}

impl Buckets {
    /// How many values there were.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_in_the_bucket_below_it() {
        let histogram = Histogram::new(&[1, 10]);
        for value in [0, 1, 2, 10, 11, 1_000] {
            histogram.observe(value);
        }
        let buckets = histogram.read();
        assert_eq!(buckets.counts, [2, 2, 2]);
        assert_eq!((buckets.count(), buckets.sum), (6, 1_024));
    }
}
