//! What was purged from a store, purged from an earlier state of it.

use std::collections::BTreeSet;

use partita_core::{Item, Value};
use partita_design::design::RecordId;
use partita_store::request::Scan;

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

impl Partita {
    /// Purges the items that these stand for, whether they are deleted or not, and says how many
    /// there were. No rule is asked: whoever purged them was allowed to, or the design said so.
    pub async fn purge_again(&self, purged: &BTreeSet<String>) -> Result<u64, PlanError> {
        let mut done = 0;
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
                    let reply = self.write(&Caller::anonymous(), &write, None).await?;
                    has_jobs |= !reply.jobs.is_empty();
                    done += 1;
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
        Ok(done)
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
