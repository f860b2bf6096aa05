//! What the engine asks of its storage: ordered bytes, views of them, and durable commits.
//!
//! The trait is thin on purpose. It keeps the storage crate out of the rest of the engine, and
//! it lets a test put a commit that fails in place of the real one.

pub(crate) mod cache;
mod contents;
pub(crate) mod fjall;
pub(crate) mod journal;
pub(crate) mod run;
#[cfg(test)]
pub(crate) mod volatile;

use std::error::Error;
use std::ops::Bound;

use partita_store::StoreError;

use self::cache::Cache;
pub(crate) use crate::commit::{CommitId, Edit};

/// A value that the storage hands out, cheap to clone.
pub(crate) type Bytes = bytes::Bytes;

/// A key that the storage hands out, cheap to clone.
pub(crate) type StoredKey = ::fjall::Slice;

/// The keys that a range holds.
pub(crate) type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// The keys and values of a range, in the direction asked for.
pub(crate) type Entries = Box<dyn Iterator<Item = Result<(StoredKey, Bytes), StorageError>>>;

/// From the smallest key to the largest, or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Ascending,
    Descending,
}

/// The reading half of a storage; any thread may use it at any time.
pub(crate) trait Views: Send + Sync {
    /// All that was committed so far; what is committed later does not change it. What is not on
    /// disk yet is in it only where not each commit is synced.
    fn view(&self) -> Box<dyn View>;

    /// What a view of now has under a key. It may be known without one.
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StorageError> {
        self.view().get(key)
    }

    /// The last commit that is on disk. A view may have later ones if not each is synced.
    fn durable(&self) -> CommitId {
        CommitId::default()
    }

    /// What is known without a view, if anything ever is.
    fn cache(&self) -> Option<&Cache> {
        None
    }
}

/// One state of the storage.
pub(crate) trait View: Send + Sync {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StorageError>;

    /// The entries between the bounds, which must not be the wrong way round.
    fn range(&self, bounds: Bounds, direction: Direction) -> Entries;
}

/// The writing half of a storage. There is one of it, and it cannot be cloned: that one thread
/// does all the writing is not a custom but a matter of types.
pub(crate) trait Commits: Send {
    /// Writes all of the edits or none, as the next commit and with this time, and returns when
    /// they are as safe as the storage was opened to make them: on disk, or with the operating
    /// system until the next [`sync`].
    ///
    /// After an error it is unknown whether they are, and the storage refuses further ones.
    ///
    /// [`sync`]: Commits::sync
    fn commit(&mut self, edits: Vec<Edit>, now_millis: i64) -> Result<(), StorageError>;

    /// Returns when all that was committed is on disk. An error is as final as a commit's.
    fn sync(&mut self) -> Result<(), StorageError>;

    /// How much room there is for more; `None` if the storage cannot know.
    fn free_bytes(&self) -> Option<u64> {
        None
    }

    /// Notes down what there is, after everything is on disk and before nothing more comes.
    fn close(&mut self) -> Result<(), StorageError> {
        Ok(())
    }
}

/// What can go wrong below the engine.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StorageError {
    /// What is on disk is not what was written there.
    #[error("{0}")]
    Damaged(#[source] Box<dyn Error + Send + Sync>),
    /// The operating system refused.
    #[error("{0}")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
}

impl From<StorageError> for StoreError {
    fn from(error: StorageError) -> StoreError {
        let message = error.to_string();
        match error {
            StorageError::Damaged(_) => StoreError::Corrupt { message },
            StorageError::Failed(_) => StoreError::Unavailable { message },
        }
    }
}
