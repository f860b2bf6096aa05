//! How much each partition has done in the last second.
//!
//! Every value of a partition key, of the table and of each of its global indexes, counts as a
//! partition of its own; Amazon splits and joins them, and never gives one value more than this.
//! A request passes while its partitions have units left, and what it took is subtracted
//! afterwards, so that a large one may overdraw.

use std::collections::BTreeMap;
use std::fmt;

use partita_core::Item;
use partita_core::key::KeyValue;
use partita_store::capacity::{self, HalfUnits, Rate};
use partita_store::index::IndexKind;
use partita_store::table::{Key, TableName, TableSchema};

use super::behaviour::Throughput;

/// A value of a partition key, of a table or of one of its indexes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Partition {
    /// The table.
    pub table: TableName,
    /// The index, if it is one of an index.
    pub index: Option<String>,
    /// The values of the partition key.
    pub values: Vec<KeyValue>,
}

/// Why a request was throttled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Throttle {
    /// The partition that has no units left.
    pub partition: Partition,
    /// Whether it was written.
    pub is_write: bool,
}

impl Throttle {
    /// Amazon's word for it.
    pub fn reason(&self) -> &'static str {
        match (self.partition.index.is_some(), self.is_write) {
            (false, false) => "TableReadKeyRangeThroughputExceeded",
            (false, true) => "TableWriteKeyRangeThroughputExceeded",
            (true, false) => "IndexReadKeyRangeThroughputExceeded",
            (true, true) => "IndexWriteKeyRangeThroughputExceeded",
        }
    }
}

impl fmt::Display for Throttle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Partition {
            table,
            index,
            values,
        } = &self.partition;
        write!(f, "{} of {table}", self.reason())?;
        if let Some(index) = index {
            write!(f, " ({index})")?;
        }
        write!(f, " at {values:?}")
    }
}

/// What partitions have left.
pub(super) struct Meters {
    throughput: Throughput,
    /// Half units that were taken, and when they were counted last.
    taken: BTreeMap<(Partition, bool), (u64, i64)>,
}

impl Meters {
    pub(super) fn new(throughput: Throughput) -> Self {
        Meters {
            throughput,
            taken: BTreeMap::new(),
        }
    }

    /// The first of some partitions that has nothing left.
    pub(super) fn exhausted(
        &mut self,
        partitions: impl IntoIterator<Item = Partition>,
        is_write: bool,
        now_millis: i64,
    ) -> Option<Throttle> {
        let limit = self.limit(is_write);
        partitions.into_iter().find_map(|partition| {
            let taken = self.refill(partition.clone(), is_write, now_millis);
            (*taken >= limit).then_some(Throttle {
                partition,
                is_write,
            })
        })
    }

    /// Takes units from a partition.
    pub(super) fn take(
        &mut self,
        partition: Partition,
        is_write: bool,
        units: HalfUnits,
        now_millis: i64,
    ) {
        if self.limit(is_write) < u64::MAX && units > HalfUnits::default() {
            *self.refill(partition, is_write, now_millis) += units.0;
        }
    }

    /// Takes what changing an item costs.
    pub(super) fn take_write(
        &mut self,
        (table, key): &(TableName, Key),
        schema: &TableSchema,
        (old, new): (Option<&Item>, Option<&Item>),
        rate: Rate,
        now_millis: i64,
    ) {
        if self.limit(true) == u64::MAX {
            return;
        }
        let consumed = capacity::written(&schema.key, &schema.indexes, old, new, rate);
        let own = Partition {
            table: table.clone(),
            index: None,
            values: vec![key.partition.clone()],
        };
        self.take(own, true, consumed.write, now_millis);
        for (name, units) in consumed.indexes {
            let images = [old, new].into_iter().flatten();
            let mut partitions: Vec<Partition> = images
                .flat_map(|item| index_partitions(table, schema, item))
                .filter(|partition| partition.index.as_ref() == Some(&name))
                .collect();
            partitions.dedup();
            let share = HalfUnits(units.write.0.div_ceil(partitions.len().max(1) as u64));
            for partition in partitions {
                self.take(partition, true, share, now_millis);
            }
        }
    }

    /// In half units.
    fn limit(&self, is_write: bool) -> u64 {
        let Throughput { read, write } = self.throughput;
        let units = if is_write { write } else { read };
        units.saturating_mul(2)
    }

    /// What a partition still owes at a time: it gets its units back over a second.
    fn refill(&mut self, partition: Partition, is_write: bool, now_millis: i64) -> &mut u64 {
        let limit = self.limit(is_write);
        let taken = self.taken.entry((partition, is_write));
        let (taken, at_millis) = taken.or_insert((0, now_millis));
        let passed = u64::try_from(now_millis - *at_millis).unwrap_or_default();
        let back = limit.saturating_mul(passed) / 1_000;
        // What is less than a unit waits until it is one.
        if back > 0 {
            *taken = taken.saturating_sub(back);
            *at_millis = now_millis;
        }
        taken
    }
}

/// The partitions of the global indexes that an item is in.
pub(super) fn index_partitions(
    table: &TableName,
    schema: &TableSchema,
    item: &Item,
) -> Vec<Partition> {
    let indexes = schema.indexes.iter();
    let global = indexes.filter(|index| index.kind == IndexKind::Global);
    let partitions = global.filter_map(|index| {
        let place = index.place_of(&schema.key, item)?;
        let values = place.values.into_iter().take(index.partition.len());
        Some(Partition {
            table: table.clone(),
            index: Some(index.name.clone()),
            values: values.collect(),
        })
    });
    partitions.collect()
}
