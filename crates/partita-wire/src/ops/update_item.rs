//! UpdateItem.

use bytes::Bytes;
use partita_core::Item;
use partita_core::expression::{AttributeNames, AttributeValues, ExpressionCache, ExpressionKind};
use partita_core::json::Received;
use partita_store::request::{ReturnValues, UpdateItem};
use serde::Deserialize;

use super::Context;
use super::collections::Touched;
use super::written::{self, Asked};
use crate::constraints::Constraints;
use crate::expressions::Placeholders;
use crate::json;
use crate::parameters::{
    self, ON_FAILURE, ReturnConsumedCapacity, ReturnItemCollectionMetrics, ReturnOnFailure, Unread,
};
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    table_name: Option<String>,
    key: Option<Received<Item>>,
    update_expression: Option<String>,
    condition_expression: Option<String>,
    expression_attribute_names: Option<AttributeNames>,
    expression_attribute_values: Option<AttributeValues>,
    return_values: Option<String>,
    return_values_on_condition_check_failure: Option<String>,
    return_consumed_capacity: Option<String>,
    return_item_collection_metrics: Option<String>,
    attribute_updates: Unread,
    expected: Unread,
    conditional_operator: Unread,
}

type Decoded = (UpdateItem, ReturnValues, Asked);

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (request, returns, asked) = decode(body, context.cache)?;
    let attributes = context.store.update_item(request, returns).await?;
    Ok(written::encode(context.store, asked, attributes).await)
}

fn decode(body: &[u8], cache: &ExpressionCache) -> Result<Decoded, Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let capacity = ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    let table = parameters::table(&mut constraints, &input.table_name)?;
    let metrics = &input.return_item_collection_metrics;
    let metrics = ReturnItemCollectionMetrics::of(&mut constraints, metrics);
    let returns = constraints.choice("returnValues", &input.return_values);
    constraints.required("key", &input.key);
    let on_failure = &input.return_values_on_condition_check_failure;
    let return_item_on_failure = ReturnOnFailure::of(&mut constraints, ON_FAILURE, on_failure);
    let (table, key) = constraints.finish((table, input.key))?;
    let (update, condition) = (&input.update_expression, &input.condition_expression);
    parameters::refuse_legacy(
        &[
            ("AttributeUpdates", &input.attribute_updates),
            ("Expected", &input.expected),
            ("ConditionalOperator", &input.conditional_operator),
        ],
        &[
            ("UpdateExpression", update),
            ("ConditionExpression", condition),
        ],
    )?;
    let placeholders = Placeholders::new(
        input.expression_attribute_names,
        input.expression_attribute_values,
        &[
            (ExpressionKind::Update, update),
            (ExpressionKind::Condition, condition),
        ],
    )?;
    let key = key.into_result()?;
    let (update, condition) = placeholders.update(cache, update, condition)?;
    let touched = Touched::new(metrics, [(&table, &key)]);
    let request = UpdateItem {
        table,
        key,
        update,
        condition,
        return_item_on_failure,
    };
    let asked = Asked { capacity, touched };
    Ok((request, returns.unwrap_or(ReturnValues::None), asked))
}
