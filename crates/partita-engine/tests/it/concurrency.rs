//! Many writers at once: nothing is counted twice, nothing is lost, and syncs are shared.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use partita_core::expression::{Bindings, Condition};
use partita_store::request::{ReturnValues, Scan, TransactAction, TransactWriteItems};
use partita_store::{Store, StoreError};

use crate::bench::{add, adding, all, create_table, key, number, number_of, open, put, table};

const TASKS: i64 = 32;
const WRITES: i64 = 40;

#[tokio::test(flavor = "multi_thread")]
async fn a_counter_counts_every_increment() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(open(directory.path()));
    create_table(&store).await;
    let before = store.commits();
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut last = 0;
                for _ in 0..WRITES {
                    let request = add(key("counter", 1), 1);
                    let item = store.update_item(request, ReturnValues::AllNew).await;
                    let seen = number_of(&item.unwrap().answer.unwrap(), "amount");
                    assert!(seen > last, "{seen} after {last}");
                    last = seen;
                    let read = number(&*store, key("counter", 1), "amount").await;
                    assert!(
                        read >= seen,
                        "a read saw {read}, and {seen} was acknowledged"
                    );
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(
        number(&*store, key("counter", 1), "amount").await,
        TASKS * WRITES
    );
    let commits = store.commits() - before;
    let writes = u64::try_from(TASKS * WRITES).unwrap();
    assert!(
        commits > 0 && commits * 2 < writes,
        "{commits} commits for {writes} writes"
    );
}

const ACCOUNTS: i64 = 5;
const BALANCE: i64 = 100;

/// Amounts move between accounts that may not be overdrawn, while readers add them up.
#[tokio::test(flavor = "multi_thread")]
async fn money_is_neither_made_nor_lost() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(open(directory.path()));
    create_table(&store).await;
    for account in 0..ACCOUNTS {
        let opening = put(key("account", account), "amount", BALANCE);
        store.put_item(opening, ReturnValues::None).await.unwrap();
    }
    let movers = (0..TASKS).map(|seed| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut random = fastrand::Rng::with_seed(seed.unsigned_abs());
            for _ in 0..WRITES {
                move_money(&*store, &mut random).await;
            }
        })
    });
    let readers = (0..4).map(|_| {
        let store = store.clone();
        tokio::spawn(async move {
            for _ in 0..WRITES {
                assert_eq!(total(&*store).await, ACCOUNTS * BALANCE);
            }
        })
    });
    for task in movers.chain(readers).collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(total(&*store).await, ACCOUNTS * BALANCE);
    for item in all(&*store).await {
        assert!(number_of(&item, "amount") >= 0, "{item:?}");
    }
    assert_eq!(store.verify().await, Ok(Vec::new()));
}

async fn move_money(store: &dyn Store, random: &mut fastrand::Rng) {
    let from = random.i64(0..ACCOUNTS);
    let to = (from + random.i64(1..ACCOUNTS)) % ACCOUNTS;
    let amount = random.i64(1..80);
    let mut take = add(key("account", from), -amount);
    let enough = Condition::parse(&format!("amount >= {amount}"), &Bindings::Literals);
    take.condition = Some(enough.unwrap());
    let request = TransactWriteItems {
        actions: vec![
            TransactAction::Update(take),
            adding(key("account", to), amount),
        ],
        token: None,
    };
    match store.transact_write_items(request).await {
        Ok(_) | Err(StoreError::TransactionCanceled { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

/// One scan is one view, so it sees every transaction as a whole, in an index as well.
async fn total(store: &dyn Store) -> i64 {
    let mut scan = Scan::new(table());
    if fastrand::bool() {
        scan.index = Some("by-amount".to_owned());
        scan.consistent = false;
    }
    let page = store.scan(scan).await.unwrap().answer.into_parts();
    page.unwrap()
        .items
        .iter()
        .map(|item| number_of(item, "amount"))
        .sum()
}

/// Money moves while somebody adds it up, page after page, in reads of one moment.
#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_shows_one_moment_however_long_it_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(open(directory.path()));
    create_table(&store).await;
    for account in 0..ACCOUNTS {
        let request = add(key("account", account), BALANCE);
        store
            .update_item(request, ReturnValues::None)
            .await
            .unwrap();
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn({
        let (store, is_over) = (store.clone(), is_over.clone());
        async move {
            let mut moved = 0;
            while !is_over.load(Ordering::Relaxed) {
                let (from, to) = (moved % ACCOUNTS, (moved + 1) % ACCOUNTS);
                let changes = [(from, -1), (to, 1)];
                let actions = changes.map(|(at, by)| adding(key("account", at), by));
                let request = TransactWriteItems {
                    actions: actions.into(),
                    token: None,
                };
                store.transact_write_items(request).await.unwrap();
                // What is there afterwards is not there in a snapshot that was taken before.
                let request = put(key("later", moved), "number", moved);
                store.put_item(request, ReturnValues::None).await.unwrap();
                moved += 1;
            }
            moved
        }
    });
    for _ in 0..20 {
        let snapshot = store.snapshot().unwrap();
        let mut sums = Vec::new();
        let mut counts = Vec::new();
        for _ in 0..3 {
            let (mut sum, mut count) = (0, 0);
            let mut request = Scan {
                limit: Some(2),
                ..Scan::new(table())
            };
            loop {
                let page = snapshot.scan(request.clone()).await.unwrap().answer;
                for item in page.items {
                    let item = item.into_item().unwrap();
                    if item.contains_key("amount") {
                        sum += number_of(&item, "amount");
                    }
                    count += 1;
                }
                tokio::task::yield_now().await;
                match page.last_key {
                    None => break,
                    last => request.start_after = last,
                }
            }
            sums.push(sum);
            counts.push(count);
        }
        assert_eq!(sums, vec![ACCOUNTS * BALANCE; 3]);
        assert_eq!(counts, vec![counts[0]; 3]);
    }
    is_over.store(true, Ordering::Relaxed);
    assert!(writer.await.unwrap() > 0);
}
