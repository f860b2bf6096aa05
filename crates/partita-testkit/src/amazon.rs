//! Amazon DynamoDB, simulated: what its documentation promises, and what it leaves open.
//!
//! The model behind it is always right and at once. [`Amazon`] adds what a service of many
//! machines adds: indexes and copies that run behind, transactions that meet, partitions that
//! are exhausted, batches that are done in parts, tables that take their time. All of it is drawn
//! from a seed, and the time is that of a [`Simulation`]. A [`Connection`] adds what lies between
//! the service and one server.
//!
//! Errors are those that `partita-remote` makes of the service's.
//!
//! | module | what it holds |
//! |---|---|
//! | [`behaviour`] | [`Behaviour`]: how late, how often, how much |
//! | `follower` | what runs behind a table |
//! | `locks` | items that somebody is writing |
//! | [`throughput`] | what each partition can do, and [`Throttle`] |
//! | `reads`, `writes`, `transactions` | the operations on items |
//! | `tables` | tables that take their time |
//! | `expiry` | items that are deleted late |
//! | `streams` | shards, and records that come late or twice |
//! | [`connection`] | [`Connection`]: answers that are lost, requests that come late |

pub mod behaviour;
pub mod connection;
mod expiry;
mod follower;
mod locks;
mod reads;
mod service;
mod streams;
mod tables;
pub mod throughput;
mod transactions;
mod writes;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use partita_core::Item;
use partita_core::size::item_bytes;
use partita_store::capacity::{self, Rate};
use partita_store::request::{GetItem, TransactAction};
use partita_store::table::{TableName, TableSchema};
use partita_store::{Clock as _, ModelStore, Store};

use crate::simulation::Simulation;
use follower::{Change, at_once};
use locks::{Locks, Place};
use streams::Told;
use tables::Tables;
use throughput::{Meters, Partition, Throttle};

pub use behaviour::Behaviour;
pub use connection::{Connection, Network};

/// The service.
pub struct Amazon {
    simulation: Simulation,
    model: Arc<ModelStore>,
    /// Where requests are carried out: the model, or what watches it.
    primary: Arc<dyn Store>,
    behaviour: Behaviour,
    is_calm: AtomicBool,
    state: Mutex<State>,
    /// Held from the first look at an item to the last change, so that a store that waits lets
    /// nobody in between.
    turn: futures::lock::Mutex<()>,
}

struct State {
    random: fastrand::Rng,
    tables: Tables,
    locks: Locks,
    meters: Meters,
    /// The tokens of transactions that are under way.
    in_progress: BTreeSet<String>,
    /// When expired items are deleted.
    expiring: BTreeMap<Place, i64>,
    told: Told,
    throttles: Vec<Throttle>,
    counts: Counts,
}

/// How often what happened. A test that saw none of it has shown nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests that met a transaction, or a transaction that met a write.
    pub conflicts: u64,
    /// Transactions that were sent again while they were under way.
    pub in_progress: u64,
    /// Transactions that were sent again under their token when they had been carried out.
    pub repeated: u64,
    /// Requests for which a partition had no units left.
    pub throttled: u64,
    /// Keys and items of batches that were left out.
    pub unprocessed: u64,
    /// Pages that ended before they were full.
    pub short_pages: u64,
    /// Reads of a global index that was behind.
    pub behind: u64,
    /// Reads without consistency of a table whose copy was behind.
    pub old_copies: u64,
    /// Items that expired and were deleted.
    pub expired: u64,
    /// Requests that were lost.
    pub lost_requests: u64,
    /// Answers that were lost.
    pub lost_answers: u64,
    /// Requests that came when their server had given up.
    pub late_requests: u64,
    /// Pages of a stream that ended before a record which had not come yet.
    pub late_records: u64,
    /// Pages of a stream that come twice.
    pub repeated_records: u64,
    /// Shard iterators that had expired.
    pub expired_iterators: u64,
}

impl Counts {
    /// Everything that was counted, by its name.
    pub fn named(self) -> [(&'static str, u64); 15] {
        let Counts {
            conflicts,
            in_progress,
            repeated,
            throttled,
            unprocessed,
            short_pages,
            behind,
            old_copies,
            expired,
            lost_requests,
            lost_answers,
            late_requests,
            late_records,
            repeated_records,
            expired_iterators,
        } = self;
        [
            ("conflicts", conflicts),
            ("transactions in progress", in_progress),
            ("repeated transactions", repeated),
            ("throttled requests", throttled),
            ("unprocessed items", unprocessed),
            ("short pages", short_pages),
            ("indexes behind", behind),
            ("old copies", old_copies),
            ("expired items", expired),
            ("lost requests", lost_requests),
            ("lost answers", lost_answers),
            ("late requests", late_requests),
            ("late records", late_records),
            ("repeated records", repeated_records),
            ("expired iterators", expired_iterators),
        ]
    }
}

impl Amazon {
    /// A service without tables. It behaves from the beginning.
    pub fn new(simulation: &Simulation, behaviour: Behaviour, seed: u64) -> Self {
        let model = Arc::new(ModelStore::new(Arc::new(simulation.clone())));
        Amazon::around(model.clone(), model, simulation, behaviour, seed)
    }

