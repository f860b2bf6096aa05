//! Items that somebody is writing, so that a transaction meets them.
//!
//! A transaction keeps its items from its arrival to its end. Another one that touches any of
//! them is cancelled, and so is a single write; a single write keeps its item from transactions
//! only.

use std::collections::BTreeMap;

use partita_store::table::{Key, TableName};

/// The place of one item.
pub(super) type Place = (TableName, Key);

/// The items that are being written.
#[derive(Default)]
pub(super) struct Locks {
    transactions: BTreeMap<Place, i64>,
    writes: BTreeMap<Place, i64>,
}

impl Locks {
    /// Whether a transaction has an item.
    pub(super) fn is_in_transaction(&self, place: &Place) -> bool {
        self.transactions.contains_key(place)
    }

    /// Whether anybody writes an item.
    pub(super) fn is_written(&self, place: &Place, now_millis: i64) -> bool {
        let until = self.writes.get(place);
        self.is_in_transaction(place) || until.is_some_and(|until| *until > now_millis)
    }

    /// A transaction takes its items.
    pub(super) fn take(&mut self, places: &[Place], now_millis: i64) {
        let places = places.iter().cloned();
        self.transactions
            .extend(places.map(|place| (place, now_millis)));
    }

    /// A transaction gives its items back.
    pub(super) fn give_back(&mut self, places: &[Place]) {
        for place in places {
            self.transactions.remove(place);
        }
    }

    /// A single write has its item until a time.
    pub(super) fn write(&mut self, place: Place, now_millis: i64, until_millis: i64) {
        self.writes.retain(|_, until| *until > now_millis);
        if until_millis > now_millis {
            self.writes.insert(place, until_millis);
        }
    }
}
