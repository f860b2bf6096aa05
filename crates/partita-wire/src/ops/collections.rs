//! ItemCollectionMetrics: how large the item collections are that a write has touched.
//!
//! An item collection is a partition of a table with local indexes, together with its part of
//! them. Amazon bounds it by 10 GB; here nothing bounds it, but programs that watch it for Amazon's
//! sake can.

use std::collections::BTreeMap;

use partita_core::expression::KeyCondition;
use partita_core::{Item, Value};
use partita_store::Store;
use partita_store::index::IndexKind;
use partita_store::request::{Query, Select, TableDescription};
use partita_store::table::TableName;
use serde::Serialize;

use crate::parameters::ReturnItemCollectionMetrics;

const GIGABYTE: u64 = 1 << 30;
/// Pages that are read of one collection, of a megabyte each. One that ends within them is
/// smaller than a gigabyte, all of its local indexes included.
const PAGES_MAX: usize = 64;

/// The size of one collection.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ItemCollectionMetrics {
    item_collection_key: Item,
    /// It lies between these.
    #[serde(rename = "SizeEstimateRangeGB")]
    size_estimate_range_gb: [f64; 2],
}

/// The items that a write touches, or their keys, kept for the answer if it asks for them.
#[derive(Default)]
pub(super) struct Touched(Vec<(TableName, Item)>);

impl Touched {
    pub(super) fn new<'a>(
        asked: ReturnItemCollectionMetrics,
        items: impl IntoIterator<Item = (&'a TableName, &'a Item)>,
    ) -> Self {
        match asked {
            ReturnItemCollectionMetrics::None => Touched::default(),
            ReturnItemCollectionMetrics::Size => {
                let items = items.into_iter();
                Touched(
                    items
                        .map(|(table, item)| (table.clone(), item.clone()))
                        .collect(),
                )
            }
        }
    }

    /// The one collection that a single write has touched.
    pub(super) async fn measure_one(self, store: &dyn Store) -> Option<ItemCollectionMetrics> {
        let mut tables = self.measure(store).await;
        tables.pop_first()?.1.pop()
    }

    /// Every collection once, by table; nothing of tables without local indexes.
    pub(super) async fn measure(
        self,
        store: &dyn Store,
    ) -> BTreeMap<TableName, Vec<ItemCollectionMetrics>> {
        let mut partitions: BTreeMap<TableName, Vec<Item>> = BTreeMap::new();
        for (table, item) in self.0 {
            partitions.entry(table).or_default().push(item);
        }
        let mut metrics = BTreeMap::new();
        for (table, items) in partitions {
            // The write is done, and its answer must not be lost because another request has deleted
            // the table since.
            let Ok(description) = store.describe_table(&table).await else {
                continue;
            };
            let of_table = measure_table(store, &description, items).await;
            if !of_table.is_empty() {
                metrics.insert(table, of_table);
            }
        }
        metrics
    }
}

async fn measure_table(
    store: &dyn Store,
    table: &TableDescription,
    items: Vec<Item>,
) -> Vec<ItemCollectionMetrics> {
    let mut metrics: Vec<ItemCollectionMetrics> = Vec::new();
    let mut indexes = table.schema.indexes.iter();
    if !indexes.any(|index| index.kind == IndexKind::Local) {
        return metrics;
    }
    let name = &table.schema.key.partition.name;
    for mut item in items {
        let Some(value) = item.remove(name) else {
            continue;
        };
        let item_collection_key = Item::from([(name.clone(), value.clone())]);
        let is_known =
            |known: &ItemCollectionMetrics| known.item_collection_key == item_collection_key;
        if !metrics.iter().any(is_known) {
            metrics.push(ItemCollectionMetrics {
                size_estimate_range_gb: range(store, table, name.clone(), value).await,
                item_collection_key,
            });
        }
    }
    metrics
}

/// Bounds that hold. To find closer ones would mean to read a gigabyte for an answer.
async fn range(
    store: &dyn Store,
    table: &TableDescription,
    name: String,
    value: Value,
) -> [f64; 2] {
    let locals = table.schema.indexes.iter();
    let locals = locals.filter(|index| index.kind == IndexKind::Local);
    let locals = locals.filter_map(|index| table.index_totals.get(&index.name));
    let bytes = table.totals.bytes + locals.map(|totals| totals.bytes).sum::<u64>();
    if bytes < GIGABYTE || ends_soon(store, &table.table, name, value).await {
        return [0.0, 1.0];
    }
    [0.0, bytes.div_ceil(GIGABYTE) as f64]
}

async fn ends_soon(store: &dyn Store, table: &TableName, name: String, value: Value) -> bool {
    let keys = KeyCondition {
        equals: vec![(name, value)],
        range: None,
    };
    let mut query = Query::new(table.clone(), keys);
    query.select = Select::Count;
    for _ in 0..PAGES_MAX {
        let Ok(page) = store.query(query.clone()).await else {
            return false;
        };
        query.start_after = page.answer.last_key;
        if query.start_after.is_none() {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests;
