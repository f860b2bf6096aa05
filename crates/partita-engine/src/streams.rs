//! Streams: what is stored of one, and how it is read.
//!
//! A record is written in the same commit as its change. The records of a stream
//! form a chain: each carries a checksum over itself and the one before. Its two ends are kept
//! apart from the records, in the stream's [`Head`], so that a record that is missing, doubled
//! or out of place is noticed wherever it was.

mod record;

use partita_store::stream::{
    DescribeStream, GetRecords, GetShardIterator, KeptStream, ListStreams, Position, RecordPage,
    Records, SequenceNumber, ShardIterator, StreamDescription, StreamName, StreamNames,
    StreamPlace, StreamRecord, StreamView,
};
use partita_store::table::KeySchema;
use partita_store::{StoreError, StoreResult};

use crate::keys;
use crate::read::Moment;
use crate::storage::{Direction, Edit, StorageError, View};

pub(crate) use record::{Link, decode, encode};

/// A stream: what does not change with every record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stream {
    /// Part of the keys of its records.
    pub(crate) id: u32,
    pub(crate) name: StreamName,
    pub(crate) view: StreamView,
    pub(crate) key: KeySchema,
    pub(crate) created_millis: i64,
    pub(crate) ended_millis: Option<i64>,
    /// No record has a smaller number.
    pub(crate) first: u64,
}

impl Stream {
    /// A stream that begins.
    pub(crate) fn new(id: u32, kept: KeptStream) -> Self {
        Stream {
            id,
            name: kept.name,
            view: kept.view,
            key: kept.key,
            created_millis: kept.created_millis,
            ended_millis: kept.ended_millis,
            first: number(kept.first),
        }
    }

    /// Whether changes are still added to it.
    pub(crate) fn is_enabled(&self) -> bool {
        self.ended_millis.is_none()
    }

    /// The stream with its ends.
    pub(crate) fn kept(&self, head: &Head) -> KeptStream {
        let number = |number: u64| SequenceNumber(number.into());
        KeptStream {
            name: self.name.clone(),
            view: self.view,
            key: self.key.clone(),
            created_millis: self.created_millis,
            ended_millis: self.ended_millis,
            first: number(self.first),
            horizon: number(head.horizon.next),
            next: number(head.end.next),
        }
    }
}

/// A number that was made from a `u64`; a larger one is behind all others.
pub(crate) fn number(number: SequenceNumber) -> u64 {
    u64::try_from(number.0).unwrap_or(u64::MAX)
}

/// The two ends of a stream's chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// What the first record that is kept continues.
    pub(crate) horizon: Link,
    /// What the next record will continue.
    pub(crate) end: Link,
}

impl Head {
    /// The ends of a stream without any record.
    pub(crate) fn new(first: u64) -> Self {
        let link = Link::first(first);
        Head {
            horizon: link,
            end: link,
        }
    }

    pub(crate) fn load(view: &dyn View, stream: &Stream) -> Result<Head, StorageError> {
        let bytes = view.get(&keys::head(stream.id))?;
        let head = bytes.and_then(|bytes| Head::read(&bytes));
        head.ok_or_else(|| {
            let name = &stream.name;
            StorageError::Damaged(format!("the ends of the stream `{name}` cannot be read").into())
        })
    }

    pub(crate) fn edit(&self, id: u32) -> Edit {
        let bytes = [self.horizon.bytes(), self.end.bytes()].concat();
        Edit::Put(keys::head(id), bytes)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (horizon, end) = bytes.split_at_checked(Link::BYTES)?;
        Some(Head {
            horizon: Link::read(horizon)?,
            end: Link::read(end)?,
        })
    }
}

// What the operations on streams answer.
impl Moment {
    pub(crate) fn list_streams(&self, request: &ListStreams) -> StoreResult<StreamNames> {
        request.page(self.tables().streams().map(|stream| stream.name.clone()))
    }

    pub(crate) fn describe_stream(
        &self,
        request: &DescribeStream,
    ) -> StoreResult<StreamDescription> {
        self.kept(&request.stream)?.1.describe(request)
    }

