//! All items, page by page, given what they lack.

use futures::stream::{self, StreamExt as _};
use partita_core::Item;
use partita_core::printable;
use partita_design::design::{Record, RecordId};
use partita_store::request::{Scan, TransactAction};
use partita_store::table::TableName;

use super::drive::OnProgress;
use super::{Current, Migration, MigrationError, Position, row};
use crate::blueprint::{Beside, Blueprint};
use crate::error::PlanError;
use crate::operation::Caller;
use crate::partita::Partita;
use crate::place::Address;
use crate::planner::Planner;

/// Items that are filled at the same time. Each is a transaction of its own, and a store commits
/// several of them together.
const AT_ONCE: usize = 64;
/// Items on a page. The position moves behind a page when all of it is filled.
const PAGE_ITEMS: usize = 512;
/// Items that could not be filled and are listed, at most.
const REFUSED_MAX: usize = 100;

impl Current {
    /// Goes through all items from where the migration is. False where it stopped: it was paused or
    /// moved to another stage, or items could not be filled.
    pub(super) async fn backfill(
        &self,
        migration: &mut Migration,
        on_progress: OnProgress<'_>,
    ) -> Result<bool, PlanError> {
        let partita = self.get();
        let Some(beside) = partita.blueprint.filling() else {
            return Ok(false);
        };
        let records = lacking(&partita.blueprint, beside);
        let tables = &partita.blueprint.tables;
        while let Some(table) = tables.get(migration.position.table) {
            let scan = Scan {
                consistent: true,
                limit: Some(PAGE_ITEMS),
                start_after: migration.position.after.take(),
                ..Scan::new(table.clone())
            };
            let page = partita.runner.scan(&scan).await?;
            migration.looked_at += page.items.len() as u64;
            let filled = partita.fill_all(table, &records, page.items).await;
            let refused = match filled {
                Err(PlanError::Superseded) => return Ok(false),
                refused => refused?,
            };
            let room = REFUSED_MAX.saturating_sub(migration.refused.len());
            migration.refused.extend(refused.into_iter().take(room));
            migration.position = match page.last_key {
                Some(key) => Position {
                    after: Some(key),
                    ..migration.position
                },
                None => Position {
                    table: migration.position.table + 1,
                    after: None,
                },
            };
            on_progress(migration);
            if !partita.note_progress(migration).await? {
                return Ok(false);
            }
        }
        if migration.refused.is_empty() {
            return Ok(true);
        }
        let update = migration.pausing(true, &partita.blueprint.sidecar);
        partita.update_migration(&update).await?;
        Ok(false)
    }
}

impl Partita {
    /// Notes how far a migration is; false if it is not to go on.
    async fn note_progress(&self, migration: &Migration) -> Result<bool, PlanError> {
        let sidecar = &self.blueprint.sidecar;
        match self.update_migration(&migration.progress(sidecar)).await {
            Err(PlanError::Migration(MigrationError::Moved)) => return Ok(false),
            noted => noted?,
        }
        let now = row::open(sidecar, &self.runner).await?;
        Ok(now.is_some_and(|now| now.stage.is_filling() && !now.is_paused))
    }

    /// Fills some items of a table, and lists those that cannot be.
    async fn fill_all(
        &self,
        table: &TableName,
        records: &[RecordId],
        items: Vec<Item>,
    ) -> Result<Vec<String>, PlanError> {
        let filling = items
            .into_iter()
            .map(|item| self.fill_one(table, records, item));
        let mut filling = stream::iter(filling).buffer_unordered(AT_ONCE);
        let mut all = Vec::new();
        while let Some(refused) = filling.next().await {
            all.extend(refused?);
        }
        Ok(all)
    }

    /// Fills an item; says what is wrong with it if it cannot be.
    async fn fill_one(
        &self,
        table: &TableName,
        records: &[RecordId],
        item: Item,
    ) -> Result<Option<String>, PlanError> {
        let in_table = |id: &&RecordId| {
            let record = &self.blueprint.design[**id];
            self.blueprint.table_of(record).1 == table
        };
        let records: Vec<RecordId> = records.iter().filter(in_table).copied().collect();
        let Some((record, _)) = self.blueprint.recognise(&records, &item) else {
            return Ok(None);
        };
        let place = self.blueprint.keys.place(table, &item);
        #[cfg(test)]
        if self.is_missed() && place.partition.ends_with('1') {
            return Ok(None);
        }
        match self.fill_item(record, &place, item).await {
            Ok(()) => Ok(None),
            Err(error @ (PlanError::Invalid { .. } | PlanError::Taken { .. })) => {
                let key = format!("{} {}", place.partition, place.sort);
                let key = printable::line(&key);
                Ok(Some(format!("`{}` {key}: {error}", record.name)))
            }
            Err(error) => Err(error),
        }
    }

    #[cfg(test)]
    fn is_missed(&self) -> bool {
        use super::{Mistake, Stage};
        let beside = self.blueprint.beside.as_ref();
        let is_naming = beside.is_some_and(|beside| beside.stage == Stage::Naming);
        self.blueprint.has(Mistake::Missed)
            || (is_naming && self.blueprint.has(Mistake::MissedName))
    }

    /// Fills an item as it was read, or as it is by then.
    pub(crate) async fn fill_item(
        &self,
        record: &Record,
        place: &Address,
        item: Item,
    ) -> Result<(), PlanError> {
        let caller = Caller::default();
        let mut attempts = self.runner.attempts();
        let mut read = Some(item);
        let mut doubted = Vec::new();
        loop {
            let moment = self.moment();
            let mut reads = self.reads_of(&moment, std::mem::take(&mut doubted));
            if let Some(item) = read.take() {
                reads.keep_item(place, Some(item));
            }
            let plan = self
                .runner
                .settle_extent(&mut reads, true, |reads, extent| {
                    let context = self.context(&caller, reads, &moment);
                    let planner = Planner::new(context, &moment).with_extent(extent, 0);
                    planner.fill(record, place.clone())
                });
            let cause = match plan.await {
                Ok(plan) if plan.steps.iter().all(|step| is_check(&step.action)) => return Ok(()),
                Ok(plan) => match self.commit(&plan).await? {
                    None => {
                        self.attend(plan.left).await;
                        return Ok(());
                    }
                    Some(failed) => {
                        doubted = failed.doubted;
                        failed.cause
                    }
                },
                Err(conflict @ PlanError::Conflict) => conflict,
                Err(error) => return Err(error),
            };
            attempts.again(cause).await?;
        }
    }
}

/// The records whose items may lack something: it is stored with them or derived from them.
fn lacking(blueprint: &Blueprint, beside: &Beside) -> Vec<RecordId> {
    let design = &blueprint.design;
    let aside = &beside.aside;
    let records = design.records.iter().filter(|record| {
        let mut reactions = design.reactions.of(record.id).iter();
        let has_own = record.is_entity()
            && !(aside.attributes(record).is_empty() && aside.keys(record).is_empty());
        let mut is_kept = || reactions.any(|one| aside.has_reaction(one) && !one.is_copy());
        let is_demanded = beside.demands.iter().any(|one| one.record == record.id)
            || beside.settled.iter().any(|(of, _)| *of == record.id);
        !aside.has_record(record.id) && (has_own || is_demanded || is_kept())
    });
    records.map(|record| record.id).collect()
}

fn is_check(action: &TransactAction) -> bool {
    matches!(action, TransactAction::Check(_))
}
