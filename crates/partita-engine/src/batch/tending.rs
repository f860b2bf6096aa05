//! What the store does by itself, a little at a time.

use std::sync::Arc;

use partita_core::Item;
use partita_store::StoreResult;
use partita_store::expiry::has_expired;
use partita_store::stream::StreamName;
use partita_store::table::TableName;
use partita_store::write::{Change, PlacedChange};

use super::{Batch, Cause, WrittenItem};
use crate::storage::{Direction, Edit};
use crate::streams::Link;
use crate::tables::{Building, Table};
use crate::{item, keys};

/// Items, and about their bytes, that are looked at for an index in one commit. They are read by
/// the committer, so they are few.
const BUILD_ROWS: usize = 128;
const BUILD_BYTES: usize = 1_048_576;

/// Stored items with their keys, and whether there are no more.
#[derive(Default)]
struct NextItems {
    items: Vec<(Vec<u8>, Item)>,
    is_last: bool,
}

impl Batch<'_> {
    /// Removes rows of something that was deleted.
    pub(crate) fn clear(&mut self, rows: Vec<Vec<u8>>) {
        self.bytes += rows.iter().map(Vec::len).sum::<usize>();
        self.cleared.extend(rows.into_iter().map(Edit::Remove));
    }

    /// Forgets an id that has no rows any more.
    pub(crate) fn forget(&mut self, id: u32) {
        self.cleared.push(Edit::Remove(keys::dropped(id)));
    }

    /// Goes on with the building of an index or expiry: the rows of some more items, as these
    /// are now. Whether there is more to do.
    pub(crate) fn build(&mut self, name: &TableName, id: u32) -> StoreResult<bool> {
        let Ok(table) = self.tables.find(name).cloned() else {
            return Ok(false);
        };
        let Some(at) = table.building.iter().position(|building| building.id == id) else {
            return Ok(false);
        };
        let NextItems { items, is_last } = self.next_items(&table, &table.building[at])?;
        let mut table = (*table).clone();
        match items.last() {
            Some((last, _)) if !is_last => table.building[at].up_to.clone_from(last),
            _ => drop(table.building.remove(at)),
        }
        self.put_table(table.clone());
        let table = Arc::new(table);
        for (stored_key, item) in items {
            let table = table.clone();
            // An item that was written in this batch is here already.
            self.items.entry(stored_key).or_insert_with(|| WrittenItem {
                table,
                before: Some(item.clone()),
                after: Some(item),
                is_replaced: false,
            });
        }
        Ok(!is_last)
    }

    /// Some of the stored items behind those that a building covers.
    fn next_items(&self, table: &Table, building: &Building) -> StoreResult<NextItems> {
        let start = Some(building.up_to.clone()).filter(|up_to| !up_to.is_empty());
        let bounds = keys::after(keys::rows(table.id), start, Direction::Ascending);
        let rows = bounds.map(|bounds| self.view.range(bounds, Direction::Ascending));
        let mut next = NextItems::default();
        let mut bytes = 0;
        for row in rows.into_iter().flatten() {
            if next.items.len() >= BUILD_ROWS || bytes >= BUILD_BYTES {
                return Ok(next);
            }
            let (key, value) = row?;
            bytes += value.len();
            let (_, item) = item::decode(table, &key, &value)?;
            next.items.push((key.to_vec(), item));
        }
        next.is_last = true;
        Ok(next)
    }

    /// Deletes those of the items of a table that have expired, by now and by what they are now.
    /// How many they were.
    pub(crate) fn expire(&mut self, name: &TableName, keys: &[Vec<u8>]) -> StoreResult<usize> {
        let Ok(table) = self.tables.find(name).cloned() else {
            return Ok(0);
        };
        let Some(expiry) = &table.expiry else {
            return Ok(0);
        };
        let mut changes = Vec::new();
        for stored_key in keys {
            // A table that was created anew has another id, and nothing under this key.
            let item = self.item(&table, stored_key)?;
            let item = item.filter(|item| has_expired(item, &expiry.attribute, self.now_millis));
            let Some(item) = item else { continue };
            changes.push(PlacedChange {
                table: name.clone(),
                key: table.schema.key.key_of(&item)?,
                old: Some(item),
                change: Change::Delete,
            });
        }
        let count = changes.len();
        self.make(changes, Cause::Expiry)?;
        Ok(count)
    }

    /// Removes the oldest records of a stream, up to a certain place.
    pub(crate) fn trim(
        &mut self,
        name: &StreamName,
        horizon: Link,
        records: Vec<Vec<u8>>,
    ) -> StoreResult<()> {
        let Ok(stream) = self.tables.stream(name).cloned() else {
            return Ok(());
        };
        let head = self.recording.head(&*self.view, &stream)?;
        self.recording.trim(&stream, head, horizon);
        self.clear(records);
        Ok(())
    }

    /// Lets a stream vanish that has ended long ago.
    pub(crate) fn forget_stream(&mut self, name: &StreamName) {
        let Some(stream) = Arc::make_mut(&mut self.tables).remove_stream(name) else {
            return;
        };
        self.recording.forget(&stream);
        self.changed_streams.insert(stream.id, name.clone());
        self.cleared.push(Edit::Remove(keys::head(stream.id)));
        self.dropped.push(stream.id);
    }
}
