//! A storage in memory that loses what was not synced when the power goes: for tests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use super::{
    Bounds, Bytes, Commits, Direction, Edit, Entries, StorageError, StoredKey, View, Views,
};
use crate::options::Durability;

type VolatileRows = Arc<BTreeMap<Vec<u8>, Vec<u8>>>;

/// What is on the disk, and what is on its way there.
#[derive(Clone, Default)]
pub(crate) struct Disk(Arc<Mutex<VolatileState>>);

#[derive(Default)]
struct VolatileState {
    /// After the last sync, and after each commit since.
    states: Vec<VolatileRows>,
    /// Since the power went.
    is_off: bool,
}

impl Disk {
    fn state(&self) -> MutexGuard<'_, VolatileState> {
        self.0.lock().unwrap()
    }

    /// The storage on it.
    pub(crate) fn open(&self, durability: Durability) -> (Arc<dyn Views>, Box<dyn Commits>) {
        self.state().is_off = false;
        let commits = VolatileCommits {
            disk: self.clone(),
            durability,
        };
        (Arc::new(self.clone()), Box::new(commits))
    }

    /// The power goes. Of the commits since the last sync, some may be there all the same.
    pub(crate) fn lose_power(&self, random: &mut fastrand::Rng) {
        let mut state = self.state();
        let kept = random.usize(..state.states.len().max(1));
        state.states.truncate(kept + 1);
        state.states = state.states.pop().into_iter().collect();
        state.is_off = true;
    }
}

impl Views for Disk {
    fn view(&self) -> Box<dyn View> {
        Box::new(self.state().states.last().cloned().unwrap_or_default())
    }
}

impl View for VolatileRows {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StorageError> {
        Ok(BTreeMap::get(self, key).map(|value| Bytes::copy_from_slice(value)))
    }

    fn range(&self, bounds: Bounds, direction: Direction) -> Entries {
        let entries = BTreeMap::range(self, bounds);
        let mut entries: Vec<_> = entries
            .map(|(key, value)| Ok((StoredKey::from(&**key), Bytes::copy_from_slice(value))))
            .collect();
        if direction == Direction::Descending {
            entries.reverse();
        }
        Box::new(entries.into_iter())
    }
}

struct VolatileCommits {
    disk: Disk,
    durability: Durability,
}

impl Commits for VolatileCommits {
    fn commit(&mut self, edits: Vec<Edit>, _: i64) -> Result<(), StorageError> {
        let mut state = self.disk.state();
        if state.is_off {
            return Err(StorageError::Failed("there is no power".into()));
        }
        let mut content = state.states.last().cloned().unwrap_or_default();
        let map = Arc::make_mut(&mut content);
        for edit in edits {
            match edit {
                Edit::Put(key, value) => map.insert(key, value),
                Edit::Remove(key) => map.remove(&key),
            };
        }
        if state.states.is_empty() {
            state.states.push(VolatileRows::default());
        }
        state.states.push(content);
        drop(state);
        match self.durability {
            Durability::Sync => self.sync(),
            Durability::Buffered => Ok(()),
        }
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        let mut state = self.disk.state();
        if state.is_off {
            return Err(StorageError::Failed("there is no power".into()));
        }
        state.states = state.states.pop().into_iter().collect();
        Ok(())
    }
}
