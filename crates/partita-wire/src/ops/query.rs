//! Query.

use std::collections::BTreeMap;

use bytes::Bytes;
use partita_core::{Item, Value};
use partita_store::request::Query;
use serde::Deserialize;

use super::Context;
use super::page::{self, Select, Shown};
use crate::constraints::Constraints;
use crate::expressions::Placeholders;
use crate::json;
use crate::messages;
use crate::parameters::{self, ReturnConsumedCapacity, Unread};
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    table_name: Option<String>,
    key_condition_expression: Option<String>,
    filter_expression: Option<String>,
    expression_attribute_names: Option<BTreeMap<String, String>>,
    expression_attribute_values: Option<BTreeMap<String, Value>>,
    select: Option<String>,
    limit: Option<i64>,
    scan_index_forward: Option<bool>,
    exclusive_start_key: Option<Item>,
    consistent_read: Option<bool>,
    return_consumed_capacity: Option<String>,
    index_name: Unread,
    projection_expression: Unread,
    attributes_to_get: Unread,
    key_conditions: Unread,
    query_filter: Unread,
    conditional_operator: Unread,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (request, shown) = decode(body)?;
    let page = context.store.query(request).await?;
    Ok(page::encode(&page, shown))
}

fn decode(body: &[u8]) -> Result<(Query, Shown), Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let select = constraints.choice("select", &input.select);
    let table = parameters::table(&mut constraints, &input.table_name)?;
    let limit = page::limit(&mut constraints, input.limit);
    ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    let table = constraints.finish(table)?;
    parameters::refuse_legacy(
        &[
            ("AttributesToGet", &input.attributes_to_get),
            ("QueryFilter", &input.query_filter),
            ("ConditionalOperator", &input.conditional_operator),
            ("KeyConditions", &input.key_conditions),
        ],
        &[
            ("FilterExpression", &input.filter_expression),
            ("KeyConditionExpression", &input.key_condition_expression),
        ],
    )?;
    parameters::refuse(&[
        ("IndexName", &input.index_name),
        ("ProjectionExpression", &input.projection_expression),
    ])?;
    let shown = Select::shown(select)?;
    let Some(keys) = &input.key_condition_expression else {
        return Err(Refusal::validation(messages::NO_KEY_CONDITION));
    };
    let placeholders = Placeholders::new(
        input.expression_attribute_names,
        input.expression_attribute_values,
    );
    let request = Query {
        table,
        filter: placeholders.condition(input.filter_expression.as_deref())?,
        keys: placeholders.keys(keys)?,
        descending: input.scan_index_forward == Some(false),
        limit,
        start_after: input.exclusive_start_key,
        consistent: input.consistent_read.unwrap_or(false),
    };
    Ok((request, shown))
}
