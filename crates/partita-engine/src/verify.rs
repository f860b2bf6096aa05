//! All that is stored, held against itself.
//!
//! Works row by row and keeps nothing in memory but what it has found. What should be there is
//! worked out here, and not by what writes it, because that may be what is wrong.

mod streams;

use std::collections::HashSet;

use partita_core::Item;
use partita_core::size::item_bytes;
use partita_store::expiry::expires_seconds;
use partita_store::index::IndexSchema;
use partita_store::request::Totals;
use partita_store::{StoreError, StoreResult};

use crate::read::Moment;
use crate::storage::{Bounds, Direction};
use crate::tables::{Expiry, Table};
use crate::tending::clearing;
use crate::totals::TableTotals;
use crate::{entry, item, keys};

/// Findings that are reported: a hundred are enough to know that a store is damaged.
const FINDINGS_MAX: usize = 100;

/// Everything that is wrong at this moment.
pub(crate) fn verify(moment: &Moment) -> StoreResult<Vec<String>> {
    let mut findings = Vec::new();
    check_rows_belong(moment, &mut findings)?;
    for table in moment.tables().all() {
        check_table(moment, table, &mut findings)?;
    }
    streams::check(moment, &mut findings)?;
    findings.truncate(FINDINGS_MAX);
    Ok(findings)
}

/// Every row belongs to something that is there, or is on its way out.
fn check_rows_belong(moment: &Moment, findings: &mut Vec<String>) -> StoreResult<()> {
    let mut known: HashSet<u32> = clearing::load(moment.view())?.into_iter().collect();
    known.extend(moment.tables().ids());
    each(moment, keys::all_rows(), findings, |key, _| {
        if keys::row_id(key).is_some_and(|id| known.contains(&id)) {
            Ok(())
        } else {
            Err(damaged(format!(
                "the row `{}` belongs to no table",
                key.escape_ascii()
            )))
        }
    })
}

fn check_table(moment: &Moment, table: &Table, findings: &mut Vec<String>) -> StoreResult<()> {
    let stored = TableTotals::load(moment.view(), table.id)?;
    let check_totals = |id: u32, counted: Totals, findings: &mut Vec<String>| {
        let stored = stored.of(id);
        if stored != counted && findings.len() < FINDINGS_MAX {
            let name = &table.name;
            findings.push(format!(
                "table `{name}` has counted {stored:?} under the id {id}, and there is {counted:?}"
            ));
        }
    };
    let mut totals = Totals::default();
    each(moment, keys::rows(table.id), findings, |key, value| {
        let (_, item) = item::decode(table, key, value)?;
        add(&mut totals, item_bytes(&item));
        check_item(moment, table, key, value, &item)
    })?;
    check_totals(table.id, totals, findings);
    for (id, index) in table.indexes() {
        let mut totals = Totals::default();
        each(moment, keys::rows(id), findings, |key, value| {
            let item = check_entry(moment, table, (id, index), key, value)?;
            add(&mut totals, entry::row_bytes(table, index, &item));
            Ok(())
        })?;
        check_totals(id, totals, findings);
    }
    if let Some(expiry) = &table.expiry {
        each(moment, keys::rows(expiry.id), findings, |key, _| {
            check_expiry(moment, table, expiry, key)
        })?;
    }
    Ok(())
}

fn add(totals: &mut Totals, bytes: usize) {
    totals.items += 1;
    totals.bytes += bytes as u64;
}

/// Checks every row of a range, as long as there is room for findings.
fn each(
    moment: &Moment,
    bounds: Bounds,
    findings: &mut Vec<String>,
    mut check: impl FnMut(&[u8], &[u8]) -> StoreResult<()>,
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

/// An item has its index entries and its expiry row.
fn check_item(
    moment: &Moment,
    table: &Table,
    key: &[u8],
    value: &[u8],
    item: &Item,
) -> StoreResult<()> {
    let lacks = |what: &str| {
        let (name, key) = (&table.name, key.escape_ascii());
        damaged(format!(
            "the item of table `{name}` under `{key}` has {what}"
        ))
    };
    for (id, index) in table.indexes() {
        let lacks = |what: &str| lacks(&format!("{what} in index `{}`", index.name));
        let place = index.place_of(&table.schema.key, item);
        let Some(place) = place.filter(|_| table.covers(id, key)) else {
            continue;
        };
        let entry = moment.view().get(&keys::entry(id, &place))?;
        let entry = entry.ok_or_else(|| lacks("no entry"))?;
        if *entry != *entry::value(table, index, item, value) {
            return Err(lacks("an entry that is not its own"));
        }
    }
    if let Some(Expiry { attribute, id }) = &table.expiry
        && let Some(seconds) = expires_seconds(item, attribute)
        && table.covers(*id, key)
        && moment
            .view()
            .get(&keys::expiry(*id, seconds, key))?
            .is_none()
    {
        return Err(lacks("no row that tells when it expires"));
    }
    Ok(())
}

/// An entry has its item.
fn check_entry(
    moment: &Moment,
    table: &Table,
    (id, index): (u32, &IndexSchema),
    key: &[u8],
    value: &[u8],
) -> StoreResult<Item> {
    let (place, row) = entry::row(table, index, key, value)?;
    let stored_key = keys::item(table.id, &place.item);
    let bytes = moment.view().get(&stored_key)?;
    let bytes = bytes.ok_or_else(|| entry::lost(table, index, key))?;
    let (_, item) = item::decode(table, &stored_key, &bytes)?;
    entry::check(table, index, (&place, row.as_ref()), Some(&item))?;
    if table.covers(id, &stored_key) {
        Ok(item)
    } else {
        Err(damaged(format!(
            "the entry of index `{}` under `{}` is there too early",
            index.name,
            key.escape_ascii()
        )))
    }
}

/// An expiry row belongs to an item that expires in its second.
fn check_expiry(moment: &Moment, table: &Table, expiry: &Expiry, key: &[u8]) -> StoreResult<()> {
    let damaged = |how: &str| {
        let (name, key) = (&table.name, key.escape_ascii());
        damaged(format!("the expiry of table `{name}` under `{key}` {how}"))
    };
    let (seconds, stored_key) =
        keys::expiring(table.id, key).ok_or_else(|| damaged("cannot be read"))?;
    let bytes = moment.view().get(&stored_key)?;
    let bytes = bytes.ok_or_else(|| damaged("has no item"))?;
    let (_, item) = item::decode(table, &stored_key, &bytes)?;
    let is_right = expires_seconds(&item, &expiry.attribute) == Some(seconds)
        && table.covers(expiry.id, &stored_key);
    if is_right {
        Ok(())
    } else {
        Err(damaged("disagrees with its item"))
    }
}

fn damaged(message: String) -> StoreError {
    StoreError::Corrupt { message }
}

#[cfg(test)]
mod tests;
