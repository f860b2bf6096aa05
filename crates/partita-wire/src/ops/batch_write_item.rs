//! BatchWriteItem.

use std::collections::BTreeMap;

use bytes::Bytes;
use partita_core::Item;
use partita_core::json::Received;
use partita_core::limits::BATCH_WRITE_ITEMS_MAX;
use partita_store::capacity::Metered;
use partita_store::request::{BatchWrite, BatchWriteItem, ItemAddress};
use partita_store::table::TableName;
use serde::{Deserialize, Serialize};

use super::Context;
use super::collections::{ItemCollectionMetrics, Touched};
use super::consumed::ConsumedCapacity;
use super::written::ReturnWish;
use crate::constraints::Constraints;
use crate::json;
use crate::messages;
use crate::parameters::{self, ReturnConsumedCapacity, ReturnItemCollectionMetrics};
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    request_items: Option<BTreeMap<String, Vec<BatchedWrite>>>,
    return_consumed_capacity: Option<String>,
    return_item_collection_metrics: Option<String>,
}

/// Exactly one of them is there, or the write is refused.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BatchedWrite {
    put_request: Option<Put>,
    delete_request: Option<Delete>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Put {
    item: Option<Received<Item>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Delete {
    key: Option<Received<Item>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    unprocessed_items: BTreeMap<String, Vec<Unprocessed>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumed_capacity: Option<Vec<ConsumedCapacity>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    item_collection_metrics: BTreeMap<String, Vec<ItemCollectionMetrics>>,
}

/// A write in the words of the request, to be asked for again.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
enum Unprocessed {
    #[serde(rename_all = "PascalCase")]
    PutRequest { item: Item },
    #[serde(rename_all = "PascalCase")]
    DeleteRequest { key: Item },
}

/// The tables as the client called them.
type Called = BTreeMap<TableName, String>;

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (request, called, asked) = decode(body)?;
    let Metered { answer, consumed } = context.store.batch_write_item(request).await?;
    let metrics = asked.touched.measure(context.store).await;
    let metrics = metrics.into_iter();
    Ok(json::write(&Output {
        consumed_capacity: asked.capacity.of_batch(&consumed),
        unprocessed_items: unprocessed(&called, answer),
        item_collection_metrics: metrics
            .map(|(table, metrics)| (as_called(&called, table), metrics))
            .collect(),
    }))
}

fn decode(body: &[u8]) -> Result<(BatchWriteItem, Called, ReturnWish), Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let capacity = ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    let metrics = &input.return_item_collection_metrics;
    let metrics = ReturnItemCollectionMetrics::of(&mut constraints, metrics);
    let items = input.request_items.unwrap_or_default();
    if items
        .values()
        .any(|writes| writes.len() > BATCH_WRITE_ITEMS_MAX)
    {
        constraints.fail(messages::too_many_writes_for(&shown(&items)));
    }
    for (name, writes) in &items {
        check_writes(&mut constraints, name, writes);
    }
    constraints.finish(())?;
    if items.is_empty() {
        return Err(Refusal::validation(messages::NO_WRITES));
    }
    if let Some((name, _)) = items.iter().find(|(_, writes)| writes.is_empty()) {
        return Err(Refusal::validation(messages::no_writes_for(name)));
    }
    if items.values().map(Vec::len).sum::<usize>() > BATCH_WRITE_ITEMS_MAX {
        return Err(Refusal::validation(messages::TOO_MANY_WRITES));
    }
    let mut called = Called::new();
    let mut writes = Vec::new();
    for (name, list) in items {
        let table = parameters::named_table("tableName", &name)?;
        for write in list {
            writes.push(write.decode(&table)?);
        }
        if called.insert(table.clone(), name).is_some() {
            return Err(Refusal::validation(messages::table_twice(&table)));
        }
    }
    let items = writes.iter().map(|write| match write {
        BatchWrite::Put { table, item } => (table, item),
        BatchWrite::Delete(ItemAddress { table, key }) => (table, key),
    });
    let touched = Touched::new(metrics, items);
    let asked = ReturnWish { capacity, touched };
    Ok((BatchWriteItem { writes }, called, asked))
}

/// The tables of a request. The service prints the writes too, as Java prints objects; they are left out.
fn shown(items: &BTreeMap<String, Vec<BatchedWrite>>) -> String {
    let tables: Vec<_> = items.keys().map(|name| format!("{name}=[...]")).collect();
    format!("{{{}}}", tables.join(", "))
}

fn check_writes(constraints: &mut Constraints, name: &str, writes: &[BatchedWrite]) {
    let at = format!("requestItems.{name}.member");
    for (index, write) in writes.iter().enumerate() {
        let at = |name: &str| format!("{at}.{}.member.{name}", index + 1);
        if let Some(put) = &write.put_request {
            constraints.required(&at("putRequest.item"), &put.item);
        }
        if let Some(delete) = &write.delete_request {
            constraints.required(&at("deleteRequest.key"), &delete.key);
        }
    }
}

impl BatchedWrite {
    fn decode(self, table: &TableName) -> Result<BatchWrite, Refusal> {
        let table = table.clone();
        let item = |item: Option<Received<Item>>| {
            // It is required, and so is there.
            let item = item.map(Received::into_result).transpose();
            item.map(Option::unwrap_or_default)
        };
        match (self.put_request, self.delete_request) {
            (Some(put), None) => {
                let item = item(put.item)?;
                parameters::check_item_size(&item)?;
                Ok(BatchWrite::Put { table, item })
            }
            (None, Some(delete)) => Ok(BatchWrite::Delete(ItemAddress {
                table,
                key: item(delete.key)?,
            })),
            _ => Err(Refusal::validation(messages::NOT_ONE_WRITE)),
        }
    }
}

/// The writes that there was no room for, by table.
fn unprocessed(called: &Called, writes: Vec<BatchWrite>) -> BTreeMap<String, Vec<Unprocessed>> {
    let mut unprocessed_items = BTreeMap::<String, Vec<Unprocessed>>::new();
    for write in writes {
        let (table, write) = match write {
            BatchWrite::Put { table, item } => (table, Unprocessed::PutRequest { item }),
            BatchWrite::Delete(ItemAddress { table, key }) => {
                (table, Unprocessed::DeleteRequest { key })
            }
        };
        let name = as_called(called, table);
        unprocessed_items.entry(name).or_default().push(write);
    }
    unprocessed_items
}

fn as_called(called: &Called, table: TableName) -> String {
    let name = called.get(&table).cloned();
    name.unwrap_or_else(|| table.into())
}

#[cfg(test)]
mod tests;
