//! The end of a journal, looked at before the storage opens it.
//!
//! A batch is acknowledged when it is synced, and the next one is written only then. So what a
//! crash may leave unfinished is the last batch of the last journal, and nothing else:
//! - **The last batch is torn**: parts of it did not reach the disk. It was not acknowledged, so
//!   it is cut off. fjall cuts it too, but only if it ends too early; it refuses to
//!   open when a page in the middle is missing.
//! - **Anything before the last batch is damaged**: acknowledged writes are lost, and the store
//!   does not open. fjall would go on without them, and cut off whatever follows
//!   (its issue 311).
//! - **The number of a batch is lower than that of the one before**: the storage would take it for
//!   one that is in its tables already, and leave it out. The checksum does not cover the number,
//!   so this is how damage to it shows.
//! - **The last batch is whole, but its sync failed**: it may be in the memory of the operating
//!   system and not on disk, which a reader cannot distinguish. It is written once more over
//!   itself and synced, so that what is read is there to stay.
//!
//! A torn batch leaves zeros where pages are missing, as the file was empty there before, or it
//! leaves no end. A last batch that is wrong in another way is damage. Indistinguishable are only a
//! torn batch and an acknowledged last one that has lost a whole sector since; a store that is
//! closed therefore ends its journal with a batch that says nothing.
//!
//! An end that is missing as a whole cannot be recognised either; but see [`closing`].
//!
//! Each batch carries a [`Mark`] with its number and that of the last one known to be on disk. When
//! batches are not synced each, those since the last sync take the place of the last one.
//!
//! The layout is that of fjall 3.1, with uncompressed values:
//!
//! ```text
//! start  1, number of entries (4 bytes), sequence number (8)
//! entry  2, type (1), compression (1), keyspace (8), length of key (2), of value (4 and 4), key, value
//! clear  4, keyspace (8)
//! end    3, xxh3 of the entries (8), "FJL\x03"
//! ```

pub(crate) mod closing;
pub(crate) mod commits;
pub(crate) mod kept;
mod mark;

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::iter;
use std::ops::Range;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

pub(crate) use closing::Closed;
pub(crate) use mark::{Mark, chain};

use super::StorageError;
use crate::keys;

const TRAILER: &[u8] = b"FJL\x03";

/// What comes before the first entry of a batch, and before the key of an entry.
const START_BYTES: usize = 13;
const ENTRY_BYTES: usize = 21;

/// The least that a disk writes at once.
const SECTOR_BYTES: usize = 512;

/// What is read at once in search of a journal's end.
const CHUNK_BYTES: usize = 1_048_576;

/// Checks every journal of a directory, and mends the end of the last one. Where the store was
/// closed in good order, its journal must reach the end that was noted.
pub(crate) fn mend(directory: &Path, closed: Option<Closed>) -> Result<(), StorageError> {
    let mut journals = journals(directory)?;
    if let Some(closed) = closed {
        closed.demand_journal(&journals)?;
    }
    let last = journals.pop();
    for (number, path) in &journals {
        let journal = Journal::read(*number, path, closed)?;
        if journal.end() < journal.content.len() {
            return Err(damaged(path, journal.end()));
        }
        check_order(path, &journal.content, &journal.whole)?;
    }
    match last {
        Some((number, path)) => mend_last(&path, &Journal::read(number, &path, closed)?),
        None => Ok(()),
    }
}

/// A journal without the zeros at its end, and its whole batches.
struct Journal {
    content: Vec<u8>,
    whole: Vec<Range<usize>>,
}

impl Journal {
    fn read(number: u64, path: &Path, closed: Option<Closed>) -> Result<Journal, StorageError> {
        let content = content(path)?;
        let whole = batches(&content).collect();
        let journal = Journal { content, whole };
        if let Some(closed) = closed {
            closed.demand_end(number, journal.end())?;
        }
        Ok(journal)
    }

    /// Where the last whole batch ends.
    fn end(&self) -> usize {
        self.whole.last().map_or(0, |batch| batch.end)
    }
}

