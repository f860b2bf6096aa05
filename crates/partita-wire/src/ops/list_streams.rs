//! ListStreams.

use bytes::Bytes;
use partita_store::stream::{ListStreams, StreamName, StreamNames};
use serde::{Deserialize, Serialize};

use super::{Context, stream};
use crate::constraints::Constraints;
use crate::json;
use crate::messages;
use crate::parameters;
use crate::refusal::Refusal;

/// Streams on a page at most.
const STREAMS_MAX: i64 = 100;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    table_name: Option<String>,
    exclusive_start_stream_arn: Option<String>,
    limit: Option<i64>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    streams: Vec<ListedStream>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_evaluated_stream_arn: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ListedStream {
    stream_arn: String,
    table_name: String,
    stream_label: String,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let request = decode(body)?;
    Ok(encode(context.store.list_streams(request).await?))
}

fn decode(body: &[u8]) -> Result<ListStreams, Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    if let Some(name) = &input.table_name {
        let name = parameters::name_of_arn(name).unwrap_or(name);
        parameters::check_name(&mut constraints, "tableName", name, 3);
    }
    let start = &input.exclusive_start_stream_arn;
    stream::check_arn(&mut constraints, "exclusiveStartStreamArn", start);
    constraints.at_least("limit", input.limit, 1);
    constraints.finish(())?;
    if input.limit.is_some_and(|limit| limit > STREAMS_MAX) {
        return Err(Refusal::validation(messages::TOO_MANY_STREAMS));
    }
    let table = input.table_name.as_deref();
    let table = table.map(|name| parameters::named_table("tableName", name));
    Ok(ListStreams {
        table: table.transpose()?,
        start_after: start.as_deref().map(stream::named).transpose()?,
        limit: input.limit.and_then(|limit| usize::try_from(limit).ok()),
    })
}

fn encode(page: StreamNames) -> Bytes {
    json::write(&Output {
        streams: page.names.into_iter().map(ListedStream::from).collect(),
        last_evaluated_stream_arn: page.last.as_ref().map(stream::arn),
    })
}

impl From<StreamName> for ListedStream {
    fn from(name: StreamName) -> Self {
        ListedStream {
            stream_arn: stream::arn(&name),
            table_name: name.table.into(),
            stream_label: name.label,
        }
    }
}
