//! DescribeStream.

use bytes::Bytes;
use partita_store::StoreError;
use partita_store::stream::{DescribeStream, Shard, StreamDescription};
use serde::{Deserialize, Serialize};

use super::schema::stream::view_name;
use super::table::{KeyElement, key_of};
use super::{Context, stream};
use crate::constraints::{Choice, Constraints};
use crate::json;
use crate::messages;
use crate::refusal::{Fault, Refusal};

/// Shards on a page at most.
const SHARDS_MAX: i64 = 100;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    stream_arn: Option<String>,
    exclusive_start_shard_id: Option<String>,
    limit: Option<i64>,
    shard_filter: Option<ShardFilter>,
}

/// Which shards are described: those that followed on one.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ShardFilter {
    r#type: Option<String>,
    shard_id: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct ChildShards;

impl Choice for ChildShards {
    const NAMES: &'static [(&'static str, Self)] = &[("CHILD_SHARDS", ChildShards)];
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    stream_description: Description,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Description {
    stream_arn: String,
    stream_label: String,
    stream_status: &'static str,
    stream_view_type: &'static str,
    /// Seconds, as everywhere in this protocol.
    creation_request_date_time: f64,
    table_name: String,
    key_schema: Vec<KeyElement>,
    shards: Vec<ShardDescription>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_evaluated_shard_id: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ShardDescription {
    shard_id: String,
    sequence_number_range: SequenceNumberRange,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_shard_id: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct SequenceNumberRange {
    starting_sequence_number: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ending_sequence_number: Option<String>,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (request, arn, parent) = decode(body)?;
    let described = context.store.describe_stream(request).await;
    let mut described = described.map_err(|error| refusal(error, &arn))?;
    if let Some(parent) = parent {
        let shards = &mut described.shards;
        shards.retain(|shard| shard.parent.as_ref() == Some(&parent));
    }
    Ok(encode(described))
}

/// The request, the stream's ARN, and the shard whose children are described.
fn decode(body: &[u8]) -> Result<(DescribeStream, String, Option<String>), Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    constraints.required("streamArn", &input.stream_arn);
    stream::check_arn(&mut constraints, "streamArn", &input.stream_arn);
    let start = &input.exclusive_start_shard_id;
    stream::check_shard(&mut constraints, "exclusiveStartShardId", start);
    constraints.at_least("limit", input.limit, 1);
    if let Some(filter) = &input.shard_filter {
        constraints.choice::<ChildShards>("shardFilter.type", &filter.r#type);
        stream::check_shard(&mut constraints, "shardFilter.shardId", &filter.shard_id);
    }
    let arn = constraints.finish(input.stream_arn)?;
    if input.limit.is_some_and(|limit| limit > SHARDS_MAX) {
        return Err(Refusal::validation(messages::TOO_MANY_SHARDS));
    }
    let request = DescribeStream {
        stream: stream::named(&arn)?,
        start_after: input.exclusive_start_shard_id,
        limit: input.limit.and_then(|limit| usize::try_from(limit).ok()),
    };
    let parent = input.shard_filter.map(ShardFilter::parent).transpose()?;
    Ok((request, arn, parent))
}

impl ShardFilter {
    /// The model of the API requires neither of its members, but the one says nothing without
    /// the other.
    fn parent(self) -> Result<String, Refusal> {
        let parent = self.r#type.and(self.shard_id);
        parent.ok_or_else(|| Refusal::validation(messages::INCOMPLETE_SHARD_FILTER))
    }
}

/// The service names a stream that is not there as the request did.
fn refusal(error: StoreError, arn: &str) -> Refusal {
    match error {
        StoreError::StreamNotFound { .. } => {
            Refusal::new(Fault::ResourceNotFound, messages::stream_not_found(arn))
        }
        error => error.into(),
    }
}

fn encode(description: StreamDescription) -> Bytes {
    let StreamDescription { stream, key, .. } = description;
    let shards = description.shards.into_iter();
    json::write(&Output {
        stream_description: Description {
            stream_arn: stream::arn(&stream),
            stream_label: stream.label,
            stream_status: if description.is_enabled {
                "ENABLED"
            } else {
                "DISABLED"
            },
            stream_view_type: view_name(description.view),
            creation_request_date_time: description.created_millis as f64 / 1000.0,
            table_name: stream.table.into(),
            key_schema: key_of(key),
            shards: shards.map(ShardDescription::from).collect(),
            last_evaluated_shard_id: description.last,
        },
    })
}

impl From<Shard> for ShardDescription {
    fn from(shard: Shard) -> Self {
        ShardDescription {
            shard_id: shard.id,
            sequence_number_range: SequenceNumberRange {
                starting_sequence_number: shard.first.to_string(),
                ending_sequence_number: shard.last.map(|number| number.to_string()),
            },
            parent_shard_id: shard.parent,
        }
    }
}
