//! BatchGetItem.

use std::collections::BTreeMap;

use bytes::Bytes;
use partita_core::Item;
use partita_core::expression::{AttributeNames, ExpressionCache, ExpressionKind, Projection};
use partita_core::json::Received;
use partita_core::limits::BATCH_GET_KEYS_MAX;
use partita_store::FoundItem;
use partita_store::request::{BatchGetItem, BatchGot, ItemAddress};
use partita_store::table::TableName;
use serde::{Deserialize, Serialize};

use super::Context;
use super::consumed::ConsumedCapacity;
use crate::constraints::Constraints;
use crate::expressions::Placeholders;
use crate::json;
use crate::legacy;
use crate::messages;
use crate::parameters::{self, ReturnConsumedCapacity};
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    request_items: Option<BTreeMap<String, BatchKeys>>,
    return_consumed_capacity: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BatchKeys {
    keys: Option<Vec<Received<Item>>>,
    consistent_read: Option<bool>,
    projection_expression: Option<String>,
    expression_attribute_names: Option<AttributeNames>,
    attributes_to_get: Option<Vec<String>>,
}

/// What the answer must know of the request: the table as the client called it, and how it was
/// to be read.
struct RequestedTable {
    name: TableName,
    called: String,
    keys: Vec<Item>,
    options: Options,
}

impl RequestedTable {
    fn is_consistent(&self) -> bool {
        self.options.consistent_read == Some(true)
    }
}

/// How a table was to be read, in the words of the request: they come back with the keys that
/// must be asked for again.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Options {
    #[serde(skip_serializing_if = "Option::is_none")]
    consistent_read: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    projection_expression: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expression_attribute_names: Option<AttributeNames>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes_to_get: Option<Vec<String>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Unprocessed {
    keys: Vec<Item>,
    #[serde(flatten)]
    options: Options,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (request, tables, capacity) = decode(body, context.cache)?;
    let got = context.store.batch_get_item(request).await?;
    let consumed = capacity.of_batch(&got.consumed);
    Ok(encode(tables, got.answer, consumed))
}

type Decoded = (BatchGetItem, Vec<RequestedTable>, ReturnConsumedCapacity);

fn decode(body: &[u8], cache: &ExpressionCache) -> Result<Decoded, Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let capacity = ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    let items = input.request_items.unwrap_or_default();
    for (name, table) in &items {
        check_keys(&mut constraints, name, table);
    }
    constraints.finish(())?;
    if items.is_empty() {
        return Err(Refusal::validation(messages::NO_REQUEST_ITEMS));
    }
    check_unmixed(&items)?;
    let mut addresses = Vec::new();
    let mut projections = BTreeMap::new();
    let mut tables = Vec::with_capacity(items.len());
    for (called, keys) in items {
        let name = parameters::named_table("tableName", &called)?;
        if tables
            .iter()
            .any(|table: &RequestedTable| table.name == name)
        {
            return Err(Refusal::validation(messages::table_twice(&name)));
        }
        let (table, projection) = keys.decode(name.clone(), called, cache)?;
        projections.extend(projection.map(|projection| (name.clone(), projection)));
        addresses.extend(table.keys.iter().map(|key| ItemAddress {
            table: name.clone(),
            key: key.clone(),
        }));
        tables.push(table);
    }
    if addresses.len() > BATCH_GET_KEYS_MAX {
        return Err(Refusal::validation(messages::TOO_MANY_KEYS));
    }
    let eventual = tables.iter().filter(|table| !table.is_consistent());
    let eventual = eventual.map(|table| table.name.clone()).collect();
    let request = BatchGetItem {
        addresses,
        eventual,
        projections,
    };
    Ok((request, tables, capacity))
}

/// Parameters of both kinds are refused, even if each table has one kind.
fn check_unmixed(items: &BTreeMap<String, BatchKeys>) -> Result<(), Refusal> {
    let is_legacy = items.values().any(|keys| keys.attributes_to_get.is_some());
    let mut projections = items.values().map(|keys| &keys.projection_expression);
    let projection = projections.find(|projection| projection.is_some());
    legacy::check_unmixed(
        &[("AttributesToGet", is_legacy)],
        &[("ProjectionExpression", projection.unwrap_or(&None))],
    )
}

impl BatchKeys {
    fn decode(
        self,
        name: TableName,
        called: String,
        cache: &ExpressionCache,
    ) -> Result<(RequestedTable, Option<Projection>), Refusal> {
        let projection = &self.projection_expression;
        let expressions = [(ExpressionKind::Projection, projection)];
        let names = self.expression_attribute_names.clone();
        let placeholders = Placeholders::new(names, None, &expressions)?;
        let projection = placeholders.projection(cache, projection)?;
        let attributes = legacy::projection(&self.attributes_to_get)?;
        let keys = self.keys.into_iter().flatten().map(Received::into_result);
        let table = RequestedTable {
            name,
            called,
            keys: keys.collect::<Result<_, _>>()?,
            options: Options {
                consistent_read: self.consistent_read,
                projection_expression: self.projection_expression,
                expression_attribute_names: self.expression_attribute_names,
                attributes_to_get: self.attributes_to_get,
            },
        };
        Ok((table, projection.or(attributes)))
    }
}

fn check_keys(constraints: &mut Constraints, name: &str, table: &BatchKeys) {
    let at = format!("requestItems.{name}.member.keys");
    constraints.required(&at, &table.keys);
    let attributes = format!("requestItems.{name}.member.attributesToGet");
    legacy::check_attributes(constraints, &attributes, &table.attributes_to_get);
    let Some(keys) = &table.keys else { return };
    constraints.length(&at, keys.len(), 1..=usize::MAX, || "[]".to_owned());
    if keys.len() > BATCH_GET_KEYS_MAX {
        let at = format!("RequestItems.{name}.member.Keys");
        let constraint = messages::length_at_most(BATCH_GET_KEYS_MAX);
        constraints.fail(messages::constraint_alone(&at, &constraint));
    }
}

fn encode(
    tables: Vec<RequestedTable>,
    got: Vec<BatchGot>,
    consumed: Option<Vec<ConsumedCapacity>>,
) -> Bytes {
    let mut responses = BTreeMap::new();
    let mut unprocessed_keys = BTreeMap::new();
    let mut got = got.into_iter();
    for table in tables {
        let mut items = Vec::new();
        let mut unprocessed = Vec::new();
        for (key, got) in table.keys.into_iter().zip(&mut got) {
            match got {
                BatchGot::Found(item) => items.push(item),
                BatchGot::Missing => {}
                BatchGot::Unprocessed => unprocessed.push(key),
            }
        }
        if !unprocessed.is_empty() {
            let unprocessed = Unprocessed {
                keys: unprocessed,
                options: table.options,
            };
            let called = table.called.clone();
            unprocessed_keys.insert(called, unprocessed);
        }
        responses.insert(table.called, items);
    }
    let bytes = responses.values().flatten().map(json::bytes_of).sum();
    json::answer(bytes, |answer| {
        answer.written("Responses", |out| write_responses(out, &responses));
        answer.member("UnprocessedKeys", &unprocessed_keys);
        answer.optional("ConsumedCapacity", &consumed);
    })
}

fn write_responses(out: &mut Vec<u8>, responses: &BTreeMap<String, Vec<FoundItem>>) {
    let copy = |out: &mut Vec<u8>, item: &FoundItem| item.write_json(out);
    json::object(out, |tables| {
        for (table, items) in responses {
            tables.written(table, |out| json::list(out, items, copy));
        }
    });
}
