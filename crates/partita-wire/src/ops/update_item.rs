//! UpdateItem.

use bytes::Bytes;
use partita_core::Item;
use partita_core::expression::{AttributeNames, AttributeValues, ExpressionCache, ExpressionKind};
use partita_core::json::Received;
use partita_store::StoreError;
use partita_store::request::{ReturnValues, UpdateItem};
use serde::Deserialize;

use super::Context;
use super::collections::Touched;
use super::written::{self, ReturnWish};
use crate::constraints::Constraints;
use crate::expressions::Placeholders;
use crate::json;
use crate::legacy::{self, AttributeUpdates, ConditionalOperator, Expected};
use crate::parameters::{
    self, ON_FAILURE, ReturnConsumedCapacity, ReturnItemCollectionMetrics, ReturnOnFailure,
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
    attribute_updates: Option<AttributeUpdates>,
    expected: Option<Expected>,
    conditional_operator: Option<String>,
}

/// A refusal of the store, in the words for the parameters that were used.
type Worded = fn(StoreError) -> Refusal;
type Decoded = (UpdateItem, ReturnValues, ReturnWish, Worded);

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (request, returns, asked, worded) = decode(body, context.cache)?;
    let attributes = context.store.update_item(request, returns).await;
    let attributes = attributes.map_err(worded)?;
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
    let operator = ConditionalOperator::of(&mut constraints, &input.conditional_operator);
    legacy::check_expected(&mut constraints, &input.expected);
    legacy::check_updates(&mut constraints, &input.attribute_updates);
    let on_failure = &input.return_values_on_condition_check_failure;
    let return_item_on_failure = ReturnOnFailure::of(&mut constraints, ON_FAILURE, on_failure);
    let (table, key) = constraints.finish((table, input.key))?;
    let (update, condition) = (&input.update_expression, &input.condition_expression);
    legacy::check_unmixed(
        &[
            ("AttributeUpdates", input.attribute_updates.is_some()),
            ("Expected", input.expected.is_some()),
            ("ConditionalOperator", operator.is_some()),
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
    let updates = input.attribute_updates.map(legacy::update).transpose()?;
    let expected = legacy::expectation(input.expected, operator)?;
    let worded = match updates {
        Some(_) => legacy::reworded,
        None => Refusal::from,
    };
    let (update, condition) = placeholders.update(cache, update, condition)?;
    let touched = Touched::new(metrics, [(&table, &key)]);
    let request = UpdateItem {
        table,
        key,
        update: updates.unwrap_or(update),
        condition: condition.or(expected),
        return_item_on_failure,
    };
    let asked = ReturnWish { capacity, touched };
    let returns = returns.unwrap_or(ReturnValues::None);
    Ok((request, returns, asked, worded))
}
