//! ExecuteTransaction: all statements or none, all of them reads or all of them writes.

use bytes::Bytes;
use partita_core::Item;
use partita_core::expression::Statement;
use partita_core::limits::{CLIENT_REQUEST_TOKEN_CHARS_MAX, TRANSACTION_ACTIONS_MAX};
use partita_store::StoreError;
use partita_store::error::CancellationReason;
use partita_store::request::{ItemAddress, TransactGetItems, TransactWriteItems};
use serde::{Deserialize, Serialize};

use super::Context;
use super::consumed::ConsumedCapacity;
use crate::constraints::Constraints;
use crate::json;
use crate::messages;
use crate::parameters::ReturnConsumedCapacity;
use crate::partiql::{self, Parameterized};
use crate::refusal::{Fault, Refusal};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    transact_statements: Option<Vec<Parameterized>>,
    client_request_token: Option<String>,
    return_consumed_capacity: Option<String>,
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
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let capacity = ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    constraints.required("transactStatements", &input.transact_statements);
    if let Some(statements) = &input.transact_statements {
        let shown = || if statements.is_empty() { "[]" } else { "[...]" }.to_owned();
        let bounds = 1..=TRANSACTION_ACTIONS_MAX;
        constraints.length("transactStatements", statements.len(), bounds, shown);
    }
    if let Some(token) = &input.client_request_token {
        let bounds = 1..=CLIENT_REQUEST_TOKEN_CHARS_MAX;
        let length = token.chars().count();
        constraints.length("clientRequestToken", length, bounds, || token.clone());
    }
    for (index, statement) in input.transact_statements.iter().flatten().enumerate() {
        let at = |name: &str| format!("transactStatements.{}.member.{name}", index + 1);
        statement.check(&mut constraints, at);
    }
    let statements = constraints.finish(input.transact_statements)?;
    let mut parsed = Vec::with_capacity(statements.len());
    for mut statement in statements {
        let text = statement.parse()?;
        parsed.push((text, statement.returns_item_on_failure()));
    }
    let is_read = |(text, _): &(Statement, bool)| matches!(text, Statement::Select(_));
    let output = if parsed.iter().all(is_read) {
        read(context, parsed, capacity).await?
    } else if parsed.iter().any(is_read) {
        return Err(Refusal::validation(messages::MIXED_TRANSACTION));
    } else {
        write(context, parsed, input.client_request_token, capacity).await?
    };
    Ok(json::write(&output))
}

type ParsedStatements = Vec<(Statement, bool)>;

async fn read(
    context: Context<'_>,
    parsed: ParsedStatements,
    capacity: ReturnConsumedCapacity,
) -> Result<Output, Refusal> {
    let mut gets = Vec::with_capacity(parsed.len());
    let mut columns = Vec::with_capacity(parsed.len());
    for (number, (statement, _)) in parsed.into_iter().enumerate() {
        let refuse = |message| Refusal::validation(messages::in_statement(number, message));
        if statement.source().index.is_some() {
            return Err(refuse(messages::INDEX_IN_TRANSACTION));
        }
        let described = partiql::described(context.store, &statement).await?;
        let Statement::Select(select) = statement else {
            continue;
        };
        let single = partiql::single(select, &described)?;
        let (key, shown) =
            single.ok_or_else(|| refuse(messages::TRANSACTION_SELECT_WITHOUT_KEY))?;
        let table = described.table;
        gets.push((ItemAddress { table, key }, None));
        columns.push(shown);
    }
    let request = TransactGetItems { gets };
    let got = context.store.transact_get_items(request).await?;
    let mut responses = Vec::with_capacity(columns.len());
    for (found, columns) in got.answer.into_iter().zip(columns) {
        let item = found.map(|found| found.into_item()).transpose()?;
        let item = item.map(|item| columns.of(item));
        responses.push(Response { item });
    }
    Ok(Output {
        responses,
        consumed_capacity: capacity.of_transaction(&got.consumed),
    })
}

async fn write(
    context: Context<'_>,
    parsed: ParsedStatements,
    token: Option<String>,
    capacity: ReturnConsumedCapacity,
) -> Result<Output, Refusal> {
    let mut actions = Vec::with_capacity(parsed.len());
    let mut inserts = Vec::with_capacity(parsed.len());
    for (number, (statement, returns_item)) in parsed.into_iter().enumerate() {
        if returns_attributes(&statement) {
            let message = messages::in_statement(number, messages::RETURNING_IN_TRANSACTION);
            return Err(Refusal::validation(message));
        }
        let described = partiql::described(context.store, &statement).await;
        let described = described.map_err(|refusal| in_statement(number, refusal))?;
        let write = partiql::action(statement, &described, returns_item);
        let write = write.map_err(|refusal| in_statement(number, refusal))?;
        actions.push(write.action);
        inserts.push(write.is_insert);
    }
    let request = TransactWriteItems { actions, token };
    let written = context.store.transact_write_items(request).await;
    let written = written.map_err(|error| with_duplicates(error, &inserts))?;
    Ok(Output {
        responses: Vec::new(),
        consumed_capacity: capacity.of_transaction(&written.consumed),
    })
}

/// A mistake in a statement names the statement; a missing table does not.
fn in_statement(number: usize, refusal: Refusal) -> Refusal {
    match &refusal.message {
        Some(message) if refusal.fault == Fault::Validation => {
            Refusal::validation(messages::in_statement(number, message))
        }
        _ => refusal,
    }
}

fn returns_attributes(statement: &Statement) -> bool {
    match statement {
        Statement::Update { returning, .. } | Statement::Delete { returning, .. } => {
            returning.is_some()
        }
        _ => false,
    }
}

/// The condition of an INSERT fails only where its item is there already.
fn with_duplicates(error: StoreError, inserts: &[bool]) -> StoreError {
    let StoreError::TransactionCanceled { mut reasons } = error else {
        return error;
    };
    for (reason, is_insert) in reasons.iter_mut().zip(inserts) {
        let failed = matches!(reason, CancellationReason::ConditionalCheckFailed { .. });
        if *is_insert && failed {
            *reason = CancellationReason::DuplicateItem;
        }
    }
    StoreError::TransactionCanceled { reasons }
}
