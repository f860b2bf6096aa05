//! GetItem.

use bytes::Bytes;
use partita_core::Item;
use partita_store::request::GetItem;
use serde::{Deserialize, Serialize};

use super::Context;
use crate::constraints::Constraints;
use crate::json;
use crate::parameters::{self, ReturnConsumedCapacity, Unread};
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    table_name: Option<String>,
    key: Option<Item>,
    consistent_read: Option<bool>,
    return_consumed_capacity: Option<String>,
    projection_expression: Unread,
    expression_attribute_names: Unread,
    attributes_to_get: Unread,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<Item>,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let request = decode(body)?;
    let item = context.store.get_item(request).await?;
    Ok(encode(item))
}

fn decode(body: &[u8]) -> Result<GetItem, Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    let table = parameters::table(&mut constraints, &input.table_name)?;
    constraints.required("key", &input.key);
    let (table, key) = constraints.finish((table, input.key))?;
    parameters::refuse_legacy(&[("AttributesToGet", &input.attributes_to_get)], &[])?;
    parameters::refuse(&[
        ("ProjectionExpression", &input.projection_expression),
        (
            "ExpressionAttributeNames",
            &input.expression_attribute_names,
        ),
    ])?;
    Ok(GetItem {
        table,
        key,
        consistent: input.consistent_read.unwrap_or(false),
    })
}

fn encode(item: Option<Item>) -> Bytes {
    json::write(&Output { item })
}
