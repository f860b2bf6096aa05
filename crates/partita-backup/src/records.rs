//! What is in the objects of a chain.
//!
//! Numbers are big endian; bytes are preceded by their length in four bytes.
//!
//! ```text
//! commit id  number (8), time in milliseconds since 1970 (8), chain (8)
//! segment    the commit id before the first, and for each commit: its id, the number of its edits (4), the edits
//! edit       1, key, value; or 0, key: it is removed
//! piece      the commit id after which it was so, and for each row: key, value
//! ```

use partita_engine::{Commit, CommitId, Edit, Rows};
use serde::{Deserialize, Serialize};

/// The format of a chain; it grows when an older release could no longer read it.
pub(crate) const FORMAT: u32 = 1;

/// `chain.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChainHead {
    pub(crate) format: u32,
    /// Its number, which its name has too.
    pub(crate) chain: u32,
    /// Random: no other chain has it.
    pub(crate) id: String,
    /// The store that it is of, by its random id; none if it was begun before stores had one.
    #[serde(default)]
    pub(crate) store: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub(crate) began_millis: i64,
    /// Why it began.
    pub(crate) reason: String,
    /// The id of the key that seals it.
    pub(crate) key: Option<String>,
    /// Whether it has the secret of the server.
    pub(crate) has_secret: bool,
}

/// The object that says that a base is whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) first: Point,
    pub(crate) last: Point,
    pub(crate) pieces: usize,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

/// A commit id in JSON. The chain is text, because not every reader of JSON has whole numbers of 64
/// bits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Point {
    number: u64,
    time_millis: i64,
    chain: String,
}

impl From<CommitId> for Point {
    fn from(id: CommitId) -> Point {
        Point {
            number: id.number,
            time_millis: id.time_millis,
            chain: format!("{:016x}", id.chain),
        }
    }
}

impl Point {
    pub(crate) fn id(&self) -> Option<CommitId> {
        Some(CommitId {
            number: self.number,
            time_millis: self.time_millis,
            chain: u64::from_str_radix(&self.chain, 16).ok()?,
        })
    }
}

/// Commits that follow each other, and the one before them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) before: CommitId,
    pub(crate) commits: Vec<Commit>,
}

impl Segment {
    /// The last commit in it.
    pub(crate) fn last(&self) -> CommitId {
        self.commits.last().map_or(self.before, |commit| commit.id)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_id(&mut bytes, self.before);
        for commit in &self.commits {
            put_id(&mut bytes, commit.id);
            put_length(&mut bytes, commit.edits.len());
            for edit in &commit.edits {
                match edit {
                    Edit::Put(key, value) => {
                        bytes.push(1);
                        put_bytes(&mut bytes, key);
                        put_bytes(&mut bytes, value);
                    }
                    Edit::Remove(key) => {
                        bytes.push(0);
                        put_bytes(&mut bytes, key);
                    }
                }
            }
        }
        bytes
    }

    /// Reads a segment; none if it is not one, or its commits do not follow each other.
    pub(crate) fn read(mut rest: &[u8]) -> Option<Segment> {
        let before = take_id(&mut rest)?;
        let mut commits = Vec::new();
        let mut last = before;
        while !rest.is_empty() {
            let id = take_id(&mut rest)?;
            let count = take_length(&mut rest)?;
            let mut edits = Vec::with_capacity(count.min(rest.len()));
            for _ in 0..count {
                let (kind, behind) = rest.split_first()?;
                rest = behind;
                let key = take_bytes(&mut rest)?.to_vec();
                edits.push(match kind {
                    1 => Edit::Put(key, take_bytes(&mut rest)?.to_vec()),
                    0 => Edit::Remove(key),
                    _ => return None,
                });
            }
            let commit = Commit { id, edits };
            if !commit.follows(last) {
                return None;
            }
            last = id;
            commits.push(commit);
        }
        Some(Segment { before, commits })
    }
}

/// A piece of a base.
pub(crate) struct Piece {
    pub(crate) commit: CommitId,
    pub(crate) rows: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Piece {
    pub(crate) fn bytes(rows: &Rows) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_id(&mut bytes, rows.commit);
        for (key, value) in &rows.rows {
            put_bytes(&mut bytes, key);
            put_bytes(&mut bytes, value);
        }
        bytes
    }

    pub(crate) fn read(mut rest: &[u8]) -> Option<Piece> {
        let commit = take_id(&mut rest)?;
        let mut rows = Vec::new();
        while !rest.is_empty() {
            let key = take_bytes(&mut rest)?.to_vec();
            rows.push((key, take_bytes(&mut rest)?.to_vec()));
        }
        Some(Piece { commit, rows })
    }
}

fn put_id(bytes: &mut Vec<u8>, id: CommitId) {
    bytes.extend(id.number.to_be_bytes());
    bytes.extend(id.time_millis.to_be_bytes());
    bytes.extend(id.chain.to_be_bytes());
}

fn put_length(bytes: &mut Vec<u8>, length: usize) {
    let length = u32::try_from(length).expect("the storage has no longer ones");
    bytes.extend(length.to_be_bytes());
}

fn put_bytes(bytes: &mut Vec<u8>, part: &[u8]) {
    put_length(bytes, part.len());
    bytes.extend(part);
}

fn take<const BYTES: usize>(rest: &mut &[u8]) -> Option<[u8; BYTES]> {
    let (taken, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*taken)
}

fn take_id(rest: &mut &[u8]) -> Option<CommitId> {
    Some(CommitId {
        number: u64::from_be_bytes(take(rest)?),
        time_millis: i64::from_be_bytes(take(rest)?),
        chain: u64::from_be_bytes(take(rest)?),
    })
}

fn take_length(rest: &mut &[u8]) -> Option<usize> {
    usize::try_from(u32::from_be_bytes(take(rest)?)).ok()
}

fn take_bytes<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = take_length(rest)?;
    let (taken, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment() -> Segment {
        let before = CommitId {
            number: 4,
            time_millis: 10,
            chain: 99,
        };
        let edits = vec![
            Edit::Put(b"key".to_vec(), b"value".to_vec()),
            Edit::Remove(b"old".to_vec()),
        ];
        let first = before.next(&edits, 12);
        let second = first.next(&[], 12);
        let commits = vec![
            Commit { id: first, edits },
            Commit {
                id: second,
                edits: Vec::new(),
            },
        ];
        Segment { before, commits }
    }

    #[test]
    fn a_segment_is_read_as_it_was_written() {
        let segment = segment();
        assert_eq!(Segment::read(&segment.bytes()), Some(segment.clone()));
        assert_eq!(segment.last().number, 6);
        let mut skipped = segment;
        skipped.commits.remove(0);
        assert_eq!(Segment::read(&skipped.bytes()), None, "a commit is missing");
    }

    #[test]
    fn bytes_that_are_no_segment_are_refused() {
        let bytes = segment().bytes();
        for end in 0..bytes.len() {
            let read = Segment::read(&bytes[..end]);
            // A cut between two commits leaves a shorter segment, which its object's checksum tells.
            assert!(read.is_none_or(|read| read.commits.len() < 2), "{end}");
        }
        // The time of the commit before is in that commit's chain, not in this one's.
        let times = 8..16;
        for at in (0..bytes.len()).filter(|at| !times.contains(at)) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x80;
            assert_eq!(Segment::read(&flipped), None, "{at}");
        }
    }
}
