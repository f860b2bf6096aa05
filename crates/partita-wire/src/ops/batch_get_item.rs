//! BatchGetItem.

use std::collections::BTreeMap;

use bytes::Bytes;
use partita_core::Item;
use partita_core::expression::{AttributeNames, ExpressionCache, ExpressionKind, Projection};
use partita_core::json::Received;
use partita_core::limits::BATCH_GET_KEYS_MAX;
use partita_store::request::{BatchGetItem, BatchGot, ItemAddress};
use serde::{Deserialize, Serialize};

use super::Context;
use crate::constraints::Constraints;
use crate::expressions::Placeholders;
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
    keys: Option<Vec<Received<Item>>>,
    consistent_read: Option<bool>,
    projection_expression: Option<String>,
    expression_attribute_names: Option<AttributeNames>,
    attributes_to_get: Unread,
}

/// What the answer must know of the request: the table as the client called it, and how it was
/// to be read.
struct Table {
    called: String,
    keys: Vec<Item>,
    options: Options,
    projection: Option<Projection>,
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
    #[serde(flatten)]
    options: Options,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (request, tables) = decode(body, context.cache)?;
    let got = context.store.batch_get_item(request).await?;
    Ok(encode(tables, got))
}

fn decode(body: &[u8], cache: &ExpressionCache) -> Result<(BatchGetItem, Vec<Table>), Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let capacity = ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    let items = input.request_items.unwrap_or_default();
    for (name, table) in &items {
        check_keys(&mut constraints, name, table);
    }
    constraints.finish(())?;
    capacity.refuse()?;
    if items.is_empty() {
        return Err(Refusal::validation(messages::NO_REQUEST_ITEMS));
    }
    let mut addresses = Vec::new();
    let mut tables = Vec::with_capacity(items.len());
    for (called, keys) in items {
        let name = parameters::named_table("tableName", &called)?;
        let table = keys.decode(called, cache)?;
        addresses.extend(table.keys.iter().map(|key| ItemAddress {
            table: name.clone(),
            key: key.clone(),
        }));
        tables.push(table);
    }
    if addresses.len() > BATCH_GET_KEYS_MAX {
        return Err(Refusal::validation(messages::TOO_MANY_KEYS));
    }
    let is_consistent = |table: &Table| table.options.consistent_read == Some(true);
    let request = BatchGetItem {
        addresses,
        // Stronger than some tables of the request asked for, never weaker.
        consistent: tables.iter().any(is_consistent),
    };
    Ok((request, tables))
}

impl Keys {
    fn decode(self, called: String, cache: &ExpressionCache) -> Result<Table, Refusal> {
        let projection = &self.projection_expression;
        parameters::refuse_legacy(
            &[("AttributesToGet", &self.attributes_to_get)],
            &[("ProjectionExpression", projection)],
        )?;
        let expressions = [(ExpressionKind::Projection, projection)];
        let names = self.expression_attribute_names.clone();
        let placeholders = Placeholders::new(names, None, &expressions)?;
        let projection = placeholders.projection(cache, projection)?;
        let keys = self.keys.into_iter().flatten().map(Received::into_result);
        Ok(Table {
            called,
            keys: keys.collect::<Result<_, _>>()?,
            options: Options {
                consistent_read: self.consistent_read,
                projection_expression: self.projection_expression,
                expression_attribute_names: self.expression_attribute_names,
            },
            projection,
        })
    }
}

fn check_keys(constraints: &mut Constraints, name: &str, table: &Keys) {
    let at = format!("requestItems.{name}.member.keys");
    constraints.required(&at, &table.keys);
    let Some(keys) = &table.keys else { return };
    constraints.length(&at, keys.len(), 1..=usize::MAX, || "[]".to_owned());
    if keys.len() > BATCH_GET_KEYS_MAX {
        let at = format!("RequestItems.{name}.member.Keys");
        let constraint = messages::length_at_most(BATCH_GET_KEYS_MAX);
        constraints.fail(messages::constraint_alone(&at, &constraint));
    }
}

fn encode(tables: Vec<Table>, got: Vec<BatchGot>) -> Bytes {
    let mut output = Output::default();
    let mut got = got.into_iter();
    for table in tables {
        let mut items = Vec::new();
        let mut unprocessed = Vec::new();
        for (key, got) in table.keys.into_iter().zip(&mut got) {
            match got {
                BatchGot::Found(item) => items.push(match &table.projection {
                    Some(parts) => parts.apply(&item),
                    None => item,
                }),
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
            output.unprocessed_keys.insert(called, unprocessed);
        }
        output.responses.insert(table.called, items);
    }
    json::write(&output)
}
