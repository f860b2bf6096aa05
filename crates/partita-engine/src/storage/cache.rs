//! What was read lately, up to a number of bytes.
//!
//! It stands beside views and not under them: what is here is what is stored now, and a view is
//! of one moment. So only who asks for one key, or for one partition, at no moment in particular
//! is answered from it.
//!
//! INVARIANT: a value is here only if every view that is taken now has it. Two rules see to it:
//! - A commit makes its keys be forgotten in the same critical section in which it becomes
//!   visible, so nobody finds the old value here after somebody has seen the new one.
//! - Who reads announces the key before the view is taken. Forgetting a key forgets such
//!   announcements too, and a value without one is not kept: it may be from before the commit.

use std::time::Duration;

use quick_cache::DefaultHashBuilder;
use quick_cache::Weighter;
use quick_cache::sync::{Cache as Weighted, DefaultLifecycle, GuardResult, PlaceholderGuard};

use super::{Bytes, StorageError};

/// What a value costs besides its key and its bytes, about.
const ENTRY_BYTES: usize = 160;

/// For a guess at how many values there will be.
const VALUE_BYTES: u64 = 1_024;

/// A value that knows how much memory it takes.
pub(crate) trait Kept: Clone {
    fn bytes(&self) -> usize;
}

impl Kept for Bytes {
    fn bytes(&self) -> usize {
        self.len()
    }
}

/// The values by their keys.
pub(crate) struct Cache<V: Kept>(Weighted<Vec<u8>, V, Weight>);

#[derive(Clone)]
struct Weight;

impl<V: Kept> Weighter<Vec<u8>, V> for Weight {
    fn weight(&self, key: &Vec<u8>, value: &V) -> u64 {
        (ENTRY_BYTES + key.len() + value.bytes()) as u64
    }
}

/// What is known of a key.
pub(crate) enum Known<'a, V: Kept> {
    Value(V),
    /// Nothing. Who reads it may tell.
    Nothing(Announced<'a, V>),
    /// Nothing, and somebody else reads it now.
    Awaited,
}

/// Somebody is about to read a key.
pub(crate) struct Announced<'a, V: Kept>(
    PlaceholderGuard<'a, Vec<u8>, V, Weight, DefaultHashBuilder, DefaultLifecycle<Vec<u8>, V>>,
);

impl<V: Kept> Announced<'_, V> {
    /// Keeps what was read, unless the key was forgotten meanwhile.
    pub(crate) fn keep(self, value: V) {
        let _ = self.0.insert(value);
    }
}

impl<V: Kept> Cache<V> {
    /// A cache of so many bytes. It takes memory only as it fills.
    pub(crate) fn new(bytes: u64) -> Self {
        let values = usize::try_from(bytes / VALUE_BYTES).unwrap_or(usize::MAX);
        Cache(Weighted::with_weighter(values, bytes, Weight))
    }

    /// What is known of a key. If that is nothing, the view that it is read from must be taken
    /// after this.
    pub(crate) fn find(&self, key: &[u8]) -> Known<'_, V> {
        // Somebody else who reads the same key is not waited for.
        match self.0.get_value_or_guard(key, Some(Duration::ZERO)) {
            GuardResult::Value(value) => Known::Value(value),
            GuardResult::Timeout => Known::Awaited,
            GuardResult::Guard(guard) => Known::Nothing(Announced(guard)),
        }
    }

    /// Forgets a key, and whoever has announced it.
    pub(crate) fn forget(&self, key: &[u8]) {
        self.0.remove(key);
    }
}

impl Cache<Bytes> {
    /// The value of a key. What is not here is read, from a view that must be taken by `read`
    /// itself, and kept.
    pub(crate) fn get(
        &self,
        key: &[u8],
        read: impl FnOnce() -> Result<Option<Bytes>, StorageError>,
    ) -> Result<Option<Bytes>, StorageError> {
        match self.find(key) {
            Known::Value(value) => Ok(Some(value)),
            Known::Awaited => read(),
            Known::Nothing(announced) => {
                let value = read()?;
                if let Some(value) = &value {
                    // A copy, because the value is a part of a block that would be kept whole.
                    announced.keep(Bytes::copy_from_slice(value));
                }
                Ok(value)
            }
        }
    }
}

#[cfg(test)]
mod tests;
