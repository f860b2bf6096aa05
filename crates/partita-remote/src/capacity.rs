//! Consumed capacity in the store's words.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::{Capacity, ConsumedCapacity, ReturnConsumedCapacity};
use partita_store::capacity::{Consumed, HalfUnits, IndexUnits, Metered};
use partita_store::index::IndexKind;
use partita_store::table::TableName;

/// What every request asks for: tables and indexes, each for itself.
pub(crate) const BY_INDEX: ReturnConsumedCapacity = ReturnConsumedCapacity::Indexes;

/// What an operation does. DynamoDB says it of transactions only; the units of any other
/// operation are of its own kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CapacityKind {
    Read,
    Write,
}

/// An answer with what it consumed, as far as the service says so.
pub(crate) fn metered<T>(
    answer: T,
    kind: CapacityKind,
    consumed: impl IntoIterator<Item = ConsumedCapacity>,
) -> Metered<T> {
    let mut by_table: BTreeMap<TableName, Consumed> = BTreeMap::new();
    for capacity in consumed {
        let name = capacity.table_name.as_deref();
        if let Some(table) = name.and_then(|name| name.parse().ok()) {
            by_table
                .entry(table)
                .or_default()
                .add(&of_table(capacity, kind));
        }
    }
    Metered {
        answer,
        consumed: by_table,
    }
}

fn of_table(capacity: ConsumedCapacity, kind: CapacityKind) -> Consumed {
    // A service that does not itemise indexes reports only the total.
    let table = capacity.table.unwrap_or_else(|| {
        Capacity::builder()
            .set_capacity_units(capacity.capacity_units)
            .set_read_capacity_units(capacity.read_capacity_units)
            .set_write_capacity_units(capacity.write_capacity_units)
            .build()
    });
    let (read, write) = split(&table, kind);
    let mut consumed = Consumed {
        read: read.unwrap_or_default(),
        write: write.unwrap_or_default(),
        ..Consumed::default()
    };
    let local = capacity.local_secondary_indexes.unwrap_or_default();
    let global = capacity.global_secondary_indexes.unwrap_or_default();
    let local = local.into_iter().map(|index| (IndexKind::Local, index));
    let global = global.into_iter().map(|index| (IndexKind::Global, index));
    for (index_kind, (name, capacity)) in local.chain(global) {
        let (read, write) = split(&capacity, kind);
        let units = IndexUnits {
            kind: index_kind,
            read: read.unwrap_or_default(),
            write: write.unwrap_or_default(),
        };
        consumed.add_index(&name, units);
    }
    consumed
}

fn split(capacity: &Capacity, kind: CapacityKind) -> (Option<HalfUnits>, Option<HalfUnits>) {
    let Capacity {
        read_capacity_units: read,
        write_capacity_units: write,
        capacity_units: units,
        ..
    } = capacity;
    match (read, write, kind) {
        (None, None, CapacityKind::Read) => (units.map(half_units), None),
        (None, None, CapacityKind::Write) => (None, units.map(half_units)),
        _ => (read.map(half_units), write.map(half_units)),
    }
}

/// DynamoDB counts in halves; anything finer is noise.
fn half_units(units: f64) -> HalfUnits {
    HalfUnits((units.max(0.0) * 2.0).round() as u64)
}

#[cfg(test)]
mod tests;
