//! A store's directory: who may open it, and how it comes to be.
//!
//! ```text
//! lock       locked as long as the store is open
//! closed     where the storage's journal ends; only there while the store is closed
//! data/      the storage
//! data.new/  a storage that is being created; left behind only by a crash
//! ```

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::error::EngineError;
use crate::keys;
use crate::options::{Durability, StorageRoom};
use crate::storage::fjall::{self, FjallCommits, FjallViews};
use crate::storage::{Commits, Edit, Views, journal};

/// The format of what is stored; it grows when an older release could no longer read it.
pub(crate) const FORMAT: u32 = 4;

const LOCK_ATTEMPTS: u32 = 10;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Opens the storage of a directory, or creates it.
pub(crate) fn open(
    directory: &Path,
    durability: Durability,
    room: StorageRoom,
) -> Result<(FjallViews, FjallCommits), EngineError> {
    let lock = prepare(directory).map_err(|error| EngineError::io(directory, error))?;
    if !acquire(&lock).map_err(|error| EngineError::io(directory, error))? {
        let directory = directory.to_owned();
        return Err(EngineError::InUse { directory });
    }
    let data = directory.join("data");
    let is_there = data.try_exists();
    if !is_there.map_err(|error| EngineError::io(directory, error))? {
        create(directory, &data)?;
    }
    let storage = |error| EngineError::storage(directory, error);
    let closed = fjall::closed_file(&data);
    let noted = journal::closing::read(&closed).map_err(storage)?;
    journal::mend(&data, noted).map_err(storage)?;
    if journal::closing::forget(&closed).map_err(storage)? {
        sync_directory(directory).map_err(|error| EngineError::io(directory, error))?;
    }
    let (views, commits) = fjall::open(&data, Some(lock), durability, room).map_err(storage)?;
    check_format(directory, &views)?;
    Ok((views, commits))
}

/// Whether there is a storage in a directory.
pub(crate) fn is_store(directory: &Path) -> bool {
    directory.join("data").is_dir()
}

fn prepare(directory: &Path) -> io::Result<File> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    // Users who cannot enter the directory cannot read its files.
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)?;
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(directory.join("lock"))
}

/// Takes the lock, unless another holds it. A process that was killed holds it until the
/// operating system has cleared it away, and its successor may well be quicker than that.
fn acquire(lock: &File) -> io::Result<bool> {
    for attempt in 0..LOCK_ATTEMPTS {
        if attempt > 0 {
            thread::sleep(LOCK_PAUSE);
        }
        match lock.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(false)
}

// INVARIANT: `data` is missing or complete. It gets its name when its format is on disk, so a
// crash at any moment of its creation leaves nothing but a `data.new` to begin again with.
fn create(directory: &Path, data: &Path) -> Result<(), EngineError> {
    let io = |error| EngineError::io(directory, error);
    let new = directory.join("data.new");
    if new.try_exists().map_err(io)? {
        fs::remove_dir_all(&new).map_err(io)?;
    }
    let write_format = || {
        let (views, mut commits) = fjall::open(&new, None, Durability::Sync, StorageRoom::SMALL)?;
        let format = FORMAT.to_be_bytes().to_vec();
        commits.commit(vec![Edit::Put(keys::FORMAT.to_vec(), format)])?;
        drop((views, commits));
        journal::trim(&new)
    };
    write_format().map_err(|error| EngineError::storage(directory, error))?;
    fs::rename(&new, data).map_err(io)?;
    sync_directory(directory).map_err(io)?;
    match directory.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_directory(parent).map_err(io),
        _ => Ok(()),
    }
}

/// A new name is on disk when its directory is.
fn sync_directory(directory: &Path) -> io::Result<()> {
    // Windows has no such operation and needs none.
    if cfg!(windows) {
        return Ok(());
    }
    File::open(directory)?.sync_all()
}

fn check_format(directory: &Path, views: &impl Views) -> Result<(), EngineError> {
    let stored = views.view().get(keys::FORMAT);
    let stored = stored.map_err(|error| EngineError::storage(directory, error))?;
    let found = stored.and_then(|bytes| Some(u32::from_be_bytes(bytes.as_ref().try_into().ok()?)));
    match found {
        Some(found) if found > FORMAT => Err(EngineError::NewerFormat {
            directory: directory.to_owned(),
            found,
            known: FORMAT,
        }),
        Some(found) if found < FORMAT => Err(EngineError::OlderFormat {
            directory: directory.to_owned(),
            found,
            known: FORMAT,
        }),
        Some(_) => Ok(()),
        None => Err(EngineError::damaged(
            directory,
            "it does not tell its format",
        )),
    }
}

#[cfg(test)]
mod tests;
