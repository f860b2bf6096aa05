//! ConsumedCapacity: what an operation consumed, as far as the request wants to know.

use std::collections::BTreeMap;

use partita_store::Store;
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
        let mut sum = read;
        sum += write;
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
    pub(super) async fn of_one(
        self,
        store: &dyn Store,
        consumed: &ByTable,
    ) -> Option<ConsumedCapacity> {
        self.by_table(store, consumed, false).await?.pop()
    }

    /// For an operation on several tables.
    pub(super) async fn of_batch(
        self,
        store: &dyn Store,
        consumed: &ByTable,
    ) -> Option<Vec<ConsumedCapacity>> {
        self.by_table(store, consumed, false).await
    }

    /// For a transaction.
    pub(super) async fn of_transaction(
        self,
        store: &dyn Store,
        consumed: &ByTable,
    ) -> Option<Vec<ConsumedCapacity>> {
        self.by_table(store, consumed, true).await
    }

    async fn by_table(
        self,
        store: &dyn Store,
        consumed: &ByTable,
        is_transaction: bool,
    ) -> Option<Vec<ConsumedCapacity>> {
        let mut list = Vec::new();
        for (table, consumed) in consumed {
            list.push(match self {
                ReturnConsumedCapacity::None => return None,
                ReturnConsumedCapacity::Total => total(table, consumed, is_transaction),
                ReturnConsumedCapacity::Indexes => {
                    let locals = local_indexes(store, table, consumed).await;
                    apart(table, consumed, is_transaction, &locals)
                }
            });
        }
        (self != ReturnConsumedCapacity::None).then_some(list)
    }
}

fn total(table: &TableName, consumed: &Consumed, is_transaction: bool) -> ConsumedCapacity {
    let sum = |own: HalfUnits, indexes: &BTreeMap<String, HalfUnits>| {
        HalfUnits(own.0 + indexes.values().map(|units| units.0).sum::<u64>())
    };
    let read = sum(consumed.read, &consumed.index_read);
    let write = sum(consumed.write, &consumed.index_write);
    ConsumedCapacity {
        table_name: table.clone(),
        total: Units::new(read, write, is_transaction),
        table: None,
        local_secondary_indexes: BTreeMap::new(),
        global_secondary_indexes: BTreeMap::new(),
    }
}

fn apart(
    table: &TableName,
    consumed: &Consumed,
    is_transaction: bool,
    locals: &[String],
) -> ConsumedCapacity {
    let Consumed { read, write, .. } = *consumed;
    let mut capacity = total(table, consumed, is_transaction);
    capacity.table = Some(Units::new(read, write, is_transaction));
    let names = consumed
        .index_read
        .keys()
        .chain(consumed.index_write.keys());
    for name in names {
        let of = |units: &BTreeMap<String, HalfUnits>| units.get(name).copied().unwrap_or_default();
        let units = Units::new(
            of(&consumed.index_read),
            of(&consumed.index_write),
            is_transaction,
        );
        match locals.contains(name) {
            true => capacity.local_secondary_indexes.insert(name.clone(), units),
            false => capacity
                .global_secondary_indexes
                .insert(name.clone(), units),
        };
    }
    capacity
}

/// Stores charge indexes by their names; the answer lists local and global ones apart.
async fn local_indexes(store: &dyn Store, table: &TableName, consumed: &Consumed) -> Vec<String> {
    if consumed.index_read.is_empty() && consumed.index_write.is_empty() {
        return Vec::new();
    }
    // The operation is done, and its answer must not be lost because somebody has deleted the
    // table since.
    let Ok(description) = store.describe_table(table).await else {
        return Vec::new();
    };
    let indexes = description.schema.indexes.into_iter();
    let locals = indexes.filter(|index| index.kind == IndexKind::Local);
    locals.map(|index| index.name).collect()
}

#[cfg(test)]
mod tests;
