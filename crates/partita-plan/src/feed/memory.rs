//! What decided on the rows of a feed: the items that rules and `follow` read, lists, and what
//! expires. Bounded; whoever needs more begins again.

use std::collections::BTreeMap;

use partita_core::Item;
use partita_store::table::TableName;
use rustc_hash::FxHashMap;

use super::changes::{Changes, Interest};
use crate::error::PlanError;
use crate::evaluate::Listing;
use crate::partita::Partita;
use crate::pattern::{Seen, Watched};
use crate::place::Address;

/// Pairs of an item and a row that it decides on.
const LED_MAX: usize = 16_384;
/// Instants at which something expires.
const EXPIRING_MAX: usize = 8_192;
/// Lists that decide on rows.
const LISTS_MAX: usize = 64;

/// About what is taken by an item that decides on rows, with its key in the hub as well, and by a
/// row of one or an instant.
const ITEM_BYTES: usize = 512;
const ROW_BYTES: usize = 128;

pub(super) struct Memory {
    table: TableName,
    range: Range,
    /// For each item that decided on rows: which.
    led: FxHashMap<Address, Vec<Address>>,
    led_count: usize,
    lists: Vec<Listing>,
    expiring: BTreeMap<i64, Vec<Address>>,
    expiring_count: usize,
    interests: Vec<Interest>,
}

/// Which items can be rows.
enum Range {
    Item(Address),
    Listing(Listing),
    Everything,
    /// The parameters spell no key.
    Nothing,
}

impl Memory {
    pub(super) fn of(partita: &Partita, watched: &Watched) -> Result<Memory, PlanError> {
        let pattern = watched.pattern(partita);
        let (_, table) = partita.blueprint.table(pattern.table);
        let range = match (watched.place(partita)?, watched.listing(partita)?) {
            (Some(place), _) => Range::Item(place),
            (None, Some(listing)) => Range::Listing(listing),
            (None, None) => match pattern.read {
                partita_design::design::Read::Scan { .. } => Range::Everything,
                _ => Range::Nothing,
            },
        };
        let interests = match &range {
            Range::Item(place) => Some(Interest::item(place)),
            Range::Listing(listing) => Interest::listing(listing),
            Range::Everything => Some(Interest::table(table)),
            Range::Nothing => None,
        };
        Ok(Memory {
            table: table.clone(),
            range,
            led: FxHashMap::default(),
            led_count: 0,
            lists: Vec::new(),
            expiring: BTreeMap::new(),
            expiring_count: 0,
            interests: interests.into_iter().collect(),
        })
    }

    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        let items = self.led.len() + self.lists.len() + 1;
        let rows = self.led_count + self.expiring_count;
        items * ITEM_BYTES + rows * ROW_BYTES
    }

    /// Whether an item, as it is stored, has the keys that are asked for.
    pub(super) fn has(&self, item: &Item) -> bool {
        match &self.range {
            // What is looked at is what is at this place.
            Range::Item(_) | Range::Everything => true,
            Range::Listing(listing) => listing.has(item),
            Range::Nothing => false,
        }
    }

    /// Whether a place is that of a row, before or after what changed.
    pub(super) fn is_row(&self, changes: &Changes, place: &Address) -> bool {
        let is_here = match &self.range {
            Range::Item(one) => one == place,
            _ => place.table == self.table,
        };
        is_here
            && match changes.of(place) {
                Some(change) => change.images().any(|image| self.has(image)),
                // It has expired, and was a row when that was noted.
                None => true,
            }
    }

    /// Whether the change of an item matters.
    pub(super) fn is_concerned(&self, changes: &Changes, place: &Address) -> bool {
        self.led.contains_key(place)
            || self.is_row(changes, place)
            || self.is_listed(changes, place)
    }

    fn is_listed(&self, changes: &Changes, place: &Address) -> bool {
        let Some(change) = changes.of(place) else {
            return false;
        };
        let mut lists = self.lists.iter();
        lists.any(|list| list.table == place.table && change.images().any(|image| list.has(image)))
    }

    /// Whether a change is one of those of which it is not known which rows they decide on.
    pub(super) fn is_refetched_for(&self, changes: &Changes, touched: &[Address]) -> bool {
        touched.iter().any(|place| self.is_listed(changes, place))
    }

    /// The rows that an item decides on.
    pub(super) fn led_by(&self, place: &Address) -> impl Iterator<Item = &Address> {
        self.led.get(place).into_iter().flatten()
    }

    /// The rows that share with these what decides on them.
    pub(super) fn rows_beside(&self, rows: &[Address]) -> Vec<Address> {
        let mut beside: Vec<Address> = Vec::new();
        for led in self
            .led
            .values()
            .filter(|led| led.iter().any(|one| rows.contains(one)))
        {
            for row in led {
                if !rows.contains(row) && !beside.contains(row) {
                    beside.push(row.clone());
                }
            }
        }
        beside
    }

    pub(super) fn remember(&mut self, row: &Address, seen: &Seen) {
        for item in seen.items.iter().filter(|item| *item != row) {
            let led = self.led.entry(item.clone()).or_insert_with(|| {
                self.interests.push(Interest::item(item));
                Vec::new()
            });
            if !led.contains(row) {
                led.push(row.clone());
                self.led_count += 1;
            }
        }
        for list in &seen.lists {
            if !self.lists.contains(list) {
                self.interests.extend(Interest::listing(list));
                self.lists.push(list.clone());
            }
        }
        for (until, place) in &seen.expiring {
            let places = self.expiring.entry(*until).or_default();
            if !places.contains(place) {
                places.push(place.clone());
                self.expiring_count += 1;
            }
        }
    }

    /// Whether there is more than is remembered.
    pub(super) fn is_full(&self) -> bool {
        self.led_count > LED_MAX
            || self.expiring_count > EXPIRING_MAX
            || self.lists.len() > LISTS_MAX
    }

    /// The first millisecond at which something is not there any more.
    pub(super) fn next_expiry_millis(&self) -> Option<i64> {
        let (until, _) = self.expiring.first_key_value()?;
        Some(until.saturating_add(1))
    }

    /// What has expired by now.
    pub(super) fn take_expired(&mut self, now_millis: i64) -> Vec<Address> {
        let later = self.expiring.split_off(&now_millis);
        let expired = std::mem::replace(&mut self.expiring, later);
        let expired: Vec<Address> = expired.into_values().flatten().collect();
        self.expiring_count -= expired.len();
        expired
    }

    pub(super) fn take_interests(&mut self) -> Vec<Interest> {
        std::mem::take(&mut self.interests)
    }
}
