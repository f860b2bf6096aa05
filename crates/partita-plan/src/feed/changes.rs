//! Moments of the tables, and what changed between two of them.
//!
//! The records of a stream are written in the commit that they tell of, and are read here at the
//! same moment as the items. So what is read of other items fits the changes exactly, and what was
//! before is what is now, with the old images in place of what changed.

use std::sync::Arc;

use async_trait::async_trait;
use partita_core::{Item, Value};
use partita_store::capacity::Metered;
use partita_store::request::{BatchGetItem, BatchGot, Page, Query, Scan, TableChange, UpdateTable};
use partita_store::stream::{
    DescribeStream, SequenceNumber, StreamName, StreamPlace, StreamRecord, StreamView,
};
use partita_store::table::TableName;
use partita_store::{Layer, Snapshot, Store, StoreError, StoreResult};
use rustc_hash::FxHashMap;
use tokio::sync::watch;

use super::position::FeedPosition;
use super::{Feed, Lost};
use crate::error::PlanError;
use crate::evaluate::Listing;
use crate::partita::Partita;
use crate::place::{Address, KeyNames};

/// Bytes of records that are gone through at once. Feeds that are so far behind begin again.
const CHANGES_BYTES_MAX: usize = 32 * 1_048_576;
/// Bytes of records that are read at once.
const PAGE_BYTES: usize = 1_048_576;

/// A moment of a design's tables.
#[derive(Clone)]
pub struct FeedMoment {
    /// Reads what was there then.
    pub(super) store: Arc<dyn Store>,
    pub(super) snapshot: Arc<dyn Snapshot>,
    /// Where the stream of each table ends.
    pub(super) ends: Vec<(StreamName, StreamPlace)>,
    /// The time.
    pub(super) millis: i64,
}

/// What changed from one moment to another.
pub struct Changes {
    partita: Arc<Partita>,
    items: Arc<FxHashMap<Address, Change>>,
    bytes: usize,
    /// Reads what was there before.
    pub(super) before: Arc<dyn Store>,
    /// The moment after it.
    pub to: FeedMoment,
}

/// What became of one item.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) before: Option<Item>,
    pub(super) after: Option<Item>,
}

impl Change {
    /// As it was and as it is, where it is there.
    pub(super) fn images(&self) -> impl Iterator<Item = &Item> {
        self.before.iter().chain(&self.after)
    }
}

/// Something whose changes a feed has to be told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Interest(Subject);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Subject {
    Item(Address),
    /// The items with this value of an attribute, which is the partition key of something.
    Key(TableName, String, String),
    Table(TableName),
}

impl Interest {
    pub(super) fn item(place: &Address) -> Interest {
        Interest(Subject::Item(place.clone()))
    }

    pub(super) fn table(table: &TableName) -> Interest {
        Interest(Subject::Table(table.clone()))
    }

    pub(super) fn listing(listing: &Listing) -> Option<Interest> {
        let (name, value) = listing.keys.equals.first()?;
        Some(Interest::key(&listing.table, name, value))
    }

    fn key(table: &TableName, name: &str, value: &Value) -> Interest {
        let text = match value {
            Value::S(text) => text.clone(),
            value => serde_json::to_string(value).unwrap_or_default(),
        };
        Interest(Subject::Key(table.clone(), name.to_owned(), text))
    }
}

/// Follows the changes of a design's tables.
pub struct Tail {
    partita: Arc<Partita>,
    streams: Vec<StreamName>,
    ends: Vec<SequenceNumber>,
    commits: watch::Receiver<u64>,
}

/// Where a tail has come to.
pub enum Stepped {
    /// To a moment, over these changes; there may be none.
    Over(Changes),
    /// To a moment, over more than can be gone through.
    Past(FeedMoment),
}

impl Partita {
    /// Follows the changes of the tables from now on. Tables get a stream for it, which keeps a
    /// record of every change for a day.
    pub async fn tail(self: &Arc<Self>) -> Result<Tail, PlanError> {
        let store = &self.runner.store;
        let Some(commits) = store.commits().filter(|_| store.snapshot().is_some()) else {
            return Err(PlanError::NoFeed {
                why: "changes are followed on the embedded store only".to_owned(),
            });
        };
        let mut streams = Vec::new();
        for (table, name) in self.blueprint.tables() {
            let given = table.settings.stream.as_deref();
            if !matches!(given, None | Some("new-and-old-images")) {
                return Err(PlanError::NoFeed {
                    why: format!(
                        "the design says `stream = \"{}\"` of `{name}`, and feeds need both images",
                        given.unwrap_or_default()
                    ),
                });
            }
            streams.push(stream_of(&**store, name).await?);
        }
        let mut tail = Tail {
            partita: self.clone(),
            ends: Vec::new(),
            streams,
            commits,
        };
        tail.now().await?;
        Ok(tail)
    }
}

