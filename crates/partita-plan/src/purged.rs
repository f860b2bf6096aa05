//! What was purged from a store, purged from an earlier state of it.

use std::collections::BTreeSet;

use partita_core::{Item, Value};
use partita_design::design::RecordId;
use partita_store::request::Scan;
use tracing::warn;

use crate::account::errand::Errand;
use crate::error::PlanError;
use crate::operation::Caller;
use crate::partita::Partita;
use crate::planner::purging::{PURGED, PURGED_ITEMS, digests};
use crate::request::Request;
use crate::sidecar;
use crate::write::Write;

/// What stands for the items that a row beside a table says were purged. Other rows say of none.
pub fn purged_items(row: &Item) -> Vec<String> {
    let partition = row.get(sidecar::PARTITION).and_then(Value::as_str);
    let is_note = partition.is_some_and(|text| text.starts_with(PURGED));
    match row.get(PURGED_ITEMS) {
        Some(Value::L(items)) if is_note => {
            let items = items.iter().filter_map(Value::as_str);
            items.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// What became of the items in one pass.
#[derive(Default)]
struct Pass {
    /// How many are gone.
    items: u64,
    /// Where those are that stay, and why.
    refused: Vec<(String, PlanError)>,
}

impl Partita {
    /// Purges the items that these stand for, whether they are deleted or not, and says how many
    /// there were. No rule is asked: whoever purged them was allowed to, or the design said so.
    ///
    /// An item can be refused because another one refers to it that is purged after it, so this is
    /// repeated while it gets on. What is refused in the end is held by what was not purged: it
    /// stays, and a warning names it.
    pub async fn purge_again(&self, purged: &BTreeSet<String>) -> Result<u64, PlanError> {
        let mut done = 0;
        loop {
            let pass = self.purge_once(purged).await?;
            done += pass.items;
            if pass.items > 0 && !pass.refused.is_empty() {
                continue;
            }
            for (place, error) in &pass.refused {
                warn!(
                    "{place} was purged since and is there again: {error}; delete what is in the \
                     way, then purge it"
                );
            }
            return Ok(done);
        }
    }

    /// Goes through all items once.
    async fn purge_once(&self, purged: &BTreeSet<String>) -> Result<Pass, PlanError> {
        let mut pass = Pass::default();
        let mut has_jobs = false;
        let tables: Vec<_> = self.blueprint.tables().map(|(_, name)| name).collect();
        for table in tables {
            let mut scan = Scan {
                consistent: true,
                ..Scan::new(table.clone())
            };
            loop {
                let page = self.runner.scan(&scan).await?;
                for row in &page.items {
                    let Some(errand) = self.purging(row, purged) else {
                        continue;
                    };
                    let write = Write::One(Request::Errands(vec![errand]));
                    match self.write(&Caller::anonymous(), &write, None).await {
                        Ok(reply) => {
                            has_jobs |= !reply.jobs.is_empty();
                            pass.items += 1;
                        }
                        Err(error) if is_refusal(&error) => {
                            let place = self.blueprint.keys.place(table, row);
                            let (partition, sort) = (&place.partition, &place.sort);
                            let place = format!("`{table}` `{partition}` `{sort}`");
                            pass.refused.push((place, error));
                        }
                        Err(error) => return Err(error),
                    }
                }
                match page.last_key {
                    None => break,
                    last => scan.start_after = last,
                }
            }
        }
        if has_jobs {
            self.run_jobs().await?;
        }
        Ok(pass)
    }

    /// How an item goes; none for what is derived, and for what was not purged.
    fn purging(&self, row: &Item, purged: &BTreeSet<String>) -> Option<Errand<'_>> {
        let blueprint = &self.blueprint;
        let entities: Vec<RecordId> = blueprint.design.entities().map(|one| one.id).collect();
        let (entity, item) = blueprint.recognise(&entities, row)?;
        let names = digests(&blueprint.sidecar, entity, &item);
        if !names.iter().any(|name| purged.contains(name)) {
            return None;
        }
        let identity = entity.identity_of(&item)?;
        Some(Errand::Purge { entity, identity })
    }
}

/// Whether the item itself is why it was not purged, and not the store or other writers.
fn is_refusal(error: &PlanError) -> bool {
    matches!(
        error,
        PlanError::InUse { .. }
            | PlanError::Requires { .. }
            | PlanError::Invalid { .. }
            | PlanError::Taken { .. }
            | PlanError::TooMuch { .. }
            | PlanError::TooDeep
            | PlanError::Drift { .. }
            | PlanError::StillRemoved { .. }
    )
}
