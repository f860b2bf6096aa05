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

    /// Counts a row that was read, if it is within the bounds.
    pub(super) fn spend(&mut self, row: &Item) -> Result<(), PlanError> {
        let bound = match (self.rows, self.bytes.checked_sub(item_bytes(row))) {
            (0, _) => ReadBound::Items(rows_max(self.pattern)),
            (_, None) => ReadBound::Bytes(READ_BYTES_MAX),
            (_, Some(left)) => {
                self.rows -= 1;
                self.bytes = left;
                return Ok(());
            }
        };
        Err(too_large(self.pattern, bound))
    }
}

/// The refusal of a pattern that would have to read past a bound.
pub(crate) fn too_large(pattern: &Pattern, bound: ReadBound) -> PlanError {
    PlanError::TooLarge {
        pattern: pattern.name.clone(),
        bound,
    }
}
