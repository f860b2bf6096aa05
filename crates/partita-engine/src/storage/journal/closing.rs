//! The end of the journal, noted when a store is closed.
//!
//! A journal that ends too early looks like one that a crash has left: nobody can tell that
//! there was more. Who closes a store in good order therefore notes down where its journal ends,
//! and who opens it holds the journal against that.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::{batches, content, journals};
use crate::storage::StorageError;

/// Notes down in a file where the last journal of a directory ends.
pub(crate) fn note(directory: &Path, file: &Path) -> Result<(), StorageError> {
    let Some((number, path)) = journals(directory)?.pop() else {
        return Ok(());
    };
    let text = format!("{number} {}", content(&path)?.len());
    let mut file = File::create(file)?;
    writeln!(file, "{text} {:016x}", xxh3_64(text.as_bytes()))?;
    Ok(file.sync_all()?)
}

/// Holds the journals of a directory against what was noted down, if anything was.
///
/// What is in the file is true until the store is written again, so it is removed before that.
/// Whether it was there.
pub(crate) fn check(directory: &Path, file: &Path) -> Result<bool, StorageError> {
    let text = match fs::read(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    match parse(&text) {
        Some((number, end)) if !reaches(directory, number, end)? => {
            let what = format!("the journal {number} ends before byte {end}, where it was closed");
            return Err(StorageError::Damaged(what.into()));
        }
        Some(_) => {}
        None => tracing::warn!("{} cannot be read; it is ignored", file.display()),
    }
    fs::remove_file(file)?;
    Ok(true)
}

fn parse(text: &[u8]) -> Option<(u64, u64)> {
    let text = std::str::from_utf8(text).ok()?;
    let (noted, checksum) = text.trim_end().rsplit_once(' ')?;
    let checksum = u64::from_str_radix(checksum, 16).ok()?;
    let (number, end) = noted.split_once(' ')?;
    let parsed = (number.parse().ok()?, end.parse().ok()?);
    let is_whole = checksum == xxh3_64(noted.as_bytes());
    is_whole.then_some(parsed)
}

/// Whether a journal goes as far as that. One that is not needed any more is removed when
/// another has been begun.
fn reaches(directory: &Path, number: u64, end: u64) -> io::Result<bool> {
    let journals = journals(directory)?;
    let Some((_, path)) = journals.iter().find(|(found, _)| *found == number) else {
        return Ok(journals.last().is_some_and(|(last, _)| *last > number));
    };
    let content = content(path)?;
    let found = batches(&content).last().map_or(0, |batch| batch.end as u64);
    Ok(found >= end)
}
