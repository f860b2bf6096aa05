//! ConsumedCapacity: what an operation consumed, as far as the request wants to know.

use std::collections::BTreeMap;

use partita_store::capacity::{Consumed, HalfUnits};
use partita_store::index::IndexKind;
use partita_store::table::TableName;
use serde::Serialize;

use crate::parameters::ReturnConsumedCapacity;

/// What was consumed of one table.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ConsumedCapacity {
    table_name: TableName,
    #[serde(flatten)]
    total: Units,
    #[serde(skip_serializing_if = "Option::is_none")]
    table: Option<Units>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    local_secondary_indexes: BTreeMap<String, Units>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    global_secondary_indexes: BTreeMap<String, Units>,
}

/// One sum. Only transactions say what of it was read and what written.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Units {
    capacity_units: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    read_capacity_units: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write_capacity_units: Option<f64>,
}

impl Units {
    fn new(read: HalfUnits, write: HalfUnits, is_transaction: bool) -> Self {
        let sum = read + write;
        let apart = |units: HalfUnits| {
            (is_transaction && units > HalfUnits::default()).then(|| units.units())
        };
        Units {
            capacity_units: sum.units(),
            read_capacity_units: apart(read),
            write_capacity_units: apart(write),
        }
    }
}

type ByTable = BTreeMap<TableName, Consumed>;

impl ReturnConsumedCapacity {
    /// For an operation on one table.
    pub(super) fn of_one(self, consumed: &ByTable) -> Option<ConsumedCapacity> {
        self.by_table(consumed, false)?.pop()
    }

    /// For an operation on several tables.
    pub(super) fn of_batch(self, consumed: &ByTable) -> Option<Vec<ConsumedCapacity>> {
        self.by_table(consumed, false)
    }

    /// For a transaction.
    pub(super) fn of_transaction(self, consumed: &ByTable) -> Option<Vec<ConsumedCapacity>> {
        self.by_table(consumed, true)
    }

    fn by_table(self, consumed: &ByTable, is_transaction: bool) -> Option<Vec<ConsumedCapacity>> {
        let of_table = match self {
            ReturnConsumedCapacity::None => return None,
            ReturnConsumedCapacity::Total => total,
            ReturnConsumedCapacity::Indexes => apart,
        };
        let tables = consumed.iter();
        Some(
            tables
                .map(|(table, consumed)| of_table(table, consumed, is_transaction))
                .collect(),
        )
    }
}

fn total(table: &TableName, consumed: &Consumed, is_transaction: bool) -> ConsumedCapacity {
    let (read, write) = (consumed.total_read(), consumed.total_write());
    ConsumedCapacity {
        table_name: table.clone(),
        total: Units::new(read, write, is_transaction),
        table: None,
        local_secondary_indexes: BTreeMap::new(),
        global_secondary_indexes: BTreeMap::new(),
    }
}

fn apart(table: &TableName, consumed: &Consumed, is_transaction: bool) -> ConsumedCapacity {
    let Consumed { read, write, .. } = *consumed;
    let mut capacity = total(table, consumed, is_transaction);
    capacity.table = Some(Units::new(read, write, is_transaction));
    for (name, index) in &consumed.indexes {
        let of_kind = match index.kind {
            IndexKind::Local => &mut capacity.local_secondary_indexes,
            IndexKind::Global => &mut capacity.global_secondary_indexes,
        };
        let units = Units::new(index.read, index.write, is_transaction);
        of_kind.insert(name.clone(), units);
    }
    capacity
}

#[cfg(test)]
mod tests;
