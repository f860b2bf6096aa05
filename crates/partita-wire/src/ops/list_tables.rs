//! ListTables.

use bytes::Bytes;
use partita_store::request::{ListTables, TableNames};
use partita_store::table::TableName;
use serde::{Deserialize, Serialize};

use super::Context;
use crate::constraints::Constraints;
use crate::json;
use crate::messages;
use crate::parameters;
use crate::refusal::Refusal;

/// Names on a page at most.
const NAMES_MAX: i64 = 100;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    exclusive_start_table_name: Option<String>,
    limit: Option<i64>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    table_names: Vec<TableName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_evaluated_table_name: Option<TableName>,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let request = decode(body)?;
    Ok(encode(context.store.list_tables(request).await?))
}

fn decode(body: &[u8]) -> Result<ListTables, Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    if let Some(name) = &input.exclusive_start_table_name {
        parameters::check_name(&mut constraints, "exclusiveStartTableName", name, 3);
    }
    constraints.at_least("limit", input.limit, 1);
    constraints.at_most("limit", input.limit, NAMES_MAX);
    constraints.finish(())?;
    let start = input.exclusive_start_table_name.as_deref();
    let start = start.map(|name| name.parse::<TableName>()).transpose();
    Ok(ListTables {
        start_after: start.map_err(|_| Refusal::validation(messages::INVALID_TABLE_NAME))?,
        limit: input.limit.and_then(|limit| usize::try_from(limit).ok()),
    })
}

fn encode(page: TableNames) -> Bytes {
    json::write(&Output {
        table_names: page.names,
        last_evaluated_table_name: page.last,
    })
}
