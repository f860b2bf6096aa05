//! What was read lately, up to a number of bytes: values by their keys, and runs of rows by
//! their partitions. They share the bytes, so that the memory is where the reads are.
//!
//! It is beside views and not under them: the cache has what is stored now, and a view is
//! of one moment. So only who asks for one key, or for one partition, at no moment in particular
//! is answered from it.
//!
//! INVARIANT: a value is here only if every view that is taken now has it. Two rules see to it:
//! - A commit makes its keys be forgotten in the same critical section in which it becomes
//!   visible, so after a reader has seen the new value, none finds the old one here.
//! - Who reads announces the key before the view is taken. Forgetting a key forgets such
//!   announcements too, and a value without one is not kept: it may be from before the commit.

use std::sync::Arc;
use std::time::Duration;

use quick_cache::DefaultHashBuilder;
use quick_cache::Weighter;
use quick_cache::sync::{Cache as Weighted, DefaultLifecycle, GuardResult, PlaceholderGuard};

use super::run::Run;
use super::{Bytes, StorageError};

/// What a value costs besides its key and its bytes, about.
const ENTRY_BYTES: usize = 160;

/// For a guess at how many values there will be.
const VALUE_BYTES: u64 = 1_024;

/// What is kept, by the key of the value or [`by_partition`].
pub(crate) struct Cache(Weighted<Vec<u8>, CachedRead, Weight>);

/// One thing that was read.
#[derive(Clone)]
pub(crate) enum CachedRead {
    Value(Bytes),
    Run(Arc<Run>),
}

#[derive(Clone)]
struct Weight;

impl Weighter<Vec<u8>, CachedRead> for Weight {
    fn weight(&self, key: &Vec<u8>, kept: &CachedRead) -> u64 {
        let bytes = match kept {
            CachedRead::Value(value) => value.len(),
            CachedRead::Run(run) => run.bytes(),
        };
        (ENTRY_BYTES + key.len() + bytes) as u64
    }
}

/// What is known of a key.
pub(crate) enum CacheLookup<'a, T> {
    This(T),
    /// Nothing is cached. What is read can be announced.
    Nothing(Announced<'a>),
    /// Nothing, and somebody else reads it now.
    Awaited,
}

/// Somebody is about to read a key.
pub(crate) struct Announced<'a>(
    PlaceholderGuard<
        'a,
        Vec<u8>,
        CachedRead,
        Weight,
        DefaultHashBuilder,
        DefaultLifecycle<Vec<u8>, CachedRead>,
    >,
);

impl Announced<'_> {
    /// Keeps what was read, unless the key was forgotten meanwhile.
    pub(crate) fn keep(self, kept: CachedRead) {
        let _ = self.0.insert(kept);
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
        match self.find(key) {
            CacheLookup::This(CachedRead::Value(value)) => Ok(Some(value)),
            CacheLookup::This(CachedRead::Run(_)) | CacheLookup::Awaited => read(),
            CacheLookup::Nothing(announced) => {
                let value = read()?;
                if let Some(value) = &value {
                    // A copy, because the value is a part of a block that would be kept whole.
                    announced.keep(CachedRead::Value(Bytes::copy_from_slice(value)));
                }
                Ok(value)
            }
        }
    }

    /// The run of a partition, given by the bytes that all keys of it begin with. If nothing is
    /// known, the view that it is read from must be taken after this.
    pub(crate) fn run(&self, partition: &[u8]) -> CacheLookup<'_, Arc<Run>> {
        match self.find(by_partition(partition)) {
            CacheLookup::This(CachedRead::Run(run)) => CacheLookup::This(run),
            CacheLookup::This(CachedRead::Value(_)) | CacheLookup::Awaited => CacheLookup::Awaited,
            CacheLookup::Nothing(announced) => CacheLookup::Nothing(announced),
        }
    }

    fn find(&self, key: &[u8]) -> CacheLookup<'_, CachedRead> {
        // Somebody else who reads the same key is not waited for.
        match self.0.get_value_or_guard(key, Some(Duration::ZERO)) {
            GuardResult::Value(kept) => CacheLookup::This(kept),
            GuardResult::Timeout => CacheLookup::Awaited,
            GuardResult::Guard(guard) => CacheLookup::Nothing(Announced(guard)),
        }
    }

    /// Forgets a key, and the reads that have announced it.
    pub(crate) fn forget(&self, key: &[u8]) {
        self.0.remove(key);
    }

    /// Forgets the run of a partition, and the reads that have announced it.
    pub(crate) fn forget_run(&self, partition: &[u8]) {
        self.0.remove(by_partition(partition));
    }
}

/// Where the run of a partition is kept. A partition may be called like the only item in it, so
/// the byte that all keys of rows begin with is left out.
fn by_partition(partition: &[u8]) -> &[u8] {
    partition.get(1..).unwrap_or_default()
}

#[cfg(test)]
mod tests;
