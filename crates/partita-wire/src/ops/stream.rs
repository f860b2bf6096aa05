//! Streams: how they are named, and how a description spells them.

use partita_store::stream::StreamName;

use crate::constraints::Constraints;
use crate::messages;
use crate::parameters;
use crate::refusal::Refusal;

/// Characters of a stream's ARN.
const ARN_CHARS: std::ops::RangeInclusive<usize> = 37..=1024;
/// Characters of a shard's name.
const SHARD_CHARS: std::ops::RangeInclusive<usize> = 28..=65;

/// The ARN that this server gives a stream.
pub(super) fn arn(stream: &StreamName) -> String {
    format!("{}/stream/{}", parameters::arn(&stream.table), stream.label)
}

/// The length of an ARN, which the service looks at first.
pub(super) fn check_arn(constraints: &mut Constraints, at: &str, arn: &Option<String>) {
    if let Some(arn) = arn {
        constraints.length(at, arn.chars().count(), ARN_CHARS, || arn.clone());
    }
}

/// The length of a shard's name.
pub(super) fn check_shard(constraints: &mut Constraints, at: &str, shard: &Option<String>) {
    if let Some(shard) = shard {
        constraints.length(at, shard.chars().count(), SHARD_CHARS, || shard.clone());
    }
}

/// The stream of an ARN.
pub(super) fn named(arn: &str) -> Result<StreamName, Refusal> {
    let resource = parameters::name_of_arn(arn);
    let parts = resource.and_then(|resource| resource.split_once("/stream/"));
    let stream = parts.and_then(|(table, label)| {
        Some(StreamName {
            table: table.parse().ok()?,
            label: label.to_owned(),
        })
    });
    stream.ok_or_else(|| Refusal::validation(messages::INVALID_STREAM_ARN))
}
