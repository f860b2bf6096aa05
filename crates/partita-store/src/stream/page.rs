//! Pages: of a shard's records, of a stream's shards, of the names of streams.

use super::{
    DescribeStream, GetRecords, KeptStream, ListStreams, Position, Records, SequenceNumber,
    StreamDescription, StreamName, StreamNames, StreamRecord,
};
use crate::error::{StoreError, StoreResult};

/// Records of one answer at most.
const RECORDS_MAX: usize = 1_000;
/// Bytes of the records of one answer at most.
const RECORD_BYTES_MAX: usize = 1_048_576;
/// Shards of one description, and names of one list, at most.
const LISTED_MAX: usize = 100;

/// Records that are read into one answer.
#[derive(Clone, Debug)]
pub struct RecordPage {
    position: Position,
    limit: usize,
    bytes: usize,
    records: Vec<StreamRecord>,
}

impl RecordPage {
    /// An empty page of the records from a position on. The records before the horizon are gone.
    pub fn new(stream: &KeptStream, position: Position, request: &GetRecords) -> StoreResult<Self> {
        if position.next < stream.horizon {
            return Err(StoreError::RecordsTrimmed);
        }
        Ok(RecordPage {
            limit: limit(request.limit, RECORDS_MAX)?,
            position,
            bytes: 0,
            records: Vec::new(),
        })
    }

    /// The number from which on to read.
    pub fn next(&self) -> SequenceNumber {
        self.position.next
    }

    /// Takes the next record. An answer of false says that there was no room for it; one that is
    /// larger than a page has a page to itself.
    pub fn push(&mut self, record: StreamRecord) -> bool {
        let bytes = self.bytes + record.size_bytes;
        let has_room = self.records.is_empty() || bytes <= RECORD_BYTES_MAX;
        if self.records.len() >= self.limit || !has_room {
            return false;
        }
        self.bytes = bytes;
        self.position.next = SequenceNumber(record.number.0 + 1);
        self.records.push(record);
        true
    }

    /// The answer.
    pub fn finish(mut self, stream: &KeptStream, now_millis: i64) -> Records {
        self.position.made_millis = now_millis;
        let has_ended = !stream.is_enabled() && self.position.next >= stream.next;
        Records {
            records: self.records,
            next: (!has_ended).then(|| self.position.iterator()),
        }
    }
}

impl KeptStream {
    /// The description that a request asks for.
    pub fn describe(&self, request: &DescribeStream) -> StoreResult<StreamDescription> {
        limit(request.limit, LISTED_MAX)?;
        // The only shard is on the first page or on none.
        let start = request.start_after.as_ref();
        let shard = Some(self.shard()).filter(|shard| start.is_none_or(|start| shard.id > *start));
        Ok(StreamDescription {
            stream: self.name.clone(),
            view: self.view,
            is_enabled: self.is_enabled(),
            created_millis: self.created_millis,
            key: self.key.attributes().map(|key| key.name.clone()).collect(),
            shards: shard.into_iter().collect(),
            last: None,
        })
    }
}

impl ListStreams {
    /// The page of these names, which come in their order.
    pub fn page(&self, names: impl Iterator<Item = StreamName>) -> StoreResult<StreamNames> {
        let limit = limit(self.limit, LISTED_MAX)?;
        let is_asked_for = |name: &StreamName| {
            let of_table = self.table.as_ref().is_none_or(|table| name.table == *table);
            of_table && self.start_after.as_ref().is_none_or(|start| name > start)
        };
        let mut names = names.filter(is_asked_for);
        let page: Vec<StreamName> = names.by_ref().take(limit).collect();
        let last = names.next().and_then(|_| page.last().cloned());
        Ok(StreamNames { names: page, last })
    }
}

fn limit(limit: Option<usize>, max: usize) -> StoreResult<usize> {
    match limit {
        None => Ok(max),
        Some(0) => Err(refuse("Limit must be at least 1".to_owned())),
        Some(limit) if limit > max => Err(refuse(format!(
            "Limit cannot be greater than the maximum allowed size: {max}"
        ))),
        Some(limit) => Ok(limit),
    }
}

fn refuse(detail: String) -> StoreError {
    StoreError::validation(format!(
        "One or more parameter values were invalid: {detail}"
    ))
}

#[cfg(test)]
mod tests;
