//! BatchExecuteStatement: each statement for itself, all of them reads or all of them writes.

use std::collections::BTreeMap;

use bytes::Bytes;
use partita_core::Item;
use partita_core::expression::Statement;
use partita_core::limits::BATCH_WRITE_ITEMS_MAX;
use partita_store::capacity::{Consumed, Metered};
use partita_store::request::GetItem;
use partita_store::table::TableName;
use serde::{Deserialize, Serialize};

use super::Context;
use super::consumed::ConsumedCapacity;
use super::execute_statement::carry_out;
use crate::constraints::Constraints;
use crate::json;
use crate::messages;
use crate::parameters::ReturnConsumedCapacity;
use crate::partiql::{self, Columns, Parameterized, StatementWrite};
use crate::refusal::{Fault, Refusal};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    statements: Option<Vec<Parameterized>>,
    return_consumed_capacity: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    responses: Vec<Response>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumed_capacity: Option<Vec<ConsumedCapacity>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Response {
    #[serde(skip_serializing_if = "Option::is_none")]
    table_name: Option<TableName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Failure {
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// Why a statement fails, and its table where the service names it.
type Failed = (Refusal, Option<TableName>);

/// A statement that fits its table.
enum Prepared {
    Read(GetItem, Columns),
    Write(Box<StatementWrite>),
}

impl Prepared {
    fn address(&self) -> (&TableName, &Item) {
        match self {
            Prepared::Read(get, _) => (&get.table, &get.key),
            Prepared::Write(write) => (write.action.table(), &write.key),
        }
    }
}

type ByTable = BTreeMap<TableName, Consumed>;

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let capacity = ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    constraints.required("statements", &input.statements);
    if let Some(statements) = &input.statements {
        let shown = || if statements.is_empty() { "[]" } else { "[...]" }.to_owned();
        let bounds = 1..=BATCH_WRITE_ITEMS_MAX;
        constraints.length("statements", statements.len(), bounds, shown);
    }
    for (index, statement) in input.statements.iter().flatten().enumerate() {
        let at = |name: &str| format!("statements.{}.member.{name}", index + 1);
        statement.check(&mut constraints, at);
    }
    let statements = constraints.finish(input.statements)?;
    let prepared = prepare(context, statements).await?;
    let mut consumed = ByTable::new();
    let mut responses = Vec::with_capacity(prepared.len());
    for prepared in prepared {
        responses.push(match prepared {
            Ok(prepared) => respond(context, prepared, &mut consumed).await?,
            Err(failed) => Response::failed(failed)?,
        });
    }
    Ok(json::write(&Output {
        responses,
        consumed_capacity: capacity.of_batch(&consumed),
    }))
}

/// The statements that can be carried out, and why the others cannot.
async fn prepare(
    context: Context<'_>,
    statements: Vec<Parameterized>,
) -> Result<Vec<Result<Prepared, Failed>>, Refusal> {
    let mut parsed = Vec::with_capacity(statements.len());
    for mut statement in statements {
        let text = statement.parse();
        parsed.push((text, statement));
    }
    let is_read = |text: &Statement| matches!(text, Statement::Select(_));
    let texts = || parsed.iter().filter_map(|(text, _)| text.as_ref().ok());
    if texts().any(is_read) && !texts().all(is_read) {
        return Err(Refusal::validation(messages::MIXED_BATCH));
    }
    let mut prepared: Vec<Result<Prepared, Failed>> = Vec::with_capacity(parsed.len());
    for (text, statement) in parsed {
        let one = match text {
            Ok(text) => {
                let table = partiql::table(&text).ok();
                let one = prepare_one(context, text, &statement).await;
                one.map_err(|refusal| {
                    // The service names the table of a statement unless there is a mistake in it.
                    let is_mistaken = refusal.fault == Fault::Validation;
                    (refusal, table.filter(|_| !is_mistaken))
                })
            }
            Err(refusal) => Err((refusal, None)),
        };
        let mut others = prepared.iter().flatten();
        if let Ok(one) = &one
            && others.any(|other| other.address() == one.address())
        {
            return Err(Refusal::validation(messages::DUPLICATE_KEYS));
        }
        prepared.push(one);
    }
    Ok(prepared)
}

async fn prepare_one(
    context: Context<'_>,
    statement: Statement,
    options: &Parameterized,
) -> Result<Prepared, Refusal> {
    let described = partiql::described(context.store, &statement).await?;
    match statement {
        Statement::Select(select) => {
            let single = partiql::single(select, &described)?;
            let (key, columns) =
                single.ok_or_else(|| Refusal::validation(messages::BATCH_SELECT_WITHOUT_KEY))?;
            let get = GetItem {
                table: described.table,
                key,
                consistent: options.consistent_read.unwrap_or(false),
                projection: None,
            };
            Ok(Prepared::Read(get, columns))
        }
        Statement::Exists(_) => Err(Refusal::validation(messages::EXISTS_ALONE)),
        statement => {
            let returns_item = options.returns_item_on_failure();
            let write = partiql::action(statement, &described, returns_item)?;
            Ok(Prepared::Write(Box::new(write)))
        }
    }
}

async fn respond(
    context: Context<'_>,
    prepared: Prepared,
    sum: &mut ByTable,
) -> Result<Response, Refusal> {
    let table = prepared.address().0.clone();
    let answered = match prepared {
        Prepared::Read(get, columns) => read(context, get, columns).await,
        Prepared::Write(write) => carry_out(context.store, *write).await,
    };
    match answered {
        Ok(Metered { answer, consumed }) => {
            for (table, consumed) in &consumed {
                sum.entry(table.clone()).or_default().add(consumed);
            }
            Ok(Response {
                table_name: Some(table),
                item: answer,
                error: None,
            })
        }
        Err(refusal) => Response::failed((refusal, Some(table))),
    }
}

async fn read(
    context: Context<'_>,
    get: GetItem,
    columns: Columns,
) -> Result<Metered<Option<Item>>, Refusal> {
    let Metered { answer, consumed } = context.store.get_item(get).await?;
    let item = answer.map(|found| found.into_item()).transpose()?;
    Ok(Metered {
        answer: item.map(|item| columns.of(item)),
        consumed,
    })
}

impl Response {
    /// A failure of this statement alone; what the server cannot do fails the request.
    fn failed((refusal, table_name): Failed) -> Result<Self, Refusal> {
        let code = match refusal.fault {
            Fault::Validation => "ValidationError",
            Fault::ResourceNotFound => "ResourceNotFound",
            Fault::ConditionalCheckFailed => "ConditionalCheckFailed",
            Fault::DuplicateItem => "DuplicateItem",
            Fault::TransactionConflict => "TransactionConflict",
            Fault::ProvisionedThroughputExceeded => "ProvisionedThroughputExceeded",
            Fault::AccessDenied => "AccessDenied",
            _ => return Err(refusal),
        };
        Ok(Response {
            table_name,
            item: None,
            error: Some(Failure {
                code,
                message: refusal.message,
            }),
        })
    }
}