/// Truncates the journals of a storage that was just created and is nearly empty. Otherwise each
/// opening would search 64 MB for what is after the end.
pub(crate) fn trim(directory: &Path) -> Result<(), StorageError> {
    for (_, path) in journals(directory)? {
        let mut file = File::options().read(true).write(true).open(path)?;
        let mut front = Vec::new();
        (&mut file)
            .take(CHUNK_BYTES as u64)
            .read_to_end(&mut front)?;
        let end = batches(&front).last().map_or(0, |batch| batch.end);
        file.set_len(end as u64)?;
        file.sync_all()?;
    }
    Ok(())
}

fn mend_last(path: &Path, journal: &Journal) -> Result<(), StorageError> {
    let Journal { content, whole } = journal;
    check_order(path, content, whole)?;
    let end = journal.end();
    let last = whole.last().and_then(|last| mark(&content[last.clone()]));
    let is_cut = end < content.len();
    if is_cut && !is_torn(&content[end..], end, last) {
        return Err(damaged(path, end));
    }
    let mut file = File::options().write(true).open(path)?;
    if is_cut {
        tracing::warn!(
            "{} ends in a write that was cut short; it is removed",
            path.display()
        );
        file.set_len(end as u64)?;
    }
    let start = first_unsynced(content, whole, last);
    file.seek(SeekFrom::Start(start as u64))?;
    file.write_all(&content[start..end])?;
    Ok(file.sync_all()?)
}

/// Batches are written in the order of their numbers.
fn check_order(path: &Path, content: &[u8], whole: &[Range<usize>]) -> Result<(), StorageError> {
    let numbers = whole.iter().map(|batch| number(&content[batch.clone()]));
    let numbers: Vec<u64> = numbers.collect();
    let wrong = numbers.windows(2).position(|pair| pair[1] < pair[0]);
    match wrong {
        Some(at) => Err(damaged(path, whole[at + 1].start)),
        None => Ok(()),
    }
}

/// The sequence number of a whole batch.
fn number(batch: &[u8]) -> u64 {
    let bytes = batch.get(5..START_BYTES);
    let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
    u64::from_le_bytes(bytes.unwrap_or_default())
}

/// Where the batches begin that may not be on disk: the last one, unless its mark names an earlier
/// one.
fn first_unsynced(content: &[u8], whole: &[Range<usize>], last: Option<Mark>) -> usize {
    let mut start = whole.last().map_or(0, |batch| batch.start);
    let Some(last) = last else { return start };
    for batch in whole.iter().rev() {
        match mark(&content[batch.clone()]) {
            Some(mark) if mark.id.number > last.synced => start = batch.start,
            _ => break,
        }
    }
    start
}

/// A journal without the zeros at its end: it is created with room for 64 MB. A batch ends in
/// something else, so no whole one is shortened.
fn content(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let end = end(&mut file)?;
    let mut content = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(end).read_to_end(&mut content)?;
    Ok(content)
}

/// Where the zeros at the end of a journal begin.
fn end(file: &mut File) -> io::Result<u64> {
    let mut end = file.metadata()?.len();
    let mut chunk = Vec::with_capacity(CHUNK_BYTES);
    while end > 0 {
        let start = end.saturating_sub(CHUNK_BYTES as u64);
        chunk.clear();
        file.seek(SeekFrom::Start(start))?;
        (&mut *file).take(end - start).read_to_end(&mut chunk)?;
        if !is_blank(&chunk) {
            let blank = chunk.iter().rev().take_while(|byte| **byte == 0).count();
            end -= blank as u64;
            break;
        }
        end = start;
    }
    Ok(end)
}

/// The journals by number, the newest last.
fn journals(directory: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut journals = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let number = path
            .file_name()
            .and_then(|name| name.to_str()?.strip_suffix(".jnl"));
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            journals.push((number, path));
        }
    }
    journals.sort();
    Ok(journals)
}

/// The whole batches at the front.
fn batches(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    iter::from_fn(move || {
        let start = end;
        end += batch(&bytes[start..])?;
        Some(start..end)
    })
}

