//! TransactGetItems.

use bytes::Bytes;
use partita_core::Item;
use partita_core::expression::{AttributeNames, ExpressionCache, ExpressionKind, Projection};
use partita_core::json::Received;
use partita_core::limits::TRANSACTION_ACTIONS_MAX;
use partita_store::capacity::Metered;
use partita_store::request::{ItemAddress, TransactGetItems};
use serde::{Deserialize, Serialize};

use super::Context;
use super::consumed::ConsumedCapacity;
use crate::constraints::Constraints;
use crate::expressions::Placeholders;
use crate::json;
use crate::parameters::{self, ReturnConsumedCapacity};
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    transact_items: Option<Vec<Action>>,
    return_consumed_capacity: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Action {
    get: Option<Get>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Get {
    table_name: Option<String>,
    key: Option<Received<Item>>,
    projection_expression: Option<String>,
    expression_attribute_names: Option<AttributeNames>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    responses: Vec<Response>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumed_capacity: Option<Vec<ConsumedCapacity>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Response {
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<Item>,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (request, capacity) = decode(body, context.cache)?;
    let Metered { answer, consumed } = context.store.transact_get_items(request).await?;
    let consumed = capacity.of_transaction(context.store, &consumed).await;
    Ok(encode(answer, consumed))
}

fn decode(
    body: &[u8],
    cache: &ExpressionCache,
) -> Result<(TransactGetItems, ReturnConsumedCapacity), Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let capacity = ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    constraints.required("transactItems", &input.transact_items);
    if let Some(items) = &input.transact_items {
        let shown = || if items.is_empty() { "[]" } else { "[...]" }.to_owned();
        let bounds = 1..=TRANSACTION_ACTIONS_MAX;
        constraints.length("transactItems", items.len(), bounds, shown);
    }
    for (index, action) in input.transact_items.iter().flatten().enumerate() {
        action.check(&mut constraints, index + 1);
    }
    let items = constraints.finish(input.transact_items)?;
    // Each is there, or a constraint has failed.
    let gets = items.into_iter().filter_map(|action| action.get);
    let gets = gets.map(|get| get.decode(cache));
    let gets = gets.collect::<Result<_, _>>()?;
    Ok((TransactGetItems { gets }, capacity))
}

fn encode(items: Vec<Option<Item>>, consumed_capacity: Option<Vec<ConsumedCapacity>>) -> Bytes {
    let responses = items.into_iter().map(|item| Response { item }).collect();
    json::write(&Output {
        responses,
        consumed_capacity,
    })
}

impl Action {
    fn check(&self, constraints: &mut Constraints, number: usize) {
        let at = format!("transactItems.{number}.member.get");
        constraints.required(&at, &self.get);
        if let Some(get) = &self.get {
            constraints.required(&format!("{at}.key"), &get.key);
            constraints.required(&format!("{at}.tableName"), &get.table_name);
        }
    }
}

impl Get {
    fn decode(self, cache: &ExpressionCache) -> Result<(ItemAddress, Option<Projection>), Refusal> {
        let projection = &self.projection_expression;
        let expressions = [(ExpressionKind::Projection, projection)];
        let names = self.expression_attribute_names;
        let projection =
            Placeholders::new(names, None, &expressions)?.projection(cache, projection)?;
        let name = self.table_name.unwrap_or_default();
        let table = parameters::named_table("tableName", &name)?;
        let key = self.key.map(Received::into_result).transpose()?;
        let key = key.unwrap_or_default();
        Ok((ItemAddress { table, key }, projection))
    }
}
