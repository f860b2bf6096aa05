//! Leases of servers that share the tables of a design.
//!
//! On DynamoDB several servers write to the same tables, and one may make another design live. The
//! others follow within one renewal, and nobody goes on by a design that is over: every server has a
//! row in the sidecar that names the design that it plans with, and writes only as long as it has
//! renewed that row.
//!
//! ```text
//!  server A   ──renews──▶ row: design 1 … 1 … 2       follows: looks, plans by 2, names 2
//!  server B   ──renews──▶ row: design 1 … ✗           cannot follow: stops, and gives its row back
//!  server C   ──renews──▶ row: design 1               dead: the others remove its row
//! ```
//!
//! - **A write is sent only if its timeout ends before the lease does** (`Leased`). The lease counts
//!   from before the request that renewed it was sent, by the clock of the server itself.
//! - **A row names a design when nothing that was planned before is under way.** Commits under way
//!   are waited for, behind the gate that they pass. One that was given up, or that nobody waits for
//!   any more, may still come: until Amazon would refuse its signature (`LATE_MILLIS`), the row names
//!   the design of before.
//! - **Whose row does not change for the time of a lease and that of late requests is gone.** Whoever
//!   looks measures that by its own clock, so that clocks need not agree, and removes the row on
//!   condition that it has not changed. Who comes back finds it gone, and looks at what is live before
//!   it writes again.
//!
//! INVARIANT: a write that was planned with a design is carried out only while there is a row that
//! names this design or one before it. What is left out is a process that stops for longer than the
//! timeout between the check and the send, and a clock that is set back; `verify` finds what they do.
//!
//! | module | what it holds |
//! |---|---|
//! | `lease` | whether a server may write, and until when |
//! | `lease::keeper` | what a server does every few seconds: follow, renew, remove the rows of others |
//! | `lease::row` | a lease as it is stored and shown |

mod keeper;
mod row;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use partita_core::Item;
use partita_store::capacity::Metered;
use partita_store::request::{
    BatchWrite, BatchWriteItem, DeleteItem, PutItem, ReturnValues, TransactWriteItems, UpdateItem,
};
use partita_store::table::TableName;
use partita_store::{Clock, ErrorKind, Layer, Moment, Store, StoreError, StoreResult};

use keeper::Keeper;
pub(crate) use row::LEASES;
pub use row::{ServerLease, servers};

/// How long a server may write that does not hear of the sidecar any more.
const LEASE_MILLIS: i64 = 30_000;

/// How often a lease is renewed, and so how long a server goes on by a design that is not live any
/// more.
pub const RENEWED_EVERY_MILLIS: u64 = 5_000;

/// How long after it was sent a request may be carried out. Amazon refuses a signature that is older.
const LATE_MILLIS: i64 = 300_000;

/// Whether a server may write to the tables of a design.
pub(crate) struct Lease {
    /// Where its own rows are written, whether it has a lease or not.
    store: Arc<dyn Store>,
    sidecar: TableName,
    clock: Arc<dyn Clock>,
    /// What operators know the server by.
    name: String,
    timeout_millis: i64,
    state: Mutex<State>,
    keeper: tokio::sync::Mutex<Keeper>,
    /// A mistake that tests must notice.
    #[cfg(test)]
    mistake: Option<Mistake>,
}

/// Mistakes that tests must notice.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    /// A server goes on writing though its lease has ended.
    GoesOn,
    /// A row names a design while something that was planned before is under way.
    NamesTooEarly,
    /// A row is removed when its lease has ended, though requests may still come.
    RemovesTooEarly,
}

#[derive(Default)]
struct State {
    /// From when to when it may write, in milliseconds since 1970 by its own clock.
    held: Option<(i64, i64)>,
    /// Until when a request may be carried out whose answer did not come.
    doubt_until_millis: i64,
    /// Why it does not write, whatever lease it has.
    obstacle: Option<String>,
}

impl Lease {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        sidecar: TableName,
        clock: Arc<dyn Clock>,
        name: String,
    ) -> Lease {
        Lease {
            timeout_millis: store.timeout_millis(),
            store,
            sidecar,
            clock,
            name,
            state: Mutex::default(),
            keeper: tokio::sync::Mutex::default(),
            #[cfg(test)]
            mistake: None,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the server does not write now; none if it does.
    pub(crate) fn obstacle(&self) -> Option<String> {
        let now = self.clock.now_millis();
        let state = self.state();
        if let Some(obstacle) = &state.obstacle {
            return Some(obstacle.clone());
        }
        // A clock that was set back says nothing of how long it has been.
        let is_held = state.held.is_some_and(|(since, until)| {
            since <= now && now.saturating_add(self.timeout_millis) <= until
        });
        let what = match state.held {
            None => "it has no lease on the tables yet",
            Some(_) => "its lease on the tables has run out, and could not be renewed",
        };
        (!is_held).then(|| what.to_owned())
    }

    /// Refuses a write where the lease may end before the answer comes.
    fn admit(&self) -> StoreResult<()> {
        #[cfg(test)]
        if self.mistake == Some(Mistake::GoesOn) {
            return Ok(());
        }
        match self.obstacle() {
            None => Ok(()),
            Some(why) => Err(StoreError::NoLease {
                message: format!(
                    "several servers share the tables, and this one does not write now: {why}"
                ),
            }),
        }
    }

    fn stop(&self, why: String) {
        self.state().obstacle = Some(why);
    }

    /// Notes that a request may still be carried out.
    fn doubt(&self) {
        let until = self.clock.now_millis().saturating_add(LATE_MILLIS);
        let mut state = self.state();
        state.doubt_until_millis = state.doubt_until_millis.max(until);
    }

    fn doubt_until_millis(&self) -> i64 {
        self.state().doubt_until_millis
    }
}

/// The tables as a server with a lease writes them.
pub(crate) struct Leased {
    pub(crate) lease: Arc<Lease>,
}

/// A request that has no answer yet. Whoever waits for one may go away.
struct Unanswered<'l> {
    lease: &'l Lease,
    is_answered: bool,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            self.lease.doubt();
        }
    }
}

impl Leased {
    async fn send<T>(&self, request: impl Future<Output = StoreResult<T>>) -> StoreResult<T> {
        self.lease.admit()?;
        let mut sent = Unanswered {
            lease: &self.lease,
            is_answered: false,
        };
        let answer = request.await;
        let is_unknown = |error: &StoreError| error.kind() == ErrorKind::OutcomeUnknown;
        sent.is_answered = !answer.as_ref().is_err_and(is_unknown);
        answer
    }
}

#[async_trait]
impl Layer for Leased {
    fn inner(&self) -> &dyn Store {
        &*self.lease.store
    }

    async fn put_item(
        &self,
        request: PutItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.send(self.inner().put_item(request, returns)).await
    }

    async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.send(self.inner().update_item(request, returns)).await
    }

    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.send(self.inner().delete_item(request, returns)).await
    }

    async fn batch_write_item(
        &self,
        request: BatchWriteItem,
    ) -> StoreResult<Metered<Vec<BatchWrite>>> {
        self.send(self.inner().batch_write_item(request)).await
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        self.send(self.inner().transact_write_items(request)).await
    }

    async fn transact_write_items_since(
        &self,
        moment: Moment,
        request: TransactWriteItems,
    ) -> StoreResult<bool> {
        let inner = self.inner();
        self.send(inner.transact_write_items_since(moment, request))
            .await
    }
}

#[cfg(test)]
mod tests;
