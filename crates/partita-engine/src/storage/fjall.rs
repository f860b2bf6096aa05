//! The storage on fjall, a log-structured merge tree.
//!
//! What of fjall's behaviour the engine builds on, read in the source of 3.1:
//! - A batch is written to the journal, synced if asked, applied to the memtable and then made
//!   visible, in this order. A batch whose sync failed is never applied, and every later write
//!   is refused.
//! - Every block read from a table file is held against its 128-bit checksum, and every batch
//!   replayed from a journal against its 64-bit one. The engine adds none of its own.
//! - A reopened journal ends at its last whole batch; see `journal` for what is wrong with that.

use std::fs::File;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use ::fjall::config::{BlockSizePolicy, CompressionPolicy, PinningPolicy};
use ::fjall::{
    CompressionType, Database, Keyspace, KeyspaceCreateOptions, LsmError, OwnedWriteBatch,
    PersistMode, Readable, Snapshot,
};

use super::cache::Cache;
use super::journal::kept::Keeper;
use super::journal::{self, Mark};
use super::{
    Bounds, Bytes, CommitId, Commits, Direction, Edit, Entries, StorageError, StoredKey, View,
    Views, contents,
};
use crate::keys;
use crate::meters;
use crate::options::{Durability, StorageRoom};

/// All keys live in one keyspace. A keyspace that is seldom written keeps its part of every
/// journal unflushed, and so keeps the journals, and a long replay when the store is reopened.
const KEYSPACE: &str = "partita";

/// The smallest cap fjall takes. A journal is given up once it is flushed, so at most about
/// two of 64 MB are replayed when the store is reopened.
const JOURNALS_BYTES_MAX: u64 = 64 * 1_048_576;

/// As much as one journal holds: a smaller memtable is flushed more often without letting go
/// of a journal any sooner.
const MEMTABLE_BYTES_MAX: u64 = 64 * 1_048_576;

/// Four items of 1 KB. Blocks of 8 and 16 KB read as fast from the cache and pack hardly better
/// (51 and 49 MB where these take 54), and fill the cache with neighbours of what was asked for.
const BLOCK_BYTES: u32 = 4_096;

/// The part of the memory that is for blocks, as the storage reads them: for scans, index builds
/// and reads at one moment. The rest is for what answers by itself, items and runs of rows.
const BLOCKS_SHARE: u64 = 4;

/// Larger caches of blocks do not pay: a compaction writes all blocks anew, and those that it has
/// replaced stay in the cache without being read again.
const BLOCKS_BYTES_MAX: u64 = 64 * 1_048_576;

/// Files that fjall keeps open at least.
const FILES_MIN: usize = 10;

/// Opens the storage in the directory, or creates it there. What was read lately is kept in
/// memory up to about so many bytes, and only what is read takes memory.
pub(crate) fn open(
    directory: &Path,
    lock: Option<File>,
    durability: Durability,
    room: StorageRoom,
) -> Result<(FjallViews, FjallCommits), StorageError> {
    let blocks_bytes = (room.cache_bytes / BLOCKS_SHARE).min(BLOCKS_BYTES_MAX);
    let known_bytes = room.cache_bytes - blocks_bytes;
    contents::check(directory)?;
    let (database, keyspace) = read_files(|| {
        let database = Database::builder(directory)
            .cache_size(blocks_bytes)
            .max_cached_files(Some(room.files.max(FILES_MIN)))
            .max_journaling_size(JOURNALS_BYTES_MAX)
            // Replay compresses again to verify a checksum, so another release of the compressor
            // could make a good journal look damaged.
            .journal_compression(CompressionType::None)
            .open()?;
        let keyspace = database.keyspace(KEYSPACE, options)?;
        Ok((database, keyspace))
    })?;
    let stored = keyspace.get(keys::MARK)?;
    let last = stored.and_then(|bytes| Mark::read(&bytes));
    let last = last.unwrap_or_default();
    let shared = Arc::new(Shared {
        database,
        keyspace,
        durable: Mutex::new(last.id),
        pinned: RwLock::new(None),
        cache: (known_bytes > 0).then(|| Cache::new(known_bytes)),
        _lock: lock,
    });
    let commits = FjallCommits {
        last: begin(&shared, last, durability)?,
        durability,
        directory: directory.to_owned(),
        keeper: None,
        shared: shared.clone(),
    };
    Ok((FjallViews(shared), commits))
}

/// Lets fjall read its own files. It asserts some of the contents of a manifest, so that a damaged
/// byte there panics.
fn read_files<T>(read: impl FnOnce() -> Result<T, fjall::Error>) -> Result<T, StorageError> {
    match panic::catch_unwind(AssertUnwindSafe(read)) {
        Ok(opened) => Ok(opened?),
        Err(_) => {
            let cause = "the files that say how the rest is stored cannot be read";
            Err(StorageError::Damaged(cause.into()))
        }
    }
}

