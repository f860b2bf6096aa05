//! How a store is opened.

use std::fmt;
use std::sync::Arc;

use partita_store::Clock;

/// The memory for caches by default.
const CACHE_BYTES: u64 = 256 * 1_048_576;

/// Open files by default: most systems let a process open a thousand, and connections need some of
/// them.
const FILES: usize = 900;

/// How a store is opened.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// Decides when items expire, and how long client request tokens and stream records are kept.
    pub clock: Arc<dyn Clock>,
    /// When a write is answered.
    pub durability: Durability,
    /// About how much of what was read lately is kept in memory. It is taken as it fills.
    pub cache_bytes: u64,
    /// How many files of its tables the store keeps open, 10 at least.
    pub files: usize,
    /// When the store does what it does by itself.
    pub upkeep: Upkeep,
    /// Whether somebody knows that the clock is right, though it may be more than a day ahead of
    /// the last commit. Without that, what has expired by such a clock is kept for a day.
    pub trusts_clock: bool,
    /// Whether the journals of commits are kept for one who reads them later, also after the store
    /// was opened again. Unless given, it is as before.
    pub keeps_commits: Option<bool>,
}

impl Options {
    /// The defaults.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Options {
            clock,
            durability: Durability::default(),
            cache_bytes: CACHE_BYTES,
            files: FILES,
            upkeep: Upkeep::default(),
            trusts_clock: false,
            keeps_commits: None,
        }
    }

    /// The same, but for when a write is answered.
    pub fn durability(self, durability: Durability) -> Self {
        Options { durability, ..self }
    }

    /// The same, but for how much is kept in memory.
    pub fn cache_bytes(self, cache_bytes: u64) -> Self {
        Options {
            cache_bytes,
            ..self
        }
    }

    /// The same, but for how many files are kept open.
    pub fn files(self, files: usize) -> Self {
        Options { files, ..self }
    }

    pub(crate) fn room(&self) -> StorageRoom {
        StorageRoom {
            cache_bytes: self.cache_bytes,
            files: self.files,
        }
    }

    /// The same, but for when the store does what it does by itself.
    pub fn upkeep(self, upkeep: Upkeep) -> Self {
        Options { upkeep, ..self }
    }

    /// The same, but for whether the journals of commits are kept.
    pub fn keeps_commits(self, is_kept: bool) -> Self {
        Options {
            keeps_commits: Some(is_kept),
            ..self
        }
    }

    /// The same, but for whether somebody knows that the clock is right.
    pub fn trusts_clock(self, trusts_clock: bool) -> Self {
        Options {
            trusts_clock,
            ..self
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut options = f.debug_struct("Options");
        options.field("durability", &self.durability);
        options.field("cache_bytes", &self.cache_bytes);
        options.field("files", &self.files);
        options.field("upkeep", &self.upkeep);
        options.field("trusts_clock", &self.trusts_clock);
        options.field("keeps_commits", &self.keeps_commits);
        options.finish_non_exhaustive()
    }
}

/// What the storage may take of the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StorageRoom {
    pub(crate) cache_bytes: u64,
    pub(crate) files: usize,
}

impl StorageRoom {
    /// What is enough to look or to write once.
    pub(crate) const SMALL: StorageRoom = StorageRoom {
        cache_bytes: 0,
        files: 100,
    };
}

/// When a write is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When it is on disk.
    #[default]
    Sync,
    /// When the operating system has it, which puts it on disk within a tenth of a second or so.
    ///
    /// What was answered survives the end of the process, however it ends. A loss of power or a
    /// crash of the operating system may take the last moments with it: the writes since some
    /// point in time, all of them, so that what is left is a state that the store once had.
    Buffered,
}

/// When the store does what it does by itself: sweep expired items, build indexes, remove old
/// records of streams, clear away what was deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Upkeep {
    /// All the time, a little at a time.
    #[default]
    Background,
    /// Only when [`EngineStore::upkeep`](crate::EngineStore::upkeep) is called, so that a test
    /// decides when.
    OnRequest,
}
