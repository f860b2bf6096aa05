//! BatchGetItem.

use std::collections::BTreeMap;

use bytes::Bytes;
use partita_core::Item;
use partita_core::limits::BATCH_GET_KEYS_MAX;
use partita_store::request::{BatchGetItem, BatchGot, ItemAddress};
use serde::{Deserialize, Serialize};

use super::Context;
use crate::constraints::Constraints;
use crate::json;
use crate::messages;
use crate::parameters::{self, ReturnConsumedCapacity, Unread};
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    request_items: Option<BTreeMap<String, Keys>>,
    return_consumed_capacity: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Keys {
    keys: Option<Vec<Item>>,
    consistent_read: Option<bool>,
    projection_expression: Unread,
    expression_attribute_names: Unread,
    attributes_to_get: Unread,
}

/// What the answer must know of the request: the tables as the client called them, and how each
/// was to be read.
struct Tables(Vec<Table>);

struct Table {
    called: String,
    keys: Vec<Item>,
    consistent: bool,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    responses: BTreeMap<String, Vec<Item>>,
    unprocessed_keys: BTreeMap<String, Unprocessed>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Unprocessed {
    keys: Vec<Item>,
    consistent_read: bool,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (request, tables) = decode(body)?;
    let got = context.store.batch_get_item(request).await?;
    Ok(encode(tables, got))
}

fn decode(body: &[u8]) -> Result<(BatchGetItem, Tables), Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    let items = input.request_items.unwrap_or_default();
    for (name, table) in &items {
        check_keys(&mut constraints, name, table);
    }
    constraints.finish(())?;
    if items.is_empty() {
        return Err(Refusal::validation(messages::NO_REQUEST_ITEMS));
    }
    let mut addresses = Vec::new();
    let mut tables = Vec::with_capacity(items.len());
    for (called, table) in items {
        parameters::refuse_legacy(&[("AttributesToGet", &table.attributes_to_get)], &[])?;
        parameters::refuse(&[
            ("ProjectionExpression", &table.projection_expression),
            (
                "ExpressionAttributeNames",
                &table.expression_attribute_names,
            ),
        ])?;
        let name = parameters::named_table("tableName", &called)?;
        let keys = table.keys.unwrap_or_default();
        addresses.extend(keys.iter().map(|key| ItemAddress {
            table: name.clone(),
            key: key.clone(),
        }));
        let consistent = table.consistent_read.unwrap_or(false);
        tables.push(Table {
            called,
            keys,
            consistent,
        });
    }
    if addresses.len() > BATCH_GET_KEYS_MAX {
        return Err(Refusal::validation(messages::TOO_MANY_KEYS));
    }
    let request = BatchGetItem {
        addresses,
        // Stronger than some tables of the request asked for, never weaker.
        consistent: tables.iter().any(|table| table.consistent),
    };
    Ok((request, Tables(tables)))
}

fn check_keys(constraints: &mut Constraints, name: &str, table: &Keys) {
    let at = format!("requestItems.{name}.member.keys");
    constraints.required(&at, &table.keys);
    if let Some(keys) = &table.keys {
        let shown = || if keys.is_empty() { "[]" } else { "[...]" }.to_owned();
        constraints.length(&at, keys.len(), 1..=BATCH_GET_KEYS_MAX, shown);
    }
}

fn encode(Tables(tables): Tables, got: Vec<BatchGot>) -> Bytes {
    let mut output = Output::default();
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
                consistent_read: table.consistent,
            };
            let called = table.called.clone();
            output.unprocessed_keys.insert(called, unprocessed);
        }
        output.responses.insert(table.called, items);
    }
    json::write(&output)
}
