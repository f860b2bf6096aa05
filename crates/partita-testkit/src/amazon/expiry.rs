//! Items that have expired: Amazon deletes them up to two days later, in any order.

use super::Amazon;
use super::follower::Change;
use super::locks::Place;

impl Amazon {
    /// Deletes the expired items whose turn it is, and the records of streams that are too old.
    ///
    /// It happens at no other time, so that a test decides when it is looked at.
    pub fn sweep(&self) {
        let now = self.now();
        let most = if self.is_calm() {
            0
        } else {
            self.behaviour.expiry_millis_max
        };
        let gone = self.model.expire(|table, key| {
            let place: Place = (table.clone(), key.clone());
            let mut state = self.state();
            if state.locks.is_in_transaction(&place) {
                return false;
            }
            // Mostly within minutes, now and then after a day.
            let drawn = state.random.f64().powi(4) * most as f64;
            let due = state.expiring.entry(place).or_insert(now + drawn as i64);
            *due <= now
        });
        self.model.trim();
        let lags = (!self.is_calm()).then_some(&self.behaviour);
        let mut guard = self.state();
        let state = &mut *guard;
        for place in gone {
            state.expiring.remove(&place);
            state.counts.expired += 1;
            let (table, key) = place;
            let change = Change { key, item: None };
            state
                .tables
                .send(&table, change, lags, now, &mut state.random);
        }
    }
}
