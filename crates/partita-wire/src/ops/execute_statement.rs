//! ExecuteStatement.

use bytes::Bytes;
use partita_core::expression::{Select, Statement};
use partita_core::json::Received;
use partita_core::{Item, Value};
use partita_store::Store;
use partita_store::capacity::Metered;
use partita_store::request::{TableDescription, TransactAction};
use serde::{Deserialize, Serialize};

use super::Context;
use super::consumed::ConsumedCapacity;
use crate::constraints::Constraints;
use crate::json;
use crate::messages;
use crate::parameters::{ON_FAILURE, ReturnConsumedCapacity, ReturnOnFailure};
use crate::partiql::{self, PageStart, SelectReading, StatementWrite};
use crate::refusal::{Fault, Refusal};

/// Characters of a NextToken.
const TOKEN_CHARS: std::ops::RangeInclusive<usize> = 1..=32_768;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    statement: Option<String>,
    parameters: Option<Vec<Received<Value>>>,
    consistent_read: Option<bool>,
    next_token: Option<String>,
    return_consumed_capacity: Option<String>,
    limit: Option<i64>,
    return_values_on_condition_check_failure: Option<String>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    items: Vec<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumed_capacity: Option<ConsumedCapacity>,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let mut input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let as_named = |name: &str| name.to_owned();
    partiql::check(
        &mut constraints,
        as_named,
        &input.statement,
        &input.parameters,
    );
    if let Some(token) = &input.next_token {
        let chars = token.chars().count();
        constraints.length("nextToken", chars, TOKEN_CHARS, || token.clone());
    }
    let capacity = ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    constraints.at_least("limit", input.limit, 1);
    let on_failure = &input.return_values_on_condition_check_failure;
    let returns_item = ReturnOnFailure::of(&mut constraints, ON_FAILURE, on_failure);
    let text = constraints.finish(input.statement.take())?;
    let parameters = partiql::values(input.parameters.take())?;
    let statement = partiql::parse(&text, parameters.clone())?;
    if matches!(statement, Statement::Exists(_)) {
        return Err(Refusal::validation(messages::EXISTS_ALONE));
    }
    let described = partiql::described(context.store, &statement).await?;
    let output = match statement {
        Statement::Select(select) => {
            let asked = SelectWish {
                text: &text,
                parameters: &parameters,
                capacity,
            };
            read(context, &input, asked, select, described).await?
        }
        statement => {
            let write = partiql::action(statement, &described, returns_item)?;
            let Metered { answer, consumed } = carry_out(context.store, write).await?;
            Output {
                items: answer.into_iter().collect(),
                next_token: None,
                consumed_capacity: capacity.of_one(&consumed),
            }
        }
    };
    Ok(json::write(&output))
}

/// What a page of a SELECT must know of its request.
struct SelectWish<'a> {
    text: &'a str,
    parameters: &'a [Value],
    capacity: ReturnConsumedCapacity,
}

async fn read(
    context: Context<'_>,
    input: &Input,
    asked: SelectWish<'_>,
    select: Select,
    described: TableDescription,
) -> Result<Output, Refusal> {
    let SelectWish {
        text, parameters, ..
    } = asked;
    let consistent = input.consistent_read.unwrap_or(false);
    let reading = SelectReading::new(select, &described, consistent)?;
    let token = input.next_token.as_deref();
    let start = token.map(|token| context.next_tokens.open(text, parameters, token));
    let start = start.transpose()?.unwrap_or_else(PageStart::default);
    let limit = input.limit.and_then(|limit| usize::try_from(limit).ok());
    let found = reading.page(context.store, limit, start).await?;
    let sealed = |place| context.next_tokens.seal(text, parameters, place);
    Ok(Output {
        items: found.items,
        next_token: found.next.map(sealed),
        consumed_capacity: asked.capacity.of_one(&found.consumed),
    })
}

/// Does a single write. The service has an error of its own for an item that is there already.
pub(super) async fn carry_out(
    store: &dyn Store,
    write: StatementWrite,
) -> Result<Metered<Option<Item>>, Refusal> {
    let StatementWrite {
        action, returns, ..
    } = write;
    let written = match action {
        TransactAction::Put(put) => store.put_item(put, returns).await,
        TransactAction::Update(update) => store.update_item(update, returns).await,
        TransactAction::Delete(delete) => store.delete_item(delete, returns).await,
        TransactAction::Check(_) => return Err(Refusal::validation(messages::EXISTS_ALONE)),
    };
    written.map_err(|error| match Refusal::from(error) {
        refusal if write.is_insert && refusal.fault == Fault::ConditionalCheckFailed => {
            Refusal::new(Fault::DuplicateItem, messages::DUPLICATE_ITEM)
        }
        refusal => refusal,
    })
}
