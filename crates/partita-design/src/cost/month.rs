//! Rates and prices: what a month costs, and what is full first.

use std::collections::BTreeMap;

use super::{Cost, Load, PARTITION_READS, PARTITION_WRITES};

/// Seconds of a month of thirty days.
const MONTH_SECONDS: f64 = 30.0 * 86_400.0;

/// How often something is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// In a second, on average.
    pub per_second: f64,
    /// How much of it concerns the one key that most of it concerns, from 0 to 1.
    pub hottest: f64,
}

/// What units cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    /// The currency, for the print.
    pub currency: String,
    /// A million write units.
    pub million_writes: f64,
    /// A million read units.
    pub million_reads: f64,
}

/// A month at some rates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Month {
    /// Each operation that has a rate, in the order of the cost.
    pub operations: Vec<MonthOf>,
    /// All write units.
    pub write_units: f64,
    /// All read units.
    pub read_units: f64,
    /// What they cost, where there are prices.
    pub price: Option<f64>,
    /// The partitions, the fullest first.
    pub partitions: Vec<Fullness>,
}

/// One operation in a month.
#[derive(Clone, Debug, PartialEq)]
pub struct MonthOf {
    /// The write or pattern.
    pub name: String,
    /// How often.
    pub times: f64,
    /// Units of either kind.
    pub units: f64,
    /// What they cost, where there are prices.
    pub price: Option<f64>,
}

/// How full a partition is at some rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Fullness {
    /// The entity or view that fills it.
    pub record: String,
    /// The index; none is the table.
    pub index: Option<String>,
    /// The partition key as the design spells it.
    pub key: String,
    /// Whether all items are in one partition; otherwise it is the one of the hottest value.
    pub is_shared: bool,
    /// Whether it is filled by writes.
    pub is_write: bool,
    /// Units in a second.
    pub units_per_second: f64,
    /// How many times these rates the partition has room for.
    pub room: f64,
}

impl Cost {
    /// What a month costs at these rates, by the names of writes and patterns, and which partition
    /// is full first.
    pub fn month(&self, rates: &BTreeMap<String, Rate>, prices: Option<&Prices>) -> Month {
        let mut month = Month::default();
        let mut full = Partitions::default();
        for write in &self.writes {
            let Some(rate) = rates.get(&write.name) else {
                continue;
            };
            let price = prices.map(|prices| prices.million_writes);
            month.write_units += month.add(&write.name, *rate, write.units, price);
            for load in &write.loads {
                full.add(load, *rate, true);
            }
        }
        for pattern in &self.patterns {
            let Some(rate) = rates.get(&pattern.name) else {
                continue;
            };
            let price = prices.map(|prices| prices.million_reads);
            month.read_units += month.add(&pattern.name, *rate, pattern.units, price);
            if let Some(load) = &pattern.load {
                full.add(load, *rate, false);
            }
        }
        let priced = month.operations.iter().map(|one| one.price);
        month.price = priced.sum::<Option<f64>>().filter(|_| prices.is_some());
        month.partitions = full.finish();
        month
    }
}

impl Month {
    /// Adds an operation, and answers its units.
    fn add(&mut self, name: &str, rate: Rate, units: f64, million: Option<f64>) -> f64 {
        let times = rate.per_second * MONTH_SECONDS;
        let units = times * units;
        self.operations.push(MonthOf {
            name: name.to_owned(),
            times,
            units,
            price: million.map(|million| units / 1e6 * million),
        });
        units
    }
}

/// Units that partitions take in a second, by index, values and kind.
#[derive(Default)]
struct Partitions(BTreeMap<(Option<String>, String, bool), Fullness>);

impl Partitions {
    fn add(&mut self, load: &Load, rate: Rate, is_write: bool) {
        let share = if load.is_shared { 1.0 } else { rate.hottest };
        let key = (load.index.clone(), load.place.clone(), is_write);
        let full = self.0.entry(key).or_insert_with(|| Fullness {
            record: load.record.clone(),
            index: load.index.clone(),
            key: load.key.clone(),
            is_shared: load.is_shared,
            is_write,
            units_per_second: 0.0,
            room: 0.0,
        });
        full.units_per_second += rate.per_second * share * load.units;
    }

    fn finish(self) -> Vec<Fullness> {
        let mut all: Vec<Fullness> = self.0.into_values().collect();
        all.retain(|one| one.units_per_second > 0.0);
        for one in &mut all {
            let most = if one.is_write {
                PARTITION_WRITES
            } else {
                PARTITION_READS
            };
            one.room = most / one.units_per_second;
        }
        all.sort_by(|one, two| one.room.total_cmp(&two.room));
        all
    }
}
