use std::path::Path;
use std::sync::Arc;

use partita_core::expression::KeyCondition;
use partita_core::key::{KeyType, KeyValue};
use partita_core::{Item, Value};
use partita_store::index::{IndexKind, IndexProjection, IndexSchema};
use partita_store::request::{CreateTable, PutItem, Query, ReturnValues, UpdateTimeToLive};
use partita_store::surroundings::ManualClock;
use partita_store::table::{Key, KeyAttribute, KeySchema, TableName, TableSchema};
use partita_store::{Store as _, StoreError};

use crate::options::StorageRoom;
use crate::storage::{Commits as _, Direction, Edit, Views as _};
use crate::{Durability, EngineStore, Options, directory, keys};

fn name() -> TableName {
    "notes".parse().unwrap()
}

fn open(directory: &Path) -> EngineStore {
    EngineStore::open(directory, Options::new(Arc::new(ManualClock::default()))).unwrap()
}

fn schema() -> TableSchema {
    let attribute = KeyAttribute {
        name: "g".to_owned(),
        kind: KeyType::S,
    };
    TableSchema {
        key: KeySchema::strings("PK", "SK"),
        indexes: vec![IndexSchema {
            name: "by-g".to_owned(),
            kind: IndexKind::Global,
            partition: vec![attribute],
            sort: Vec::new(),
            projection: IndexProjection::All,
        }],
    }
}

/// A store with an item that the index copies, and one that it points to.
async fn filled(directory: &Path) {
    let store = open(directory);
    let (table, schema) = (name(), schema());
    store
        .create_table(CreateTable::new(table, schema))
        .await
        .unwrap();
    for (sort, length) in [("small", 10), ("large", 10_000)] {
        let text = "z".repeat(length);
        let pairs = [("PK", "p"), ("SK", sort), ("g", "a"), ("text", &text)];
        let item: Item = pairs
            .map(|(name, value)| (name.to_owned(), Value::from(value)))
            .into();
        let put = PutItem::new(name(), item);
        store.put_item(put, ReturnValues::None).await.unwrap();
    }
    assert_eq!(store.verify().await, Ok(Vec::new()));
}

/// The rows of the table, or of its index.
fn rows(directory: &Path, id: u32) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (views, _commits) =
        directory::open(directory, Durability::Sync, StorageRoom::SMALL).unwrap();
    let rows = views.view().range(keys::rows(id), Direction::Ascending);
    rows.map(|row| {
        row.map(|(key, value)| (key.to_vec(), value.to_vec()))
            .unwrap()
    })
    .collect()
}

/// What is found after a change behind the store's back, and whether a query notices it too.
async fn check(change: impl Fn(&Path) -> Edit, words: &[&str], is_read: bool) {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path()).await;
    let edit = change(directory.path());
    let (views, mut commits) =
        directory::open(directory.path(), Durability::Sync, StorageRoom::SMALL).unwrap();
    commits.commit(vec![edit], 0).unwrap();
    drop((views, commits));
    let store = open(directory.path());
    let findings = store.verify().await.unwrap();
    // That the numbers are wrong too goes without saying.
    let (counts, findings): (Vec<_>, Vec<_>) = findings
        .into_iter()
        .partition(|finding| finding.contains("has counted"));
    assert!(counts.len() <= 2, "{counts:?}");
    assert_eq!(findings.len(), words.len(), "{findings:?}");
    for (finding, word) in findings.iter().zip(words) {
        assert!(finding.contains(word), "{finding} has no `{word}`");
    }
    let keys = KeyCondition::partition("g", "a");
    let mut query = Query::new(name(), keys);
    (query.index, query.consistent) = (Some("by-g".to_owned()), false);
    let answer = store.query(query).await;
    let is_told = matches!(answer, Err(StoreError::Corrupt { .. }));
    assert_eq!(is_told, is_read, "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_does_not_belong_together_is_found() {
    // `large` comes before `small`, in the table (1) and in its index (2).
    let key = |directory: &Path, id, row: usize| rows(directory, id)[row].0.clone();
    let value = |directory: &Path, id, row: usize| rows(directory, id)[row].1.clone();
    check(|at| Edit::Remove(key(at, 1, 0)), &["has no item"], true).await;
    check(|at| Edit::Remove(key(at, 1, 1)), &["has no item"], false).await;
    check(|at| Edit::Remove(key(at, 2, 0)), &["has no entry"], false).await;
    check(|at| Edit::Remove(key(at, 2, 1)), &["has no entry"], false).await;
    check(
        |at| Edit::Put(key(at, 2, 1), Vec::new()),
        &["an entry that is not its own"],
        false,
    )
    .await;
    check(
        |at| Edit::Put(key(at, 2, 0), value(at, 2, 1)),
        &["an entry that is not its own", "has another key"],
        // A read copies the bytes that it finds; only the storage's checksums protect them.
        false,
    )
    .await;
    let stray = || keys::entry(9, &keys::place_of_item(key_of_nothing()));
    check(
        |_| Edit::Put(stray(), Vec::new()),
        &["belongs to no table"],
        false,
    )
    .await;
}

fn key_of_nothing() -> Key {
    Key {
        partition: KeyValue::S("p".to_owned()),
        sort: None,
    }
}

/// The expiry row of an item, lost or wrong, and the totals of a table.
#[tokio::test(flavor = "multi_thread")]
async fn expiries_and_numbers_are_checked() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let request = CreateTable::new(name(), KeySchema::strings("PK", "SK"));
    store.create_table(request).await.unwrap();
    let request = UpdateTimeToLive {
        table: name(),
        attribute: "ends".to_owned(),
        is_enabled: true,
    };
    store.update_time_to_live(request).await.unwrap();
    store.upkeep().await.unwrap();
    let mut item = Item::from([("PK", "p"), ("SK", "s")].map(|(name, text)| {
        let (name, value) = (name.to_owned(), Value::from(text));
        (name, value)
    }));
    item.insert("ends".to_owned(), Value::from(1_000_000));
    let put = PutItem::new(name(), item);
    store.put_item(put, ReturnValues::None).await.unwrap();
    assert_eq!(store.verify().await, Ok(Vec::new()));
    drop(store);
    // The table has the id 1, its expiry the id 2.
    let right = rows(directory.path(), 2)[0].0.clone();
    let stored_key = rows(directory.path(), 1)[0].0.clone();
    let wrong = keys::expiry(2, 5, &stored_key);
    let put = |key: &Vec<u8>| Edit::Put(key.clone(), Vec::new());
    let numbers = keys::totals(1);
    for (edits, words) in [
        (vec![Edit::Remove(right.clone())], "no row that tells when"),
        (vec![put(&right), put(&wrong)], "disagrees with its item"),
        (
            vec![Edit::Remove(wrong.clone()), Edit::Remove(numbers)],
            "has counted Totals { items: 0, bytes: 0 }",
        ),
    ] {
        let (views, mut commits) =
            directory::open(directory.path(), Durability::Sync, StorageRoom::SMALL).unwrap();
        commits.commit(edits, 0).unwrap();
        drop((views, commits));
        let findings = open(directory.path()).verify().await.unwrap();
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].contains(words), "{findings:?}");
    }
}
