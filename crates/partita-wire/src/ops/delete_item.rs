//! DeleteItem.

use bytes::Bytes;
use partita_core::Item;
use partita_core::expression::{AttributeNames, AttributeValues, ExpressionCache, ExpressionKind};
use partita_core::json::Received;
use partita_store::request::{DeleteItem, ReturnValues};
use serde::Deserialize;

use super::{Context, written};
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
    condition_expression: Option<String>,
    expression_attribute_names: Option<AttributeNames>,
    expression_attribute_values: Option<AttributeValues>,
    return_values: Option<String>,
    return_values_on_condition_check_failure: Option<String>,
    return_consumed_capacity: Option<String>,
    return_item_collection_metrics: Option<String>,
    expected: Unread,
    conditional_operator: Unread,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (request, returns, capacity) = decode(body, context.cache)?;
    let old = context.store.delete_item(request, returns).await?;
    Ok(written::encode(capacity, old))
}

type Decoded = (DeleteItem, ReturnValues, ReturnConsumedCapacity);

fn decode(body: &[u8], cache: &ExpressionCache) -> Result<Decoded, Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let capacity = ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    let table = parameters::table(&mut constraints, &input.table_name)?;
    constraints.required("key", &input.key);
    let returns = constraints.choice("returnValues", &input.return_values);
    ReturnItemCollectionMetrics::check(&mut constraints, &input.return_item_collection_metrics);
    let on_failure = &input.return_values_on_condition_check_failure;
    let return_item_on_failure = ReturnOnFailure::of(&mut constraints, ON_FAILURE, on_failure);
    let (table, key) = constraints.finish((table, input.key))?;
    let condition = &input.condition_expression;
    parameters::refuse_legacy(
        &[
            ("Expected", &input.expected),
            ("ConditionalOperator", &input.conditional_operator),
        ],
        &[("ConditionExpression", condition)],
    )?;
    let placeholders = Placeholders::new(
        input.expression_attribute_names,
        input.expression_attribute_values,
        &[(ExpressionKind::Condition, condition)],
    )?;
    let key = key.into_result()?;
    let returns = parameters::old_or_none(returns)?;
    let request = DeleteItem {
        table,
        key,
        condition: placeholders.condition(cache, condition)?,
        return_item_on_failure,
    };
    Ok((request, returns, capacity))
}
