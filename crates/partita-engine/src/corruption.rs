//! Bytes that change on the disk, in every file of a store: what is read is right or an error,
//! and never anything else.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fastrand::Rng;
use partita_core::key::KeyType;
use partita_core::{Item, Value};
use partita_store::index::{IndexKind, IndexProjection, IndexSchema};
use partita_store::request::{CreateTable, GetItem, PutItem, ReturnValues, Scan};
use partita_store::stream::{
    DescribeStream, GetRecords, GetShardIterator, ListStreams, ShardStart, StreamRecord, StreamView,
};
use partita_store::surroundings::ManualClock;
use partita_store::table::{KeyAttribute, KeySchema, TableName, TableSchema};
use partita_store::{FoundItem, Store as _, StoreError, StoreResult};

use crate::options::StorageRoom;
use crate::storage::journal;
use crate::{Durability, EngineError, EngineStore, Options, Upkeep, directory};

/// Flips in each file, and lengths to which each is cut; `PARTITA_FLIPS=n` makes more of them.
const FLIPS: usize = 12;
const CUTS: usize = 4;

fn name() -> TableName {
    "notes".parse().unwrap()
}

fn open(directory: &Path) -> Result<EngineStore, EngineError> {
    let options = Options::new(Arc::new(ManualClock::default())).upkeep(Upkeep::OnRequest);
    EngineStore::open(directory, options)
}

fn note(number: u32) -> Item {
    Item::from([
        ("PK".to_owned(), Value::from(format!("{}", number % 7))),
        ("SK".to_owned(), Value::from(format!("{number:04}"))),
        ("g".to_owned(), Value::from(format!("{}", number % 5))),
        ("text".to_owned(), Value::from("z".repeat(number as usize))),
    ])
}

fn schema() -> TableSchema {
    let index = IndexSchema {
        name: "by-g".to_owned(),
        kind: IndexKind::Global,
        partition: vec![KeyAttribute {
            name: "g".to_owned(),
            kind: KeyType::S,
        }],
        sort: Vec::new(),
        projection: IndexProjection::All,
    };
    TableSchema {
        key: KeySchema::strings("PK", "SK"),
        indexes: vec![index],
    }
}

async fn put(store: &EngineStore, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let put = PutItem::new(name(), note(number));
        store.put_item(put, ReturnValues::None).await.unwrap();
    }
}

/// All that a store answers.
#[derive(Clone, Debug, PartialEq)]
struct Answers {
    items: Vec<Item>,
    rows: Vec<Item>,
    records: Vec<StreamRecord>,
}

async fn scan(store: &EngineStore, index: Option<&str>) -> StoreResult<Vec<Item>> {
    let mut scan = Scan::new(name());
    scan.index = index.map(str::to_owned);
    scan.consistent = index.is_none();
    let items = store.scan(scan).await?.answer.items;
    items.into_iter().map(FoundItem::into_item).collect()
}

async fn records(store: &EngineStore) -> StoreResult<Vec<StreamRecord>> {
    let names = store.list_streams(ListStreams::default()).await?.names;
    let mut records = Vec::new();
    for stream in names {
        let describe = DescribeStream {
            stream: stream.clone(),
            start_after: None,
            limit: None,
        };
        let shard = store.describe_stream(describe).await?.shards[0].id.clone();
        let request = GetShardIterator {
            stream,
            shard,
            start: ShardStart::TrimHorizon,
        };
        let iterator = store.get_shard_iterator(request).await?;
        let limit = None;
        let page = store.get_records(GetRecords { iterator, limit });
        records.extend(page.await?.records);
    }
    Ok(records)
}

async fn answers(store: &EngineStore) -> StoreResult<Answers> {
    Ok(Answers {
        items: scan(store, None).await?,
        rows: scan(store, Some("by-g")).await?,
        records: records(store).await?,
    })
}

