//! Rows of a sidecar that come from files, beside those that are there.
//!
//! Most of them belong to the items that come with them. Some say which design the items follow, or
//! what a process was doing; those are not taken over where a design is recorded already.

use std::sync::Arc;

use partita_core::{Item, Value};
use partita_design::sidecar::REPAIR;
use partita_store::table::TableName;
use partita_store::{Store, StoreError};

use crate::error::PlanError;
use crate::live::record::{DESIGNS, Recorded};
use crate::live::recorded_in;
use crate::migration::{Migration, row};
use crate::moving::MOVING;
use crate::outbox::lease::LEASES;
use crate::partita::{Surroundings, runner};
use crate::sidecar;

/// What rows that arrive say of the items that come with them.
#[derive(Clone, Debug, Default)]
pub struct Arrival {
    live: Option<Recorded>,
    migration: Option<Migration>,
}

impl Arrival {
    /// Takes a row into account.
    pub fn see(&mut self, row: &Item) -> Result<(), PlanError> {
        let unreadable = |what: &str| {
            let message = format!("{what} that is recorded in the export cannot be read");
            PlanError::Store(StoreError::validation(message))
        };
        match partition(row) {
            DESIGNS => {
                let seen = Recorded::from_item(row).ok_or_else(|| unreadable("a design"))?;
                let last = self.live.take().filter(|last| last.number > seen.number);
                self.live = Some(last.unwrap_or(seen));
            }
            row::MIGRATIONS => {
                let seen = row::from_item(row).ok_or_else(|| unreadable("a migration"))?;
                let last = self.migration.take();
                let last = last.filter(|last| last.number > seen.number);
                self.migration = Some(last.unwrap_or(seen));
            }
            _ => {}
        }
        Ok(())
    }

    /// Refuses items that follow another design than those that are there, or where either are
    /// between two designs. Answers whether a design is recorded there.
    pub async fn demand_fitting(
        &self,
        design: &str,
        sidecar: &TableName,
        store: Arc<dyn Store>,
    ) -> Result<bool, PlanError> {
        let runner = runner(store, &Surroundings::default());
        let refuse = |message: String| Err(PlanError::Store(StoreError::validation(message)));
        let Some(here) = recorded_in(sidecar, &runner).await?.pop() else {
            return Ok(false);
        };
        if let Some(open) = row::open(sidecar, &runner).await? {
            return refuse(format!(
                "migration {} of `{design}` is not over: complete it or roll it back first",
                open.number
            ));
        }
        if let Some(open) = self.migration.as_ref().filter(|one| !one.stage.is_over()) {
            return refuse(format!(
                "migration {} of the export is not over: import it into a new directory, and \
                 complete it or roll it back there",
                open.number
            ));
        }
        match &self.live {
            Some(live) if !live.is_like(&here) => refuse(format!(
                "the items of the export follow another design (number {}, adopted {}) than \
                 `{design}` has there (number {}, adopted {}): import them into a new directory, \
                 and take them to that design with `partita migrate`",
                live.number, live.adopted, here.number, here.adopted
            )),
            _ => Ok(true),
        }
    }
}

/// Whether a row that arrives is written. Those of processes that are elsewhere never are, and those
/// of designs only where none is recorded.
pub fn is_taken_over(row: &Item, is_recorded: bool) -> bool {
    match partition(row) {
        MOVING | REPAIR | LEASES => false,
        DESIGNS | row::MIGRATIONS => !is_recorded,
        _ => true,
    }
}

fn partition(row: &Item) -> &str {
    let partition = row.get(sidecar::PARTITION).and_then(Value::as_str);
    partition.unwrap_or_default()
}

#[cfg(test)]
mod tests;
