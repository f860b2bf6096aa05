//! Scan.

use std::collections::BTreeMap;

use bytes::Bytes;
use partita_core::{Item, Value};
use partita_store::request::Scan;
use serde::Deserialize;

use super::Context;
use super::page::{self, Select, Shown};
use crate::constraints::Constraints;
use crate::expressions::Placeholders;
use crate::json;
use crate::parameters::{self, ReturnConsumedCapacity, Unread};
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    table_name: Option<String>,
    filter_expression: Option<String>,
    expression_attribute_names: Option<BTreeMap<String, String>>,
    expression_attribute_values: Option<BTreeMap<String, Value>>,
    select: Option<String>,
    limit: Option<i64>,
    exclusive_start_key: Option<Item>,
    return_consumed_capacity: Option<String>,
    // A scan of this trait is always consistent, which is more than `false` asks for.
    #[expect(dead_code, reason = "checked for its type")]
    consistent_read: Option<bool>,
    index_name: Unread,
    segment: Unread,
    total_segments: Unread,
    projection_expression: Unread,
    attributes_to_get: Unread,
    scan_filter: Unread,
    conditional_operator: Unread,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (request, shown) = decode(body)?;
    let page = context.store.scan(request).await?;
    Ok(page::encode(&page, shown))
}

fn decode(body: &[u8]) -> Result<(Scan, Shown), Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let select = constraints.choice("select", &input.select);
    ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    let table = parameters::table(&mut constraints, &input.table_name)?;
    let limit = page::limit(&mut constraints, input.limit);
    let table = constraints.finish(table)?;
    parameters::refuse_legacy(
        &[
            ("AttributesToGet", &input.attributes_to_get),
            ("ScanFilter", &input.scan_filter),
            ("ConditionalOperator", &input.conditional_operator),
        ],
        &[("FilterExpression", &input.filter_expression)],
    )?;
    parameters::refuse(&[
        ("IndexName", &input.index_name),
        ("Segment", &input.segment),
        ("TotalSegments", &input.total_segments),
        ("ProjectionExpression", &input.projection_expression),
    ])?;
    let placeholders = Placeholders::new(
        input.expression_attribute_names,
        input.expression_attribute_values,
    );
    let request = Scan {
        table,
        filter: placeholders.condition(input.filter_expression.as_deref())?,
        limit,
        start_after: input.exclusive_start_key,
    };
    Ok((request, Select::shown(select)?))
}
