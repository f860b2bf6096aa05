//! The commits of a store in their order, for whoever ships them elsewhere.
//!
//! They are read from the storage's journals, which are kept for as long as somebody reads them
//! (`storage::journal::kept`). Only commits that are on disk are read: what a power cut could still
//! take back must not be anywhere else. Each is held against the one before by its
//! [chain](CommitId::chain), so a gap, damage, or the journals of another history are told and
//! never passed over.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::commit::{Commit, CommitId};
use crate::storage::Views;
use crate::storage::journal::commits;
use crate::storage::journal::kept::Keeper;

/// Reads the commits of a store one after the other.
pub struct CommitLog {
    views: Arc<dyn Views>,
    keeper: Arc<Keeper>,
    reader: u64,
    last: CommitId,
    /// The journal that is being read, and how far.
    place: Option<(u64, u64)>,
    /// Commits that are read and were not asked for yet, the next one last.
    ahead: Vec<Commit>,
}

/// Why the next commits cannot be read. Reading goes on after a new copy of everything.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// They are in no journal any more.
    #[error("the commits after {after} are in no journal any more, up to {before}")]
    Lost {
        /// The last commit before them.
        after: u64,
        /// The first that is known after them.
        before: u64,
    },
    /// The store is not the one, or not in the state, in which it was read before.
    #[error("commit {number} of the store is not the one that was read before")]
    Other {
        /// The commit that differs.
        number: u64,
    },
    /// The journals cannot be kept or read.
    #[error("{0}")]
    Unreadable(String),
}

impl CommitLog {
    pub(crate) fn new(views: Arc<dyn Views>, keeper: Arc<Keeper>, after: CommitId) -> CommitLog {
        let reader = keeper.add_reader();
        CommitLog {
            views,
            keeper,
            reader,
            last: after,
            place: None,
            ahead: Vec::new(),
        }
    }

    /// The last commit that was read.
    pub fn last(&self) -> CommitId {
        self.last
    }

    /// The last commit that is on disk.
    pub fn durable(&self) -> CommitId {
        self.views.durable()
    }

    /// The next commits that are on disk, up to about so many bytes, one at least; none if all are
    /// read.
    pub fn read(&mut self, bytes_max: usize) -> Result<Vec<Commit>, LogError> {
        let durable = self.views.durable();
        if self.last.number >= durable.number {
            return if self.last.number == durable.number && self.last.chain == durable.chain {
                Ok(Vec::new())
            } else {
                Err(Self::other(self.last.number))
            };
        }
        let (mut read, mut bytes) = (Vec::new(), 0);
        while self.last.number < durable.number && bytes < bytes_max {
            let commit = self.next(durable)?;
            if !commit.follows(self.last) {
                return Err(Self::other(commit.id.number));
            }
            self.last = commit.id;
            bytes += commit.bytes();
            read.push(commit);
        }
        Ok(read)
    }

    /// All that was read is where it belongs, and its journals need not be kept.
    pub fn release(&self) {
        if let Some((journal, _)) = self.place {
            self.keeper.release(self.reader, journal);
        }
    }

    /// The commit after the last one, which is on disk.
    fn next(&mut self, durable: CommitId) -> Result<Commit, LogError> {
        let wanted = self.last.number + 1;
        loop {
            while let Some(commit) = self.ahead.pop() {
                if commit.id.number == wanted {
                    return Ok(commit);
                }
                if commit.id.number > wanted {
                    return Err(self.lost(commit.id.number));
                }
                if commit.id.number == self.last.number && commit.id.chain != self.last.chain {
                    return Err(Self::other(commit.id.number));
                }
            }
            if !self.read_on()? {
                return Err(self.lost(durable.number + 1));
            }
        }
    }

    /// Reads more commits ahead, in the same journal or the next; none if there is no more.
    fn read_on(&mut self) -> Result<bool, LogError> {
        let journals = self.keeper.journals().map_err(LogError::Unreadable)?;
        let place = match self.place {
            Some(place) => Some(place),
            None => self.first_place(&journals)?,
        };
        let Some((journal, end)) = place else {
            return Ok(false);
        };
        for (number, path) in journals.iter().filter(|(number, _)| *number >= journal) {
            let offset = if *number == journal { end } else { 0 };
            let read = commits::read(path, offset);
            let (commits, end) = read.map_err(|error| unreadable(path, &error))?;
            if end > offset {
                self.place = Some((*number, end));
                self.ahead = commits;
                self.ahead.reverse();
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The last journal that begins before the wanted commit, or with it.
    fn first_place(&self, journals: &[(u64, PathBuf)]) -> Result<Option<(u64, u64)>, LogError> {
        for (number, path) in journals.iter().rev() {
            let mark = commits::first_mark(path).map_err(|error| unreadable(path, &error))?;
            if mark.is_some_and(|mark| mark.id.number <= self.last.number + 1) {
                return Ok(Some((*number, 0)));
            }
        }
        // One from before commits were numbered.
        Ok(journals.first().map(|(number, _)| (*number, 0)))
    }

    fn lost(&self, before: u64) -> LogError {
        LogError::Lost {
            after: self.last.number,
            before,
        }
    }

    fn other(number: u64) -> LogError {
        LogError::Other { number }
    }
}

impl Drop for CommitLog {
    fn drop(&mut self) {
        self.keeper.remove_reader(self.reader);
    }
}

impl fmt::Debug for CommitLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut log = f.debug_struct("CommitLog");
        log.field("last", &self.last).field("place", &self.place);
        log.finish_non_exhaustive()
    }
}

fn unreadable(path: &Path, error: &io::Error) -> LogError {
    LogError::Unreadable(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
