//! GetItem.

use bytes::Bytes;
use partita_core::Item;
use partita_core::expression::{AttributeNames, ExpressionCache, ExpressionKind, Projection};
use partita_core::json::Received;
use partita_store::request::GetItem;
use serde::{Deserialize, Serialize};

use super::Context;
use crate::constraints::Constraints;
use crate::expressions::Placeholders;
use crate::json;
use crate::parameters::{self, ReturnConsumedCapacity, Unread};
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    table_name: Option<String>,
    key: Option<Received<Item>>,
    consistent_read: Option<bool>,
    projection_expression: Option<String>,
    expression_attribute_names: Option<AttributeNames>,
    return_consumed_capacity: Option<String>,
    attributes_to_get: Unread,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<Item>,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (request, projection) = decode(body, context.cache)?;
    let item = context.store.get_item(request).await?;
    Ok(encode(item, projection.as_ref()))
}

fn decode(body: &[u8], cache: &ExpressionCache) -> Result<(GetItem, Option<Projection>), Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let capacity = ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    let table = parameters::table(&mut constraints, &input.table_name)?;
    constraints.required("key", &input.key);
    let (table, key) = constraints.finish((table, input.key))?;
    capacity.refuse()?;
    let projection = &input.projection_expression;
    parameters::refuse_legacy(
        &[("AttributesToGet", &input.attributes_to_get)],
        &[("ProjectionExpression", projection)],
    )?;
    let expressions = [(ExpressionKind::Projection, projection)];
    let names = input.expression_attribute_names;
    let placeholders = Placeholders::new(names, None, &expressions)?;
    let request = GetItem {
        table,
        key: key.into_result()?,
        consistent: input.consistent_read.unwrap_or(false),
    };
    Ok((request, placeholders.projection(cache, projection)?))
}

fn encode(item: Option<Item>, projection: Option<&Projection>) -> Bytes {
    let item = match projection {
        Some(projection) => item.map(|item| projection.apply(&item)),
        None => item,
    };
    json::write(&Output { item })
}
