use std::path::Path;
use std::sync::Arc;

use partita_core::{Item, Value};
use partita_store::Store as _;
use partita_store::request::{CreateTable, PutItem, ReturnValues};
use partita_store::stream::ShardStart;
use partita_store::surroundings::ManualClock;
use partita_store::table::TableName;

use super::*;
use crate::options::StorageRoom;
use crate::storage::{Commits as _, Views as _};
use crate::{Durability, EngineStore, Options, directory};

const RECORDS: usize = 6;

fn name() -> TableName {
    "notes".parse().unwrap()
}

fn open(directory: &Path) -> EngineStore {
    EngineStore::open(directory, Options::new(Arc::new(ManualClock::default()))).unwrap()
}

async fn put(store: &EngineStore, number: usize) {
    let names = ["PK", "SK"].map(|name| (name.to_owned(), Value::from(format!("{number}"))));
    let put = PutItem::new(name(), Item::from(names));
    store.put_item(put, ReturnValues::None).await.unwrap();
}

/// A table with a stream of some records.
async fn filled(directory: &Path) {
    let store = open(directory);
    let mut request = CreateTable::new(name(), KeySchema::strings("PK", "SK"));
    request.settings.stream = Some(StreamView::NewImage);
    store.create_table(request).await.unwrap();
    for number in 0..RECORDS {
        put(&store, number).await;
    }
}

/// Reads a stream from its beginning, or from the record of a number on.
async fn read(store: &EngineStore, start: ShardStart) -> StoreResult<Records> {
    let names = store.list_streams(ListStreams::default()).await?.names;
    let stream = names.into_iter().next().unwrap();
    let describe = DescribeStream {
        stream: stream.clone(),
        start_after: None,
        limit: None,
    };
    let shard = store.describe_stream(describe).await?.shards[0].id.clone();
    let request = GetShardIterator {
        stream,
        shard,
        start,
    };
    let iterator = store.get_shard_iterator(request).await?;
    let limit = None;
    store.get_records(GetRecords { iterator, limit }).await
}

/// What is found after a change behind the store's back to the records.
async fn check(change: impl FnOnce(&[(Vec<u8>, Vec<u8>)]) -> Vec<Edit>, words: &str) {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path()).await;
    let (views, mut commits) =
        directory::open(directory.path(), Durability::Sync, StorageRoom::SMALL).unwrap();
    // The table has the first id.
    let rows = views.view().range(keys::rows(2), Direction::Ascending);
    let rows = rows.map(|row| row.unwrap());
    let rows: Vec<_> = rows
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .collect();
    assert_eq!(rows.len(), RECORDS);
    commits.commit(change(&rows), 0).unwrap();
    drop((views, commits));
    let store = open(directory.path());
    let findings = store.verify().await.unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].contains(words), "{findings:?}");
    let told = read(&store, ShardStart::TrimHorizon).await;
    assert!(matches!(told, Err(StoreError::Corrupt { .. })), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gap_is_noticed_wherever_it_is() {
    for at in 0..RECORDS - 1 {
        let drop_one = |rows: &[(Vec<u8>, Vec<u8>)]| vec![Edit::Remove(rows[at].0.clone())];
        check(drop_one, "a record is missing").await;
    }
    let drop_last = |rows: &[(Vec<u8>, Vec<u8>)]| vec![Edit::Remove(rows[RECORDS - 1].0.clone())];
    check(drop_last, "the last records").await;
    check(
        |rows| {
            rows.iter()
                .map(|(key, _)| Edit::Remove(key.clone()))
                .collect()
        },
        "the last records",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_is_not_its_own_is_noticed() {
    check(
        |rows| vec![Edit::Put(rows[2].0.clone(), rows[3].1.clone())],
        "a record is missing",
    )
    .await;
    check(
        |rows| {
            let mut value = rows[2].1.clone();
            *value.last_mut().unwrap() ^= 1;
            vec![Edit::Put(rows[2].0.clone(), value)]
        },
        "a record is missing",
    )
    .await;
    check(
        |rows| vec![Edit::Put(rows[2].0.clone(), Vec::new())],
        "too short",
    )
    .await;
}

/// A reader that begins in the middle meets a gap there, and not one that is before it.
#[tokio::test(flavor = "multi_thread")]
async fn a_gap_is_told_to_whom_it_concerns() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path()).await;
    let (_views, mut commits) =
        directory::open(directory.path(), Durability::Sync, StorageRoom::SMALL).unwrap();
    commits
        .commit(vec![Edit::Remove(keys::record(2, 3))], 0)
        .unwrap();
    drop((_views, commits));
    let store = open(directory.path());
    let from = async |number| {
        let start = ShardStart::At(SequenceNumber(number));
        read(&store, start).await.map(|page| page.records.len())
    };
    assert!(matches!(from(1).await, Err(StoreError::Corrupt { .. })));
    assert!(matches!(from(3).await, Err(StoreError::Corrupt { .. })));
    assert!(matches!(from(4).await, Err(StoreError::Corrupt { .. })));
    assert_eq!(from(5).await, Ok(2));
    put(&store, 100).await;
    assert_eq!(from(5).await, Ok(3), "and it goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_go_on_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path()).await;
    let store = open(directory.path());
    put(&store, 50).await;
    drop(store);
    let store = open(directory.path());
    put(&store, 51).await;
    let page = read(&store, ShardStart::TrimHorizon).await.unwrap();
    let numbers: Vec<u128> = page.records.iter().map(|record| record.number.0).collect();
    assert_eq!(numbers, (1..=8).collect::<Vec<u128>>());
    assert_eq!(store.verify().await, Ok(Vec::new()));
}

/// Two stores with the same past and another future differ wherever their records do.
#[tokio::test]
async fn a_place_tells_histories_apart() {
    let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    filled(one.path()).await;
    filled(other.path()).await;
    let [one, other] = [one, other].map(|folder| (open(folder.path()), folder));
    let stream = |store: &EngineStore| {
        let moment = store.snapshot().unwrap();
        let names = futures::executor::block_on(store.list_streams(ListStreams::default()));
        (moment, names.unwrap().names.remove(0))
    };
    put(&one.0, 10).await;
    put(&other.0, 11).await;
    for store in [&one.0, &other.0] {
        put(store, 12).await;
    }
    let mut same = Vec::new();
    let [(a, stream_a), (b, stream_b)] = [stream(&one.0), stream(&other.0)];
    let end = a.stream_end(&stream_a).await.unwrap();
    assert_eq!(end.next, b.stream_end(&stream_b).await.unwrap().next);
    let first = end.next.0 - RECORDS as u128 - 2;
    for number in first..=end.next.0 {
        let number = SequenceNumber(number);
        let a = a.stream_place(&stream_a, number).await.unwrap();
        let b = b.stream_place(&stream_b, number).await.unwrap();
        assert_eq!((a.next, b.next), (number, number));
        same.push(a == b);
    }
    let mut expected = vec![true; RECORDS + 1];
    expected.extend([false; 2]);
    assert_eq!(same, expected);
}
