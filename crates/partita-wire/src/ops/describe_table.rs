//! DescribeTable.

use bytes::Bytes;
use partita_store::StoreError;
use partita_store::request::TableDescription;
use partita_store::table::TableName;
use serde::{Deserialize, Serialize};

use super::Context;
use super::table::Described;
use crate::json;
use crate::messages;
use crate::parameters;
use crate::refusal::{Fault, Refusal};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    table_name: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    table: Described,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let table = decode(body)?;
    match context.store.describe_table(&table).await {
        Ok(description) => Ok(encode(description)),
        // Here the service names the table, which data operations do not.
        Err(StoreError::TableNotFound { table }) => Err(Refusal::new(
            Fault::ResourceNotFound,
            messages::table_not_found(&table),
        )),
        Err(error) => Err(error.into()),
    }
}

fn decode(body: &[u8]) -> Result<TableName, Refusal> {
    let input: Input = json::read(body)?;
    match &input.table_name {
        Some(name) => parameters::named_table("tableName", name),
        None => Err(Refusal::validation(messages::NO_TABLE_NAME)),
    }
}

fn encode(description: TableDescription) -> Bytes {
    json::write(&Output {
        table: description.into(),
    })
}
