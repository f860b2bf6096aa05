//! Rows as they are now.
//!
//! A global index follows its table after a while, so a row of it shows an item as it was. A fresh
//! pattern takes from a row only where its item is. The item is read consistently, and rules and
//! filter decide on that. One whose keys are not those that are asked for any more is left out.
//! One that the index does not show yet is not found.

use partita_core::Item;
use partita_core::limits::BATCH_GET_KEYS_MAX;
use partita_design::design::Read;

use super::PatternRead;
use crate::error::PlanError;
use crate::room::{READS_MEMORY_MAX, Room};

/// Bytes of memory of the items of rows that are looked at together. A single item may take more.
const FRESH_MEMORY_MAX: usize = 8 * 1_048_576;

impl PatternRead<'_> {
    /// For each row, its item as it is now; none where it is gone or no longer belongs.
    pub(super) async fn current(&self, rows: &[Item]) -> Result<Vec<Option<Item>>, PlanError> {
        let (_, table) = self.blueprint().table(self.pattern.table);
        let keys = &self.blueprint().keys;
        let places: Vec<_> = rows.iter().map(|row| keys.place(table, row)).collect();
        let mut room = Room::new(if rows.len() == 1 {
            READS_MEMORY_MAX
        } else {
            FRESH_MEMORY_MAX
        });
        let mut items = Vec::with_capacity(rows.len());
        for chunk in places.chunks(BATCH_GET_KEYS_MAX) {
            let runner = self.runner;
            items.extend(runner.read_items_within(&mut room, chunk).await?);
        }
        let listing = match self.pattern.read {
            Read::Query(_) => self.blueprint().listing(self.pattern, &self.values)?,
            Read::Get(_) | Read::Scan { .. } => None,
        };
        let belongs = |item: &Item| match &listing {
            Some(listing) => listing.has(item),
            None => self.has_index_keys(item),
        };
        let items = items.into_iter().map(|item| item.filter(belongs));
        Ok(items.collect())
    }

    /// Whether an item is in the index that is read at all.
    pub(super) fn has_index_keys(&self, item: &Item) -> bool {
        let (table, _) = self.blueprint().table(self.pattern.table);
        let index = self.pattern.read.index();
        let index = index.map(|index| &table.indexes[index.index()]);
        let mut keys = index.into_iter().flat_map(|index| index.keys());
        keys.all(|key| item.contains_key(&key.name))
    }
}
