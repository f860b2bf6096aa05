//! TransactWriteItems.

use std::collections::BTreeMap;

use bytes::Bytes;
use partita_core::Item;
use partita_core::expression::{
    AttributeNames, AttributeValues, Condition, ExpressionCache, ExpressionKind,
};
use partita_core::json::Received;
use partita_core::limits::{CLIENT_REQUEST_TOKEN_CHARS_MAX, TRANSACTION_ACTIONS_MAX};
use partita_store::request::{
    ConditionCheck, DeleteItem, PutItem, TransactAction, TransactWriteItems, UpdateItem,
};
use partita_store::table::TableName;
use serde::{Deserialize, Serialize};

use super::Context;
use super::collections::{ItemCollectionMetrics, Touched};
use super::consumed::ConsumedCapacity;
use super::written::ReturnWish;
use crate::constraints::Constraints;
use crate::expressions::Placeholders;
use crate::json;
use crate::messages;
use crate::parameters::{
    self, ReturnConsumedCapacity, ReturnItemCollectionMetrics, ReturnOnFailure,
};
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    transact_items: Option<Vec<WriteAction>>,
    client_request_token: Option<String>,
    return_consumed_capacity: Option<String>,
    return_item_collection_metrics: Option<String>,
}

/// Exactly one of them is there, or the action is refused.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct WriteAction {
    condition_check: Option<TransactedWrite>,
    put: Option<TransactedWrite>,
    delete: Option<TransactedWrite>,
    update: Option<TransactedWrite>,
}

/// The parameters of all four; each looks at its own.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TransactedWrite {
    table_name: Option<String>,
    item: Option<Received<Item>>,
    key: Option<Received<Item>>,
    update_expression: Option<String>,
    condition_expression: Option<String>,
    expression_attribute_names: Option<AttributeNames>,
    expression_attribute_values: Option<AttributeValues>,
    return_values_on_condition_check_failure: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    #[serde(skip_serializing_if = "Option::is_none")]
    consumed_capacity: Option<Vec<ConsumedCapacity>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    item_collection_metrics: BTreeMap<TableName, Vec<ItemCollectionMetrics>>,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (request, asked) = decode(body, context.cache)?;
    let written = context.store.transact_write_items(request).await?;
    Ok(json::write(&Output {
        consumed_capacity: asked.capacity.of_transaction(&written.consumed),
        item_collection_metrics: asked.touched.measure(context.store).await,
    }))
}

fn decode(
    body: &[u8],
    cache: &ExpressionCache,
) -> Result<(TransactWriteItems, ReturnWish), Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let capacity = ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    let metrics = &input.return_item_collection_metrics;
    let metrics = ReturnItemCollectionMetrics::of(&mut constraints, metrics);
    constraints.required("transactItems", &input.transact_items);
    if let Some(items) = &input.transact_items {
        let shown = || if items.is_empty() { "[]" } else { "[...]" }.to_owned();
        constraints.length(
            "transactItems",
            items.len(),
            1..=TRANSACTION_ACTIONS_MAX,
            shown,
        );
    }
    if let Some(token) = &input.client_request_token {
        let bounds = 1..=CLIENT_REQUEST_TOKEN_CHARS_MAX;
        let length = token.chars().count();
        constraints.length("clientRequestToken", length, bounds, || token.clone());
    }
    let items = input.transact_items.iter().flatten().enumerate();
    for (index, action) in items {
        action.check(&mut constraints, index + 1);
    }
    let items = constraints.finish(input.transact_items)?;
    let actions = items.into_iter().map(|action| action.decode(cache));
    let request = TransactWriteItems {
        actions: actions.collect::<Result<_, _>>()?,
        token: input.client_request_token,
    };
    let touched = Touched::new(metrics, request.actions.iter().filter_map(written_item));
    Ok((request, ReturnWish { capacity, touched }))
}

/// The item that an action writes, or its key; a check writes nothing.
fn written_item(action: &TransactAction) -> Option<(&TableName, &Item)> {
    match action {
        TransactAction::Put(put) => Some((&put.table, &put.item)),
        TransactAction::Update(update) => Some((&update.table, &update.key)),
        TransactAction::Delete(delete) => Some((&delete.table, &delete.key)),
        TransactAction::Check(_) => None,
    }
}

