//! The files that describe how the rest is stored, checked before the storage opens them.
//!
//! What they say of numbers, lsm-tree takes at its word: it reserves memory for as many tables, or
//! sections of a file, as one of them claims to have. A flipped bit may ask for 100 GB, and a
//! process that does not get them ends without a word. So they are held against their checksums, or
//! against their size, before anybody believes them.
//!
//! The layout is that of lsm-tree 3.1 and its archives (sfa 1.0), with numbers in little endian:
//!
//! ```text
//! keyspaces/N/current    number of the version (8 bytes), xxh3 of its file (16), 0
//! keyspaces/N/vN         the version: which tables there are; an archive
//! keyspaces/N/tables/N   a table; an archive
//!
//! archive   sections, contents, "SFA!", 1, 0, xxh3 of the contents (16), their position (8), length (8)
//! contents  "TOC!", number of sections (4), and for each position (8), length (8), length of its name (2), name
//! ```

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use super::StorageError;

const CURRENT_BYTES: usize = 25;
const TRAILER_BYTES: usize = 38;

/// What the contents have before their sections, and the least that one section takes.
const HEAD_BYTES: usize = 8;
const SECTION_BYTES: u64 = 18;

/// Checks the files of a storage. What is wrong in a way that lsm-tree notices is left to it, as
/// are files that no version names: a crash may leave those half written.
pub(super) fn check(directory: &Path) -> Result<(), StorageError> {
    for keyspace in paths(&directory.join("keyspaces"))? {
        check_version(&keyspace)?;
        for table in paths(&keyspace.join("tables"))? {
            check_sections(&table)?;
        }
    }
    Ok(())
}

/// What is in a directory; nothing is in one that is not there.
fn paths(directory: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(directory) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn check_version(keyspace: &Path) -> Result<(), StorageError> {
    let current = keyspace.join("current");
    let stored = match fs::read(&current) {
        Ok(stored) => stored,
        // A keyspace that was never finished, or is none.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let Some((version, checksum)) = parse_current(&stored) else {
        return Err(damaged(&current));
    };
    let version = keyspace.join(format!("v{version}"));
    match fs::read(&version) {
        Ok(content) if xxh3_128(&content) == checksum => Ok(()),
        Ok(_) => Err(damaged(&version)),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(damaged(&current)),
        Err(error) => Err(error.into()),
    }
}

/// The number of the current version, and the checksum of its file.
fn parse_current(stored: &[u8]) -> Option<(u64, u128)> {
    let stored: &[u8; CURRENT_BYTES] = stored.try_into().ok()?;
    let (version, rest) = stored.split_first_chunk()?;
    let (checksum, rest) = rest.split_first_chunk()?;
    let is_known = rest == [0];
    is_known.then(|| (u64::from_le_bytes(*version), u128::from_le_bytes(*checksum)))
}

/// An archive that claims more sections than it has room for is damaged.
fn check_sections(path: &Path) -> Result<(), StorageError> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let Some(trailer_at) = length.checked_sub(TRAILER_BYTES as u64) else {
        return Ok(());
    };
    let trailer: [u8; TRAILER_BYTES] = read_at(&mut file, trailer_at)?;
    let Some(contents_at) = parse_trailer(&trailer).filter(|at| *at < trailer_at) else {
        return Ok(());
    };
    let head: [u8; HEAD_BYTES] = read_at(&mut file, contents_at)?;
    match parse_head(&head) {
        Some(sections) if sections > (trailer_at - contents_at) / SECTION_BYTES => {
            Err(damaged(path))
        }
        _ => Ok(()),
    }
}

/// Where the contents begin.
fn parse_trailer(trailer: &[u8]) -> Option<u64> {
    let position = trailer.strip_prefix(b"SFA!")?.get(18..)?.first_chunk()?;
    Some(u64::from_le_bytes(*position))
}

/// The number of sections.
fn parse_head(head: &[u8]) -> Option<u64> {
    let count = head.strip_prefix(b"TOC!")?.first_chunk()?;
    Some(u32::from_le_bytes(*count).into())
}

fn read_at<const BYTES: usize>(file: &mut File, position: u64) -> io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    file.seek(SeekFrom::Start(position))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn damaged(path: &Path) -> StorageError {
    StorageError::Damaged(format!("the file `{}` is damaged", path.display()).into())
}

#[cfg(test)]
mod tests;
