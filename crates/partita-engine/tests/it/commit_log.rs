//! The commits of a store, and stores put together from a copy and commits: at every commit as the
//! store itself was then.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use fastrand::Rng;
use partita_core::{Item, Value};
use partita_engine::{
    Commit, CommitId, Durability, EngineStore, LogError, NewStore, NewStoreError, Options, Rows,
    Upkeep,
};
use partita_store::Store as _;
use partita_store::request::{
    CreateTable, DeleteItem, PutItem, ReturnValues, TransactAction, TransactWriteItems,
    UpdateTimeToLive,
};
use partita_store::surroundings::ManualClock;

use crate::bench::{key, schema, table};

type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

fn open(directory: &Path, clock: &Arc<ManualClock>, durability: Durability) -> EngineStore {
    let options = Options::new(clock.clone())
        .durability(durability)
        .upkeep(Upkeep::OnRequest)
        .keeps_commits(true);
    EngineStore::open(directory, options).unwrap()
}

async fn contents(store: &EngineStore) -> (CommitId, Contents) {
    let Rows { commit, rows, .. } = store.rows_after(None, usize::MAX).await.unwrap();
    let rows = rows.into_iter().map(|(key, value)| (key, value.to_vec()));
    (commit, rows.collect())
}

/// One random commit.
async fn write(store: &EngineStore, random: &mut Rng) {
    let item = |random: &mut Rng| {
        let mut item = key("a", random.u8(..20));
        item.insert("amount".to_owned(), Value::from(i64::from(random.u8(..5))));
        item.insert(
            "text".to_owned(),
            Value::from("x".repeat(random.usize(..300))),
        );
        item
    };
    match random.u8(..10) {
        0 => {
            let name = format!("more-{}", random.u64(..));
            let request = CreateTable::new(name.parse().unwrap(), schema());
            store.create_table(request).await.unwrap();
        }
        1 => {
            let request = UpdateTimeToLive {
                table: table(),
                attribute: "amount".to_owned(),
                is_enabled: random.bool(),
            };
            // Some changes of this setting are refused, which is no commit.
            let _ = store.update_time_to_live(request).await;
        }
        2..=3 => {
            let actions = (0..3).map(|number| {
                let mut item = item(random);
                item.insert("SK".to_owned(), Value::from(format!("t{number}")));
                TransactAction::Put(PutItem::new(table(), item))
            });
            let request = TransactWriteItems {
                actions: actions.collect(),
                token: random.bool().then(|| format!("token-{}", random.u64(..))),
            };
            store.transact_write_items(request).await.unwrap();
        }
        4..=5 => {
            let request = DeleteItem {
                table: table(),
                key: key("a", random.u8(..20)),
                condition: None,
                return_item_on_failure: false,
            };
            store
                .delete_item(request, ReturnValues::None)
                .await
                .unwrap();
        }
        _ => {
            let request = PutItem::new(table(), item(random));
            store.put_item(request, ReturnValues::None).await.unwrap();
        }
    }
}

/// What was seen of a store: a copy in pieces, all commits, and the state after each.
struct Seen {
    states: BTreeMap<u64, (CommitId, Contents)>,
    pieces: Vec<Rows>,
    commits: Vec<Commit>,
}

async fn watch(seed: u64, durabilities: &[Durability]) -> Seen {
    let mut random = Rng::with_seed(seed);
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::default());
    let mut seen = Seen {
        states: BTreeMap::new(),
        pieces: Vec::new(),
        commits: Vec::new(),
    };
    let mut last = CommitId::default();
    let mut is_copied = false;
    for durability in durabilities {
        let store = open(directory.path(), &clock, *durability);
        let mut log = store.commits_after(last).unwrap();
        if store.describe_table(&table()).await.is_err() {
            store
                .create_table(CreateTable::new(table(), schema()))
                .await
                .unwrap();
        }
        for number in 0..20 {
            write(&store, &mut random).await;
            let (id, state) = contents(&store).await;
            seen.states.insert(id.number, (id, state));
            clock.advance(random.i64(-500..1_000));
            if !is_copied && number > 8 && random.u8(..3) > 0 {
                let after = seen.pieces.last().and_then(|rows| rows.rows.last());
                let after = after.map(|(key, _)| key.clone());
                let rows = store.rows_after(after, 900).await.unwrap();
                is_copied = rows.is_last;
                seen.pieces.push(rows);
            }
        }
        store.close().await;
        let (id, state) = contents(&store).await;
        seen.states.insert(id.number, (id, state));
        loop {
            let commits = log.read(2_000).unwrap();
            if commits.is_empty() {
                break;
            }
            seen.commits.extend(commits);
            log.release();
        }
        last = log.last();
        assert_eq!(last, store.last_commit());
    }
    assert!(is_copied && seen.pieces.len() > 2, "{}", seen.pieces.len());
    seen
}

