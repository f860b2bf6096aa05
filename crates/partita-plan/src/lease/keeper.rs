//! What a server that shares its tables does every few seconds.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;

use futures::future::{Either, select};
use partita_store::request::ReturnValues;
use partita_store::{ErrorKind, StoreResult};
use tracing::{error, info, warn};

use super::row::{self, Row};
use super::{LATE_MILLIS, Lease, Leased, RENEWED_EVERY_MILLIS};
use crate::blueprint::Blueprint;
use crate::error::PlanError;
use crate::live;
use crate::migration::Current;
use crate::partita::Partita;

/// After how long a renewal is tried again that has failed.
const TRIED_EVERY_MILLIS: u64 = 1_000;

/// How long ago a renewal may have begun that needs no other at once.
const FRESH_MILLIS: i64 = 5_000;

/// How long commits are waited for when a server stops.
const STOP_MILLIS: u64 = 500;

/// What is known from one renewal to the next.
#[derive(Default)]
pub(super) struct Keeper {
    /// The number of the design that is planned with; 0 before it was looked.
    followed: u64,
    /// Until when something may be carried out that was planned before.
    names_after_millis: i64,
    row: Option<Held>,
    /// The rows of others: how often each was renewed when it was last seen to change, and when that
    /// was.
    seen: HashMap<String, (u64, i64)>,
    is_given_back: bool,
    /// What was last said of it in the log.
    said: Option<String>,
}

/// The row of this server.
struct Held {
    row: Row,
    /// When the renewal that is not confirmed yet was first sent.
    tried_since_millis: Option<i64>,
}

impl Current {
    /// A design on a store that servers share, as a server of this name has it. It takes no writes
    /// before [`Current::renew_lease`].
    pub fn on_lease(partita: Partita, name: String) -> Arc<Current> {
        Current::with_lease(partita, |partita| {
            let (store, clock) = (partita.runner.store.clone(), partita.clock.clone());
            Lease::new(store, partita.blueprint.sidecar.clone(), clock, name)
        })
    }

    pub(super) fn with_lease(
        mut partita: Partita,
        lease: impl FnOnce(&Partita) -> Lease,
    ) -> Arc<Current> {
        let lease = Arc::new(lease(&partita));
        partita.runner.store = Arc::new(Leased {
            lease: lease.clone(),
        });
        Current::behind(Arc::new(partita), Some(lease))
    }

    /// Why the server does not write to tables that it shares; none if it does, and where one process
    /// has the store for itself.
    pub fn why_not_writing(&self) -> Option<String> {
        self.lease.as_ref()?.obstacle()
    }

    /// Keeps the lease for as long as this is waited for.
    pub async fn keep_lease(&self) {
        let Some(lease) = &self.lease else { return };
        loop {
            // What fails is tried again, and the lease says how long writes go on meanwhile.
            let renewed = self.renew_lease().await;
            let partita = self.get();
            let wait = match &renewed {
                Ok(()) => RENEWED_EVERY_MILLIS,
                Err(_) => TRIED_EVERY_MILLIS,
            };
            let mut keeper = lease.keeper.lock().await;
            if keeper.is_given_back {
                return;
            }
            keeper.say(&partita.design().name, lease.obstacle(), renewed.err());
            drop(keeper);
            partita.runner.wait(wait).await;
        }
    }

    /// Follows the live design, renews the lease or takes one, and removes those of servers that are
    /// gone.
    pub async fn renew_lease(&self) -> Result<(), PlanError> {
        let Some(lease) = &self.lease else {
            return Ok(());
        };
        let keeper = &mut *lease.keeper.lock().await;
        if keeper.is_given_back {
            return Ok(());
        }
        if let Err(refused) = self.follow(lease, keeper).await {
            return self.stand_back(lease, keeper, refused).await;
        }
        // The first may find the row gone, or confirm a renewal that was in doubt for a while.
        for _ in 0..2 {
            let is_first = keeper.begin(lease, &self.get());
            let held = keeper.renew(lease).await?;
            // Who makes another design live does that first, and then looks for leases.
            if is_first && let Err(refused) = self.follow(lease, keeper).await {
                return self.stand_back(lease, keeper, refused).await;
            }
            lease.state().held = held;
            let age = |(since, _)| lease.clock.now_millis().saturating_sub(since);
            if held.is_some_and(|held| age(held) <= FRESH_MILLIS) {
                break;
            }
        }
        keeper.remove_ended(lease).await?;
        Ok(())
    }

