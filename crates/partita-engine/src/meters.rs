//! What the committer counts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use partita_store::meters::{Histogram, Meters};

use crate::storage::Edit;

/// Writes of one commit.
const WRITES: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
/// Microseconds of one commit.
const MICROS: &[u64] = &[
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000,
];

/// Counts commits. The committer writes it, and `meters` reads it.
#[derive(Debug)]
pub(crate) struct CommitMeters {
    writes: Histogram,
    micros: Histogram,
    bytes: AtomicU64,
    /// Locked only when that changes and when somebody asks.
    stopped: Mutex<Option<String>>,
}

impl Default for CommitMeters {
    fn default() -> Self {
        CommitMeters {
            writes: Histogram::new(WRITES),
            micros: Histogram::new(MICROS),
            bytes: AtomicU64::new(0),
            stopped: Mutex::default(),
        }
    }
}

impl CommitMeters {
    /// Counts a commit.
    pub(crate) fn commit(&self, writes: usize, bytes: usize, micros: i64) {
        self.writes.observe(writes as u64);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        // After the clock was set back, the difference means nothing, and counts as 0.
        self.micros.observe(u64::try_from(micros).unwrap_or(0));
    }

    /// Says why no commits are made for now, or that they are made again.
    pub(crate) fn set_stopped(&self, cause: Option<String>) {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner) = cause;
    }

    /// How many commits there were.
    pub(crate) fn commits(&self) -> u64 {
        self.writes.read().count()
    }

    pub(crate) fn read(&self, waiting: usize) -> Meters {
        Meters {
            commit_writes: self.writes.read(),
            commit_micros: self.micros.read(),
            commit_bytes: self.bytes.load(Ordering::Relaxed),
            waiting,
            stopped: self
                .stopped
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
        }
    }
}

/// The bytes of a commit.
pub(crate) fn bytes(edits: &[Edit]) -> usize {
    let sizes = edits.iter().map(|edit| match edit {
        Edit::Put(key, value) => key.len() + value.len(),
        Edit::Remove(key) => key.len(),
    });
    sizes.sum()
}