    pub(crate) fn shard_iterator(
        &self,
        request: &GetShardIterator,
        now_millis: i64,
    ) -> StoreResult<ShardIterator> {
        let (_, kept) = self.kept(&request.stream)?;
        Ok(kept.position(request, now_millis)?.iterator())
    }

    pub(crate) fn records(&self, request: &GetRecords, now_millis: i64) -> StoreResult<Records> {
        let position = Position::of(&request.iterator, now_millis)?;
        let stream = self.tables().stream(&position.stream)?;
        let head = Head::load(self.view(), stream)?;
        let kept = stream.kept(&head);
        let mut page = RecordPage::new(&kept, position, request)?;
        let first = number(page.next()).min(head.end.next);
        let mut link = self.link_before(stream, &head, first)?;
        for row in self
            .view()
            .range(keys::records(stream.id, first), Direction::Ascending)
        {
            let (key, value) = row?;
            let record;
            (record, link) = decode(stream, link, &key, &value)?;
            if !page.push(record) {
                return Ok(page.finish(&kept, now_millis));
            }
        }
        if link == head.end {
            Ok(page.finish(&kept, now_millis))
        } else {
            Err(ends_too_early(stream))
        }
    }

    pub(crate) fn stream_end(&self, name: &StreamName) -> StoreResult<StreamPlace> {
        let stream = self.tables().stream(name)?;
        Ok(Head::load(self.view(), stream)?.end.place())
    }

    /// The place before the record of a number.
    pub(crate) fn stream_place(
        &self,
        name: &StreamName,
        before: SequenceNumber,
    ) -> StoreResult<StreamPlace> {
        let stream = self.tables().stream(name)?;
        let head = Head::load(self.view(), stream)?;
        let first = number(before);
        if first < head.horizon.next {
            return Err(StoreError::RecordsTrimmed);
        }
        if first >= head.end.next {
            return Ok(head.end.place());
        }
        let link = self.link_before(stream, &head, first)?;
        Ok(StreamPlace {
            next: before,
            ..link.place()
        })
    }

    /// The records from a number on, up to so many bytes, but for the last.
    pub(crate) fn records_from(
        &self,
        name: &StreamName,
        from: SequenceNumber,
        bytes_max: usize,
    ) -> StoreResult<Vec<StreamRecord>> {
        let stream = self.tables().stream(name)?;
        let head = Head::load(self.view(), stream)?;
        let first = number(from);
        if first < head.horizon.next {
            return Err(StoreError::RecordsTrimmed);
        }
        let mut records = Vec::new();
        let mut bytes = 0;
        if first >= head.end.next {
            return Ok(records);
        }
        let mut link = self.link_before(stream, &head, first)?;
        let rows = keys::records(stream.id, first);
        for row in self.view().range(rows, Direction::Ascending) {
            let (key, value) = row?;
            let record: StreamRecord;
            (record, link) = decode(stream, link, &key, &value)?;
            bytes += record.size_bytes;
            records.push(record);
            if bytes >= bytes_max {
                return Ok(records);
            }
        }
        if link == head.end {
            Ok(records)
        } else {
            Err(ends_too_early(stream))
        }
    }

    /// What the record of a number continues, or the first behind it.
    fn link_before(&self, stream: &Stream, head: &Head, number: u64) -> StoreResult<Link> {
        let bounds = keys::records_before(stream.id, number);
        let Some(bounds) = bounds else {
            return Ok(head.horizon);
        };
        match self.view().range(bounds, Direction::Descending).next() {
            None => Ok(head.horizon),
            Some(row) => {
                let (key, value) = row?;
                Link::of(&key, &value).ok_or_else(|| record::damaged(stream, &key, "is no record"))
            }
        }
    }

    fn kept(&self, name: &StreamName) -> StoreResult<(&Stream, KeptStream)> {
        let stream = self.tables().stream(name)?;
        let head = Head::load(self.view(), stream)?;
        Ok((stream, stream.kept(&head)))
    }
}

/// The error that a stream's last records are missing.
pub(crate) fn ends_too_early(stream: &Stream) -> StoreError {
    StoreError::Corrupt {
        message: format!(
            "the last records of the stream `{}` are missing",
            stream.name
        ),
    }
}

#[cfg(test)]
mod tests;
