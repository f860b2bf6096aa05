//! The lock on repairs: a row of the sidecar that says who repairs, and how many steps were done.
//!
//! A number is mended by the difference that it had at one moment, whatever others have added since.
//! That is right as long as nobody else mends it in between, so one repair at a time writes numbers.
//!
//! INVARIANT: whoever takes the lock moves its step, and so does every write of a number, in the same
//! transaction and on the condition that the step is the one that the writer knows. A write whose
//! answer is lost is carried out once, however often it is sent and however late it comes. One of a
//! repair whose lease has ended is not carried out any more when another has taken the lock. Clocks
//! decide only how long the others wait.

use std::sync::{Mutex, PoisonError};

use partita_core::expression::{Condition, Path, Update};
use partita_core::{Item, Number, Value};
use partita_design::{Design, sidecar, time};
use partita_store::request::{ItemAddress, ReturnValues, TransactAction, UpdateItem};
use partita_store::{Clock, ErrorKind, Moment, Store, StoreError, StoreResult};

use crate::reader::{Reader, Written, pause};
use crate::report::VerifyError;

/// How long a repair may be silent before another takes over.
const LEASE_MILLIS: i64 = 60_000;
/// How often something is tried that meets others, or has no answer.
const ATTEMPTS: u32 = 10;

const STEP: &str = "step";
const HOLDER: &str = "holder";
const SINCE: &str = "since";
const UNTIL: &str = "until";

/// The lock, in the hands of this repair.
pub(crate) struct Lock<'s> {
    reader: Reader<'s>,
    clock: &'s dyn Clock,
    address: ItemAddress,
    holder: String,
    since_micros: i64,
    known: Mutex<Known>,
}

/// What this repair knows of the row.
#[derive(Clone, Copy, Debug)]
struct Known {
    step: i64,
    until_millis: i64,
}

impl<'s> Lock<'s> {
    /// Takes the lock; none where the design has no sidecar, because nobody has opened it yet.
    pub(crate) async fn take(
        design: &Design,
        reader: Reader<'s>,
        clock: &'s dyn Clock,
        holder: &str,
    ) -> Result<Option<Lock<'s>>, VerifyError> {
        let mut lock = Lock {
            reader: reader.now(),
            clock,
            address: address(design)?,
            holder: holder.to_owned(),
            since_micros: clock.now_micros(),
            known: Mutex::new(Known {
                step: 0,
                until_millis: 0,
            }),
        };
        match lock.claim().await {
            Err(VerifyError::Store(StoreError::TableNotFound { .. })) => Ok(None),
            claimed => claimed.map(|()| Some(lock)),
        }
    }

    async fn claim(&mut self) -> Result<(), VerifyError> {
        let mut is_in_doubt = false;
        for attempt in 0..ATTEMPTS {
            let row = self.row().await?;
            let step = row.as_ref().map_or(0, |row| whole(row, STEP));
            if is_in_doubt && row.as_ref().is_some_and(|row| self.is_ours(row)) {
                self.learn(step, self.lease_end());
                return Ok(());
            }
            self.refuse_if_held(row.as_ref())?;
            let until_millis = self.lease_end();
            let mut update = self.moving(step, until_millis);
            update.update = update
                .update
                .setting(Path::attribute(HOLDER), Value::from(self.holder.as_str()))
                .setting(Path::attribute(SINCE), Value::from(self.since_micros));
            if row.is_none() {
                update.condition = Some(Condition::NotExists(Path::attribute(STEP)));
            }
            let taken = self.reader.store.update_item(update, ReturnValues::None);
            match taken.await.map_err(|error| (error.kind(), error)) {
                Ok(_) => {
                    self.learn(step + 1, until_millis);
                    return Ok(());
                }
                Err((kind, error)) if !is_passing(kind) => return Err(error.into()),
                Err((kind, _)) => is_in_doubt |= kind == ErrorKind::OutcomeUnknown,
            }
            pause(attempt).await;
        }
        Err(StoreError::TransactionConflict.into())
    }

    /// Refuses a lock that another repair has.
    fn refuse_if_held(&self, row: Option<&Item>) -> Result<(), VerifyError> {
        match row {
            Some(row) if is_held(row, self.clock) => Err(held(row).into()),
            _ => Ok(()),
        }
    }

    /// Carries a transaction out, if the lock is still ours and the items are those of a moment. One
    /// that is in doubt may be sent again; before another is sent, it must be settled.
    pub(crate) async fn write(
        &self,
        moment: Option<Moment>,
        mut actions: Vec<TransactAction>,
    ) -> Result<Written, VerifyError> {
        let (step, until_millis) = (self.known().step, self.lease_end());
        actions.push(TransactAction::Update(self.moving(step, until_millis)));
        let written = match self.reader.write_since(moment, actions).await? {
            // One without an answer may be done, and its item removed after that.
            Written::Stale | Written::Replaced if self.has_moved(step).await? => Written::Done,
            written => written,
        };
        if written == Written::Done {
            self.learn(step + 1, until_millis);
        }
        Ok(written)
    }

    /// Makes sure that nothing which was sent is carried out from now on.
    pub(crate) async fn settle(&self) -> Result<(), VerifyError> {
        let step = self.known().step;
        for attempt in 0..ATTEMPTS {
            if self.write(None, Vec::new()).await? == Written::Done {
                return Ok(());
            }
            pause(attempt).await;
        }
        let message = format!("the lock on repairs does not move past step {step}");
        Err(StoreError::OutcomeUnknown { message }.into())
    }

    /// Has the lease go on, when half of it is over.
    pub(crate) async fn renew(&self) -> Result<(), VerifyError> {
        let Known { step, until_millis } = self.known();
        if until_millis - self.clock.now_millis() > LEASE_MILLIS / 2 {
            return Ok(());
        }
        let end = self.lease_end();
        match self.put_off(step, end).await {
            Ok(()) => self.learn(step, end),
            Err(error) if error.kind() == ErrorKind::ConditionFailed => {
                let row = self.row().await?;
                return Err(taken(row.as_ref()));
            }
            // It goes on by the lease that it has; whether that has ended, the next write shows.
            Err(_) => {}
        }
        Ok(())
    }

    /// Gives the lock back. Where that fails, the lease ends by itself.
    pub(crate) async fn release(self) {
        let _ = self.put_off(self.known().step, 0).await;
    }

    /// Has the lease end at another time, if the lock is still ours.
    async fn put_off(&self, step: i64, until_millis: i64) -> Result<(), StoreError> {
        let until = Update::default().setting(Path::attribute(UNTIL), Value::from(until_millis));
        let update = UpdateItem {
            update: until,
            ..self.moving(step, until_millis)
        };
        let store = self.reader.store;
        store.update_item(update, ReturnValues::None).await?;
        Ok(())
    }

    /// The update that moves the step on from this one.
    fn moving(&self, step: i64, until_millis: i64) -> UpdateItem {
        UpdateItem {
            table: self.address.table.clone(),
            key: self.address.key.clone(),
            update: Update::default()
                .setting(Path::attribute(STEP), Value::from(step + 1))
                .setting(Path::attribute(UNTIL), Value::from(until_millis)),
            condition: Some(Condition::equals(Path::attribute(STEP), Value::from(step))),
            return_item_on_failure: false,
        }
    }

    /// Whether the step has moved on from this one. While the lock is ours, only we move it.
    async fn has_moved(&self, step: i64) -> Result<bool, VerifyError> {
        let row = self.row().await?;
        match &row {
            Some(row) if self.is_ours(row) => Ok(whole(row, STEP) > step),
            row => Err(taken(row.as_ref())),
        }
    }

    async fn row(&self) -> Result<Option<Item>, StoreError> {
        let rows = self.reader.items(std::slice::from_ref(&self.address));
        Ok(rows.await?.into_iter().next().flatten())
    }

    fn is_ours(&self, row: &Item) -> bool {
        let holder = row.get(HOLDER).and_then(Value::as_str);
        holder == Some(self.holder.as_str()) && whole(row, SINCE) == self.since_micros
    }

    fn lease_end(&self) -> i64 {
        self.clock.now_millis().saturating_add(LEASE_MILLIS)
    }

    fn known(&self) -> Known {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn learn(&self, step: i64, until_millis: i64) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Known { step, until_millis };
    }
}

