//! Values that were read lately, up to a number of bytes.
//!
//! It stands beside views and not under them: what is here is what is stored now, and a view is
//! of one moment. So only who asks for one key, at no moment in particular, is answered from it.
//!
//! INVARIANT: a value is here only if every view that is taken now has it. Two rules see to it:
//! - A commit makes its keys be forgotten in the same critical section in which it becomes
//!   visible, so nobody finds the old value here after somebody has seen the new one.
//! - Who reads announces the key before the view is taken. Forgetting a key forgets such
//!   announcements too, and a value without one is not kept: it may be from before the commit.

use std::time::Duration;

use quick_cache::Weighter;
use quick_cache::sync::{Cache as Weighted, GuardResult};

use super::{Bytes, StorageError};

/// What a value costs besides its key and its bytes, about.
const ENTRY_BYTES: usize = 160;

/// For a guess at how many values there will be.
const VALUE_BYTES: u64 = 1_024;

/// The values by their keys.
pub(crate) struct Cache(Weighted<Vec<u8>, Bytes, Weight>);

#[derive(Clone)]
struct Weight;

impl Weighter<Vec<u8>, Bytes> for Weight {
    fn weight(&self, key: &Vec<u8>, value: &Bytes) -> u64 {
        (ENTRY_BYTES + key.len() + value.len()) as u64
    }
}

impl Cache {
    /// A cache of so many bytes. It takes memory only as it fills.
    pub(crate) fn new(bytes: u64) -> Self {
        let values = usize::try_from(bytes / VALUE_BYTES).unwrap_or(usize::MAX);
        Cache(Weighted::with_weighter(values, bytes, Weight))
    }

    /// The value of a key. What is not here is read, from a view that must be taken by `read`
    /// itself, and kept.
    pub(crate) fn get(
        &self,
        key: &[u8],
        read: impl FnOnce() -> Result<Option<Bytes>, StorageError>,
    ) -> Result<Option<Bytes>, StorageError> {
        // Somebody else who reads the same key is not waited for.
        match self.0.get_value_or_guard(key, Some(Duration::ZERO)) {
            GuardResult::Value(value) => Ok(Some(value)),
            GuardResult::Timeout => read(),
            GuardResult::Guard(announced) => {
                let value = read()?;
                if let Some(value) = &value {
                    // A copy, because the value is a part of a block that would be kept whole.
                    // It is refused if the key was forgotten meanwhile.
                    let _ = announced.insert(Bytes::new(value));
                }
                Ok(value)
            }
        }
    }

    /// Forgets a key, and whoever has announced it.
    pub(crate) fn forget(&self, key: &[u8]) {
        self.0.remove(key);
    }
}

#[cfg(test)]
mod tests;
