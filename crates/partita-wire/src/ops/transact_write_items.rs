//! TransactWriteItems.

use std::collections::BTreeMap;

use bytes::Bytes;
use partita_core::limits::{CLIENT_REQUEST_TOKEN_CHARS_MAX, TRANSACTION_ACTIONS_MAX};
use partita_core::{Item, Value};
use partita_store::request::{
    ConditionCheck, DeleteItem, PutItem, TransactAction, TransactWriteItems, UpdateItem,
};
use partita_store::table::TableName;
use serde::{Deserialize, Serialize};

use super::Context;
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
    transact_items: Option<Vec<Action>>,
    client_request_token: Option<String>,
    return_consumed_capacity: Option<String>,
    return_item_collection_metrics: Option<String>,
}

/// Exactly one of them is there, or the action is refused.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Action {
    condition_check: Option<Write>,
    put: Option<Write>,
    delete: Option<Write>,
    update: Option<Write>,
}

/// The parameters of all four; each looks at its own.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Write {
    table_name: Option<String>,
    item: Option<Item>,
    key: Option<Item>,
    update_expression: Option<String>,
    condition_expression: Option<String>,
    expression_attribute_names: Option<BTreeMap<String, String>>,
    expression_attribute_values: Option<BTreeMap<String, Value>>,
    return_values_on_condition_check_failure: Option<String>,
}

#[derive(Serialize)]
struct Output {}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let request = decode(body)?;
    context.store.transact_write_items(request).await?;
    Ok(encode())
}

fn decode(body: &[u8]) -> Result<TransactWriteItems, Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    ReturnItemCollectionMetrics::check(&mut constraints, &input.return_item_collection_metrics);
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
    Ok(TransactWriteItems {
        actions: items
            .into_iter()
            .map(Action::decode)
            .collect::<Result<_, _>>()?,
        token: input.client_request_token,
    })
}

fn encode() -> Bytes {
    json::write(&Output {})
}

impl Action {
    fn writes(&self) -> [(&'static str, Option<&Write>); 4] {
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

    fn decode(self) -> Result<TransactAction, Refusal> {
        let count = self
            .writes()
            .iter()
            .filter(|(_, write)| write.is_some())
            .count();
        if count > 1 {
            return Err(Refusal::validation(messages::SEVERAL_ACTIONS));
        }
        if let Some(write) = self.put {
            return write.put();
        }
        if let Some(write) = self.update {
            return write.update();
        }
        if let Some(write) = self.delete {
            return write.delete();
        }
        match self.condition_check {
            Some(write) => write.check(),
            None => Err(Refusal::validation(messages::NO_ACTION)),
        }
    }
}

impl Write {
    fn table(&self) -> Result<TableName, Refusal> {
        parameters::named_table("tableName", self.table_name.as_deref().unwrap_or_default())
    }

    fn placeholders(&mut self) -> Placeholders {
        Placeholders::new(
            self.expression_attribute_names.take(),
            self.expression_attribute_values.take(),
        )
    }

    fn returns_item(&self) -> bool {
        self.return_values_on_condition_check_failure.as_deref() == Some("ALL_OLD")
    }

    fn put(mut self) -> Result<TransactAction, Refusal> {
        let condition = self
            .placeholders()
            .condition(self.condition_expression.as_deref())?;
        Ok(TransactAction::Put(PutItem {
            table: self.table()?,
            condition,
            return_item_on_failure: self.returns_item(),
            item: self.item.unwrap_or_default(),
        }))
    }

    fn update(mut self) -> Result<TransactAction, Refusal> {
        let placeholders = self.placeholders();
        Ok(TransactAction::Update(UpdateItem {
            table: self.table()?,
            update: placeholders.update(self.update_expression.as_deref())?,
            condition: placeholders.condition(self.condition_expression.as_deref())?,
            return_item_on_failure: self.returns_item(),
            key: self.key.unwrap_or_default(),
        }))
    }

    fn delete(mut self) -> Result<TransactAction, Refusal> {
        let condition = self
            .placeholders()
            .condition(self.condition_expression.as_deref())?;
        Ok(TransactAction::Delete(DeleteItem {
            table: self.table()?,
            condition,
            return_item_on_failure: self.returns_item(),
            key: self.key.unwrap_or_default(),
        }))
    }

    fn check(mut self) -> Result<TransactAction, Refusal> {
        let text = self.condition_expression.take().unwrap_or_default();
        let condition = self.placeholders().condition_text(&text)?;
        Ok(TransactAction::Check(ConditionCheck {
            table: self.table()?,
            condition,
            return_item_on_failure: self.returns_item(),
            key: self.key.unwrap_or_default(),
        }))
    }
}
