//! Capacity units: what DynamoDB would charge for an operation.
//!
//! A read unit is 4 KB read consistently, or 8 KB read otherwise; a write unit is 1 KB written.
//! A transaction costs twice for its tables, and once for their indexes. Every index that a write
//! touches is charged by itself.

use std::collections::BTreeMap;
use std::ops::{Add, AddAssign};

use partita_core::size::{item_bytes, value_bytes};
use partita_core::{Item, Name, Value};

use crate::index::{IndexKey, IndexKind, IndexSchema};
use crate::table::{KeySchema, TableName};

/// Half units, because an eventually consistent read of a small item costs one half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct HalfUnits(pub u64);

impl HalfUnits {
    /// The units as DynamoDB writes them.
    pub fn units(self) -> f64 {
        self.0 as f64 / 2.0
    }
}

impl Add for HalfUnits {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        HalfUnits(self.0 + more.0)
    }
}

impl AddAssign for HalfUnits {
    fn add_assign(&mut self, more: Self) {
        *self = *self + more;
    }
}

/// What an operation consumed of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consumed {
    /// Read units of the table itself.
    pub read: HalfUnits,
    /// Write units of the table itself.
    pub write: HalfUnits,
    /// The units of every index that was read or written, by its name.
    pub indexes: BTreeMap<String, IndexUnits>,
}

/// What an operation consumed of one index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexUnits {
    /// Which kind of index it is; answers list them apart.
    pub kind: IndexKind,
    /// Read units.
    pub read: HalfUnits,
    /// Write units.
    pub write: HalfUnits,
}

impl Consumed {
    /// Adds what another operation consumed of the same table.
    pub fn add(&mut self, other: &Consumed) {
        self.read += other.read;
        self.write += other.write;
        for (name, units) in &other.indexes {
            self.add_index(name, *units);
        }
    }

    /// Adds what was consumed of one index.
    pub fn add_index(&mut self, name: &str, units: IndexUnits) {
        match self.indexes.get_mut(name) {
            Some(sum) => {
                sum.read += units.read;
                sum.write += units.write;
            }
            None => {
                self.indexes.insert(name.to_owned(), units);
            }
        }
    }

    /// The read units of the table and of its indexes.
    pub fn total_read(&self) -> HalfUnits {
        let indexes = self.indexes.values().map(|units| units.read);
        indexes.fold(self.read, HalfUnits::add)
    }

    /// The write units of the table and of its indexes.
    pub fn total_write(&self) -> HalfUnits {
        let indexes = self.indexes.values().map(|units| units.write);
        indexes.fold(self.write, HalfUnits::add)
    }

    /// Everything together.
    pub fn total(&self) -> HalfUnits {
        self.total_read() + self.total_write()
    }
}

/// An answer, and what it consumed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metered<T> {
    /// The answer.
    pub answer: T,
    /// What it consumed, by table.
    pub consumed: BTreeMap<TableName, Consumed>,
}

impl<T> Metered<T> {
    /// Adds what another operation consumed.
    pub fn add(&mut self, consumed: &BTreeMap<TableName, Consumed>) {
        for (table, consumed) in consumed {
            self.consumed
                .entry(table.clone())
                .or_default()
                .add(consumed);
        }
    }
}

/// How an operation is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// An eventually consistent read.
    Eventual,
    /// A consistent read, or a write.
    Standard,
    /// Part of a transaction.
    Transaction,
}

impl Rate {
    /// The rate of a read outside of transactions.
    pub fn of_read(consistent: bool) -> Self {
        if consistent {
            Rate::Standard
        } else {
            Rate::Eventual
        }
    }

    fn half_units(self, blocks: u64) -> HalfUnits {
        HalfUnits(match self {
            Rate::Eventual => blocks,
            Rate::Standard => blocks * 2,
            Rate::Transaction => blocks * 4,
        })
    }
}

/// The units for reading so many bytes; the smallest read costs one block.
pub fn read_units(bytes: usize, rate: Rate) -> HalfUnits {
    rate.half_units(bytes.div_ceil(4096).max(1) as u64)
}

/// The units for writing the larger of two states of one item or entry.
fn write_units(old: Option<usize>, new: Option<usize>, rate: Rate) -> HalfUnits {
    let bytes = old.max(new).unwrap_or(0);
    rate.half_units(bytes.div_ceil(1024).max(1) as u64)
}

/// What a write consumes of its table and of every index that it touches. The rate of a
/// transaction is the table's alone.
pub fn written(
    schema: &KeySchema,
    indexes: &[IndexSchema],
    old: Option<&Item>,
    new: Option<&Item>,
    rate: Rate,
) -> Consumed {
    let mut consumed = Consumed {
        write: write_units(old.map(item_bytes), new.map(item_bytes), rate),
        ..Consumed::default()
    };
    for index in indexes {
        let rate = Rate::Standard;
        let write = match (
            old.and_then(|item| Entry::of(schema, index, item)),
            new.and_then(|item| Entry::of(schema, index, item)),
        ) {
            (None, None) => continue,
            // An entry that stays as it is costs nothing.
            (Some(old), Some(new)) if old == new => continue,
            (Some(old), Some(new)) if old.place != new.place => {
                // A changed key is a delete and a put.
                write_units(Some(old.bytes()), None, rate)
                    + write_units(None, Some(new.bytes()), rate)
            }
            (old, new) => write_units(
                old.map(|entry| entry.bytes()),
                new.map(|entry| entry.bytes()),
                rate,
            ),
        };
        let units = IndexUnits {
            kind: index.kind,
            read: HalfUnits::default(),
            write,
        };
        consumed.add_index(&index.name, units);
    }
    consumed
}

/// What an index has of an item.
#[derive(PartialEq)]
struct Entry<'a> {
    place: IndexKey,
    attributes: Vec<(&'a Name, &'a Value)>,
}

impl<'a> Entry<'a> {
    fn of(schema: &'a KeySchema, index: &'a IndexSchema, item: &'a Item) -> Option<Self> {
        Some(Entry {
            place: index.place_of(schema, item)?,
            attributes: index.attributes_held(schema, item).collect(),
        })
    }

    fn bytes(&self) -> usize {
        let attributes = self.attributes.iter();
        let bytes = attributes.map(|(name, value)| name.len() + value_bytes(value));
        bytes.sum()
    }
}

#[cfg(test)]
mod tests;