/// The length of the whole batch that these bytes begin with.
fn batch(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.strip_prefix(&[1])?;
    let (count, rest) = rest.split_first_chunk()?;
    let (_sequence_number, mut rest) = rest.split_first_chunk::<8>()?;
    let mut checksum = Xxh3::new();
    for _ in 0..u32::from_le_bytes(*count) {
        let (entry, behind) = rest.split_at_checked(entry(rest)?)?;
        checksum.update(entry);
        rest = behind;
    }
    let (stored, rest) = rest.strip_prefix(&[3])?.split_first_chunk()?;
    let rest = rest.strip_prefix(TRAILER)?;
    let is_whole = u64::from_le_bytes(*stored) == checksum.digest();
    is_whole.then_some(bytes.len() - rest.len())
}

/// The length of the entry that these bytes begin with.
fn entry(bytes: &[u8]) -> Option<usize> {
    match bytes.split_first()? {
        (4, _) => Some(9),
        (2, rest) => {
            let rest = rest.get(10..)?;
            let (key, rest) = rest.split_first_chunk()?;
            let (value, _) = rest.get(4..)?.split_first_chunk()?;
            let key = usize::from(u16::from_le_bytes(*key));
            Some(ENTRY_BYTES + key + usize::try_from(u32::from_le_bytes(*value)).ok()?)
        }
        _ => None,
    }
}

/// The mark of a whole batch, which is the first of its entries.
fn mark(batch: &[u8]) -> Option<Mark> {
    let first = batch.get(START_BYTES..)?;
    let entry = first.get(..entry(first)?)?;
    let content = entry.get(ENTRY_BYTES..)?;
    Mark::read(content.strip_prefix(keys::MARK)?)
}

/// Whether what follows the last whole batch, from this offset of its file, are batches that
/// did not reach the disk as a whole, and were never said to have.
fn is_torn(rest: &[u8], offset: usize, last: Option<Mark>) -> bool {
    let mut behind = whole_behind(rest).peekable();
    let Some(next) = behind.peek().cloned() else {
        return !rest.ends_with(TRAILER) || has_blank_sector(rest, offset);
    };
    // A whole batch behind it was written later. Without a mark, as earlier releases wrote them, it
    // says that this one had been synced, and acknowledged.
    let marks: Option<Vec<Mark>> = behind.map(|at| mark(&rest[at])).collect();
    let Some(marks) = marks else { return false };
    // The last whole batch has no mark where a journal begins with what is missing.
    let missing = last.map_or(marks[0].id.number.saturating_sub(1), |last| {
        last.id.number + 1
    });
    let was_synced = marks.iter().any(|mark| mark.synced >= missing);
    !was_synced && has_blank_sector(&rest[..next.start], offset)
}

/// The whole batches in these bytes, wherever they begin behind the first.
fn whole_behind(rest: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 1;
    iter::from_fn(move || {
        while at < rest.len() {
            let start = at;
            match batch(&rest[start..]) {
                Some(length) => {
                    at += length;
                    return Some(start..at);
                }
                None => at += 1,
            }
        }
        None
    })
}

/// Whether one of the file's sectors in these bytes was never written. What begins or ends in
/// the middle of a sector has at least a part of it.
fn has_blank_sector(written: &[u8], offset: usize) -> bool {
    let to_boundary = (SECTOR_BYTES - offset % SECTOR_BYTES) % SECTOR_BYTES;
    let (first, others) = written.split_at(to_boundary.min(written.len()));
    let is_first_blank = !first.is_empty() && is_blank(first);
    is_first_blank || others.chunks_exact(SECTOR_BYTES).any(is_blank)
}

fn is_blank(bytes: &[u8]) -> bool {
    const ZEROS: [u8; 4_096] = [0; 4_096];
    let mut chunks = bytes.chunks(ZEROS.len());
    chunks.all(|chunk| *chunk == ZEROS[..chunk.len()])
}

fn damaged(path: &Path, at: usize) -> StorageError {
    let path = path.display();
    StorageError::Damaged(format!("the journal `{path}` is damaged at byte {at}").into())
}

impl From<io::Error> for StorageError {
    fn from(error: io::Error) -> Self {
        StorageError::Failed(error.into())
    }
}

#[cfg(test)]
mod tests;
