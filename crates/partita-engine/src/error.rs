//! Why a store does not open.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use crate::storage::StorageError;

/// Why a store does not open; every message says what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// Another process, or another store in this one, has the directory open.
    #[error("the store in `{}` is in use; stop the other process, or choose another directory", .directory.display())]
    InUse {
        /// The store's directory.
        directory: PathBuf,
    },
    /// The store was written by a newer release.
    #[error("the store in `{}` has format {found}, and this release reads formats up to {known}; open it with the release that wrote it, or a newer one", .directory.display())]
    NewerFormat {
        /// The store's directory.
        directory: PathBuf,
        /// The format that is stored.
        found: u32,
        /// The newest format that this release reads.
        known: u32,
    },
    /// The store was written by a release from before the first one that keeps its promises.
    #[error("the store in `{}` has format {found}, and this release reads formats from {known} on; start with an empty directory", .directory.display())]
    OlderFormat {
        /// The store's directory.
        directory: PathBuf,
        /// The format that is stored.
        found: u32,
        /// The oldest format that this release reads.
        known: u32,
    },
    /// The store's files are damaged.
    #[error("the store in `{}` is damaged ({reason}); restore it from a backup, and keep a copy of the directory", .directory.display())]
    Damaged {
        /// The store's directory.
        directory: PathBuf,
        /// How it showed.
        reason: Box<dyn Error + Send + Sync>,
    },
    /// The directory cannot be read or written.
    #[error("the directory `{}` cannot be used ({reason}); check that it can be written and has room", .directory.display())]
    Unusable {
        /// The store's directory.
        directory: PathBuf,
        /// What the operating system says.
        reason: Box<dyn Error + Send + Sync>,
    },
}

impl EngineError {
    pub(crate) fn io(directory: &Path, error: io::Error) -> Self {
        EngineError::Unusable {
            directory: directory.to_owned(),
            reason: error.into(),
        }
    }

    pub(crate) fn storage(directory: &Path, error: StorageError) -> Self {
        let directory = directory.to_owned();
        match error {
            StorageError::Damaged(reason) => EngineError::Damaged { directory, reason },
            StorageError::Failed(reason) => EngineError::Unusable { directory, reason },
        }
    }

    pub(crate) fn damaged(directory: &Path, reason: impl Into<String>) -> Self {
        EngineError::Damaged {
            directory: directory.to_owned(),
            reason: reason.into().into(),
        }
    }
}
