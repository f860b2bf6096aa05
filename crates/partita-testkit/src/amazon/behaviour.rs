//! How the simulated service behaves: how late, how often, how much.

use std::ops::RangeInclusive;

/// How the service behaves.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// How far global indexes are behind.
    pub index_lag: Lag,
    /// How far what reads without consistency see is behind.
    pub replica_lag: Lag,
    /// How long a transaction keeps its items.
    pub transaction_millis: RangeInclusive<i64>,
    /// How long a single write keeps its item from transactions.
    pub write_millis: RangeInclusive<i64>,
    /// What each partition can do in a second.
    pub throughput: Throughput,
    /// How often a key or an item of a batch is not processed, from 0 to 1.
    pub unprocessed: f64,
    /// How often a page ends before it is full.
    pub short_page: f64,
    /// How long it takes to create, change or delete a table.
    pub table_millis: RangeInclusive<i64>,
    /// How long it takes to fill an index that is added.
    pub backfill_millis: i64,
    /// How late an expired item is deleted at most.
    pub expiry_millis_max: i64,
    /// How streams are told.
    pub streams: StreamManners,
}

/// A delay that is mostly short.
#[derive(Clone, Debug)]
pub struct Lag {
    /// The usual delay.
    pub usual_millis: RangeInclusive<i64>,
    /// How often it is longer, from 0 to 1.
    pub rare: f64,
    /// The longest delay.
    pub worst_millis: i64,
}

/// Units in a second for each partition key of a table, and for each of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throughput {
    /// Read units.
    pub read: u64,
    /// Write units.
    pub write: u64,
}

/// How streams are told.
#[derive(Clone, Debug)]
pub struct StreamManners {
    /// How many shards a stream has.
    pub shards: u32,
    /// How late a record comes.
    pub lag: Lag,
    /// How often a page begins with records that came before.
    pub repeat: f64,
    /// How long an iterator can be used. Amazon documents 15 minutes, and no longer one is possible.
    pub iterator_millis: i64,
}

impl Lag {
    /// No delay.
    pub const NONE: Lag = Lag {
        usual_millis: 0..=0,
        rare: 0.0,
        worst_millis: 0,
    };

    /// Draws a delay.
    pub(crate) fn draw(&self, random: &mut fastrand::Rng) -> i64 {
        if random.f64() < self.rare {
            random.i64(0..=self.worst_millis)
        } else {
            random.i64(self.usual_millis.clone())
        }
    }
}

/// How long Amazon documents that an iterator can be used.
const ITERATOR_MILLIS: i64 = 15 * 60_000;

impl Throughput {
    /// What Amazon documents for a partition.
    pub const DOCUMENTED: Throughput = Throughput {
        read: 3_000,
        write: 1_000,
    };
}

impl Behaviour {
    /// Everything at once and without a fault: DynamoDB as DynamoDB Local plays it.
    pub fn still() -> Self {
        Behaviour {
            index_lag: Lag::NONE,
            replica_lag: Lag::NONE,
            transaction_millis: 0..=0,
            write_millis: 0..=0,
            throughput: Throughput {
                read: u64::MAX,
                write: u64::MAX,
            },
            unprocessed: 0.0,
            short_page: 0.0,
            table_millis: 0..=0,
            backfill_millis: 0,
            expiry_millis_max: 0,
            streams: StreamManners {
                shards: 1,
                lag: Lag::NONE,
                repeat: 0.0,
                iterator_millis: ITERATOR_MILLIS,
            },
        }
    }

    /// Amazon on a bad day: everything that its documentation leaves open happens.
    pub fn rough() -> Self {
        Behaviour {
            index_lag: Lag {
                usual_millis: 1..=400,
                rare: 0.05,
                worst_millis: 120_000,
            },
            replica_lag: Lag {
                usual_millis: 0..=50,
                rare: 0.02,
                worst_millis: 5_000,
            },
            transaction_millis: 2..=20,
            write_millis: 1..=5,
            throughput: Throughput {
                read: 300,
                write: 100,
            },
            unprocessed: 0.03,
            short_page: 0.05,
            table_millis: 2_000..=20_000,
            backfill_millis: 60_000,
            expiry_millis_max: 48 * 3_600_000,
            streams: StreamManners {
                shards: 4,
                lag: Lag {
                    usual_millis: 50..=500,
                    rare: 0.02,
                    worst_millis: 30_000,
                },
                repeat: 0.05,
                iterator_millis: ITERATOR_MILLIS,
            },
        }
    }
}
