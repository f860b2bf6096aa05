//! The parameters that PutItem and DeleteItem share: all of them, but that the one has an item
//! and the other a key.

use partita_core::Item;
use partita_core::expression::{
    AttributeNames, AttributeValues, Condition, ExpressionCache, ExpressionKind,
};
use partita_core::json::Received;
use partita_store::request::{DeleteItem, PutItem, ReturnValues};
use partita_store::table::TableName;
use serde::Deserialize;

use super::collections::Touched;
use super::written::ReturnWish;
use crate::constraints::Constraints;
use crate::expressions::Placeholders;
use crate::json;
use crate::legacy::{self, ConditionalOperator, Expected};
use crate::parameters::{
    self, ON_FAILURE, ReturnConsumedCapacity, ReturnItemCollectionMetrics, ReturnOnFailure,
};
use crate::refusal::Refusal;

/// What is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteSubject {
    Item,
    Key,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    table_name: Option<String>,
    item: Option<Received<Item>>,
    key: Option<Received<Item>>,
    condition_expression: Option<String>,
    expression_attribute_names: Option<AttributeNames>,
    expression_attribute_values: Option<AttributeValues>,
    return_values: Option<String>,
    return_values_on_condition_check_failure: Option<String>,
    return_consumed_capacity: Option<String>,
    return_item_collection_metrics: Option<String>,
    expected: Option<Expected>,
    conditional_operator: Option<String>,
}

/// A put or a delete, as the store has them.
pub(super) struct SingleWrite {
    table: TableName,
    /// The item or the key.
    subject: Item,
    condition: Option<Condition>,
    return_item_on_failure: bool,
}

impl From<SingleWrite> for PutItem {
    fn from(write: SingleWrite) -> Self {
        PutItem {
            table: write.table,
            item: write.subject,
            condition: write.condition,
            return_item_on_failure: write.return_item_on_failure,
        }
    }
}

impl From<SingleWrite> for DeleteItem {
    fn from(write: SingleWrite) -> Self {
        DeleteItem {
            table: write.table,
            key: write.subject,
            condition: write.condition,
            return_item_on_failure: write.return_item_on_failure,
        }
    }
}

/// The write, what it returns, and what else its answer contains.
pub(super) fn decode(
    body: &[u8],
    cache: &ExpressionCache,
    subject: WriteSubject,
) -> Result<(SingleWrite, ReturnValues, ReturnWish), Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let capacity = ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    let table = parameters::table(&mut constraints, &input.table_name)?;
    let is_item = subject == WriteSubject::Item;
    let (name, subject) = match subject {
        WriteSubject::Item => ("item", input.item),
        WriteSubject::Key => ("key", input.key),
    };
    constraints.required(name, &subject);
    let operator = ConditionalOperator::of(&mut constraints, &input.conditional_operator);
    legacy::check_expected(&mut constraints, &input.expected);
    let returns = constraints.choice("returnValues", &input.return_values);
    let metrics = &input.return_item_collection_metrics;
    let metrics = ReturnItemCollectionMetrics::of(&mut constraints, metrics);
    let on_failure = &input.return_values_on_condition_check_failure;
    let return_item_on_failure = ReturnOnFailure::of(&mut constraints, ON_FAILURE, on_failure);
    let (table, subject) = constraints.finish((table, subject))?;
    let condition = &input.condition_expression;
    legacy::check_unmixed(
        &[
            ("Expected", input.expected.is_some()),
            ("ConditionalOperator", operator.is_some()),
        ],
        &[("ConditionExpression", condition)],
    )?;
    let placeholders = Placeholders::new(
        input.expression_attribute_names,
        input.expression_attribute_values,
        &[(ExpressionKind::Condition, condition)],
    )?;
    let subject = subject.into_result()?;
    let returns = parameters::old_or_none(returns)?;
    if is_item {
        parameters::check_item_size(&subject)?;
    }
    let expected = legacy::expectation(input.expected, operator)?;
    let touched = Touched::new(metrics, [(&table, &subject)]);
    let write = SingleWrite {
        table,
        subject,
        condition: placeholders.condition(cache, condition)?.or(expected),
        return_item_on_failure,
    };
    Ok((write, returns, ReturnWish { capacity, touched }))
}
