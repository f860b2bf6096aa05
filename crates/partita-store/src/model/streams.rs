//! The streams of the model: a list of records each.

use std::collections::BTreeMap;

use crate::error::{StoreError, StoreResult};
use crate::stream::kept::RETENTION_MILLIS;
use crate::stream::{
    DescribeStream, GetRecords, GetShardIterator, ItemChange, KeptStream, ListStreams, Position,
    RecordPage, Records, SequenceNumber, ShardIterator, StreamDescription, StreamName, StreamNames,
    StreamRecord, StreamView,
};
use crate::table::{KeySchema, TableName};

/// Every stream of which something is kept, also those of tables that are gone.
#[derive(Default)]
pub(super) struct Streams {
    streams: BTreeMap<StreamName, ModelStream>,
    /// The last number that was given to a record, of any stream.
    last_number: u128,
}

struct ModelStream {
    kept: KeptStream,
    records: Vec<StreamRecord>,
}

impl Streams {
    /// A new stream of a table.
    pub(super) fn begin(
        &mut self,
        table: &TableName,
        view: StreamView,
        key: &KeySchema,
        now_millis: i64,
    ) -> StreamName {
        let of_table = self
            .streams
            .values()
            .filter(|s| s.kept.name.table == *table);
        let kept = KeptStream::begin(
            table.clone(),
            view,
            key.clone(),
            now_millis,
            of_table.map(|stream| stream.kept.created_millis).max(),
            SequenceNumber(self.last_number + 1),
        );
        let name = kept.name.clone();
        let records = Vec::new();
        self.streams
            .insert(name.clone(), ModelStream { kept, records });
        name
    }

    /// No more changes are added to a stream.
    pub(super) fn end(&mut self, name: &StreamName, now_millis: i64) {
        if let Some(stream) = self.streams.get_mut(name) {
            stream.kept.ended_millis.get_or_insert(now_millis);
        }
    }

    /// Adds a change to a stream, unless it is none or the stream has ended.
    pub(super) fn record(&mut self, name: &StreamName, change: ItemChange<'_>, now_millis: i64) {
        let Some(ModelStream { kept, records }) = self.streams.get_mut(name) else {
            return;
        };
        let number = SequenceNumber(self.last_number + 1);
        let seconds = now_millis.div_euclid(1000);
        if let Some(record) = change.record(&kept.key, kept.view, number, seconds)
            && kept.is_enabled()
        {
            self.last_number = number.0;
            kept.next = SequenceNumber(number.0 + 1);
            records.push(record);
        }
    }

    /// Forgets what is too old.
    pub(super) fn trim(&mut self, now_millis: i64) {
        self.streams
            .retain(|_, stream| !stream.kept.is_forgotten(now_millis));
        let oldest_seconds = now_millis.saturating_sub(RETENTION_MILLIS).div_euclid(1000);
        for ModelStream { kept, records } in self.streams.values_mut() {
            let is_old = |record: &StreamRecord| record.created_seconds < oldest_seconds;
            // A clock that went backwards leaves old records behind young ones; they wait.
            let gone = records.iter().take_while(|record| is_old(record)).count();
            if let Some(last) = records.drain(..gone).next_back() {
                kept.horizon = SequenceNumber(last.number.0 + 1);
            }
        }
    }

    pub(super) fn list(&self, request: &ListStreams) -> StoreResult<StreamNames> {
        request.page(self.streams.keys().cloned())
    }

    pub(super) fn describe(&self, request: &DescribeStream) -> StoreResult<StreamDescription> {
        self.stream(&request.stream)?.kept.describe(request)
    }

    pub(super) fn shard_iterator(
        &self,
        request: &GetShardIterator,
        now_millis: i64,
    ) -> StoreResult<ShardIterator> {
        let stream = self.stream(&request.stream)?;
        let position = stream.kept.position(request, now_millis)?;
        Ok(position.iterator())
    }

    pub(super) fn records(&self, request: &GetRecords, now_millis: i64) -> StoreResult<Records> {
        let position = Position::of(&request.iterator, now_millis)?;
        let ModelStream { kept, records } = self.stream(&position.stream)?;
        let mut page = RecordPage::new(kept, position, request)?;
        let next = page.next();
        for record in records.iter().filter(|record| record.number >= next) {
            if !page.push(record.clone()) {
                break;
            }
        }
        Ok(page.finish(kept, now_millis))
    }

    fn stream(&self, name: &StreamName) -> StoreResult<&ModelStream> {
        self.streams
            .get(name)
            .ok_or_else(|| StoreError::StreamNotFound {
                stream: name.clone(),
            })
    }
}