/// Where it is noted down that the storage of a directory was closed: beside that, not in it.
pub(crate) fn closed_file(directory: &Path) -> PathBuf {
    directory.with_file_name("closed")
}

/// Begins a time in which commits are not synced each with one that is.
fn begin(shared: &Shared, last: Mark, durability: Durability) -> Result<Mark, StorageError> {
    if durability == Durability::Sync {
        return Ok(last);
    }
    let mut first = last.next(&[], last.id.time_millis);
    first.synced = first.id.number;
    shared.write(Some(first), Vec::new(), PersistMode::SyncData)?;
    shared.set_durable(first.id);
    Ok(first)
}

// fjall stores these when it creates the keyspace; a later change meets new stores only.
fn options() -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default()
        .max_memtable_size(MEMTABLE_BYTES_MAX)
        .data_block_size_policy(BlockSizePolicy::all(BLOCK_BYTES))
        // DynamoDB JSON shrinks to less than half (121 to 54 MB), for 2 µs more when a block
        // is not in the cache. By default the first levels are not compressed.
        .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
        // `attribute_not_exists` asks for keys that are not there: filters on every level, and
        // in memory, answer that without the disk. In the deep levels, which are partitioned,
        // only the top of a filter or index is pinned, so memory does not grow with the data.
        .expect_point_read_hits(false)
        .filter_block_pinning_policy(PinningPolicy::all(true))
        .index_block_pinning_policy(PinningPolicy::all(true))
}

/// The reading half.
pub(crate) struct FjallViews(Arc<Shared>);

/// The writing half.
pub(crate) struct FjallCommits {
    shared: Arc<Shared>,
    directory: PathBuf,
    durability: Durability,
    /// Keeps journals for those who read commits.
    keeper: Option<Arc<Keeper>>,
    /// The last commit, and the last that is known to be on disk.
    last: Mark,
}

struct Shared {
    database: Database,
    keyspace: Keyspace,
    /// While a commit is under way, and for good after one has failed: the state before it.
    pinned: RwLock<Option<Snapshot>>,
    cache: Option<Cache>,
    /// The last commit that is on disk.
    durable: Mutex<CommitId>,
    /// Held until everything above is closed.
    _lock: Option<File>,
}

impl Shared {
    // INVARIANT: no fresh snapshot is taken while a commit is under way. fjall makes a batch
    // visible by raising one sequence number, and a flush or compaction that ends at the wrong
    // moment raises it too, past the number that a batch under way has already taken. A
    // snapshot taken then would see that batch arrive in the memtable, item by item.
    fn snapshot(&self) -> Snapshot {
        let pinned = self.pinned.read().unwrap_or_else(PoisonError::into_inner);
        match &*pinned {
            Some(snapshot) => snapshot.clone(),
            None => self.database.snapshot(),
        }
    }

    fn set_durable(&self, id: CommitId) {
        *self.durable.lock().unwrap_or_else(PoisonError::into_inner) = id;
    }

    fn pin(&self) {
        let mut pinned = self.pinned.write().unwrap_or_else(PoisonError::into_inner);
        // After a failed commit the pin stays where it is.
        pinned.get_or_insert_with(|| self.database.snapshot());
    }

    /// Makes a commit visible, and what it has changed forgotten.
    fn unpin(&self, changed: &[StoredKey]) {
        let mut pinned = self.pinned.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(cache) = &self.cache {
            for key in changed {
                cache.forget(key);
                if let Some(partition) = keys::partition(key) {
                    cache.forget_run(partition);
                }
            }
        }
        *pinned = None;
    }

    /// Writes one batch. The mark is its first entry, where `journal` looks for it.
    fn write(
        &self,
        mark: Option<Mark>,
        edits: Vec<Edit>,
        mode: PersistMode,
    ) -> Result<(), StorageError> {
        let mut batch = OwnedWriteBatch::with_capacity(self.database.clone(), edits.len() + 1)
            .durability(Some(mode));
        if let Some(mark) = mark {
            batch.insert(&self.keyspace, keys::MARK, mark.bytes());
        }
        let mut changed = Vec::with_capacity(edits.len());
        for edit in edits {
            let (Edit::Put(key, _) | Edit::Remove(key)) = &edit;
            let key = StoredKey::from(key.as_slice());
            changed.push(key.clone());
            match edit {
                Edit::Put(_, value) => batch.insert(&self.keyspace, key, value),
                Edit::Remove(_) => batch.remove(&self.keyspace, key),
            }
        }
        self.pin();
        batch.commit()?;
        self.unpin(&changed);
        Ok(())
    }
}

