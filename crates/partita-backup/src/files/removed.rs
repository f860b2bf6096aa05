//! Files that were removed, and are not shipped yet.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Found, unreadable, walk};
use crate::error::BackupError;

/// Bytes of removed files that are kept until they are shipped; as much as is kept of journals.
const REMOVED_BYTES_MAX: u64 = 1_073_741_824;

/// Files that were removed, and stay in a folder of their own until they are shipped: one that lives
/// shorter than it takes to ship its commit is in the backup too.
///
/// Whoever removes a file moves it there while the folder is there.
#[derive(Debug)]
pub struct RemovedFiles {
    pub(super) folder: PathBuf,
    /// Whether files are kept while nobody holds them: a backup is expected to ship them.
    is_lasting: bool,
    holders: Mutex<usize>,
}

/// Keeps removed files for as long as it is there.
#[derive(Debug)]
pub struct Hold(Arc<RemovedFiles>);

impl RemovedFiles {
    /// Files in a folder, which is there while they are kept.
    pub fn new(folder: PathBuf, is_lasting: bool) -> io::Result<RemovedFiles> {
        if is_lasting {
            fs::create_dir_all(&folder)?;
        } else {
            remove_all(&folder)?;
        }
        Ok(RemovedFiles {
            folder,
            is_lasting,
            holders: Mutex::new(0),
        })
    }

    fn holders(&self) -> MutexGuard<'_, usize> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to keep all files that are removed.
    pub fn hold(self: &Arc<Self>) -> io::Result<Hold> {
        let mut holders = self.holders();
        fs::create_dir_all(&self.folder)?;
        *holders += 1;
        Ok(Hold(self.clone()))
    }

    /// Gives up those that are shipped. The bytes of the others.
    pub(super) fn release(&self, is_shipped: impl Fn(&Found) -> bool) -> io::Result<u64> {
        let holders = self.holders();
        let mut bytes = 0;
        for file in self.list()? {
            if *holders == 0 && is_shipped(&file) {
                fs::remove_file(&file.place)?;
            } else {
                bytes += file.bytes;
            }
        }
        Ok(bytes)
    }

    /// Gives all up.
    fn give_up(&self) -> io::Result<()> {
        let _holders = self.holders();
        remove_all(&self.folder)?;
        fs::create_dir_all(&self.folder)
    }

    /// Gives all up if there is more than is kept.
    pub fn bound(&self) -> Result<(), BackupError> {
        self.demand_few(self.release(|_| false))
    }

    pub(crate) fn demand_few(&self, bytes: io::Result<u64>) -> Result<(), BackupError> {
        let failed = |error: io::Error| unreadable(&self.folder, &error);
        let bytes = bytes.map_err(failed)?;
        if bytes <= REMOVED_BYTES_MAX {
            return Ok(());
        }
        self.give_up().map_err(failed)?;
        Err(BackupError::FilesLost { bytes })
    }

    pub(super) fn list(&self) -> io::Result<Vec<Found>> {
        let mut found = Vec::new();
        walk(&[], &self.folder, "", &mut found)?;
        // Those of the same path have a number behind it.
        for file in &mut found {
            if let Some(end) = file.path.rfind('#') {
                file.path.truncate(end);
            }
        }
        Ok(found)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut holders = self.0.holders();
        *holders -= 1;
        if *holders == 0
            && !self.0.is_lasting
            && let Err(error) = remove_all(&self.0.folder)
        {
            tracing::warn!("{} cannot be removed: {error}", self.0.folder.display());
        }
    }
}

fn remove_all(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
