//! A store's directory: who may open it, and how it comes to be.
//!
//! ```text
//! lock       locked as long as the store is open
//! closed     where the storage's journal ends; only there while the store is closed
//! data/      the storage
//! data.new/  a storage that is being created; left behind only by a crash
//! kept/      journals that somebody has yet to read; see `storage::journal::kept`
//! ```

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::error::EngineError;
use crate::keys;
use crate::options::{Durability, StorageRoom};
use crate::storage::fjall::{self, FjallCommits, FjallViews};
use crate::storage::journal::kept::Keeper;
use crate::storage::{Commits, Edit, Views, journal};

/// The format of what is stored; it grows when an older release could no longer read it, or would
/// break what it promises.
pub(crate) const FORMAT: u32 = 5;

/// The oldest format that is read. Its commits have no numbers, and a release that writes it would
/// leave them out, so a store that is opened has the current one from then on.
const FORMAT_OLDEST: u32 = 4;

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
    // Before the storage, which may remove journals when it opens.
    let keeper = Arc::new(Keeper::new(&data));
    let (views, mut commits) = fjall::open(&data, Some(lock), durability, room).map_err(storage)?;
    if check_format(directory, &views)? < FORMAT {
        let raised = commits.commit(vec![format()], NO_TIME);
        raised.and_then(|()| commits.sync()).map_err(storage)?;
    }
    commits.keep_journals(keeper);
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
    let new = clear_new(directory).map_err(io)?;
    let write_format = || {
        let (views, mut commits) = fjall::open(&new, None, Durability::Sync, StorageRoom::SMALL)?;
        commits.commit(vec![format()], NO_TIME)?;
        drop((views, commits));
        journal::trim(&new)
    };
    write_format().map_err(|error| EngineError::storage(directory, error))?;
    place_new(directory, &new, data).map_err(io)
}

/// Where a storage is created. What a crash has left there is removed.
fn clear_new(directory: &Path) -> io::Result<PathBuf> {
    let new = directory.join("data.new");
    if new.try_exists()? {
        fs::remove_dir_all(&new)?;
    }
    Ok(new)
}

/// Gives a storage that is on disk its name.
fn place_new(directory: &Path, new: &Path, data: &Path) -> io::Result<()> {
    fs::rename(new, data)?;
    sync_directory(directory)?;
    match directory.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_directory(parent),
        _ => Ok(()),
    }
}

/// Where the storage of a directory that has none is put together.
pub(crate) fn begin(directory: &Path) -> Result<PathBuf, EngineError> {
    let io = |error| EngineError::io(directory, error);
    prepare(directory).map_err(io)?;
    if is_store(directory) {
        let there = io::Error::new(io::ErrorKind::AlreadyExists, "there is a store in it");
        return Err(io(there));
    }
    clear_new(directory).map_err(io)
}

/// Gives the storage that was put together its name.
pub(crate) fn complete(directory: &Path) -> Result<(), EngineError> {
    let (new, data) = (directory.join("data.new"), directory.join("data"));
    place_new(directory, &new, &data).map_err(|error| EngineError::io(directory, error))
}

/// A new name is on disk when its directory is.
fn sync_directory(directory: &Path) -> io::Result<()> {
    // Windows has no such operation and needs none.
    if cfg!(windows) {
        return Ok(());
    }
    File::open(directory)?.sync_all()
}

/// A commit that tells no time has that of the one before it.
const NO_TIME: i64 = 0;

fn format() -> Edit {
    Edit::Put(keys::FORMAT.to_vec(), FORMAT.to_be_bytes().to_vec())
}

/// The format of a store, if this release reads it.
fn check_format(directory: &Path, views: &impl Views) -> Result<u32, EngineError> {
    let stored = views.view().get(keys::FORMAT);
    let stored = stored.map_err(|error| EngineError::storage(directory, error))?;
    let found = stored.and_then(|bytes| Some(u32::from_be_bytes(bytes.as_ref().try_into().ok()?)));
    match found {
        Some(found) if found > FORMAT => Err(EngineError::NewerFormat {
            directory: directory.to_owned(),
            found,
            known: FORMAT,
        }),
        Some(found) if found < FORMAT_OLDEST => Err(EngineError::OlderFormat {
            directory: directory.to_owned(),
            found,
            known: FORMAT_OLDEST,
        }),
        Some(found) => Ok(found),
        None => Err(EngineError::damaged(
            directory,
            "it does not tell its format",
        )),
    }
}

#[cfg(test)]
mod tests;
