//! How much tables and indexes hold.
//!
//! Each table has one record with its own numbers and those of its indexes, which is written in
//! the same commit as the items, so that the numbers are never anything but right.

use std::collections::BTreeMap;

use partita_store::request::Totals;

use crate::keys;
use crate::storage::{Edit, StorageError, View};

/// The numbers of a table and its indexes, by their ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TableTotals(BTreeMap<u32, Totals>);

const NUMBERS_BYTES: usize = 4 + 8 + 8;

impl TableTotals {
    /// Reads the numbers that are stored of a table; zeros where there are none.
    pub(crate) fn load(view: &dyn View, table_id: u32) -> Result<Self, StorageError> {
        match view.get(&keys::totals(table_id))? {
            None => Ok(TableTotals::default()),
            Some(bytes) => TableTotals::read(&bytes).ok_or_else(|| {
                StorageError::Damaged(
                    format!("the numbers of table {table_id} cannot be read").into(),
                )
            }),
        }
    }

    /// The numbers of the table or index of an id.
    pub(crate) fn of(&self, id: u32) -> Totals {
        self.0.get(&id).copied().unwrap_or_default()
    }

    /// An item or entry of so many bytes takes the place of another, or comes, or goes.
    pub(crate) fn change(&mut self, id: u32, before: Option<usize>, after: Option<usize>) {
        if before.is_none() && after.is_none() {
            return;
        }
        let totals = self.0.entry(id).or_default();
        // Totals that are wrong already must not stop a write; `verify` reports them.
        if let Some(bytes) = before {
            totals.items = totals.items.saturating_sub(1);
            totals.bytes = totals.bytes.saturating_sub(bytes as u64);
        }
        if let Some(bytes) = after {
            totals.items += 1;
            totals.bytes += bytes as u64;
        }
    }

    /// Forgets what the table has no longer.
    pub(crate) fn retain(&mut self, is_there: impl Fn(u32) -> bool) {
        self.0.retain(|id, _| is_there(*id));
    }

    /// Stores the numbers.
    pub(crate) fn edit(&self, table_id: u32) -> Edit {
        let mut bytes = Vec::with_capacity(self.0.len() * NUMBERS_BYTES);
        for (id, totals) in &self.0 {
            bytes.extend(id.to_be_bytes());
            bytes.extend(totals.items.to_be_bytes());
            bytes.extend(totals.bytes.to_be_bytes());
        }
        Edit::Put(keys::totals(table_id), bytes)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut totals = BTreeMap::new();
        for numbers in bytes.chunks(NUMBERS_BYTES) {
            let (id, numbers) = numbers.split_first_chunk()?;
            let (items, bytes) = numbers.split_first_chunk()?;
            let counted = Totals {
                items: u64::from_be_bytes(*items),
                bytes: u64::from_be_bytes(bytes.try_into().ok()?),
            };
            totals.insert(u32::from_be_bytes(*id), counted);
        }
        Some(TableTotals(totals))
    }
}
