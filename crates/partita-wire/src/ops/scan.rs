//! Scan.

use bytes::Bytes;
use partita_core::Item;
use partita_core::expression::{AttributeNames, AttributeValues, ExpressionCache, ExpressionKind};
use partita_core::json::Received;
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
    projection_expression: Option<String>,
    expression_attribute_names: Option<AttributeNames>,
    expression_attribute_values: Option<AttributeValues>,
    select: Option<String>,
    limit: Option<i64>,
    exclusive_start_key: Option<Received<Item>>,
    return_consumed_capacity: Option<String>,
    // A scan of this trait is always consistent, which is more than `false` asks for.
    #[expect(dead_code, reason = "checked for its type")]
    consistent_read: Option<bool>,
    index_name: Unread,
    segment: Unread,
    total_segments: Unread,
    attributes_to_get: Unread,
    scan_filter: Unread,
    conditional_operator: Unread,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (request, shown) = decode(body, context.cache)?;
    let page = context.store.scan(request).await?;
    Ok(page::encode(page, &shown))
}

fn decode(body: &[u8], cache: &ExpressionCache) -> Result<(Scan, Shown), Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let select = constraints.choice("select", &input.select);
    let capacity = ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    let table = parameters::table(&mut constraints, &input.table_name)?;
    let limit = page::limit_of_scan(&mut constraints, input.limit);
    let table = constraints.finish(table)?;
    input.refuse()?;
    capacity.refuse()?;
    let (filter, projection) = (&input.filter_expression, &input.projection_expression);
    let placeholders = Placeholders::new(
        input.expression_attribute_names,
        input.expression_attribute_values,
        &[
            (ExpressionKind::Filter, filter),
            (ExpressionKind::Projection, projection),
        ],
    )?;
    Select::check(select, projection.is_some())?;
    let start = input.exclusive_start_key;
    let start_after = start.map(Received::into_result).transpose()?;
    let (filter, projection) = placeholders.scan(cache, filter, projection)?;
    let request = Scan {
        table,
        filter,
        limit,
        start_after,
    };
    Ok((request, Shown::new(select, projection)))
}

impl Input {
    fn refuse(&self) -> Result<(), Refusal> {
        parameters::refuse_legacy(
            &[
                ("AttributesToGet", &self.attributes_to_get),
                ("ScanFilter", &self.scan_filter),
                ("ConditionalOperator", &self.conditional_operator),
            ],
            &[
                ("ProjectionExpression", &self.projection_expression),
                ("FilterExpression", &self.filter_expression),
            ],
        )?;
        parameters::refuse(&[
            ("IndexName", &self.index_name),
            ("Segment", &self.segment),
            ("TotalSegments", &self.total_segments),
        ])
    }
}