/// Whether a refusal may not be repeated.
fn is_passing(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConditionFailed
            | ErrorKind::Conflict
            | ErrorKind::Retry
            | ErrorKind::OutcomeUnknown
    )
}

/// A repair that is at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repairing {
    /// Who repairs.
    pub holder: String,
    /// When they began.
    pub since: String,
    /// When it counts as interrupted, if they are not heard of again.
    pub until: String,
}

/// The repair that is at work on the tables of a design.
pub async fn repairing(
    design: &Design,
    store: &dyn Store,
    clock: &dyn Clock,
) -> StoreResult<Option<Repairing>> {
    let address = address(design)?;
    let rows = Reader::new(store, None)
        .items(std::slice::from_ref(&address))
        .await;
    let row = match rows {
        Err(StoreError::TableNotFound { .. }) => None,
        rows => rows?.into_iter().next().flatten(),
    };
    let row = row.filter(|row| is_held(row, clock));
    Ok(row.as_ref().map(held))
}

/// Where the lock is.
fn address(design: &Design) -> StoreResult<ItemAddress> {
    let key = [
        (sidecar::PARTITION, Value::from(sidecar::REPAIR)),
        (sidecar::SORT, Value::from(sidecar::REPAIR_LOCK)),
    ];
    Ok(ItemAddress {
        table: sidecar::name(design).parse()?,
        key: Item::from(key),
    })
}

fn is_held(row: &Item, clock: &dyn Clock) -> bool {
    whole(row, UNTIL) > clock.now_millis()
}

/// That the lock is not ours any more.
fn taken(row: Option<&Item>) -> VerifyError {
    row.map_or(VerifyError::Stopped, |row| held(row).into())
}

fn held(row: &Item) -> Repairing {
    let holder = row.get(HOLDER).and_then(Value::as_str);
    Repairing {
        holder: holder.unwrap_or_default().to_owned(),
        since: time::format_millis(whole(row, SINCE) / 1000),
        until: time::format_millis(whole(row, UNTIL)),
    }
}

impl From<Repairing> for VerifyError {
    fn from(repairing: Repairing) -> Self {
        let Repairing {
            holder,
            since,
            until,
        } = repairing;
        VerifyError::Locked {
            holder,
            since,
            until,
        }
    }
}

fn whole(row: &Item, name: &str) -> i64 {
    let number = row.get(name).and_then(Value::as_number);
    number.and_then(Number::to_i64).unwrap_or_default()
}
