//! The commits in a journal, as they were written.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use super::{ENTRY_BYTES, Mark, START_BYTES, batch, entry, mark};
use crate::commit::{Commit, Edit};
use crate::keys;

/// What is read at once. A commit that is larger is read again, whole.
const READ_BYTES: usize = 4 * 1_048_576;

/// The mark of a journal's first batch, unless it is from before there were marks, or empty.
pub(crate) fn first_mark(path: &Path) -> io::Result<Option<Mark>> {
    let mut front = Vec::new();
    File::open(path)?.take(256).read_to_end(&mut front)?;
    Ok(mark(&front))
}

/// Reads whole commits from an offset on, and where they end. There are none at the end of what
/// was written, or where a batch is being written or damaged.
pub(crate) fn read(path: &Path, offset: u64) -> io::Result<(Vec<Commit>, u64)> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    let mut wanted = READ_BYTES;
    loop {
        file.seek(SeekFrom::Start(offset))?;
        bytes.clear();
        (&mut file).take(wanted as u64).read_to_end(&mut bytes)?;
        let is_all = bytes.len() < wanted;
        let (commits, end) = decode(&bytes);
        // Zeros follow what was written.
        if end > 0 || is_all || bytes.first() == Some(&0) {
            return Ok((commits, offset + end as u64));
        }
        wanted *= 2;
    }
}

/// The commits that these bytes begin with, and where they end. A batch without a mark is from
/// before commits were numbered, and is passed over.
fn decode(bytes: &[u8]) -> (Vec<Commit>, usize) {
    let mut commits = Vec::new();
    let mut end = 0;
    while let Some(length) = batch(&bytes[end..]) {
        let batch = &bytes[end..end + length];
        commits.extend(mark(batch).map(|mark| Commit {
            id: mark.id,
            edits: edits(batch),
        }));
        end += length;
    }
    (commits, end)
}

/// The edits of a whole batch, without its mark.
fn edits(batch: &[u8]) -> Vec<Edit> {
    let mut rest = batch.get(START_BYTES..).unwrap_or_default();
    let mut edits = Vec::new();
    while let Some((one, behind)) = entry(rest).and_then(|length| rest.split_at_checked(length)) {
        edits.extend(edit(one));
        rest = behind;
    }
    edits
}

/// The edit of an entry: 2, its type, compression, the keyspace, the length of the key and twice
/// that of the value.
fn edit(entry: &[u8]) -> Option<Edit> {
    let content = entry.get(ENTRY_BYTES..)?;
    let key_bytes = u16::from_le_bytes(entry.get(11..13)?.try_into().ok()?);
    let (key, value) = content.split_at_checked(usize::from(key_bytes))?;
    if key == keys::MARK {
        return None;
    }
    // The storage writes values and tombstones, and of those two kinds.
    match entry.get(1)? {
        0 => Some(Edit::Put(key.to_vec(), value.to_vec())),
        _ => Some(Edit::Remove(key.to_vec())),
    }
}
