//! Streams of several shards, with records that come late or twice.
//!
//! The model has one shard for each stream. Here its records are divided among shards by their
//! keys, so that those of one item keep their order and those of different ones do not. Each
//! comes after a drawn delay, behind all before it in its shard.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use partita_store::stream::{
    DescribeStream, GetRecords, GetShardIterator, Records, SequenceNumber, Shard, ShardIterator,
    ShardStart, StreamDescription, StreamName, StreamRecord,
};
use partita_store::{StoreError, StoreResult};

use super::Amazon;

/// When records come.
#[derive(Default)]
pub(super) struct Told {
    due: BTreeMap<SequenceNumber, i64>,
    /// When the last record of a shard comes.
    latest: BTreeMap<(StreamName, u32), i64>,
}

/// A place in one of the shards: which, since when, of which stream, and where in the model's only
/// one.
struct Place {
    shard: u32,
    made_millis: i64,
    stream: StreamName,
    inner: ShardIterator,
}

impl Place {
    fn iterator(&self) -> ShardIterator {
        let Place {
            shard,
            made_millis,
            stream,
            inner,
        } = self;
        let StreamName { table, label } = stream;
        ShardIterator(format!("{shard}~{made_millis}~{table}~{label}~{}", inner.0))
    }

    fn of(iterator: &ShardIterator) -> StoreResult<Self> {
        let parse = || {
            let mut parts = iterator.0.splitn(5, '~');
            Some(Place {
                shard: parts.next()?.parse().ok()?,
                made_millis: parts.next()?.parse().ok()?,
                stream: StreamName {
                    table: parts.next()?.parse().ok()?,
                    label: parts.next()?.to_owned(),
                },
                inner: ShardIterator(parts.next()?.to_owned()),
            })
        };
        parse().ok_or_else(|| StoreError::validation("Invalid ShardIterator"))
    }
}

impl Amazon {
    /// The shards of a stream.
    pub(super) async fn shards(&self, request: DescribeStream) -> StoreResult<StreamDescription> {
        let whole = DescribeStream {
            start_after: None,
            ..request.clone()
        };
        let mut described = self.primary.describe_stream(whole).await?;
        let only = described.shards.into_iter().next();
        let count = self.behaviour.streams.shards;
        let shards = only.iter().flat_map(|only| {
            (0..count).map(|number| Shard {
                id: numbered(&only.id, number),
                ..only.clone()
            })
        });
        let start = request.start_after.as_ref();
        let mut shards = shards.filter(|shard| start.is_none_or(|start| shard.id > *start));
        let limit = request.limit.unwrap_or(100);
        described.shards = shards.by_ref().take(limit).collect();
        let last = described.shards.last().map(|shard| shard.id.clone());
        described.last = last.filter(|_| shards.next().is_some());
        Ok(described)
    }

    /// A place in a shard.
    pub(super) async fn shard_iterator(
        &self,
        request: GetShardIterator,
    ) -> StoreResult<ShardIterator> {
        let shard = number_of(&request.shard).filter(|one| *one < self.behaviour.streams.shards);
        let inner = GetShardIterator {
            // A shard that is none is refused by the store behind.
            shard: shard.map_or(request.shard.clone(), |_| numbered(&request.shard, 0)),
            ..request.clone()
        };
        let place = Place {
            inner: self.primary.get_shard_iterator(inner).await?,
            shard: shard.unwrap_or_default(),
            made_millis: self.now(),
            stream: request.stream,
        };
        Ok(place.iterator())
    }

    /// The records of a shard that have come by now, and now and then some again.
    pub(super) async fn records(&self, request: GetRecords) -> StoreResult<Records> {
        let place = Place::of(&request.iterator)?;
        let age = self.now().saturating_sub(place.made_millis);
        if age > self.behaviour.streams.iterator_millis {
            self.state().counts.expired_iterators += 1;
            return Err(StoreError::IteratorExpired);
        }
        let inner = GetRecords {
            iterator: place.inner.clone(),
            limit: request.limit,
        };
        let read = self.primary.get_records(inner).await?;
        let count = self.behaviour.streams.shards;
        let mut own = read.records;
        own.retain(|record| shard_of(record, count) == place.shard);
        let come = own
            .iter()
            .take_while(|record| self.has_come(&place, record));
        let come = come.count();
        let late = own.get(come).map(|record| record.number);
        own.truncate(come);
        let first = own.first().map(|record| record.number);
        let again = first.filter(|_| self.happens(self.behaviour.streams.repeat));
        {
            let counts = &mut self.state().counts;
            counts.late_records += u64::from(late.is_some());
            counts.repeated_records += u64::from(again.is_some());
        }
        let next = match again.or(late) {
            Some(number) => Some(self.at(&place, number).await?),
            None => read.next,
        };
        let next = next.map(|inner| Place {
            inner,
            made_millis: self.now(),
            ..place
        });
        let next = next.map(|place| place.iterator());
        Ok(Records { records: own, next })
    }

    async fn at(&self, place: &Place, number: SequenceNumber) -> StoreResult<ShardIterator> {
        let stream = place.stream.clone();
        let request = DescribeStream {
            stream: stream.clone(),
            start_after: None,
            limit: None,
        };
        let described = self.primary.describe_stream(request).await?;
        let only = described.shards.into_iter().next();
        let request = GetShardIterator {
            stream,
            shard: only.map(|shard| shard.id).unwrap_or_default(),
            start: ShardStart::At(number),
        };
        self.primary.get_shard_iterator(request).await
    }

    fn has_come(&self, place: &Place, record: &StreamRecord) -> bool {
        let now = self.now();
        let is_calm = self.is_calm();
        let mut guard = self.state();
        let state = &mut *guard;
        if let Some(due) = state.told.due.get(&record.number) {
            return is_calm || *due <= now;
        }
        let delay = if is_calm {
            0
        } else {
            self.behaviour.streams.lag.draw(&mut state.random)
        };
        let shard = (place.stream.clone(), place.shard);
        let latest = state.told.latest.entry(shard).or_insert(0);
        *latest = (*latest).max(record.created_seconds * 1_000 + delay);
        state.told.due.insert(record.number, *latest);
        is_calm || *latest <= now
    }
}

/// The shard of a record follows from its key.
fn shard_of(record: &StreamRecord, count: u32) -> u32 {
    let mut hasher = DefaultHasher::new();
    record.key.hash(&mut hasher);
    (hasher.finish() % u64::from(count.max(1))) as u32
}

/// The name of another shard of the same stream.
fn numbered(shard: &str, number: u32) -> String {
    match shard.rsplit_once('-') {
        Some((front, _)) => format!("{front}-{number:08}"),
        None => shard.to_owned(),
    }
}

fn number_of(shard: &str) -> Option<u32> {
    shard.rsplit_once('-')?.1.parse().ok()
}
