//! Why a backup or a restore came to nothing.

use std::path::PathBuf;

use partita_engine::{EngineError, LogError, NewStoreError};
use partita_store::StoreError;

/// Why a backup or a restore came to nothing. Every message names the object that it is about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The target does not do what it is asked for.
    #[error("the target cannot be used: `{name}`: {reason}")]
    Target {
        /// The object.
        name: String,
        /// What the target says.
        reason: String,
    },
    /// There is an object of that name already.
    #[error("`{name}` is there already, with other contents: another process writes to this chain")]
    Exists {
        /// The object.
        name: String,
    },
    /// An object is not there.
    #[error("`{name}` is missing")]
    Missing {
        /// The object.
        name: String,
    },
    /// An object is not what was written.
    #[error("`{name}` is damaged: {reason}")]
    Damaged {
        /// The object.
        name: String,
        /// How it showed.
        reason: String,
    },
    /// A file of a bucket cannot be read or written.
    #[error("the file {} cannot be used: {reason}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        reason: String,
    },
    /// Files of buckets were removed before they could be shipped, and too much of them to be kept.
    #[error(
        "files of buckets were removed before they were shipped, and are given up: {bytes} bytes"
    )]
    FilesLost {
        /// How large they were together.
        bytes: u64,
    },
    /// Commits are missing between two objects.
    #[error("the commits {first} to {last} are missing: no segment of {chain} has them")]
    Gap {
        /// The chain.
        chain: String,
        /// The first commit that is missing.
        first: u64,
        /// The last one.
        last: u64,
    },
    /// The backup is sealed with another key, or with one.
    #[error("{0}")]
    Key(String),
    /// The backup has no such moment.
    #[error("{0}")]
    NoMoment(String),
    /// The target has the backup of another store.
    #[error(
        "chain {chain} of the target is the backup of another store, and a target belongs to one: name another directory or prefix"
    )]
    OtherStore {
        /// The chain.
        chain: u32,
    },
    /// A chain that cannot be read may have later commits than those that can.
    #[error(
        "chain {chain} may have later commits, and cannot be read; `--chain {other}` restores from chain {other}"
    )]
    InTheWay {
        /// The chain that cannot be read.
        chain: u32,
        /// The chain with the latest commit of those that can.
        other: u32,
        /// Why.
        source: Box<BackupError>,
    },
    /// It was written by a newer release.
    #[error(
        "{chain} has format {found}, and this release reads formats up to {known}: use the release that wrote it, or a newer one"
    )]
    Newer {
        /// The chain.
        chain: String,
        /// The format.
        found: u32,
        /// The newest that this release reads.
        known: u32,
    },
    /// The commits of the store cannot be read on.
    #[error("the store's commits cannot be read on: {0}")]
    Log(#[from] LogError),
    /// The store cannot be read.
    #[error("the store cannot be read")]
    Store(#[from] StoreError),
    /// The new store cannot be written.
    #[error("the new store cannot be written")]
    New(#[source] EngineError),
}

impl BackupError {
    pub(crate) fn damaged(name: &str, reason: impl Into<String>) -> BackupError {
        BackupError::Damaged {
            name: name.to_owned(),
            reason: reason.into(),
        }
    }

    /// What a new store says of what it was given from an object.
    pub(crate) fn of_new(name: &str, error: NewStoreError) -> BackupError {
        match error {
            NewStoreError::Engine(error) => BackupError::New(error),
            other => BackupError::damaged(name, other.to_string()),
        }
    }
}