    /// Plans by the live design, if another has become that.
    async fn follow(&self, lease: &Lease, keeper: &mut Keeper) -> Result<(), PlanError> {
        let partita = self.get();
        let (sidecar, runner) = (&partita.blueprint.sidecar, &partita.runner);
        let Some(live) = live::recorded_after(keeper.followed, sidecar, runner).await? else {
            return Ok(());
        };
        let design = live::followed(partita.design(), &live)?;
        if !live.is_of(partita.design()) {
            let name = design.name.clone();
            self.plan_by(&partita, Blueprint::new(design)?).await?;
            let number = live.number;
            info!(design = name, number, "the live design is followed");
        }
        keeper.followed = live.number;
        keeper.names_after_millis = lease.doubt_until_millis();
        lease.state().obstacle = None;
        Ok(())
    }

    /// Stops writing, where the live design cannot be followed. What cannot be known for now is not
    /// acted upon: the lease runs out by itself.
    async fn stand_back(
        &self,
        lease: &Lease,
        keeper: &mut Keeper,
        refused: PlanError,
    ) -> Result<(), PlanError> {
        let is_known = match &refused {
            PlanError::Store(error) => error.kind() == ErrorKind::Corrupt,
            PlanError::Design(_) => true,
            _ => false,
        };
        if !is_known {
            return Err(refused);
        }
        let why = refused.to_string();
        if lease.obstacle().as_ref() != Some(&why) {
            lease.stop(why);
            // What has passed the gate is done or given up.
            self.gate().wait_for_commits().await;
            keeper.names_after_millis = lease.doubt_until_millis();
        }
        keeper.give_back(lease).await?;
        Ok(())
    }

    /// Takes no more writes, and gives the lease back if nothing is under way: whoever waits for this
    /// server need not wait for its end.
    pub async fn give_back_lease(&self) {
        let Some(lease) = &self.lease else { return };
        let stop = || lease.stop("it is stopping".to_owned());
        stop();
        let keeper = &mut *lease.keeper.lock().await;
        keeper.is_given_back = true;
        // Whoever had the keeper may have found something to go on with.
        stop();
        let gate = self.gate();
        let closing = pin!(gate.wait_for_commits());
        let partita = self.get();
        let stopping = pin!(partita.runner.wait(STOP_MILLIS));
        if let Either::Right(_) = select(closing, stopping).await {
            return;
        }
        keeper.names_after_millis = lease.doubt_until_millis();
        if let Err(error) = keeper.give_back(lease).await {
            warn!("the lease is not given back, and ends by itself: {error}");
        }
    }
}

impl Keeper {
    /// Whether nothing is under way any more that was planned with a design before.
    fn is_settled(&self, lease: &Lease) -> bool {
        #[cfg(test)]
        if lease.mistake == Some(super::Mistake::NamesTooEarly) {
            return true;
        }
        self.names_after_millis < lease.clock.now_millis()
    }

    /// Begins a lease under a new id where there is none; says whether the row is not stored yet, as
    /// far as it is known.
    fn begin(&mut self, lease: &Lease, partita: &Partita) -> bool {
        // What was planned before may be what others waited for when they removed the row.
        if self.row.is_none() && self.is_settled(lease) {
            self.row = Some(Held {
                row: Row::new(partita.runner.token(), &lease.name),
                tried_since_millis: None,
            });
        }
        self.row.as_ref().is_some_and(|held| held.row.renewed == 0)
    }

