//! The lock that stages move under.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustc_hash::FxHashSet;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use super::MigrationError;
use crate::error::PlanError;
use crate::place::Address;

/// Places that are noted at most, of about 200 bytes each.
const NOTED_MAX: usize = 100_000;

/// Lets commits pass that are planned for the stage of now. All that write to the same data in a
/// process share one.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// How often the stage has moved in this process.
    moves: Arc<RwLock<u64>>,
    /// What this was when the one that commits was opened.
    planned_at: u64,
    /// Those who note what is written.
    observers: Arc<Mutex<Vec<Weak<Mutex<Noted>>>>>,
}

/// Where something was written.
#[derive(Debug, Default)]
struct Noted {
    places: FxHashSet<Address>,
    is_too_much: bool,
}

/// Notes where something is written, as long as it is kept.
pub(super) struct Observer(Arc<Mutex<Noted>>);

/// A write that has passed the gate.
///
/// INVARIANT: its places are noted when it is done, and before the gate can close. A place that is
/// noted earlier may be looked at before something is there.
pub(crate) struct Passed {
    observers: Vec<Arc<Mutex<Noted>>>,
    places: Vec<Address>,
    _moves: OwnedRwLockReadGuard<u64>,
}

impl Drop for Passed {
    fn drop(&mut self) {
        for observer in &self.observers {
            let mut noted = lock(observer);
            if noted.is_too_much {
                continue;
            }
            noted.places.extend(self.places.iter().cloned());
            if noted.places.len() > NOTED_MAX {
                *noted = Noted {
                    is_too_much: true,
                    ..Noted::default()
                };
            }
        }
    }
}

impl Observer {
    /// Forgets what was noted, for whoever looks at everything from now on.
    pub(super) fn begin_again(&self) {
        *lock(&self.0) = Noted::default();
    }

    /// Whether something was written in more places than so many since they were taken.
    pub(super) fn has_more_than(&self, places: usize) -> bool {
        let noted = lock(&self.0);
        noted.is_too_much || noted.places.len() > places
    }

    /// Where something was written since this was asked before; none if that was too much to note.
    pub(super) fn take(&self) -> Option<FxHashSet<Address>> {
        let mut noted = lock(&self.0);
        (!noted.is_too_much).then(|| std::mem::take(&mut noted.places))
    }
}

impl Gate {
    /// The same gate for what is planned from now on.
    pub async fn now(&self) -> Gate {
        let planned_at = *self.moves.read().await;
        Gate {
            planned_at,
            ..self.clone()
        }
    }

    /// Waits until no stage is moving; refuses what was planned for another one. As long as the
    /// answer is kept, no stage moves.
    pub(crate) async fn pass(&self) -> Result<OwnedRwLockReadGuard<u64>, PlanError> {
        let moves = self.moves.clone().read_owned().await;
        if *moves == self.planned_at {
            Ok(moves)
        } else {
            Err(PlanError::Superseded)
        }
    }

    /// As [`Gate::pass`], for a write to these places. Those who observe have them noted when the
    /// answer is dropped.
    pub(crate) async fn pass_to<P: IntoIterator<Item = Address>>(
        &self,
        places: impl FnOnce() -> P,
    ) -> Result<Passed, PlanError> {
        let moves = self.pass().await?;
        let mut observers = lock(&self.observers);
        observers.retain(|observer| observer.strong_count() > 0);
        let observers: Vec<_> = observers.iter().filter_map(Weak::upgrade).collect();
        let places = if observers.is_empty() {
            Vec::new()
        } else {
            places().into_iter().collect()
        };
        Ok(Passed {
            observers,
            places,
            _moves: moves,
        })
    }

    /// Notes what is written from now on. Whatever passed before has been written by now.
    pub(super) async fn observe(&self) -> Result<Observer, MigrationError> {
        let _closed = self.close().await?;
        let noted = Arc::<Mutex<Noted>>::default();
        lock(&self.observers).push(Arc::downgrade(&noted));
        Ok(Observer(noted))
    }

    /// Waits until no commit is under way; refuses to move on from another stage than that of now.
    /// No commit begins as long as the answer is kept.
    pub(super) async fn close(&self) -> Result<OwnedRwLockWriteGuard<u64>, MigrationError> {
        let moves = self.moves.clone().write_owned().await;
        if *moves == self.planned_at {
            Ok(moves)
        } else {
            Err(MigrationError::Moved)
        }
    }

    /// Waits until whatever has passed is done or given up.
    pub(crate) async fn wait_for_commits(&self) {
        drop(self.moves.write().await);
    }

    /// The gate for what is planned from now on.
    pub(super) fn moved(&self, moves: &mut u64) -> Gate {
        *moves += 1;
        Gate {
            planned_at: *moves,
            ..self.clone()
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
