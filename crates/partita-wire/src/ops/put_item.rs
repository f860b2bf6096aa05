//! PutItem.

use std::collections::BTreeMap;

use bytes::Bytes;
use partita_core::{Item, Value};
use partita_store::request::{PutItem, ReturnValues};
use serde::Deserialize;

use super::{Context, written};
use crate::constraints::Constraints;
use crate::expressions::Placeholders;
use crate::json;
use crate::parameters::{
    self, ON_FAILURE, ReturnConsumedCapacity, ReturnItemCollectionMetrics, ReturnOnFailure,
    Returns, Unread,
};
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    table_name: Option<String>,
    item: Option<Item>,
    condition_expression: Option<String>,
    expression_attribute_names: Option<BTreeMap<String, String>>,
    expression_attribute_values: Option<BTreeMap<String, Value>>,
    return_values: Option<String>,
    return_values_on_condition_check_failure: Option<String>,
    return_consumed_capacity: Option<String>,
    return_item_collection_metrics: Option<String>,
    expected: Unread,
    conditional_operator: Unread,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (request, returns) = decode(body)?;
    let old = context.store.put_item(request, returns).await?;
    Ok(written::encode(old))
}

fn decode(body: &[u8]) -> Result<(PutItem, ReturnValues), Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    let table = parameters::table(&mut constraints, &input.table_name)?;
    constraints.required("item", &input.item);
    let returns = constraints.choice("returnValues", &input.return_values);
    ReturnItemCollectionMetrics::check(&mut constraints, &input.return_item_collection_metrics);
    let on_failure = &input.return_values_on_condition_check_failure;
    let return_item_on_failure = ReturnOnFailure::of(&mut constraints, ON_FAILURE, on_failure);
    let (table, item) = constraints.finish((table, input.item))?;
    parameters::refuse_legacy(
        &[
            ("Expected", &input.expected),
            ("ConditionalOperator", &input.conditional_operator),
        ],
        &[("ConditionExpression", &input.condition_expression)],
    )?;
    let returns = Returns::old_or_none(returns)?;
    let placeholders = Placeholders::new(
        input.expression_attribute_names,
        input.expression_attribute_values,
    );
    let request = PutItem {
        table,
        item,
        condition: placeholders.condition(input.condition_expression.as_deref())?,
        return_item_on_failure,
    };
    Ok((request, returns))
}