    /// Renews the row. Answers from when to when the server may write; none if the row is gone, which
    /// is not its own then any more.
    async fn renew(&mut self, lease: &Lease) -> StoreResult<Option<(i64, i64)>> {
        let is_settled = self.is_settled(lease);
        let Some(held) = &mut self.row else {
            return Ok(None);
        };
        let now = lease.clock.now_millis();
        let since = *held.tried_since_millis.get_or_insert(now);
        let is_first = held.row.renewed == 0;
        let design = if is_settled || is_first {
            self.followed
        } else {
            held.row.design
        };
        let next = held.row.next(design, now);
        let put = next.put(&lease.sidecar);
        let stored = match lease.store.put_item(put, ReturnValues::None).await {
            Ok(_) => Some(next),
            // An attempt before this one may have been carried out after all.
            Err(error) if error.kind() == ErrorKind::ConditionFailed => {
                let found = row::find(&held.row.id, &lease.sidecar, &*lease.store).await?;
                found.filter(|found| found.renewed == next.renewed)
            }
            Err(error) => return Err(error),
        };
        match stored {
            Some(row) => {
                let until = since.saturating_add(row.lasts_millis);
                self.row = Some(Held {
                    row,
                    tried_since_millis: None,
                });
                Ok(Some((since, until)))
            }
            None => {
                self.row = None;
                Ok(None)
            }
        }
    }

    /// Removes the row of this server, when nothing is under way any more.
    async fn give_back(&mut self, lease: &Lease) -> StoreResult<()> {
        lease.state().held = None;
        let Some(held) = &self.row else { return Ok(()) };
        if !self.is_settled(lease) {
            return Ok(());
        }
        // One that is not confirmed ends by itself.
        if held.tried_since_millis.is_none() {
            remove(&held.row, lease).await?;
        }
        self.row = None;
        Ok(())
    }

    /// Removes the rows of servers that are gone.
    async fn remove_ended(&mut self, lease: &Lease) -> StoreResult<()> {
        let own = self.row.as_ref().map(|held| held.row.id.clone());
        let rows = row::all(&lease.sidecar, &*lease.store).await?;
        // The time at which they were read at the latest.
        let now = lease.clock.now_millis();
        self.seen
            .retain(|id, _| rows.iter().any(|row| row.id == *id));
        for row in rows.into_iter().filter(|row| own.as_ref() != Some(&row.id)) {
            let seen = self
                .seen
                .entry(row.id.clone())
                .or_insert((row.renewed, now));
            if seen.0 != row.renewed {
                *seen = (row.renewed, now);
            }
            let late = LATE_MILLIS;
            #[cfg(test)]
            let late = match lease.mistake {
                Some(super::Mistake::RemovesTooEarly) => 0,
                _ => late,
            };
            if now.saturating_sub(seen.1) > row.lasts_millis.saturating_add(late)
                && remove(&row, lease).await?
            {
                let (server, design) = (&row.name, row.design);
                info!(server, design, "a server is gone, and its lease has ended");
            }
        }
        Ok(())
    }

    /// Says in the log, once, that writes are taken or why not.
    fn say(&mut self, design: &str, obstacle: Option<String>, failed: Option<PlanError>) {
        if obstacle == self.said {
            return;
        }
        match (&obstacle, failed) {
            (None, _) => info!(design, "the lease on the tables is taken: writes are taken"),
            (Some(why), None) => error!(design, "no writes are taken: {why}"),
            (Some(why), Some(error)) => error!(design, "no writes are taken: {why} ({error})"),
        }
        self.said = obstacle;
    }
}

/// Removes a row, unless it has been renewed; says whether it has.
async fn remove(row: &Row, lease: &Lease) -> StoreResult<bool> {
    let delete = row.delete(&lease.sidecar);
    match lease.store.delete_item(delete, ReturnValues::None).await {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::ConditionFailed => Ok(false),
        Err(error) => Err(error),
    }
}
