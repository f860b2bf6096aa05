//! DescribeTable.

use bytes::Bytes;
use partita_store::request::TableDescription;
use serde::Serialize;

use super::Context;
use super::table::{self, Described};
use crate::json;
use crate::refusal::Refusal;

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    table: Described,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let table = table::decode(body)?;
    let described = context.store.describe_table(&table).await;
    Ok(encode(described.map_err(table::refusal)?))
}

fn encode(description: TableDescription) -> Bytes {
    json::write(&Output {
        table: description.into(),
    })
}