/// A closed store, with some of its content in table files and some in the journal.
async fn filled(directory: &Path) -> Answers {
    let store = open(directory).unwrap();
    let mut request = CreateTable::new(name(), schema());
    request.settings.stream = Some(StreamView::KeysOnly);
    store.create_table(request).await.unwrap();
    put(&store, 0..150).await;
    drop(store);
    let (views, commits) =
        directory::open(directory, Durability::Sync, StorageRoom::SMALL).unwrap();
    commits.flush();
    drop((views, commits));
    let store = open(directory).unwrap();
    put(&store, 150..200).await;
    assert_eq!(store.verify().await, Ok(Vec::new()));
    let answers = answers(&store).await.unwrap();
    drop(store);
    journal::trim(&directory.join("data")).unwrap();
    answers
}

fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path))
        } else {
            drop(files.insert(path.clone(), fs::read(&path).unwrap()))
        }
    }
    files
}

/// The files as they were, and no others.
fn restore(directory: &Path, good: &BTreeMap<PathBuf, Vec<u8>>) {
    for path in files(directory).into_keys() {
        if !good.contains_key(&path) {
            fs::remove_file(path).unwrap();
        }
    }
    for (path, content) in good {
        fs::write(path, content).unwrap();
    }
}

/// Whether the store reports the damage; what it answers all the same must be right.
async fn is_noticed(directory: &Path, good: &Answers, what: &str) -> bool {
    let store = match open(directory) {
        Ok(store) => store,
        Err(EngineError::Damaged { .. } | EngineError::OlderFormat { .. }) => return true,
        Err(EngineError::NewerFormat { .. } | EngineError::Unusable { .. }) => return true,
        Err(error) => panic!("{what}: {error}"),
    };
    let check = |error: StoreError| {
        assert!(
            matches!(error, StoreError::Corrupt { .. }),
            "{what}: {error}"
        );
    };
    let mut is_noticed = false;
    match scan(&store, None).await {
        Ok(items) => assert_eq!(items, good.items, "{what}"),
        Err(error) => (is_noticed, _) = (true, check(error)),
    }
    match scan(&store, Some("by-g")).await {
        Ok(rows) => assert_eq!(rows, good.rows, "{what}"),
        Err(error) => (is_noticed, _) = (true, check(error)),
    }
    match records(&store).await {
        Ok(records) => assert_eq!(records, good.records, "{what}"),
        Err(error) => (is_noticed, _) = (true, check(error)),
    }
    for number in [3, 80, 149, 150, 199] {
        let mut key = note(number);
        key.retain(|name, _| ["PK", "SK"].contains(&name.as_str()));
        match store.get_item(GetItem::new(name(), key)).await {
            Ok(found) => assert_eq!(found.answer, Some(note(number).into()), "{what}"),
            Err(error) => (is_noticed, _) = (true, check(error)),
        }
    }
    is_noticed
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_is_told_and_never_answered() {
    let directory = tempfile::tempdir().unwrap();
    let good = filled(directory.path()).await;
    assert_eq!(good.items.len(), 200);
    let before = files(directory.path());
    let flips = std::env::var("PARTITA_FLIPS").map_or(FLIPS, |text| text.parse().unwrap());
    let mut random = Rng::with_seed(8);
    let (mut done, mut noticed) = (0, 0);
    for (path, content) in &before {
        if content.is_empty() {
            continue;
        }
        for flip in 0..flips + CUTS {
            let mut bad = content.clone();
            let at = random.usize(..bad.len());
            if flip < flips {
                bad[at] ^= 1 << random.u32(..8)
            } else {
                bad.truncate(at)
            }
            fs::write(path, bad).unwrap();
            let kind = if flip < flips { "flipped" } else { "cut" };
            let what = format!("{} {kind} at {at} of {}", path.display(), content.len());
            noticed += usize::from(is_noticed(directory.path(), &good, &what).await);
            done += 1;
            restore(directory.path(), &before);
        }
    }
    println!(
        "{done} damaged stores in {} files, {noticed} noticed",
        before.len()
    );
    assert!(noticed * 2 > done, "only {noticed} of {done} were noticed");
    assert_eq!(answers(&open(directory.path()).unwrap()).await, Ok(good));
}
