//! Rows of a sidecar that come from files, beside those that are there.
//!
//! Most of them belong to the items that come with them. Some say which design the items follow, or
//! what a process was doing; those are not taken over. Whoever made the files could have the server
//! go by rules of theirs otherwise.

use std::sync::Arc;

use partita_core::{Item, Value};
use partita_design::Design;
use partita_design::sidecar::REPAIR;
use partita_store::request::PutItem;
use partita_store::table::TableName;
use partita_store::{Store, StoreError};

use crate::error::PlanError;
use crate::lease;
use crate::live::record::{DESIGNS, Recorded};
use crate::live::{self, recorded_in};
use crate::migration::{Migration, row};
use crate::moving::MOVING;
use crate::outbox::lease::LEASES;
use crate::partita::{Surroundings, runner};
use crate::sidecar;

/// Declarations that differ, of which a refusal tells.
const DIFFERENCES_SHOWN: usize = 5;

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

    /// Refuses items that follow another design than those that are there, or than the one that was
    /// named where there are none; and where either are between two designs.
    pub async fn demand_fitting(
        &self,
        named: &Design,
        sidecar: &TableName,
        store: Arc<dyn Store>,
    ) -> Result<(), PlanError> {
        let design = &named.name;
        let runner = runner(store, &Surroundings::default());
        let refuse = |message: String| Err(PlanError::Store(StoreError::validation(message)));
        if let Some(open) = self.migration.as_ref().filter(|one| !one.stage.is_over()) {
            return refuse(format!(
                "migration {} of the export is not over: complete it or roll it back where the \
                 export was made, and export again",
                open.number
            ));
        }
        let Some(here) = recorded_in(sidecar, &runner).await?.pop() else {
            return match &self.live {
                Some(live) => demand_followed(named, live),
                None => Ok(()),
            };
        };
        if let Some(open) = row::open(sidecar, &runner).await? {
            return refuse(format!(
                "migration {} of `{design}` is not over: complete it or roll it back first",
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
            _ => Ok(()),
        }
    }

    /// Records the design that was named as the one that the items follow, unless one is recorded;
    /// none if the items come without one.
    pub fn recording(&self, named: &Design, now_millis: i64) -> Result<Option<PutItem>, PlanError> {
        if self.live.is_none() {
            return Ok(None);
        }
        let sidecar = sidecar::name(named)?;
        Ok(Some(Recorded::new(named, 1, now_millis).put(&sidecar)))
    }
}

/// Refuses items that follow another design than the one that was named. Rules may differ: those of
/// the design that was named hold.
fn demand_followed(named: &Design, live: &Recorded) -> Result<(), PlanError> {
    let mut differences = live::differences(named, live);
    differences.retain(|difference| !difference.is_free());
    if differences.is_empty() {
        return Ok(());
    }
    let shown = differences.iter().take(DIFFERENCES_SHOWN);
    let shown: Vec<String> = shown.map(ToString::to_string).collect();
    let more = match differences.len().saturating_sub(DIFFERENCES_SHOWN) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Err(PlanError::Store(StoreError::validation(format!(
        "the items of the export follow another design (number {}, adopted {}) than the one that was \
         named, `{}`: {}{more}; name the file of the design that they follow, which \
         `partita history` prints where the export was made, and take them to the other one with \
         `partita migrate`",
        live.number,
        live.adopted,
        named.name,
        shown.join("; ")
    ))))
}

/// Whether a row that arrives is written. Those of processes that are elsewhere are not, nor are
/// those that say by which rules a server goes.
pub fn is_taken_over(row: &Item) -> bool {
    !matches!(
        partition(row),
        MOVING | REPAIR | LEASES | lease::LEASES | DESIGNS | row::MIGRATIONS
    )
}

fn partition(row: &Item) -> &str {
    let partition = row.get(sidecar::PARTITION).and_then(Value::as_str);
    partition.unwrap_or_default()
}

#[cfg(test)]
mod tests;
