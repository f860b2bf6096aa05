//! A commit: what it changed, and which it was.
//!
//! Commits are numbered from 1 on without a gap, for as long as there is the store. Each has a time
//! that is not before that of the one before, and a checksum over all that was committed until
//! then. All three are stored with what the commit changes, in the same atomic batch.

use crate::storage::journal;

/// Which commit it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitId {
    /// Its number. The first is 1; 0 is the state before it.
    pub number: u64,
    /// When it was made, in milliseconds since 1970; never before the commit before it.
    pub time_millis: i64,
    /// A checksum over its edits and those of every commit before it. So two stores, or a store
    /// and its own past, are told apart where they have commits of the same number.
    pub chain: u64,
}

impl CommitId {
    /// The commit of these edits after this one, at this time or later.
    pub fn next(self, edits: &[Edit], now_millis: i64) -> CommitId {
        let number = self.number + 1;
        let time_millis = self.time_millis.max(now_millis);
        CommitId {
            number,
            time_millis,
            chain: journal::chain(self.chain, number, time_millis, edits),
        }
    }
}

/// What happens to one key; no commit names a key twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// The key has this value from now on.
    Put(Vec<u8>, Vec<u8>),
    /// The key has no value any more.
    Remove(Vec<u8>),
}

/// A commit, as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Which it was.
    pub id: CommitId,
    /// What it changed, in the order in which it was written.
    pub edits: Vec<Edit>,
}

impl Commit {
    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        let sizes = self.edits.iter().map(|edit| match edit {
            Edit::Put(key, value) => key.len() + value.len(),
            Edit::Remove(key) => key.len(),
        });
        sizes.sum()
    }

    /// Whether it is what was committed after another one: the next number, not an earlier time,
    /// and the chain that its edits give.
    pub fn follows(&self, before: CommitId) -> bool {
        self.id.time_millis >= before.time_millis
            && before.next(&self.edits, self.id.time_millis) == self.id
    }
}
