//! A store that is put together from a copy of another one.
//!
//! It is written beside its place and moved there when it is whole and on disk, so that a directory
//! has all of it or none.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::commit::{Commit, CommitId, Edit};
use crate::directory;
use crate::error::EngineError;
use crate::options::{Durability, StorageRoom};
use crate::storage::StorageError;
use crate::storage::fjall::{self, FjallCommits};

/// A store that is being put together.
pub struct NewStore {
    directory: PathBuf,
    commits: FjallCommits,
    last: CommitId,
}

/// Why a commit or a row does not become part of a new store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NewStoreError {
    /// The commit is not the next one.
    #[error("commit {found} does not follow commit {last}")]
    OutOfOrder {
        /// The last commit that the store has.
        last: u64,
        /// The one that was given.
        found: u64,
    },
    /// The directory cannot be written.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl NewStore {
    /// Begins a store in a directory that has none. What an earlier attempt left there is removed.
    pub fn create(directory: &Path) -> Result<NewStore, NewStoreError> {
        let new = directory::begin(directory)?;
        let (_, commits) = fjall::open(&new, None, Durability::Sync, StorageRoom::SMALL)
            .map_err(|error| EngineError::storage(directory, error))?;
        Ok(NewStore {
            directory: directory.to_owned(),
            commits,
            last: CommitId::default(),
        })
    }

    /// Adds rows of a copy whose commits are to follow from this one on.
    pub fn put_rows(
        &mut self,
        first: CommitId,
        rows: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>,
    ) -> Result<(), NewStoreError> {
        self.last = first;
        let edits = rows.into_iter().map(|(key, value)| Edit::Put(key, value));
        let written = self.commits.fill(edits.collect());
        Ok(written.map_err(|error| self.failed(error))?)
    }

    /// Does what a commit did. It must be the one after the last.
    pub fn apply(&mut self, commit: Commit) -> Result<(), NewStoreError> {
        if !commit.follows(self.last) {
            return Err(NewStoreError::OutOfOrder {
                last: self.last.number,
                found: commit.id.number,
            });
        }
        self.last = commit.id;
        let written = self.commits.fill(commit.edits);
        Ok(written.map_err(|error| self.failed(error))?)
    }

    /// The last commit that the store has.
    pub fn last(&self) -> CommitId {
        self.last
    }

    /// Puts everything on disk and the store in its place. Its next commit is the one after the
    /// last that was applied.
    pub fn finish(self) -> Result<CommitId, NewStoreError> {
        let NewStore {
            directory,
            mut commits,
            last,
        } = self;
        let finished = commits.finish(last);
        finished.map_err(|error| EngineError::storage(&directory, error))?;
        drop(commits);
        directory::complete(&directory)?;
        Ok(last)
    }

    fn failed(&self, error: StorageError) -> EngineError {
        EngineError::storage(&self.directory, error)
    }
}

impl fmt::Debug for NewStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut store = f.debug_struct("NewStore");
        store.field("directory", &self.directory);
        store.field("last", &self.last).finish_non_exhaustive()
    }
}
