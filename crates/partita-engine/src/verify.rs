//! All that is stored, held against itself.
//!
//! Works row by row and keeps nothing in memory but what it has found. What should be there is
//! worked out here, and not by what writes it, because that may be what is wrong.

use std::collections::HashSet;

use partita_store::index::IndexSchema;
use partita_store::{StoreError, StoreResult};

use crate::read::Moment;
use crate::storage::{Bounds, Direction};
use crate::tables::Table;
use crate::{clearing, entry, item, keys};

/// Findings that are told; more do not make the store any worse.
const FINDINGS_MAX: usize = 100;

/// Everything that is wrong at this moment.
pub(crate) fn verify(moment: &Moment) -> StoreResult<Vec<String>> {
    let mut findings = Vec::new();
    let mut known: HashSet<u32> = clearing::load(moment.view())?.into_iter().collect();
    known.extend(moment.tables().all().flat_map(|table| table.ids()));
    each(
        moment,
        keys::all_rows(),
        &mut findings,
        |key, _| match keys::row_id(key).is_some_and(|id| known.contains(&id)) {
            true => Ok(()),
            false => Err(damaged(format!(
                "the row `{}` belongs to no table",
                key.escape_ascii()
            ))),
        },
    )?;
    for table in moment.tables().all() {
        each(moment, keys::rows(table.id), &mut findings, |key, value| {
            check_item(moment, table, key, value)
        })?;
        for (id, index) in table.indexes() {
            each(moment, keys::rows(id), &mut findings, |key, value| {
                check_entry(moment, table, index, key, value)
            })?;
        }
    }
    Ok(findings)
}

/// Checks every row of a range, as long as there is room for findings.
fn each(
    moment: &Moment,
    bounds: Bounds,
    findings: &mut Vec<String>,
    check: impl Fn(&[u8], &[u8]) -> StoreResult<()>,
) -> StoreResult<()> {
    for row in moment.view().range(bounds, Direction::Ascending) {
        let (key, value) = row?;
        match check(&key, &value) {
            Ok(()) => {}
            Err(StoreError::Corrupt { message }) => findings.push(message),
            Err(error) => return Err(error),
        }
        if findings.len() >= FINDINGS_MAX {
            break;
        }
    }
    Ok(())
}

/// An item has its entries.
fn check_item(moment: &Moment, table: &Table, key: &[u8], value: &[u8]) -> StoreResult<()> {
    let (_, item) = item::decode(table, key, value)?;
    for (id, index) in table.indexes() {
        let lacks = |what: &str| {
            let (name, index, key) = (&table.name, &index.name, key.escape_ascii());
            damaged(format!(
                "the item of table `{name}` under `{key}` has {what} in index `{index}`"
            ))
        };
        let place = index.key_of(&table.schema.key, &item);
        let Some(place) = place.map_err(|_| lacks("no place"))? else {
            continue;
        };
        let entry = moment.view().get(&keys::entry(id, &place))?;
        let entry = entry.ok_or_else(|| lacks("no entry"))?;
        if *entry != *entry::value(table, index, &item, value) {
            return Err(lacks("an entry that is not its own"));
        }
    }
    Ok(())
}

/// An entry has its item.
fn check_entry(
    moment: &Moment,
    table: &Table,
    index: &IndexSchema,
    key: &[u8],
    value: &[u8],
) -> StoreResult<()> {
    let (place, row) = entry::row(table, index, key, value)?;
    let stored_key = keys::item(table.id, &place.item);
    let item = match moment.view().get(&stored_key)? {
        Some(bytes) => Some(item::decode(table, &stored_key, &bytes)?.1),
        None => None,
    };
    entry::check(table, index, (&place, row.as_ref()), item.as_ref())
}

fn damaged(message: String) -> StoreError {
    StoreError::Corrupt { message }
}

#[cfg(test)]
mod tests;