    /// A service that carries requests out on a store which itself goes to the model.
    pub fn around(
        model: Arc<ModelStore>,
        primary: Arc<dyn Store>,
        simulation: &Simulation,
        behaviour: Behaviour,
        seed: u64,
    ) -> Self {
        Amazon {
            simulation: simulation.clone(),
            model,
            primary,
            is_calm: AtomicBool::new(false),
            state: Mutex::new(State {
                random: fastrand::Rng::with_seed(seed),
                tables: Tables::default(),
                locks: Locks::default(),
                meters: Meters::new(behaviour.throughput),
                in_progress: BTreeSet::new(),
                expiring: BTreeMap::new(),
                told: Told::default(),
                throttles: Vec::new(),
                counts: Counts::default(),
            }),
            behaviour,
            turn: futures::lock::Mutex::new(()),
        }
    }

    /// From now on everything is done at once and without a fault. What is behind catches up.
    pub fn calm(&self) {
        self.is_calm.store(true, Ordering::Relaxed);
        self.state().tables.catch_up(i64::MAX);
    }

    /// From now on it behaves as it is told to.
    pub fn begin(&self) {
        self.is_calm.store(false, Ordering::Relaxed);
    }

    /// How often what happened.
    pub fn counts(&self) -> Counts {
        self.state().counts
    }

    /// What was throttled, and why.
    pub fn throttles(&self) -> Vec<Throttle> {
        self.state().throttles.clone()
    }

    /// How many changes have not reached an index or a copy yet.
    pub fn changes_behind(&self) -> usize {
        let mut state = self.state();
        state.tables.catch_up(self.now());
        state.tables.behind()
    }

    fn is_calm(&self) -> bool {
        self.is_calm.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> i64 {
        self.simulation.now_millis()
    }

    /// Draws a time that something takes.
    fn drawn(&self, millis: &RangeInclusive<i64>) -> i64 {
        if self.is_calm() {
            return 0;
        }
        self.state().random.i64(millis.clone())
    }

    /// Draws whether something happens.
    fn happens(&self, rate: f64) -> bool {
        !self.is_calm() && rate > 0.0 && self.state().random.f64() < rate
    }

    fn schema(&self, table: &TableName) -> Option<Arc<TableSchema>> {
        self.state().tables.schema(table)
    }

    /// The place that an action writes, if it fits its table. What does not is refused by the
    /// store behind.
    fn place(&self, action: &TransactAction) -> Option<Place> {
        let schema = self.schema(action.table())?;
        let key = action.key(&schema.key).ok()?;
        Some((action.table().clone(), key))
    }

    /// The item at a place.
    fn item(&self, (table, key): &Place) -> Option<Item> {
        let schema = self.schema(table)?;
        let get = GetItem::new(table.clone(), schema.key.attributes_of(key));
        let found = at_once(self.model.get_item(get)).ok()?.answer;
        found.and_then(|found| found.into_item().ok())
    }

    /// The items at some places.
    fn items(&self, places: &[Place]) -> Vec<Option<Item>> {
        places.iter().map(|place| self.item(place)).collect()
    }

    /// Sends on what a write changed: to indexes and copies, and to the meters.
    fn follow(&self, places: Vec<Place>, before: Vec<Option<Item>>, rate: Rate) {
        let now = self.now();
        let after = self.items(&places);
        let is_calm = self.is_calm();
        self.charge(&places, &before, &after, rate);
        let mut guard = self.state();
        let state = &mut *guard;
        for ((place, old), new) in places.into_iter().zip(before).zip(after) {
            if old == new {
                continue;
            }
            let (table, key) = place;
            let change = Change { key, item: new };
            let lags = if is_calm { None } else { Some(&self.behaviour) };
            state
                .tables
                .send(&table, change, lags, now, &mut state.random);
        }
    }

    /// Takes the units of writes. One that changes nothing takes them too: a condition that is
    /// only checked, and one that does not hold.
    fn charge(
        &self,
        places: &[Place],
        before: &[Option<Item>],
        after: &[Option<Item>],
        rate: Rate,
    ) {
        if self.is_calm() {
            return;
        }
        let now = self.now();
        let mut guard = self.state();
        let state = &mut *guard;
        for ((place, old), new) in places.iter().zip(before).zip(after) {
            if let Some(schema) = state.tables.schema(&place.0) {
                let images = (old.as_ref(), new.as_ref());
                state.meters.take_write(place, &schema, images, rate, now);
            }
        }
    }

    /// Takes the units of a write that was refused because a condition does not hold.
    fn charge_refused(&self, places: &[Place], before: &[Option<Item>], rate: Rate) {
        self.charge(places, before, before, rate);
    }

    /// Takes the units of a transaction that is repeated under its token: its items are read.
    fn charge_repeated(&self, places: &[Place], items: &[Option<Item>]) {
        for ((table, key), item) in places.iter().zip(items) {
            let partition = Partition {
                table: table.clone(),
                index: None,
                values: vec![key.partition.clone()],
            };
            let bytes = item.as_ref().map_or(0, item_bytes);
            let units = capacity::read_units(bytes, Rate::Transaction);
            self.take_read(Some(partition), units);
        }
    }
}
