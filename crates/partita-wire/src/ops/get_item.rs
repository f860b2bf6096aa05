//! GetItem.

use bytes::Bytes;
use partita_core::Item;
use partita_core::expression::{AttributeNames, ExpressionCache, ExpressionKind};
use partita_core::json::Received;
use partita_store::FoundItem;
use partita_store::capacity::Metered;
use partita_store::request::GetItem;
use serde::Deserialize;

use super::Context;
use super::consumed::ConsumedCapacity;
use crate::constraints::Constraints;
use crate::expressions::Placeholders;
use crate::json;
use crate::legacy;
use crate::parameters::{self, ReturnConsumedCapacity};
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
    attributes_to_get: Option<Vec<String>>,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (request, capacity) = decode(body, context.cache)?;
    let Metered { answer, consumed } = context.store.get_item(request).await?;
    let consumed = capacity.of_one(&consumed);
    Ok(encode(answer, consumed))
}

fn decode(
    body: &[u8],
    cache: &ExpressionCache,
) -> Result<(GetItem, ReturnConsumedCapacity), Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let capacity = ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    let table = parameters::table(&mut constraints, &input.table_name)?;
    constraints.required("key", &input.key);
    legacy::check_attributes(
        &mut constraints,
        "attributesToGet",
        &input.attributes_to_get,
    );
    let (table, key) = constraints.finish((table, input.key))?;
    let projection = &input.projection_expression;
    legacy::check_unmixed(
        &[("AttributesToGet", input.attributes_to_get.is_some())],
        &[("ProjectionExpression", projection)],
    )?;
    let expressions = [(ExpressionKind::Projection, projection)];
    let names = input.expression_attribute_names;
    let placeholders = Placeholders::new(names, None, &expressions)?;
    let request = GetItem {
        table,
        key: key.into_result()?,
        consistent: input.consistent_read.unwrap_or(false),
        projection: legacy::projection(&input.attributes_to_get)?
            .or(placeholders.projection(cache, projection)?),
    };
    Ok((request, capacity))
}

fn encode(item: Option<FoundItem>, consumed: Option<ConsumedCapacity>) -> Bytes {
    let bytes = item.as_ref().map_or(0, json::bytes_of);
    json::answer(bytes, |answer| {
        if let Some(item) = &item {
            answer.written("Item", |out| item.write_json(out));
        }
        answer.optional("ConsumedCapacity", &consumed);
    })
}
