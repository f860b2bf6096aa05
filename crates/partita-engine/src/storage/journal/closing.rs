//! The end of the journal, noted when a store is closed.
//!
//! A journal that ends too early looks like one that a crash has left. An orderly close therefore
//! notes where the journal ends, and the next opening compares while it reads the journal.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::{end, journals};
use crate::storage::StorageError;

/// Notes down in a file where the last journal of a directory ends.
pub(crate) fn note(directory: &Path, file: &Path) -> Result<(), StorageError> {
    let Some((number, path)) = journals(directory)?.pop() else {
        return Ok(());
    };
    let text = format!("{number} {}", end(&mut File::open(&path)?)?);
    let mut file = File::create(file)?;
    writeln!(file, "{text} {:016x}", xxh3_64(text.as_bytes()))?;
    Ok(file.sync_all()?)
}

/// Where the last journal ended when the store was closed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closed {
    number: u64,
    end: u64,
}

/// Reads what was noted down, if anything was.
pub(crate) fn read(file: &Path) -> Result<Option<Closed>, StorageError> {
    let text = match fs::read(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let closed = parse(&text);
    if closed.is_none() {
        tracing::warn!("{} cannot be read; it is ignored", file.display());
    }
    Ok(closed)
}

/// Removes what was noted down: it is true until the store is written again. Says whether there was
/// anything.
pub(crate) fn forget(file: &Path) -> Result<bool, StorageError> {
    match fs::remove_file(file) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

impl Closed {
    /// Refuses journals of which the noted one is missing. One that is not needed any more is
    /// removed when another has been begun.
    pub(super) fn demand_journal(self, journals: &[(u64, PathBuf)]) -> Result<(), StorageError> {
        let mut numbers = journals.iter().map(|(number, _)| *number);
        if numbers.any(|number| number >= self.number) {
            Ok(())
        } else {
            Err(self.damage())
        }
    }

    /// Refuses the noted journal where its whole batches end too early.
    pub(super) fn demand_end(self, number: u64, end: usize) -> Result<(), StorageError> {
        if number == self.number && (end as u64) < self.end {
            return Err(self.damage());
        }
        Ok(())
    }

    fn damage(self) -> StorageError {
        let Closed { number, end } = self;
        let what = format!("the journal {number} ends before byte {end}, where it was closed");
        StorageError::Damaged(what.into())
    }
}

fn parse(text: &[u8]) -> Option<Closed> {
    let text = std::str::from_utf8(text).ok()?;
    let (noted, checksum) = text.trim_end().rsplit_once(' ')?;
    let checksum = u64::from_str_radix(checksum, 16).ok()?;
    let (number, end) = noted.split_once(' ')?;
    let closed = Closed {
        number: number.parse().ok()?,
        end: end.parse().ok()?,
    };
    let is_whole = checksum == xxh3_64(noted.as_bytes());
    is_whole.then_some(closed)
}