impl WriteAction {
    fn writes(&self) -> [(&'static str, Option<&TransactedWrite>); 4] {
        [
            ("conditionCheck", self.condition_check.as_ref()),
            ("put", self.put.as_ref()),
            ("delete", self.delete.as_ref()),
            ("update", self.update.as_ref()),
        ]
    }

    fn check(&self, constraints: &mut Constraints, number: usize) {
        for (kind, write) in self.writes() {
            let Some(write) = write else { continue };
            let at = |name: &str| format!("transactItems.{number}.member.{kind}.{name}");
            constraints.required(&at("tableName"), &write.table_name);
            match kind {
                "put" => constraints.required(&at("item"), &write.item),
                _ => constraints.required(&at("key"), &write.key),
            }
            match kind {
                "conditionCheck" => {
                    constraints.required(&at("conditionExpression"), &write.condition_expression)
                }
                "update" => {
                    constraints.required(&at("updateExpression"), &write.update_expression);
                }
                _ => {}
            }
            let on_failure = &write.return_values_on_condition_check_failure;
            ReturnOnFailure::of(constraints, &at(parameters::ON_FAILURE), on_failure);
        }
    }

    fn decode(self, cache: &ExpressionCache) -> Result<TransactAction, Refusal> {
        let writes = self.writes();
        if writes.iter().filter(|(_, write)| write.is_some()).count() > 1 {
            return Err(Refusal::validation(messages::SEVERAL_ACTIONS));
        }
        match (self.put, self.update, self.delete, self.condition_check) {
            (Some(write), ..) => write.put(cache),
            (_, Some(write), ..) => write.update(cache),
            (_, _, Some(write), _) => write.delete(cache),
            (_, _, _, Some(write)) => write.check(cache),
            _ => Err(Refusal::validation(messages::NO_ACTION)),
        }
    }
}

impl TransactedWrite {
    fn table(&self) -> Result<TableName, Refusal> {
        parameters::named_table("tableName", self.table_name.as_deref().unwrap_or_default())
    }

    fn placeholders(
        &mut self,
        expressions: &[(ExpressionKind, &Option<String>)],
    ) -> Result<Placeholders, Refusal> {
        Placeholders::new(
            self.expression_attribute_names.take(),
            self.expression_attribute_values.take(),
            expressions,
        )
    }

    /// The only expression of three of the four.
    fn condition(&mut self, cache: &ExpressionCache) -> Result<Option<Condition>, Refusal> {
        let text = self.condition_expression.take();
        let placeholders = self.placeholders(&[(ExpressionKind::Condition, &text)])?;
        placeholders.condition(cache, &text)
    }

    fn returns_item(&self) -> bool {
        self.return_values_on_condition_check_failure.as_deref() == Some("ALL_OLD")
    }

    fn put(mut self, cache: &ExpressionCache) -> Result<TransactAction, Refusal> {
        let put = PutItem {
            table: self.table()?,
            condition: self.condition(cache)?,
            return_item_on_failure: self.returns_item(),
            item: whole(self.item)?,
        };
        parameters::check_item_size(&put.item)?;
        Ok(TransactAction::Put(put))
    }

    fn update(mut self, cache: &ExpressionCache) -> Result<TransactAction, Refusal> {
        let (update, condition) = (
            self.update_expression.take(),
            self.condition_expression.take(),
        );
        let placeholders = self.placeholders(&[
            (ExpressionKind::Update, &update),
            (ExpressionKind::Condition, &condition),
        ])?;
        let (update, condition) = placeholders.update(cache, &update, &condition)?;
        Ok(TransactAction::Update(UpdateItem {
            table: self.table()?,
            update,
            condition,
            return_item_on_failure: self.returns_item(),
            key: whole(self.key)?,
        }))
    }

    fn delete(mut self, cache: &ExpressionCache) -> Result<TransactAction, Refusal> {
        Ok(TransactAction::Delete(DeleteItem {
            table: self.table()?,
            condition: self.condition(cache)?,
            return_item_on_failure: self.returns_item(),
            key: whole(self.key)?,
        }))
    }

    fn check(mut self, cache: &ExpressionCache) -> Result<TransactAction, Refusal> {
        Ok(TransactAction::Check(ConditionCheck {
            table: self.table()?,
            // It is required; a check of nothing would always hold.
            condition: self.condition(cache)?.unwrap_or(Condition::All(Vec::new())),
            return_item_on_failure: self.returns_item(),
            key: whole(self.key)?,
        }))
    }
}

/// The item or key, which is required and so is there.
fn whole(item: Option<Received<Item>>) -> Result<Item, Refusal> {
    Ok(item
        .map(Received::into_result)
        .transpose()?
        .unwrap_or_default())
}