/// The stream of a table, with both images.
async fn stream_of(store: &dyn Store, table: &TableName) -> Result<StreamName, PlanError> {
    let described = store.describe_table(table).await?;
    let is_good = described.settings.stream == Some(StreamView::NewAndOldImages);
    if let (true, Some(stream)) = (is_good, described.latest_stream) {
        return Ok(stream);
    }
    if described.settings.stream.is_some() {
        return Err(PlanError::NoFeed {
            why: format!("the stream of `{table}` does not have both images; turn it off"),
        });
    }
    let request = UpdateTable {
        table: table.clone(),
        changes: vec![TableChange::Stream(Some(StreamView::NewAndOldImages))],
    };
    let updated = match store.update_table(request).await {
        // Another feed may have begun it meanwhile.
        Err(_) => store.describe_table(table).await?,
        Ok(updated) => updated,
    };
    let stream = updated.latest_stream.ok_or_else(|| StoreError::Corrupt {
        message: format!("the table `{table}` has no stream although one was begun"),
    })?;
    let request = DescribeStream {
        stream: stream.clone(),
        start_after: None,
        limit: None,
    };
    store.describe_stream(request).await?;
    Ok(stream)
}

impl Tail {
    /// Waits for a commit that it has not seen. An error says that there will be none.
    pub async fn has_more(&mut self) -> Result<(), watch::error::RecvError> {
        self.commits.changed().await
    }

    /// Comes to now, whatever lies between.
    pub async fn now(&mut self) -> Result<FeedMoment, PlanError> {
        let moment = self.moment().await?;
        self.ends = moment.next();
        Ok(moment)
    }

    /// Comes to now over what has changed since. After an error it is where it was, and has more.
    pub async fn step(&mut self) -> Result<Stepped, PlanError> {
        // What is committed from here on wakes it again, whether the moment has it or not.
        self.commits.borrow_and_update();
        let stepped = self.step_on().await;
        if stepped.is_err() {
            self.commits.mark_changed();
        }
        stepped
    }

    async fn step_on(&mut self) -> Result<Stepped, PlanError> {
        let moment = self.moment().await?;
        let stepped = match moment.since(&self.partita, &self.ends).await {
            Ok(Some(changes)) => Stepped::Over(changes),
            Ok(None) | Err(Lost::Refetch(_)) => Stepped::Past(moment.clone()),
            Err(Lost::Failed(error)) => return Err(error),
        };
        self.ends = moment.next();
        Ok(stepped)
    }

    async fn moment(&self) -> Result<FeedMoment, PlanError> {
        let inner = &self.partita.runner.store;
        let millis = self.partita.clock.now_millis();
        let snapshot = inner.snapshot().ok_or_else(|| PlanError::NoFeed {
            why: "the store has no snapshots".to_owned(),
        })?;
        let mut ends = Vec::with_capacity(self.streams.len());
        for stream in &self.streams {
            ends.push((stream.clone(), snapshot.stream_end(stream).await?));
        }
        let store = Arc::new(ReadAt {
            inner: inner.clone(),
            snapshot: snapshot.clone(),
            keys: self.partita.blueprint.keys.clone(),
            before: None,
        });
        Ok(FeedMoment {
            store,
            snapshot,
            ends,
            millis,
        })
    }
}

impl FeedMoment {
    /// The time.
    pub fn millis(&self) -> i64 {
        self.millis
    }

    /// The numbers of the records that come next.
    fn next(&self) -> Vec<SequenceNumber> {
        self.ends.iter().map(|(_, end)| end.next).collect()
    }

    /// How far a feed has come that is here.
    pub fn position(&self, partita: &Partita) -> FeedPosition {
        FeedPosition::new(&self.ends, self.millis, partita.era.clone())
    }

