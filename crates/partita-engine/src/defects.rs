//! Defects that are put into the engine on purpose, to show that its tests would notice them:
//! a harness that has never found anything proves nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use fastrand::Rng;
use partita_core::key::KeyType;
use partita_core::{Item, Value};
use partita_store::index::{IndexKind, IndexProjection, IndexSchema};
use partita_store::request::{
    CreateTable, PutItem, ReturnValues, Scan, TransactAction, TransactWriteItems,
};
use partita_store::stream::{
    DescribeStream, GetRecords, GetShardIterator, ListStreams, ShardStart, StreamView,
};
use partita_store::surroundings::ManualClock;
use partita_store::table::{KeyAttribute, KeySchema, TableName, TableSchema};
use partita_store::{FoundItem, Store as _, StoreResult};

use crate::keys;
use crate::storage::volatile::Disk;
use crate::storage::{Commits, Edit, StorageError};
use crate::{Durability, EngineStore, Options, Upkeep};

#[derive(Clone, Copy, PartialEq)]
enum Defect {
    SkipSync,
    DropEntry,
    DropRecord,
    HalfTransaction,
}

/// The ids of the table, its index and its stream, which are the first that are handed out.
const INDEX_ID: u32 = 2;
const STREAM_ID: u32 = 3;

/// Commits as an engine with a defect would.
struct Defective {
    inner: Box<dyn Commits>,
    defect: Option<Defect>,
    commits: u32,
}

impl Commits for Defective {
    fn commit(&mut self, mut edits: Vec<Edit>, now_millis: i64) -> Result<(), StorageError> {
        self.commits += 1;
        let is_row = |edit: &Edit, id: u32| match edit {
            Edit::Put(key, _) => keys::row_id(key) == Some(id),
            Edit::Remove(_) => false,
        };
        // Once in a while, as defects are.
        match self.defect.filter(|_| self.commits.is_multiple_of(10)) {
            Some(Defect::DropEntry) => edits.retain(|edit| !is_row(edit, INDEX_ID)),
            Some(Defect::DropRecord) => edits.retain(|edit| !is_row(edit, STREAM_ID)),
            Some(Defect::HalfTransaction) => edits.truncate(edits.len() / 2),
            Some(Defect::SkipSync) | None => {}
        }
        self.inner.commit(edits, now_millis)
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        self.inner.sync()
    }
}

fn name() -> TableName {
    "notes".parse().unwrap()
}

fn schema() -> TableSchema {
    let index = IndexSchema {
        name: "by-n".to_owned(),
        kind: IndexKind::Global,
        partition: vec![KeyAttribute {
            name: "n".to_owned(),
            kind: KeyType::N,
        }],
        sort: Vec::new(),
        projection: IndexProjection::All,
    };
    TableSchema {
        key: KeySchema::strings("PK", "SK"),
        indexes: vec![index],
    }
}

fn note(kind: &str, number: u32) -> Item {
    Item::from([
        ("PK".to_owned(), Value::from(kind)),
        ("SK".to_owned(), Value::from(format!("{number:04}"))),
        ("n".to_owned(), Value::from(i64::from(number % 5))),
    ])
}

fn open(disk: &Disk, durability: Durability, defect: Option<Defect>) -> EngineStore {
    // Without the sync, what is promised as synced is only buffered.
    let really = match defect {
        Some(Defect::SkipSync) => Durability::Buffered,
        _ => durability,
    };
    let (views, inner) = disk.open(really);
    let commits = Defective {
        inner,
        defect,
        commits: 0,
    };
    let options = Options::new(Arc::new(ManualClock::default()))
        .durability(durability)
        .upkeep(Upkeep::OnRequest);
    EngineStore::on(Path::new("memory"), views, Box::new(commits), options).unwrap()
}

/// Single writes, and transactions of two halves, in turn. How many were acknowledged.
async fn write(store: &EngineStore, count: u32) -> StoreResult<()> {
    let mut request = CreateTable::new(name(), schema());
    request.settings.stream = Some(StreamView::KeysOnly);
    store.create_table(request).await?;
    for number in 0..count {
        let put = |kind| PutItem::new(name(), note(kind, number));
        store.put_item(put("single"), ReturnValues::None).await?;
        let actions = ["left", "right"].map(|kind| TransactAction::Put(put(kind)));
        let request = TransactWriteItems {
            actions: actions.into(),
            token: None,
        };
        store.transact_write_items(request).await?;
    }
    Ok(())
}

