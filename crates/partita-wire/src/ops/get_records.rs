//! GetRecords.

use bytes::Bytes;
use partita_core::Item;
use partita_store::stream::{GetRecords, Records, ShardIterator, StreamEvent, StreamRecord};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::Context;
use super::schema::stream::view_name;
use crate::constraints::Constraints;
use crate::json;
use crate::messages;
use crate::parameters;
use crate::refusal::Refusal;

/// Records of one answer at most.
const RECORDS_MAX: i64 = 1000;
/// Characters of an iterator.
const ITERATOR_CHARS: std::ops::RangeInclusive<usize> = 1..=2048;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    shard_iterator: Option<String>,
    limit: Option<i64>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    records: Vec<StreamRecordOutput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_shard_iterator: Option<String>,
}

/// A record. The service spells its outer members otherwise than everything else.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StreamRecordOutput {
    #[serde(rename = "eventID")]
    event_id: String,
    event_name: &'static str,
    event_version: &'static str,
    event_source: &'static str,
    aws_region: &'static str,
    dynamodb: RecordChange,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_identity: Option<Identity>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct RecordChange {
    approximate_creation_date_time: f64,
    keys: Item,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_image: Option<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_image: Option<Item>,
    sequence_number: String,
    size_bytes: usize,
    stream_view_type: &'static str,
}

/// Who deleted an item that has expired. SDKs read these names with capitals, as the
/// API's reference has them, and leave out what is spelled otherwise; without them they are the
/// names of the events that Lambda makes of these records.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Identity {
    #[serde(rename = "Type")]
    kind: &'static str,
    principal_id: &'static str,
}

const EXPIRY: Identity = Identity {
    kind: "Service",
    principal_id: "dynamodb.amazonaws.com",
};

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let request = decode(body)?;
    Ok(encode(context.store.get_records(request).await?))
}

fn decode(body: &[u8]) -> Result<GetRecords, Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    constraints.required("shardIterator", &input.shard_iterator);
    if let Some(iterator) = &input.shard_iterator {
        let chars = iterator.chars().count();
        let shown = || iterator.clone();
        constraints.length("shardIterator", chars, ITERATOR_CHARS, shown);
    }
    constraints.at_least("limit", input.limit, 1);
    let iterator = constraints.finish(input.shard_iterator)?;
    if input.limit.is_some_and(|limit| limit > RECORDS_MAX) {
        return Err(Refusal::validation(messages::TOO_MANY_RECORDS));
    }
    Ok(GetRecords {
        iterator: ShardIterator(iterator),
        limit: input.limit.and_then(|limit| usize::try_from(limit).ok()),
    })
}

fn encode(page: Records) -> Bytes {
    json::write(&Output {
        records: page
            .records
            .into_iter()
            .map(StreamRecordOutput::from)
            .collect(),
        next_shard_iterator: page.next.map(|iterator| iterator.0),
    })
}

impl From<StreamRecord> for StreamRecordOutput {
    fn from(record: StreamRecord) -> Self {
        StreamRecordOutput {
            event_id: event_id(&record),
            event_name: match record.event {
                StreamEvent::Insert => "INSERT",
                StreamEvent::Modify => "MODIFY",
                StreamEvent::Remove => "REMOVE",
            },
            event_version: "1.1",
            event_source: "aws:dynamodb",
            aws_region: parameters::REGION,
            user_identity: record.is_expiry.then_some(EXPIRY),
            dynamodb: RecordChange {
                approximate_creation_date_time: record.created_seconds as f64,
                keys: record.key,
                new_image: record.new,
                old_image: record.old,
                sequence_number: record.number.to_string(),
                size_bytes: record.size_bytes,
                stream_view_type: view_name(record.view),
            },
        }
    }
}

/// The same for the same record, however often it is read: consumers know by it what they have
/// seen. Numbers alone may be shared by the records of two tables.
fn event_id(record: &StreamRecord) -> String {
    let mut hash = Sha256::new();
    hash.update(record.number.0.to_be_bytes());
    hash.update(record.created_seconds.to_be_bytes());
    hash.update(json::write(&record.key));
    let digest = hash.finalize();
    digest[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests;
