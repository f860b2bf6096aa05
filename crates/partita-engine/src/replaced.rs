//! Which items are no longer those that a moment shows, because they were removed or replaced since.
//!
//! It is in memory only: a moment does not outlive its process.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use partita_store::Moment;

/// Groups of keys. Those of one group are not told apart, so that the memory is bounded: with 10,000
/// removals since a moment, one item of seven is taken for another that is still the same.
const GROUPS: usize = 1 << 16;

/// How many commits readers can see.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommitCount(Arc<AtomicU64>);

impl CommitCount {
    /// The moment of now. INVARIANT: it is taken before the view that it names, so that the view has
    /// all commits up to it. Those behind it count as later, also where the view has them.
    pub(crate) fn now(&self) -> Moment {
        Moment(self.0.load(Ordering::Acquire))
    }
}

/// When items were last removed or replaced.
pub(crate) struct Replaced {
    commits: CommitCount,
    /// For each group of keys, the last commit that did so.
    last: Vec<u64>,
    /// The last commit that did so to any number of items.
    all: u64,
}

impl Replaced {
    pub(crate) fn new(commits: CommitCount) -> Replaced {
        Replaced {
            commits,
            last: vec![0; GROUPS],
            all: 0,
        }
    }

    /// Whether the item of a key may have been removed or replaced since a moment.
    pub(crate) fn is_since(&self, moment: Moment, stored_key: &[u8]) -> bool {
        self.last[group(stored_key)].max(self.all) > moment.0
    }

    /// Notes what a commit has done, once readers can see it.
    pub(crate) fn note(&mut self, stored_keys: &[Vec<u8>], has_dropped: bool) {
        let commit = self.commits.now().0 + 1;
        for stored_key in stored_keys {
            self.last[group(stored_key)] = commit;
        }
        if has_dropped {
            self.all = commit;
        }
        self.commits.0.store(commit, Ordering::Release);
    }
}

fn group(stored_key: &[u8]) -> usize {
    let mut hasher = DefaultHasher::new();
    stored_key.hash(&mut hasher);
    // The remainder is smaller than the number of groups.
    (hasher.finish() % GROUPS as u64) as usize
}
