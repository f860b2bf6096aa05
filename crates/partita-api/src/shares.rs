//! Room that callers share: so much in all, and a part of it for each.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

/// The holder of all requests whose sender is unknown. It has no share of its own.
pub(crate) const EVERYBODY: &str = "";

/// Room for bytes or places.
#[derive(Debug)]
pub(crate) struct Shares {
    all: usize,
    each: usize,
    taken: Mutex<Taken>,
    freed: Notify,
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
            freed: Notify::new(),
        })
    }

    /// Takes some for a holder. The first that one takes may be more than a share.
    pub(crate) fn take(self: &Arc<Self>, holder: &str, amount: usize) -> Result<HeldShare, Short> {
        let mut taken = self.taken();
        self.check(&taken, holder, 0, amount)?;
        Ok(self.add(&mut taken, holder, amount))
    }

    /// Takes some as soon as there is room, or says after so long why there is none.
    pub(crate) async fn take_within(
        self: &Arc<Self>,
        longest: Duration,
        holder: &str,
        amount: usize,
    ) -> Result<HeldShare, Short> {
        let mut short = Short::All;
        let taken = async {
            loop {
                let mut freed = pin!(self.freed.notified());
                // What is given back from here on is not missed.
                freed.as_mut().enable();
                match self.take(holder, amount) {
                    Ok(share) => return share,
                    Err(why) => short = why,
                }
                freed.await;
            }
        };
        let taken = timeout(longest, taken).await;
        taken.map_err(|_| short)
    }

    /// Takes some, whether there is room or not: for what cannot be undone any more.
    pub(crate) fn take_anyway(self: &Arc<Self>, holder: &str, amount: usize) -> HeldShare {
        self.add(&mut self.taken(), holder, amount)
    }

    /// Refuses a holder for whom there is nothing left.
    pub(crate) fn demand(&self, holder: &str) -> Result<(), Short> {
        self.check(&self.taken(), holder, 0, 1)
    }

    /// Refuses more than there is room for. Who has nothing else may have any amount, and `held` is
    /// what belongs to the same as what is taken now.
    fn check(&self, taken: &Taken, holder: &str, held: usize, amount: usize) -> Result<(), Short> {
        let own = taken.by.get(holder).copied().unwrap_or(0);
        let is_one = holder != EVERYBODY;
        if is_one && own > held && own.saturating_add(amount) > self.each {
            return Err(Short::Own);
        }
        if taken.sum > held && taken.sum.saturating_add(amount) > self.all {
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

impl HeldShare {
    /// Has so much in all, if that is more than before and there is room for it; it is taken anyway
    /// where it must be.
    pub(crate) fn raise(&mut self, amount: usize, must: bool) -> Result<(), Short> {
        let more = amount.saturating_sub(self.amount);
        if more == 0 {
            return Ok(());
        }
        let mut taken = self.shares.taken();
        if !must {
            let shares = &self.shares;
            shares.check(&taken, &self.holder, self.amount, more)?;
        }
        taken.sum = taken.sum.saturating_add(more);
        *taken.by.entry(self.holder.clone()).or_default() += more;
        self.amount += more;
        Ok(())
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
        drop(taken);
        self.shares.freed.notify_waiters();
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

    #[test]
    fn what_somebody_has_can_grow() {
        let shares = Shares::new(10, 4);
        let mut ann = shares.take("ann", 3).unwrap();
        let mut bob = shares.take("bob", 1).unwrap();
        assert_eq!(ann.raise(2, false), Ok(()));
        assert_eq!(ann.raise(6, false), Ok(()));
        assert_eq!(bob.raise(5, false), Err(Short::All));
        let second = shares.take("bob", 1).unwrap();
        assert_eq!(bob.raise(4, false), Err(Short::Own));
        assert_eq!(bob.raise(4, true), Ok(()));
        drop((ann, bob));
        assert_eq!(shares.taken().sum, 1);
        drop(second);
        assert!(shares.taken().by.is_empty());
    }

    #[tokio::test]
    async fn who_waits_gets_what_others_give_back() {
        let shares = Shares::new(10, 4);
        let held = shares.take("ann", 4).unwrap();
        let refused = shares.take_within(Duration::ZERO, "ann", 1).await;
        assert_eq!(refused.unwrap_err(), Short::Own);
        let waiting = shares.take_within(Duration::from_secs(60), "ann", 1);
        let (taken, ()) = tokio::join!(waiting, async { drop(held) });
        assert!(taken.is_ok());
    }
}
