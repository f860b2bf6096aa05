//! How much work changes are, where it is known how many items there are.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::{Change, Derived, RecordName};

/// Items of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Items {
    /// How many there are.
    pub count: u64,
    /// How many bytes they take together.
    pub bytes: u64,
}

/// What changes take at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// The items that are read, each once.
    pub read: u64,
    /// The items that are written, where each takes a write of its own.
    pub written: u64,
    /// The write units that takes on DynamoDB, without those of indexes.
    pub write_units: u64,
    /// What each change that takes something writes.
    pub by_change: Vec<(String, u64)>,
}

/// The write units of a second that one partition takes, which a table has at least.
const UNITS_PER_SECOND: u64 = 1_000;
/// Items that the embedded store fills in a second, on two cores with nothing else to do.
const EMBEDDED_PER_SECOND: u64 = 20_000;
/// Bytes of a guard, with its keys.
const GUARD_BYTES: u64 = 150;

/// What changes take beside so many items of each record.
pub fn estimate(changes: &[Change], items: &BTreeMap<String, Items>) -> Estimate {
    let of = |record: &RecordName| items.get(&record.name).copied().unwrap_or_default();
    let mut estimate = Estimate::default();
    let mut read: Vec<&RecordName> = Vec::new();
    for change in changes.iter().filter(|one| !one.is_free()) {
        let touches = &change.touches;
        read.extend(&touches.reads);
        // The records of a new view are about as many as the items that it is of.
        let sources: u64 = touches.reads.iter().map(|one| of(one).count).sum();
        let mut written = 0;
        for record in &touches.writes {
            let known = of(record);
            let is_new = touches
                .adds
                .contains(&Derived::Records(record.name.clone()));
            let count = if is_new {
                known.count.max(sources)
            } else {
                known.count
            };
            let is_guard = matches!(
                touches.adds.iter().chain(&touches.removes).next(),
                Some(Derived::Guards(..))
            );
            let bytes = if is_guard {
                GUARD_BYTES
            } else {
                known.bytes / known.count.max(1)
            };
            written += count;
            // A transaction takes twice the units of a plain write.
            estimate.write_units += count * 2 * bytes.div_ceil(1024).max(1);
        }
        estimate.written += written;
        estimate.by_change.push((change.name(), written));
    }
    read.sort();
    read.dedup();
    estimate.read = read.into_iter().map(|one| of(one).count).sum();
    estimate
}

impl Estimate {
    /// About how many seconds it takes with nothing else to do.
    pub fn seconds(&self, is_dynamodb: bool) -> u64 {
        if is_dynamodb {
            self.write_units.div_ceil(UNITS_PER_SECOND)
        } else {
            (self.read + self.written).div_ceil(EMBEDDED_PER_SECOND)
        }
    }

    /// For people.
    pub fn to_text(&self, is_dynamodb: bool) -> String {
        let mut text = format!(
            "It reads {} items and writes at most {}",
            self.read, self.written
        );
        // Writing to a text cannot fail.
        let _ = if is_dynamodb {
            write!(
                text,
                ", {} write units without those of indexes: about {} s at {UNITS_PER_SECOND} units \
                 a second",
                self.write_units,
                self.seconds(true)
            )
        } else {
            write!(
                text,
                ": about {} s with nothing else to do",
                self.seconds(false)
            )
        };
        text + ".\n"
    }

    /// For programs.
    pub fn to_json(&self, is_dynamodb: bool) -> Json {
        let by_change = self.by_change.iter();
        let by_change =
            by_change.map(|(name, written)| json!({ "name": name, "written": written }));
        json!({
            "read": self.read,
            "written": self.written,
            "writeUnits": self.write_units,
            "seconds": self.seconds(is_dynamodb),
            "changes": by_change.collect::<Vec<_>>(),
        })
    }
}
