//! Journals that are kept for whoever reads the commits in them.
//!
//! fjall removes a journal as soon as its tables have what is in it. A second name in the directory
//! `kept` lets the bytes stay until they are read, and costs a write nothing. A journal is linked
//! when the store is opened, before fjall sees it, and then whenever as much was committed as
//! a fraction of a journal holds; so none can come and go unseen.
//!
//! ```text
//! kept/N.jnl   another name of data/N.jnl, or the only one
//! ```
//!
//! What is kept is bounded. Beyond that the oldest goes, and its readers are told of a hole.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::journals;

/// Journals that are kept at most, of 64 MB each.
const KEPT_MAX: usize = 16;

/// Bytes of commits after which new journals are looked for. A journal is given up when a memtable
/// of 64 MB that began in it or later is full.
const LINK_EVERY_BYTES: u64 = 8 * 1_048_576;

/// Keeps the journals of a storage.
#[derive(Debug)]
pub(crate) struct Keeper {
    data: PathBuf,
    kept: PathBuf,
    /// Whether anything is to be kept, for the committer to ask without a lock.
    is_on: AtomicBool,
    unlinked_bytes: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether journals are kept while there is no reader: one is expected.
    is_lasting: bool,
    /// The journals from which on each reader needs them.
    readers: BTreeMap<u64, u64>,
    last_reader: u64,
    /// Why journals could not be kept, the last time that it was tried.
    failure: Option<String>,
}

impl State {
    /// Whether journals are kept.
    fn is_on(&self) -> bool {
        self.is_lasting || !self.readers.is_empty()
    }
}

impl Keeper {
    /// Keeps the journals in `data`, if those who had the store open before did.
    pub(crate) fn new(data: &Path) -> Keeper {
        let kept = data.with_file_name("kept");
        let is_lasting = kept.is_dir();
        let keeper = Keeper {
            data: data.to_owned(),
            kept,
            is_on: AtomicBool::new(is_lasting),
            unlinked_bytes: AtomicU64::new(0),
            state: Mutex::new(State {
                is_lasting,
                ..State::default()
            }),
        };
        if is_lasting {
            keeper.link(&mut keeper.state());
        }
        keeper
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says whether journals are kept while nobody reads them.
    pub(crate) fn set_lasting(&self, is_lasting: bool) {
        let mut state = self.state();
        state.is_lasting = is_lasting;
        self.settle(state);
    }

    /// Begins to keep all journals there are for a reader.
    pub(crate) fn add_reader(&self) -> u64 {
        let mut state = self.state();
        state.last_reader += 1;
        let reader = state.last_reader;
        state.readers.insert(reader, 0);
        self.settle(state);
        reader
    }

    /// A reader needs no journal before this one any more.
    pub(crate) fn release(&self, reader: u64, journal: u64) {
        let mut state = self.state();
        state.readers.insert(reader, journal);
        if let Some(first) = state.readers.values().min() {
            self.remove_before(*first);
        }
    }

    /// A reader needs none any more.
    pub(crate) fn remove_reader(&self, reader: u64) {
        let mut state = self.state();
        state.readers.remove(&reader);
        self.settle(state);
    }

    /// Looks for new journals now and then; called after each commit.
    pub(crate) fn committed(&self, bytes: usize) {
        if !self.is_on.load(Ordering::Relaxed) {
            return;
        }
        let bytes = self
            .unlinked_bytes
            .fetch_add(bytes as u64, Ordering::Relaxed)
            + bytes as u64;
        if bytes >= LINK_EVERY_BYTES {
            let mut state = self.state();
            if state.is_on() {
                self.link(&mut state);
            }
        }
    }

    /// The journals that are kept, by number. Those that are new are among them.
    pub(crate) fn journals(&self) -> Result<Vec<(u64, PathBuf)>, String> {
        let mut state = self.state();
        self.link(&mut state);
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        journals(&self.kept).map_err(|error| error.to_string())
    }

    /// Links what is needed, or removes all.
    ///
    /// INVARIANT: it is done under the lock under which it was decided, so whoever begins to read
    /// meanwhile has his links afterwards.
    fn settle(&self, mut state: MutexGuard<'_, State>) {
        let is_on = state.is_on();
        self.is_on.store(is_on, Ordering::Relaxed);
        if is_on {
            self.link(&mut state);
        } else if let Err(error) = fs::remove_dir_all(&self.kept)
            && error.kind() != ErrorKind::NotFound
        {
            tracing::warn!("{} cannot be removed: {error}", self.kept.display());
        }
    }

    fn link(&self, state: &mut State) {
        self.unlinked_bytes.store(0, Ordering::Relaxed);
        let linked = self.try_link();
        let failure = linked.err().map(|error| {
            let (kept, data) = (self.kept.display(), self.data.display());
            format!("journals of {data} cannot be linked in {kept}: {error}")
        });
        if failure.is_some() && state.failure.is_none() {
            tracing::warn!("{}", failure.as_deref().unwrap_or_default());
        }
        state.failure = failure;
    }

    fn try_link(&self) -> io::Result<()> {
        fs::create_dir_all(&self.kept)?;
        for (number, path) in journals(&self.data)? {
            let kept = self.path(number);
            if is_other_file(&path, &kept) {
                fs::remove_file(&kept)?;
            }
            match fs::hard_link(&path, kept) {
                // It is kept already, or fjall has just removed it, and then it was.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                linked => linked?,
            }
        }
        let kept = journals(&self.kept)?;
        let surplus = kept.len().saturating_sub(KEPT_MAX);
        for (_, path) in &kept[..surplus] {
            fs::remove_file(path)?;
        }
        Ok(())
    }

    fn remove_before(&self, first: u64) {
        let kept = journals(&self.kept).unwrap_or_default();
        for (number, path) in kept {
            if number < first && fs::remove_file(&path).is_err() {
                tracing::warn!("{} cannot be removed", path.display());
            }
        }
    }

    fn path(&self, number: u64) -> PathBuf {
        self.kept.join(format!("{number}.jnl"))
    }
}

/// Whether a journal that is kept is no name of the one that is written: whoever copied the directory
/// did not copy its links, so that nothing is added to what is kept.
#[cfg(unix)]
fn is_other_file(journal: &Path, kept: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let file = |path: &Path| {
        let metadata = fs::symlink_metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    match (file(journal), file(kept)) {
        (Some(journal), Some(kept)) => journal != kept,
        _ => false,
    }
}

/// Elsewhere the standard library does not tell files apart.
#[cfg(not(unix))]
fn is_other_file(_: &Path, _: &Path) -> bool {
    false
}
