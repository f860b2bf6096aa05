//! All that is stored, held against itself.
//!
//! Works row by row and keeps nothing in memory but what it has found.

use std::collections::HashSet;

use partita_store::index::IndexSchema;
use partita_store::{StoreError, StoreResult};

use crate::read::Moment;
use crate::storage::{Bytes, Direction, Edit};
use crate::tables::Table;
use crate::{clearing, entry, item, keys};

/// Findings that are told; more do not make the store any worse.
const FINDINGS_MAX: usize = 100;

/// Everything that is wrong at this moment.
pub(crate) fn verify(moment: &Moment) -> StoreResult<Vec<String>> {
    let mut findings = Vec::new();
    check_ids(moment, &mut findings)?;
    for table in moment.tables().all() {
        check_items(moment, table, &mut findings)?;
        for (id, index) in table.indexes() {
            check_entries(moment, table, (id, index), &mut findings)?;
        }
    }
    findings.truncate(FINDINGS_MAX);
    Ok(findings)
}

/// Every row belongs to a table, or to one that was deleted.
fn check_ids(moment: &Moment, findings: &mut Vec<String>) -> StoreResult<()> {
    let mut known: HashSet<u32> = clearing::load(moment.view())?.into_iter().collect();
    known.extend(moment.tables().all().flat_map(|table| table.ids()));
    for row in moment.view().range(keys::all_rows(), Direction::Ascending) {
        let (key, _) = row?;
        if !keys::row_id(&key).is_some_and(|id| known.contains(&id)) {
            note(
                findings,
                format!("the row `{}` belongs to no table", key.escape_ascii()),
            );
        }
    }
    Ok(())
}

/// Every item has its entries.
fn check_items(moment: &Moment, table: &Table, findings: &mut Vec<String>) -> StoreResult<()> {
    for row in moment
        .view()
        .range(keys::rows(table.id), Direction::Ascending)
    {
        let (stored_key, bytes) = row?;
        let item = match item::decode(table, &stored_key, &bytes) {
            Ok((_, item)) => item,
            Err(error) => {
                note(findings, error.to_string());
                continue;
            }
        };
        for edit in entry::edits(table, None, Some(&item), &bytes)? {
            let Edit::Put(entry_key, value) = edit else {
                continue;
            };
            if moment.view().get(&entry_key)?.as_deref() != Some(&*value) {
                note(
                    findings,
                    format!(
                        "the item of table `{}` under `{}` lacks its entry `{}`, or that is another",
                        table.name,
                        stored_key.escape_ascii(),
                        entry_key.escape_ascii()
                    ),
                );
            }
        }
    }
    Ok(())
}

/// Every entry has its item.
fn check_entries(
    moment: &Moment,
    table: &Table,
    (id, index): (u32, &IndexSchema),
    findings: &mut Vec<String>,
) -> StoreResult<()> {
    for row in moment.view().range(keys::rows(id), Direction::Ascending) {
        let (stored_key, bytes): (Bytes, Bytes) = row?;
        let checked = entry::row(table, index, &stored_key, &bytes).and_then(|(place, row)| {
            let item = moment.get(table, &place.item)?;
            entry::check(table, index, (&place, row.as_ref()), item)
        });
        match checked {
            Ok(_) => {}
            Err(StoreError::Corrupt { message }) => note(findings, message),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn note(findings: &mut Vec<String>, finding: String) {
    if findings.len() < FINDINGS_MAX {
        findings.push(finding);
    }
}
