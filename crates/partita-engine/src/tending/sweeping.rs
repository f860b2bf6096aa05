//! Expired items, deleted a little at a time.
//!
//! What has expired is found in a view and decided by the committer once more, by its own clock
//! and by the item as it is then. So an item whose time was put off meanwhile stays, and so does
//! one that a clock which has been set back says is not due.

use partita_store::StoreResult;
use partita_store::expiry::PAST_SECONDS_MAX;

use super::Tending;
use crate::keys;
use crate::storage::Direction;
use crate::tables::{Expiry, Table};

/// Items that one commit deletes.
const CHUNK_ITEMS: usize = 256;

impl Tending {
    /// Deletes some of the items of every table that have expired.
    pub(super) fn sweep(&mut self) -> StoreResult<bool> {
        let now_millis = self.clock.now_millis();
        // What a clock that was years ahead has passed over as too old may be due now.
        if self.swept_millis.is_some_and(|swept| swept > now_millis) {
            self.earliest.forget();
        }
        self.swept_millis = Some(now_millis);
        let mut has_more = false;
        for table in self.catalog.tables().all() {
            if let Some(expiry) = &table.expiry {
                has_more |= self.sweep_table(table, expiry, now_millis)?;
            }
        }
        Ok(has_more)
    }

    fn sweep_table(&self, table: &Table, expiry: &Expiry, now_millis: i64) -> StoreResult<bool> {
        // An item expires after the second that its attribute names, not in it.
        let last = now_millis.div_euclid(1000).saturating_sub(1);
        let earliest = self.earliest.take(expiry.id, last);
        let first = earliest.max(last.saturating_sub(PAST_SECONDS_MAX));
        let swept = self.sweep_between(table, expiry.id, first, last);
        match &swept {
            Ok(None) => {}
            Ok(Some(reached)) => self.earliest.put(expiry.id, *reached),
            Err(_) => self.earliest.put(expiry.id, earliest),
        }
        Ok(swept?.is_some())
    }

    /// Deletes some of the items that expire between two seconds. Where to go on, if that was
    /// not all of them.
    fn sweep_between(
        &self,
        table: &Table,
        id: u32,
        first: i64,
        last: i64,
    ) -> StoreResult<Option<i64>> {
        let Some(bounds) = keys::expiries(id, first, last) else {
            return Ok(None);
        };
        let mut keys = Vec::new();
        let mut reached = None;
        let view = self.views.view();
        for row in view.range(bounds, Direction::Ascending).take(CHUNK_ITEMS) {
            let (key, _) = row?;
            if let Some((seconds, stored_key)) = keys::expiring(table.id, &key) {
                reached = Some(seconds);
                keys.push(stored_key);
            }
        }
        let is_all = keys.len() < CHUNK_ITEMS;
        if !keys.is_empty() {
            let (name, bytes) = (table.name.clone(), keys.iter().map(Vec::len).sum());
            self.write(bytes, move |batch| batch.expire(&name, &keys))?;
        }
        Ok(reached.filter(|_| !is_all))
    }
}
