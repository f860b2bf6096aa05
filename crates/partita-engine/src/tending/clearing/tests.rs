use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use partita_core::key::KeyValue;
use partita_store::Store as _;
use partita_store::request::CreateTable;
use partita_store::surroundings::ManualClock;
use partita_store::table::{Key, KeySchema, TableName};

use super::*;
use crate::options::StorageRoom;
use crate::storage::{Commits as _, Edit, Views as _};
use crate::{Durability, EngineStore, Options, directory};

/// How often a test looks before it gives up.
const PATIENCE: usize = 10_000;

fn name() -> TableName {
    "notes".parse().unwrap()
}

fn open(directory: &Path) -> EngineStore {
    EngineStore::open(directory, Options::new(Arc::new(ManualClock::default()))).unwrap()
}

fn row(id: u32, number: usize) -> Vec<u8> {
    let key = Key {
        partition: KeyValue::S("p".to_owned()),
        sort: Some(KeyValue::S(format!("{number:06}"))),
    };
    keys::item(id, &key)
}

/// The rows under an id, and whether they are to be removed.
fn left(directory: &Path, id: u32) -> (usize, bool) {
    let (views, _commits) =
        directory::open(directory, Durability::Sync, StorageRoom::SMALL).unwrap();
    let view = views.view();
    let rows = view.range(keys::rows(id), Direction::Ascending).count();
    (rows, load(&*view).unwrap().contains(&id))
}

/// Rows under an id as a killed process may leave them.
fn leave_behind(directory: &Path, id: u32, rows: usize) {
    let (_views, mut commits) =
        directory::open(directory, Durability::Sync, StorageRoom::SMALL).unwrap();
    let mut edits = vec![Edit::Put(keys::dropped(id), Vec::new())];
    edits.extend((0..rows).map(|number| Edit::Put(row(id, number), b"x".to_vec())));
    commits.commit(edits, 0).unwrap();
}

async fn wait_until_clear(store: &EngineStore, commits: u64) {
    for _ in 0..PATIENCE {
        if store.commits() >= commits {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("there were {} commits", store.commits());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_left_behind_is_cleared_in_chunks() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    leave_behind(directory.path(), 7, 2 * CHUNK_ROWS + 1);
    leave_behind(directory.path(), 8, 0);
    let store = open(directory.path());
    // Three chunks and a farewell, and one farewell more.
    wait_until_clear(&store, 5).await;
    assert_eq!(store.commits(), 5);
    drop(store);
    for id in [7, 8] {
        assert_eq!(left(directory.path(), id), (0, false));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_gone_at_once_and_its_name_is_free() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let create = || CreateTable::new(name(), KeySchema::strings("PK", "SK"));
    store.create_table(create()).await.unwrap();
    drop(store);
    let (views, mut commits) =
        directory::open(directory.path(), Durability::Sync, StorageRoom::SMALL).unwrap();
    let rows = (0..3 * CHUNK_ROWS).map(|number| Edit::Put(row(1, number), b"x".to_vec()));
    commits.commit(rows.collect(), 0).unwrap();
    drop((views, commits));

    let store = open(directory.path());
    store.delete_table(&name()).await.unwrap();
    assert!(store.describe_table(&name()).await.is_err());
    store.create_table(create()).await.unwrap();
    let scan = partita_store::request::Scan::new(name());
    assert_eq!(store.scan(scan).await.unwrap().answer.scanned, 0);
    // Closed in the middle of it, as likely as not; the next store goes on.
    drop(store);
    let store = open(directory.path());
    store
        .create_table(CreateTable::new(
            "other".parse().unwrap(),
            KeySchema::strings("a", "b"),
        ))
        .await
        .unwrap();
    for _ in 0..PATIENCE {
        if is_clear(&store) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(store.verify().await.map(|found| found.len()), Ok(0));
    drop(store);
    assert_eq!(left(directory.path(), 1), (0, false));
}

fn is_clear(store: &EngineStore) -> bool {
    let view = store.views().view();
    load(&*view).unwrap().is_empty()
}
