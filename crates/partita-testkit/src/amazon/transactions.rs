//! Transactions of writes: each has its items for a while, and one that meets it is cancelled.

use std::sync::Arc;

use partita_core::Item;
use partita_store::capacity::{Consumed, HalfUnits, Metered, Rate};
use partita_store::error::CancellationReason;
use partita_store::request::{TransactAction, TransactWriteItems};
use partita_store::table::{Key, TableName, TableSchema};
use partita_store::write;
use partita_store::{ErrorKind, StoreError, StoreResult};

use super::Amazon;
use super::locks::Place;
use super::writes::is_grave;

impl Amazon {
    pub(super) async fn transact_write(
        &self,
        request: TransactWriteItems,
    ) -> StoreResult<Metered<()>> {
        self.check_created(request.actions.iter().map(TransactAction::table))?;
        let places: Vec<Place> = {
            let _turn = self.turn.lock().await;
            self.check_token(&request)?;
            self.check_meetings(&request)?;
            let actions = request.actions.iter();
            let places: Vec<_> = actions.filter_map(|action| self.place(action)).collect();
            let now = self.now();
            let mut state = self.state();
            state.locks.take(&places, now);
            state.in_progress.extend(request.token.clone());
            places
        };
        let takes = self.drawn(&self.behaviour.transaction_millis);
        self.simulation.sleep(takes).await;
        let _turn = self.turn.lock().await;
        let before = self.items(&places);
        let token = request.token.clone();
        let answer = self.primary.transact_write_items(request).await;
        let mut state = self.state();
        state.locks.give_back(&places);
        token.iter().for_each(|token| {
            state.in_progress.remove(token);
        });
        drop(state);
        match &answer {
            Ok(done) if is_repeated(done) => {
                self.state().counts.repeated += 1;
                self.charge_repeated(&places, &before);
            }
            Ok(_) => self.follow(places, before, Rate::Transaction),
            Err(error) if error.kind() == ErrorKind::ConditionFailed => {
                self.charge_refused(&places, &before, Rate::Transaction);
            }
            Err(_) => {}
        }
        answer
    }

    /// A transaction under a token that is under way is not begun again. The remote store takes
    /// TransactionInProgressException for an unknown outcome.
    fn check_token(&self, request: &TransactWriteItems) -> StoreResult<()> {
        let Some(token) = &request.token else {
            return Ok(());
        };
        let mut state = self.state();
        if state.in_progress.contains(token) {
            state.counts.in_progress += 1;
            return Err(StoreError::OutcomeUnknown {
                message: "TransactionInProgressException".to_owned(),
            });
        }
        Ok(())
    }

    /// Cancels a transaction that meets another write, or for which a partition has no units.
    /// Each item is looked at by itself, so a condition that fails is told beside it.
    fn check_meetings(&self, request: &TransactWriteItems) -> StoreResult<()> {
        let now = self.now();
        let mut reasons = vec![CancellationReason::None; request.actions.len()];
        for (action, reason) in request.actions.iter().zip(&mut reasons) {
            let Some(place) = self.place(action) else {
                // The store behind says what is wrong with it.
                return Ok(());
            };
            if self.state().locks.is_written(&place, now) {
                self.state().counts.conflicts += 1;
                *reason = CancellationReason::TransactionConflict;
                continue;
            }
            let old = self.item(&place);
            if let Some(throttle) = self.exhausted(&place, action, old.as_ref()) {
                let exhausted = self.state().exhausted(throttle);
                *reason = CancellationReason::Exhausted(exhausted);
            }
        }
        if reasons.iter().all(|one| *one == CancellationReason::None) {
            return Ok(());
        }
        if let Err(StoreError::TransactionCanceled { reasons: others }) =
            write::transaction(request, &Current(self))
        {
            for (reason, other) in reasons.iter_mut().zip(others) {
                if *reason == CancellationReason::None && is_grave(&other) {
                    *reason = other;
                }
            }
        }
        Err(StoreError::TransactionCanceled { reasons })
    }
}

/// Whether a transaction was carried out before, under its token: it only read then.
fn is_repeated(done: &Metered<()>) -> bool {
    let has_written = |one: &Consumed| one.total_write() > HalfUnits::default();
    !done.consumed.is_empty() && !done.consumed.values().any(has_written)
}

/// What is stored now.
pub(super) struct Current<'a>(pub(super) &'a Amazon);

impl write::Tables for Current<'_> {
    fn schema(&self, table: &TableName) -> StoreResult<Arc<TableSchema>> {
        self.0
            .schema(table)
            .ok_or_else(|| StoreError::TableNotFound {
                table: table.clone(),
            })
    }

    fn read(&self, table: &TableName, key: &Key) -> StoreResult<Option<Item>> {
        Ok(self.0.item(&(table.clone(), key.clone())))
    }
}