/// Puts a store together as it was at a commit.
fn restore(seen: &Seen, directory: &Path, number: u64) -> Result<CommitId, NewStoreError> {
    let first = seen.pieces[0].commit;
    let mut new = NewStore::create(directory)?;
    for rows in &seen.pieces {
        let rows = rows.rows.iter();
        let rows = rows.map(|(key, value)| (key.clone(), value.to_vec()));
        new.put_rows(first, rows)?;
    }
    let mut commits = seen.commits.iter();
    for commit in commits
        .by_ref()
        .filter(|commit| (first.number + 1..=number).contains(&commit.id.number))
    {
        new.apply(commit.clone())?;
    }
    new.finish()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_and_commits_are_the_store_at_every_commit() {
    use Durability::{Buffered, Sync};
    for seed in 1..2 {
        let seen = watch(seed, &[Sync, Buffered, Sync]).await;
        let first = seen.pieces.last().unwrap().commit.number;
        let numbers: Vec<u64> = seen.commits.iter().map(|commit| commit.id.number).collect();
        assert_eq!(
            numbers,
            (1..=numbers.len() as u64).collect::<Vec<_>>(),
            "seed {seed}"
        );
        let times = seen.commits.iter().map(|commit| commit.id.time_millis);
        assert!(times.is_sorted(), "seed {seed}");
        for (number, (id, state)) in seen.states.range(first..) {
            let directory = tempfile::tempdir().unwrap();
            let place = directory.path().join("store");
            assert_eq!(restore(&seen, &place, *number).unwrap(), *id);
            let restored = open(&place, &Arc::new(ManualClock::default()), Sync);
            let (found, rows) = contents(&restored).await;
            assert!(
                found == *id && rows == *state,
                "seed {seed}, commit {number}"
            );
            assert_eq!(restored.verify().await.unwrap(), Vec::<String>::new());
        }
    }
}

/// The mistakes that a copy can have, each of which would be a wrong state if it were not told.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_is_missing_or_changed_is_told() {
    let mut seen = watch(7, &[Durability::Sync]).await;
    let directory = tempfile::tempdir().unwrap();
    let last = seen.commits.last().unwrap().id.number;
    let middle = seen.commits.len() - 5;
    let is_told = |seen: &Seen, name: &str| {
        let restored = restore(seen, &directory.path().join(name), last);
        matches!(restored, Err(NewStoreError::OutOfOrder { .. }))
    };
    assert!(!is_told(&seen, "whole"));
    let removed = seen.commits.remove(middle);
    assert!(is_told(&seen, "missing"));
    assert!(!EngineStore::is_at(&directory.path().join("missing")));
    let mut changed = removed.clone();
    changed.id.time_millis += 1;
    seen.commits.insert(middle, changed);
    assert!(is_told(&seen, "another time"));
    let mut changed = removed.clone();
    changed.edits.pop();
    seen.commits[middle] = changed;
    assert!(is_told(&seen, "an edit less"));
    seen.commits[middle] = removed;
    seen.commits.swap(middle, middle + 1);
    assert!(is_told(&seen, "swapped"));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_history_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::default());
    let store = open(directory.path(), &clock, Durability::Sync);
    let last = store.last_commit();
    store
        .create_table(CreateTable::new(table(), schema()))
        .await
        .unwrap();
    let item = Item::from([("PK", Value::from("a")), ("SK", Value::from("b"))]);
    store
        .put_item(PutItem::new(table(), item), ReturnValues::None)
        .await
        .unwrap();
    // Another history has other commits of the same numbers.
    let other = CommitId {
        chain: last.chain ^ 1,
        ..last
    };
    let mut log = store.commits_after(other).unwrap();
    assert!(matches!(log.read(1_000), Err(LogError::Other { .. })));
    let later = CommitId {
        number: 900,
        ..last
    };
    let mut log = store.commits_after(later).unwrap();
    assert!(matches!(
        log.read(1_000),
        Err(LogError::Other { number: 900 })
    ));
    let mut log = store.commits_after(last).unwrap();
    assert_eq!(log.read(usize::MAX).unwrap().len(), 2);
}
