//! Reads of one view. They may wait for the disk, so they run where waiting is allowed.

use partita_core::Item;
use partita_core::limits::BATCH_GET_BYTES_MAX;
use partita_core::size::item_bytes;
use partita_store::StoreResult;
use partita_store::read::PageBuilder;
use partita_store::request::{BatchGot, Page, Query, Scan};
use partita_store::table::Key;

use crate::storage::{Bounds, Direction, View};
use crate::tables::Table;
use crate::{item, keys};

/// The item of a key.
pub(crate) fn get(view: &dyn View, table: &Table, key: &Key) -> StoreResult<Option<Item>> {
    let stored_key = keys::item(table.id, key);
    match view.get(&stored_key)? {
        Some(bytes) => Ok(Some(item::decode(table, &stored_key, &bytes)?.1)),
        None => Ok(None),
    }
}

/// The items of several keys, as many as an answer has room for.
pub(crate) fn get_each<'a>(
    view: &dyn View,
    keys: impl IntoIterator<Item = (&'a Table, &'a Key)>,
) -> StoreResult<Vec<BatchGot>> {
    let mut bytes = 0;
    let mut answers = Vec::new();
    for (table, key) in keys {
        if bytes >= BATCH_GET_BYTES_MAX {
            answers.push(BatchGot::Unprocessed);
            continue;
        }
        answers.push(match get(view, table, key)? {
            None => BatchGot::Missing,
            Some(item) => {
                bytes += item_bytes(&item);
                BatchGot::Found(item)
            }
        });
    }
    Ok(answers)
}

/// One page of a partition.
pub(crate) fn query(view: &dyn View, table: &Table, request: &Query) -> StoreResult<Page> {
    let (query, start) = table.schema.resolve_query(request)?;
    let start = start.map(|key| keys::item(table.id, &key));
    let page = PageBuilder::new(request.filter.as_ref(), request.limit)?;
    let direction = match request.descending {
        true => Direction::Descending,
        false => Direction::Ascending,
    };
    let bounds = keys::after(keys::query(table.id, &query), start, direction);
    fill(view, table, page, bounds, direction)
}

/// One page of a table.
pub(crate) fn scan(view: &dyn View, table: &Table, request: &Scan) -> StoreResult<Page> {
    let start = table.schema.start_key(request.start_after.as_ref())?;
    let start = start.map(|key| keys::item(table.id, &key));
    let page = PageBuilder::new(request.filter.as_ref(), request.limit)?;
    let direction = Direction::Ascending;
    let bounds = keys::after(keys::items(table.id), start, direction);
    fill(view, table, page, bounds, direction)
}

fn fill(
    view: &dyn View,
    table: &Table,
    mut page: PageBuilder<'_>,
    bounds: Option<Bounds>,
    direction: Direction,
) -> StoreResult<Page> {
    let entries = bounds.map(|bounds| view.range(bounds, direction));
    let mut entries = entries.into_iter().flatten();
    while !page.is_full()
        && let Some(entry) = entries.next()
    {
        let (stored_key, bytes) = entry?;
        let (key, item) = item::decode(table, &stored_key, &bytes)?;
        page.push(key, item);
    }
    Ok(page.finish(&table.schema))
}
