//! What a pattern may read before it is refused: one that orders its rows reads all of them, and one
//! that looks for a single row may have to.

use std::fmt;

use partita_core::Item;
use partita_core::size::item_bytes;
use partita_design::design::{ONE_ROWS_MAX, Pattern};

use crate::error::PlanError;

/// Bytes that are read at most to order a result, or to find one row: what is read for one request
/// must not fill the memory.
pub(crate) const READ_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Which bound a pattern would have to read past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadBound {
    /// The number of items that the design allows, or 1000.
    Items(usize),
    /// The number of bytes that any pattern may read.
    Bytes(usize),
}

impl fmt::Display for ReadBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadBound::Items(count) => write!(f, "{count} items"),
            ReadBound::Bytes(bytes) => write!(f, "{} MB", bytes >> 20),
        }
    }
}

/// How many rows a pattern may read.
pub(crate) fn rows_max(pattern: &Pattern) -> usize {
    pattern.whole.unwrap_or(ONE_ROWS_MAX)
}

/// What is left of the bounds.
pub(super) struct Budget<'a> {
    pattern: &'a Pattern,
    rows: usize,
    bytes: usize,
}

impl<'a> Budget<'a> {
    pub(super) fn new(pattern: &'a Pattern) -> Self {
        Budget {
            pattern,
            rows: rows_max(pattern),
            bytes: READ_BYTES_MAX,
        }
    }

    /// How many rows to ask for: one more than there may be shows that there are more.
    pub(super) fn rows_wanted(&self) -> usize {
        self.rows + 1
    }

    /// Counts rows that were read. The answer is how many of them are within the bounds, and the
    /// refusal if that is not all.
    pub(super) fn spend(&mut self, rows: &[Item]) -> (usize, Result<(), PlanError>) {
        for (at, row) in rows.iter().enumerate() {
            let bytes = item_bytes(row);
            let exceeded = match (self.rows, self.bytes.checked_sub(bytes)) {
                (0, _) => Some(ReadBound::Items(rows_max(self.pattern))),
                (_, None) => Some(ReadBound::Bytes(READ_BYTES_MAX)),
                (_, Some(left)) => {
                    self.rows -= 1;
                    self.bytes = left;
                    None
                }
            };
            if let Some(bound) = exceeded {
                return (at, Err(too_large(self.pattern, bound)));
            }
        }
        (rows.len(), Ok(()))
    }
}

/// The refusal of a pattern that would have to read past a bound.
pub(crate) fn too_large(pattern: &Pattern, bound: ReadBound) -> PlanError {
    PlanError::TooLarge {
        pattern: pattern.name.clone(),
        bound,
    }
}
