//! Whether stored items would belong to what is new in a design.
//!
//! A new entity says nothing of what is stored, as long as nothing is stored under its keys. Another
//! program may have put items there, or they are left of an entity that an earlier design had. Their
//! counts, views and guards are not there then, and would be wrong from the first write on.

use partita_core::Item;
use partita_design::design::{Record, Table};
use partita_design::difference::{Change, between};
use partita_design::{Design, is_key_of};
use partita_store::StoreError;
use partita_store::request::Scan;
use partita_store::table::TableName;
use tracing::info;

use super::{DesignError, Recorded};
use crate::commit::run::Runner;
use crate::error::PlanError;

/// Refuses a design if an item is stored that would belong to an entity or a view that it adds. All
/// items are looked at, page by page, up to the first such one.
pub(crate) async fn refuse_stored(
    given: &Design,
    live: &Recorded,
    runner: &Runner,
) -> Result<(), PlanError> {
    let (Some(old), _) = live.compile(&live.variables) else {
        return Ok(());
    };
    let differences = between(&old, given);
    let new: Vec<(&Record, &Change)> = differences
        .iter()
        .filter_map(|one| Some((given.find_record(one.new_record()?)?, one)))
        .collect();
    for table in &given.tables {
        let new: Vec<_> = new
            .iter()
            .filter(|(record, _)| given[record.table].name == table.name)
            .collect();
        if new.is_empty() {
            continue;
        }
        let names: Vec<&str> = new.iter().map(|(record, _)| record.name.as_str()).collect();
        info!(
            design = given.name,
            table = table.name,
            "looking for stored items with keys of what is new in the design: {}",
            names.join(", ")
        );
        let records: Vec<&Record> = new.iter().map(|(record, _)| *record).collect();
        let Some((at, key)) = first_of(given, table, &records, runner).await? else {
            continue;
        };
        let error = DesignError::Occupied {
            table: table.name.clone(),
            recorded: Box::new(live.clone()),
            difference: Box::new(new[at].1.clone()),
            key,
        };
        return Err(error.into());
    }
    Ok(())
}

/// The first stored item that would belong to one of some records: which of them, and its key.
async fn first_of(
    design: &Design,
    table: &Table,
    records: &[&Record],
    runner: &Runner,
) -> Result<Option<(usize, (String, String))>, PlanError> {
    let mut request = Scan {
        consistent: true,
        ..Scan::new(table.name.parse::<TableName>()?)
    };
    loop {
        let page = match runner.scan(&request).await {
            Ok(page) => page,
            Err(PlanError::Store(StoreError::TableNotFound { .. })) => return Ok(None),
            Err(error) => return Err(error),
        };
        for item in &page.items {
            let Some((partition, sort)) = key_of(table, item) else {
                continue;
            };
            if table.ignores(partition) {
                continue;
            }
            let is_meant = |record: &&Record| {
                is_key_of(record, partition, sort)
                    && !is_of_another(design, table, records, item, (partition, sort))
            };
            if let Some(at) = records.iter().position(is_meant) {
                return Ok(Some((at, (partition.to_owned(), sort.to_owned()))));
            }
        }
        match page.last_key {
            None => return Ok(None),
            last_key => request.start_after = last_key,
        }
    }
}

/// Whether an item belongs to a record that was there before, which its discriminator tells apart.
fn is_of_another(
    design: &Design,
    table: &Table,
    new: &[&Record],
    item: &Item,
    (partition, sort): (&str, &str),
) -> bool {
    let mut records = design.records.iter();
    records.any(|record| {
        new.iter().all(|one| one.id != record.id)
            && design[record.table].name == table.name
            && record.is_marked(table, item)
            && is_key_of(record, partition, sort)
    })
}

fn key_of<'i>(table: &Table, item: &'i Item) -> Option<(&'i str, &'i str)> {
    let text = |name: &str| item.get(name).and_then(|value| value.as_str());
    Some((text(&table.partition)?, text(&table.sort)?))
}