impl Views for FjallViews {
    fn view(&self) -> Box<dyn View> {
        Box::new(FjallView {
            snapshot: self.0.snapshot(),
            keyspace: self.0.keyspace.clone(),
        })
    }

    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StorageError> {
        let read = || {
            let value = self.0.snapshot().get(&self.0.keyspace, key)?;
            Ok(value.map(Bytes::from_owner))
        };
        match &self.0.cache {
            Some(cache) => cache.get(key, read),
            None => read(),
        }
    }

    fn durable(&self) -> CommitId {
        *self
            .0
            .durable
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn cache(&self) -> Option<&Cache> {
        self.0.cache.as_ref()
    }
}

impl FjallCommits {
    /// Has journals kept from now on, while somebody needs them.
    pub(crate) fn keep_journals(&mut self, keeper: Arc<Keeper>) {
        self.keeper = Some(keeper);
    }

    /// What keeps journals.
    pub(crate) fn keeper(&self) -> Option<Arc<Keeper>> {
        self.keeper.clone()
    }

    /// Writes into a storage that is being put together, which nobody opens unless it is finished.
    pub(crate) fn fill(&mut self, edits: Vec<Edit>) -> Result<(), StorageError> {
        if edits.is_empty() {
            return Ok(());
        }
        self.shared.write(None, edits, PersistMode::Buffer)
    }

    /// Puts on disk what was filled in, as the state after a commit.
    pub(crate) fn finish(&mut self, last: CommitId) -> Result<(), StorageError> {
        let mark = Mark {
            id: last,
            synced: last.number,
        };
        self.shared
            .write(Some(mark), Vec::new(), PersistMode::SyncAll)
    }
}

impl Commits for FjallCommits {
    fn commit(&mut self, edits: Vec<Edit>, now_millis: i64) -> Result<(), StorageError> {
        let mark = self.last.next(&edits, now_millis);
        let bytes = meters::bytes(&edits);
        self.last = match self.durability {
            // `SyncData` is fdatasync, which also writes the file's length and extents, whatever
            // is needed to read the data back. `SyncAll` would add the time of the last change.
            Durability::Sync => {
                let mark = mark.synced_before();
                self.shared
                    .write(Some(mark), edits, PersistMode::SyncData)?;
                self.shared.set_durable(mark.id);
                mark
            }
            Durability::Buffered => {
                self.shared.write(Some(mark), edits, PersistMode::Buffer)?;
                mark
            }
        };
        if let Some(keeper) = &self.keeper {
            keeper.committed(bytes);
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        if self.durability == Durability::Buffered {
            self.shared.database.persist(PersistMode::SyncData)?;
            self.last.synced = self.last.id.number;
            self.shared.set_durable(self.last.id);
        }
        Ok(())
    }

    #[cfg(unix)]
    fn free_bytes(&self) -> Option<u64> {
        let disk = rustix::fs::statvfs(&self.directory).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    fn close(&mut self) -> Result<(), StorageError> {
        journal::closing::note(&self.directory, &closed_file(&self.directory))
    }
}

struct FjallView {
    snapshot: Snapshot,
    keyspace: Keyspace,
}

impl View for FjallView {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StorageError> {
        let value = self.snapshot.get(&self.keyspace, key)?;
        Ok(value.map(Bytes::from_owner))
    }

    fn range(&self, bounds: Bounds, direction: Direction) -> Entries {
        let entries = self.snapshot.range(&self.keyspace, bounds);
        match direction {
            Direction::Ascending => Box::new(entries.map(entry)),
            Direction::Descending => Box::new(entries.rev().map(entry)),
        }
    }
}

fn entry(guard: ::fjall::Guard) -> Result<(StoredKey, Bytes), StorageError> {
    let (key, value) = guard.into_inner()?;
    Ok((key, Bytes::from_owner(value)))
}

impl From<::fjall::Error> for StorageError {
    fn from(error: ::fjall::Error) -> Self {
        use ::fjall::Error;
        let is_damage = match &error {
            Error::Io(error) | Error::Storage(LsmError::Io(error)) => {
                // A file that ends too early was cut.
                error.kind() == io::ErrorKind::UnexpectedEof
            }
            Error::Poisoned | Error::Locked | Error::KeyspaceDeleted => false,
            _ => true,
        };
        if is_damage {
            StorageError::Damaged(error.into())
        } else {
            StorageError::Failed(error.into())
        }
    }
}

#[cfg(test)]
impl FjallCommits {
    /// Moves everything from the memtable to table files, where a test can damage it.
    pub(crate) fn flush(&self) {
        self.shared
            .keyspace
            .rotate_memtable_and_wait()
            .expect("a healthy storage flushes");
    }
}

#[cfg(test)]
mod tests;
