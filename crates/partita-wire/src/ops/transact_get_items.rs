//! TransactGetItems.

use bytes::Bytes;
use partita_core::Item;
use partita_core::expression::{AttributeNames, ExpressionCache, ExpressionKind, Projection};
use partita_core::json::Received;
use partita_core::limits::TRANSACTION_ACTIONS_MAX;
use partita_store::FoundItem;
use partita_store::capacity::Metered;
use partita_store::request::{ItemAddress, TransactGetItems};
use serde::Deserialize;

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
    transact_items: Option<Vec<GetAction>>,
    return_consumed_capacity: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GetAction {
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

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (request, capacity) = decode(body, context.cache)?;
    let Metered { answer, consumed } = context.store.transact_get_items(request).await?;
    let consumed = capacity.of_transaction(&consumed);
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

fn encode(items: Vec<Option<FoundItem>>, consumed: Option<Vec<ConsumedCapacity>>) -> Bytes {
    let bytes = items.iter().flatten().map(json::bytes_of).sum();
    let response = |out: &mut Vec<u8>, item: &Option<FoundItem>| {
        json::object(out, |response| {
            if let Some(item) = item {
                response.written("Item", |out| item.write_json(out));
            }
        });
    };
    json::answer(bytes, |answer| {
        answer.written("Responses", |out| json::list(out, &items, response));
        answer.optional("ConsumedCapacity", &consumed);
    })
}

impl GetAction {
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
