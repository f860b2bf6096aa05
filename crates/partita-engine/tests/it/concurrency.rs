//! Many writers at once: nothing is counted twice, nothing is lost, and syncs are shared.

use std::sync::Arc;

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