    /// What has changed since the streams were there; none if it is too much.
    pub(super) async fn since(
        &self,
        partita: &Arc<Partita>,
        from: &[SequenceNumber],
    ) -> Result<Option<Changes>, Lost> {
        let keys = &partita.blueprint.keys;
        let mut items: FxHashMap<Address, Change> = FxHashMap::default();
        let mut bytes = 0;
        for ((stream, end), from) in self.ends.iter().zip(from) {
            let mut next = *from;
            while next < end.next {
                let page = self.snapshot.records_from(stream, next, PAGE_BYTES).await;
                let page = match page {
                    Err(StoreError::RecordsTrimmed) => {
                        return Err(Lost::Refetch("the records since are gone"));
                    }
                    page => page.map_err(PlanError::from)?,
                };
                let Some(last) = page.last() else { break };
                next = SequenceNumber(last.number.0 + 1);
                for record in page {
                    bytes += record.size_bytes;
                    add(&mut items, keys.place(&stream.table, &record.key), record);
                }
                if bytes > CHANGES_BYTES_MAX {
                    return Ok(None);
                }
            }
        }
        let items = Arc::new(items);
        let before = Arc::new(ReadAt {
            inner: partita.runner.store.clone(),
            snapshot: self.snapshot.clone(),
            keys: keys.clone(),
            before: Some(items.clone()),
        });
        Ok(Some(Changes {
            partita: partita.clone(),
            items,
            bytes,
            before,
            to: self.clone(),
        }))
    }
}

/// Several changes of an item are one, from the first image to the last.
fn add(items: &mut FxHashMap<Address, Change>, place: Address, record: StreamRecord) {
    let StreamRecord { old, new, .. } = record;
    match items.get_mut(&place) {
        Some(change) => change.after = new,
        None => {
            let (before, after) = (old, new);
            items.insert(place, Change { before, after });
        }
    }
}

impl Changes {
    /// The design whose tables they are of.
    pub fn partita(&self) -> &Arc<Partita> {
        &self.partita
    }

    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The bytes of the records that they were read from.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn of(&self, place: &Address) -> Option<&Change> {
        self.items.get(place)
    }

    pub(super) fn places(&self) -> impl Iterator<Item = &Address> {
        self.items.keys()
    }

    /// For each changed item, everything by which a feed may want to be told of it.
    pub fn each(&self, mut tell: impl FnMut(&Interest, &Touched)) {
        for (place, change) in self.items.iter() {
            let touched = Touched(place.clone());
            tell(&Interest::item(place), &touched);
            tell(&Interest::table(&place.table), &touched);
            let mut tables = self.partita.blueprint.tables();
            let Some((table, _)) = tables.find(|(_, name)| **name == place.table) else {
                continue;
            };
            let indexes = table.indexes.iter().map(|index| &index.partition.name);
            for name in std::iter::once(&table.partition).chain(indexes) {
                let values = change.images().filter_map(|image| image.get(name));
                let mut told: Vec<&Value> = Vec::new();
                for value in values {
                    if !told.contains(&value) {
                        told.push(value);
                        tell(&Interest::key(&place.table, name, value), &touched);
                    }
                }
            }
        }
    }
}

/// A changed item that concerns a feed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Touched(pub(super) Address);

impl Feed {
    /// As `Feed::advance`, of items that the feed was found to be interested in.
    pub async fn follow(
        &mut self,
        changes: &Changes,
        touched: &[Touched],
    ) -> Result<Vec<super::FeedEvent>, Lost> {
        let places: Vec<Address> = touched.iter().map(|one| one.0.clone()).collect();
        self.advance(changes, &places).await
    }

    /// As [`Feed::follow`], of whatever concerns it.
    pub async fn catch_up(&mut self, changes: &Changes) -> Result<Vec<super::FeedEvent>, Lost> {
        let places = self.concerned(changes);
        self.advance(changes, &places).await
    }
}

/// A store as it was at a moment, or before the changes that led to it.
struct ReadAt {
    inner: Arc<dyn Store>,
    snapshot: Arc<dyn Snapshot>,
    keys: KeyNames,
    before: Option<Arc<FxHashMap<Address, Change>>>,
}

#[async_trait]
impl Layer for ReadAt {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        let Some(before) = &self.before else {
            return self.snapshot.batch_get_item(request).await;
        };
        let addresses = request.addresses.iter();
        let places: Vec<Address> = addresses
            .map(|address| self.keys.place(&address.table, &address.key))
            .collect();
        let mut got = self.snapshot.batch_get_item(request).await?;
        for (place, got) in places.iter().zip(&mut got.answer) {
            if let Some(change) = before.get(place) {
                *got = match &change.before {
                    Some(item) => BatchGot::Found(item.clone().into()),
                    None => BatchGot::Missing,
                };
            }
        }
        Ok(got)
    }

    // Lists are not taken back to what they were: where one of them changes, a feed begins again.
    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        self.snapshot.query(request).await
    }

    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>> {
        self.snapshot.scan(request).await
    }
}

#[cfg(test)]
mod tests;
