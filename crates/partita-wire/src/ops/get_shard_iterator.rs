//! GetShardIterator.

use bytes::Bytes;
use partita_store::stream::{GetShardIterator, SequenceNumber, ShardStart};
use serde::{Deserialize, Serialize};

use super::{Context, stream};
use crate::constraints::{Choice, Constraints};
use crate::json;
use crate::messages;
use crate::refusal::Refusal;

/// Characters of a sequence number.
const NUMBER_CHARS: std::ops::RangeInclusive<usize> = 21..=40;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    stream_arn: Option<String>,
    shard_id: Option<String>,
    shard_iterator_type: Option<String>,
    sequence_number: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    shard_iterator: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum IteratorType {
    TrimHorizon,
    Latest,
    At,
    After,
}

impl Choice for IteratorType {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("TRIM_HORIZON", IteratorType::TrimHorizon),
        ("LATEST", IteratorType::Latest),
        ("AT_SEQUENCE_NUMBER", IteratorType::At),
        ("AFTER_SEQUENCE_NUMBER", IteratorType::After),
    ];
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let request = decode(body)?;
    let iterator = context.store.get_shard_iterator(request).await?;
    Ok(json::write(&Output {
        shard_iterator: iterator.0,
    }))
}

fn decode(body: &[u8]) -> Result<GetShardIterator, Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    constraints.required("streamArn", &input.stream_arn);
    stream::check_arn(&mut constraints, "streamArn", &input.stream_arn);
    constraints.required("shardId", &input.shard_id);
    stream::check_shard(&mut constraints, "shardId", &input.shard_id);
    constraints.required("shardIteratorType", &input.shard_iterator_type);
    let kind = constraints.choice("shardIteratorType", &input.shard_iterator_type);
    if let Some(number) = &input.sequence_number {
        let chars = number.chars().count();
        constraints.length("sequenceNumber", chars, NUMBER_CHARS, || number.clone());
    }
    let shard = input.shard_id.zip(kind);
    let (arn, (shard, kind)) = constraints.finish((input.stream_arn, shard))?;
    Ok(GetShardIterator {
        stream: stream::named(&arn)?,
        shard,
        start: start(kind, input.sequence_number.as_deref())?,
    })
}

fn start(kind: IteratorType, number: Option<&str>) -> Result<ShardStart, Refusal> {
    let parsed = || {
        let number = number.and_then(|number| number.parse().ok());
        let number = number.map(SequenceNumber);
        number.ok_or_else(|| Refusal::validation(messages::INVALID_SEQUENCE_NUMBER))
    };
    match kind {
        IteratorType::At => Ok(ShardStart::At(parsed()?)),
        IteratorType::After => Ok(ShardStart::After(parsed()?)),
        _ if number.is_some() => Err(Refusal::validation(messages::UNEXPECTED_SEQUENCE_NUMBER)),
        IteratorType::TrimHorizon => Ok(ShardStart::TrimHorizon),
        IteratorType::Latest => Ok(ShardStart::Latest),
    }
}
