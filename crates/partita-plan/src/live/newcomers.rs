//! Whether stored items would belong to what is new in a design, or have keys that its items get.
//!
//! A new entity says nothing of what is stored, as long as nothing is stored under its keys. Another
//! program may have put items there, or they are left of an entity that an earlier design had. Their
//! counts, views and guards are not there then, and would be wrong from the first write on.

use partita_core::Item;
use partita_design::design::record::UNIQUE_SORT;
use partita_design::design::{Record, Table};
use partita_design::difference::{Change, Subject, between};
use partita_design::{Design, is_key_of};
use partita_store::StoreError;
use partita_store::request::Scan;
use partita_store::table::TableName;
use tracing::info;

use super::{DesignError, Recorded};
use crate::commit::run::Runner;
use crate::error::PlanError;

/// The entities and views that a design adds to the live one, and the entities to which it gives
/// other keys.
pub(crate) struct Newcomers {
    design: Design,
    live: Recorded,
    /// Each one's position among the design's records, and the change that adds it.
    added: Vec<(usize, Change)>,
}

impl Newcomers {
    /// What a design adds. Nothing is known to be new where this version cannot compile the live one.
    pub(crate) fn of(given: &Design, live: &Recorded) -> Newcomers {
        let (old, _) = live.compile(&live.variables);
        let changes = old.map(|old| between(&old, given)).unwrap_or_default();
        let added = changes.into_iter().filter_map(|change| {
            let record = given.find_record(newly_keyed(&change)?)?;
            let mut records = given.records.iter();
            Some((records.position(|one| one.id == record.id)?, change))
        });
        Newcomers {
            added: added.collect(),
            design: given.clone(),
            live: live.clone(),
        }
    }

    /// The tables in which there may be items of them.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Table> {
        let tables = self.design.tables.iter();
        tables.filter(|table| self.in_table(table).next().is_some())
    }

    /// Refuses the design if an item is stored that would belong to what it adds. All items are looked
    /// at, page by page, up to the first such one.
    pub(crate) async fn refuse_stored(&self, runner: &Runner) -> Result<(), PlanError> {
        for table in self.tables() {
            let names: Vec<&str> = self
                .in_table(table)
                .map(|(record, _)| record.name.as_str())
                .collect();
            info!(
                design = self.design.name,
                table = table.name,
                "looking for stored items with keys of what is new in the design: {}",
                names.join(", ")
            );
            self.refuse_stored_in(table, runner).await?;
        }
        Ok(())
    }

    async fn refuse_stored_in(&self, table: &Table, runner: &Runner) -> Result<(), PlanError> {
        let mut request = Scan {
            consistent: true,
            ..Scan::new(table.name.parse::<TableName>()?)
        };
        loop {
            let page = match runner.scan(&request).await {
                Ok(page) => page,
                Err(PlanError::Store(StoreError::TableNotFound { .. })) => return Ok(()),
                Err(error) => return Err(error),
            };
            for item in &page.items {
                self.refuse(&request.table, item)?;
            }
            match page.last_key {
                None => return Ok(()),
                last_key => request.start_after = last_key,
            }
        }
    }

    /// Refuses the design if a stored item would belong to what it adds.
    pub(crate) fn refuse(&self, table: &TableName, item: &Item) -> Result<(), PlanError> {
        let mut tables = self.tables();
        let Some(table) = tables.find(|one| one.name == table.as_str()) else {
            return Ok(());
        };
        let Some(key) = key_of(table, item).filter(|(partition, _)| !table.ignores(partition))
        else {
            return Ok(());
        };
        let mut added = self.in_table(table);
        let is_at = |(record, change): &(&Record, &Change)| {
            // The guards of items that move stay where they are.
            let is_guard = change.new_record().is_none() && key.1 == UNIQUE_SORT;
            !is_guard && is_key_of(record, key.0, key.1)
        };
        let Some((_, change)) = added.find(is_at) else {
            return Ok(());
        };
        if self.is_of_another(table, item, key) {
            return Ok(());
        }
        let error = DesignError::Occupied {
            table: table.name.clone(),
            recorded: Box::new(self.live.clone()),
            difference: Box::new(change.clone()),
            key: (key.0.to_owned(), key.1.to_owned()),
        };
        Err(error.into())
    }

    fn in_table(&self, table: &Table) -> impl Iterator<Item = (&Record, &Change)> {
        let added = self.added.iter();
        let added = added.map(|(at, change)| (&self.design.records[*at], change));
        added.filter(|(record, _)| self.design[record.table].name == table.name)
    }

    /// Whether an item belongs to a record that was there before, which its discriminator tells apart.
    fn is_of_another(&self, table: &Table, item: &Item, (partition, sort): (&str, &str)) -> bool {
        let mut records = self.design.records.iter().enumerate();
        records.any(|(at, record)| {
            self.added.iter().all(|(added, _)| *added != at)
                && self.design[record.table].name == table.name
                && record.is_marked(table, item)
                && is_key_of(record, partition, sort)
        })
    }
}

/// The record under whose keys there may be nothing yet.
fn newly_keyed(change: &Change) -> Option<&str> {
    match &change.subject {
        Subject::PrimaryKey(record, _) if !record.is_view => Some(&record.name),
        _ => change.new_record(),
    }
}

fn key_of<'i>(table: &Table, item: &'i Item) -> Option<(&'i str, &'i str)> {
    let text = |name: &str| item.get(name).and_then(|value| value.as_str());
    Some((text(&table.partition)?, text(&table.sort)?))
}
