//! A table of the model: a map of its items, from which everything else is computed.

use std::collections::BTreeMap;
use std::sync::Arc;

use partita_core::size::item_bytes;
use partita_core::{Item, Value};

use crate::capacity::Metered;
use crate::error::StoreResult;
use crate::index::IndexSchema;
use crate::read::{PageBuilder, Reading, RowPlace};
use crate::request::{Page, TableDescription, TableStatus, Tags, Totals};
use crate::settings::TableSettings;
use crate::stream::StreamName;
use crate::table::{Key, TableName, TableSchema};

pub(super) struct ModelTable {
    pub(super) schema: Arc<TableSchema>,
    pub(super) settings: TableSettings,
    pub(super) tags: Tags,
    /// The attribute with the time at which items expire.
    pub(super) expiry: Option<String>,
    pub(super) created_millis: i64,
    pub(super) on_demand_millis: Option<i64>,
    /// The stream that it has, or the last that it had.
    pub(super) stream: Option<StreamName>,
    pub(super) items: BTreeMap<Key, Item>,
}

impl ModelTable {
    pub(super) fn describe(&self, table: &TableName) -> TableDescription {
        let totals_of = |index: &IndexSchema| {
            let of_index = |item: &&Item| index.place_of(&self.schema.key, item).is_some();
            let indexed = self.items.values().filter(of_index);
            let entries = indexed.map(|item| index.projected(&self.schema.key, item));
            (
                index.name.clone(),
                totals(entries.map(|entry| item_bytes(&entry))),
            )
        };
        TableDescription {
            table: table.clone(),
            status: TableStatus::Active,
            schema: (*self.schema).clone(),
            settings: self.settings.clone(),
            created_millis: self.created_millis,
            on_demand_millis: self.on_demand_millis,
            building: Vec::new(),
            latest_stream: self.stream.clone(),
            totals: totals(self.items.values().map(item_bytes)),
            index_totals: self.schema.indexes.iter().map(totals_of).collect(),
        }
    }

    /// Reads rows into a page until it is full.
    pub(super) fn fill(
        &self,
        name: &TableName,
        reading: &Reading<'_>,
        mut page: PageBuilder<'_>,
    ) -> StoreResult<Metered<Page>> {
        let rows = self.rows(reading)?;
        let mut rows: Vec<_> = rows.into_iter().collect();
        if reading.descending {
            rows.reverse();
        }
        let mut last = None;
        for (place, item) in rows {
            if page.is_full() {
                break;
            }
            let fetched = reading.fetches_items.then(|| item.clone().into());
            page.push(reading.source.row(item).into(), fetched)?;
            last = Some(place);
        }
        Ok(page.finish(name, last.as_ref()))
    }

    /// The rows of a reading in its order. An index is not kept: it is computed from the items,
    /// every time.
    fn rows(&self, reading: &Reading<'_>) -> StoreResult<BTreeMap<RowPlace, &Item>> {
        let mut rows = BTreeMap::new();
        for item in self.partition(reading) {
            if let Some(place) = reading.source.place(item)?
                && reading.contains(&place)
            {
                rows.insert(place, item);
            }
        }
        Ok(rows)
    }

    /// The items that a reading can have rows of: those of the partition that a query names, as far
    /// as its first value says. Whether they are among the rows is for the reading to say.
    fn partition<'t>(&'t self, reading: &Reading<'_>) -> Box<dyn Iterator<Item = &'t Item> + 't> {
        let Some(value) = reading.keys.prefix.first().cloned() else {
            return Box::new(self.items.values());
        };
        match reading.source.index {
            Some(index) => {
                let name = index.partition[0].name.clone();
                let value = Value::from(value);
                let items = self.items.values();
                Box::new(items.filter(move |item| item.get(&name) == Some(&value)))
            }
            None => {
                let first = Key {
                    partition: value.clone(),
                    sort: None,
                };
                let items = self.items.range(first..);
                let items = items.take_while(move |(key, _)| key.partition == value);
                Box::new(items.map(|(_, item)| item))
            }
        }
    }
}

fn totals(sizes: impl Iterator<Item = usize>) -> Totals {
    sizes.fold(Totals::default(), |totals, bytes| Totals {
        items: totals.items + 1,
        bytes: totals.bytes + bytes as u64,
    })
}