/// The numbers of each kind of item that are there.
async fn found(store: &EngineStore) -> StoreResult<BTreeMap<String, Vec<String>>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let scanned = store.scan(Scan::new(name())).await?.answer;
    for item in scanned.items.into_iter().map(FoundItem::into_item) {
        let item = item?;
        let text = |name| item.get(name).and_then(Value::as_str).unwrap().to_owned();
        found.entry(text("PK")).or_default().push(text("SK"));
    }
    Ok(found)
}

async fn records(store: &EngineStore) -> StoreResult<usize> {
    let names = store.list_streams(ListStreams::default()).await?.names;
    let stream = names[0].clone();
    let describe = DescribeStream {
        stream: stream.clone(),
        start_after: None,
        limit: None,
    };
    let request = GetShardIterator {
        shard: store.describe_stream(describe).await?.shards[0].id.clone(),
        stream,
        start: ShardStart::TrimHorizon,
    };
    let iterator = store.get_shard_iterator(request).await?;
    let limit = None;
    let page = store.get_records(GetRecords { iterator, limit });
    Ok(page.await?.records.len())
}

const WRITES: u32 = 60;

/// Writes, cuts the power, reopens, and returns what is wrong.
async fn lose_power(seed: u64, defect: Option<Defect>) -> Result<(), String> {
    let disk = Disk::default();
    let store = open(&disk, Durability::Sync, defect);
    write(&store, WRITES)
        .await
        .map_err(|error| error.to_string())?;
    disk.lose_power(&mut Rng::with_seed(seed));
    drop(store);
    let store = open(&disk, Durability::Sync, None);
    let told = |error: partita_store::StoreError| error.to_string();
    let findings = store.verify().await.map_err(told)?;
    if let Some(finding) = findings.first() {
        return Err(finding.clone());
    }
    let found = found(&store).await.map_err(told)?;
    for kind in ["single", "left", "right"] {
        let count = found.get(kind).map_or(0, Vec::len);
        if count != WRITES as usize {
            return Err(format!(
                "of {WRITES} acknowledged `{kind}` {count} are there"
            ));
        }
    }
    match records(&store).await.map_err(told)? {
        count if count == 3 * WRITES as usize => Ok(()),
        count => Err(format!("there are {count} records")),
    }
}

async fn check_caught(defect: Defect, words: &str) {
    for seed in 0..5 {
        let caught = lose_power(seed, Some(defect)).await;
        let caught = caught.expect_err("the defect was not noticed");
        assert!(caught.contains(words), "{caught}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_defect_nothing_is_found() {
    for seed in 0..5 {
        assert_eq!(lose_power(seed, None).await, Ok(()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skipped_sync_is_caught() {
    let mut caught = 0;
    for seed in 0..10 {
        // Before the table was created, or behind it.
        caught += usize::from(lose_power(seed, Some(Defect::SkipSync)).await.is_err());
    }
    assert!(caught >= 9, "only {caught} times");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_index_entry_is_caught() {
    check_caught(Defect::DropEntry, "no entry in index `by-n`").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_stream_record_is_caught() {
    check_caught(Defect::DropRecord, "a record is missing").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_transaction_is_caught() {
    check_caught(Defect::HalfTransaction, "").await;
}

/// Without a sync for each commit, a power loss takes the end of the history and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn buffered_writes_are_lost_from_the_end() {
    let mut lost = 0;
    for seed in 0..20 {
        let disk = Disk::default();
        let store = open(&disk, Durability::Buffered, None);
        write(&store, WRITES).await.unwrap();
        disk.lose_power(&mut Rng::with_seed(seed));
        drop(store);
        let store = open(&disk, Durability::Sync, None);
        assert_eq!(store.verify().await, Ok(Vec::new()));
        let Ok(found) = found(&store).await else {
            continue;
        };
        let numbers = |kind| found.get(kind).map_or(&[][..], Vec::as_slice);
        assert_eq!(
            numbers("left"),
            numbers("right"),
            "no half of a transaction"
        );
        let (singles, pairs) = (numbers("single").len(), numbers("left").len());
        assert!(singles == pairs || singles == pairs + 1);
        for (number, text) in numbers("single").iter().enumerate() {
            assert_eq!(*text, format!("{number:04}"), "the first ones are there");
        }
        lost += usize::from(singles < WRITES as usize);
    }
    assert!(lost > 0, "nothing was ever lost");
}
