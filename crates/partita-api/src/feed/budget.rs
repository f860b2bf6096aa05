//! The memory that all feeds of a server share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that feeds take together.
#[derive(Debug)]
pub(super) struct Budget {
    taken: AtomicUsize,
    max: usize,
}

/// What one feed takes. It is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Charge {
    budget: Arc<Budget>,
    bytes: AtomicUsize,
}

impl Budget {
    pub(super) fn new(max: usize) -> Arc<Budget> {
        let taken = AtomicUsize::new(0);
        Arc::new(Budget { taken, max })
    }

    /// A feed that takes nothing yet.
    pub(super) fn charge(self: &Arc<Self>) -> Charge {
        Charge {
            budget: self.clone(),
            bytes: AtomicUsize::new(0),
        }
    }
}

impl Charge {
    /// What is taken.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Takes more; false if all together would take more than they may.
    pub(super) fn add(&self, bytes: usize) -> bool {
        let Budget { taken, max } = &*self.budget;
        if taken
            .fetch_add(bytes, Ordering::Relaxed)
            .saturating_add(bytes)
            > *max
        {
            taken.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        true
    }

    /// Gives some of it back.
    pub(super) fn sub(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.budget.taken.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Takes so much from now on; false if that is more than there is.
    pub(super) fn set(&self, bytes: usize) -> bool {
        let now = self.bytes();
        if bytes > now {
            return self.add(bytes - now);
        }
        self.sub(now - bytes);
        true
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.sub(self.bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_feeds_together_have_one_bound() {
        let budget = Budget::new(10);
        let [one, other] = [budget.charge(), budget.charge()];
        assert!(one.add(6));
        assert!(!other.add(5));
        assert!(other.set(4));
        assert!(!one.add(1));
        one.sub(2);
        assert!(other.set(6));
        drop(one);
        assert!(other.set(10));
        drop(other);
        assert_eq!(budget.taken.load(Ordering::Relaxed), 0);
    }
}
