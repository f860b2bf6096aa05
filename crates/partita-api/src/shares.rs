//! Room that callers share: so much in all, and a part of it for each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The holder of all requests whose sender is unknown. It has no share of its own.
pub(crate) const EVERYBODY: &str = "";

/// Room for bytes or places.
#[derive(Debug)]
pub(crate) struct Shares {
    all: usize,
    each: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    sum: usize,
    // INVARIANT: every holder in here has something.
    by: HashMap<String, usize>,
}

/// What somebody has taken. It is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct HeldShare {
    shares: Arc<Shares>,
    holder: String,
    amount: usize,
}

/// Why nothing is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Short {
    /// This holder has as much as one may have.
    Own,
    /// All holders together have as much as there is.
    All,
}

impl Shares {
    pub(crate) fn new(all: usize, each: usize) -> Arc<Self> {
        Arc::new(Shares {
            all,
            each: each.max(1),
            taken: Mutex::default(),
        })
    }

    /// Takes some for a holder. The first that one takes may be more than a share.
    pub(crate) fn take(self: &Arc<Self>, holder: &str, amount: usize) -> Result<HeldShare, Short> {
        let mut taken = self.taken();
        self.check(&taken, holder, amount)?;
        Ok(self.add(&mut taken, holder, amount))
    }

    /// Takes some, whether there is room or not: for what cannot be undone any more.
    pub(crate) fn take_anyway(self: &Arc<Self>, holder: &str, amount: usize) -> HeldShare {
        self.add(&mut self.taken(), holder, amount)
    }

    /// Refuses a holder for whom there is nothing left.
    pub(crate) fn demand(&self, holder: &str) -> Result<(), Short> {
        self.check(&self.taken(), holder, 1)
    }

    fn check(&self, taken: &Taken, holder: &str, amount: usize) -> Result<(), Short> {
        let own = taken.by.get(holder).copied().unwrap_or(0);
        let is_one = holder != EVERYBODY;
        if is_one && own > 0 && own.saturating_add(amount) > self.each {
            return Err(Short::Own);
        }
        if taken.sum > 0 && taken.sum.saturating_add(amount) > self.all {
            return Err(Short::All);
        }
        Ok(())
    }

    fn add(self: &Arc<Self>, taken: &mut Taken, holder: &str, amount: usize) -> HeldShare {
        taken.sum = taken.sum.saturating_add(amount);
        *taken.by.entry(holder.to_owned()).or_default() += amount;
        HeldShare {
            shares: self.clone(),
            holder: holder.to_owned(),
            amount,
        }
    }

    fn taken(&self) -> std::sync::MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HeldShare {
    fn drop(&mut self) {
        let mut taken = self.shares.taken();
        taken.sum = taken.sum.saturating_sub(self.amount);
        if let Some(own) = taken.by.get_mut(&self.holder) {
            *own = own.saturating_sub(self.amount);
            if *own == 0 {
                taken.by.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_what_is_for_others() {
        let shares = Shares::new(10, 4);
        let take = |holder: &str, amount| shares.take(holder, amount);
        let first = take("ann", 3).unwrap();
        assert_eq!(take("ann", 2).unwrap_err(), Short::Own);
        assert_eq!(shares.demand("ann"), Ok(()));
        let second = take("ann", 1).unwrap();
        assert_eq!(shares.demand("ann"), Err(Short::Own));
        // What is larger than a share is the only one of its holder.
        let large = take("bob", 6).unwrap();
        assert_eq!(take("bob", 1).unwrap_err(), Short::Own);
        assert_eq!(take("cem", 1).unwrap_err(), Short::All);
        let many = shares.take(EVERYBODY, 1);
        assert_eq!(many.unwrap_err(), Short::All);
        let beyond = shares.take_anyway("cem", 5);
        drop((first, second, large));
        assert_eq!(shares.demand("ann"), Ok(()));
        drop(beyond);
        assert_eq!(shares.taken().sum, 0);
        assert!(shares.taken().by.is_empty());
    }
}
