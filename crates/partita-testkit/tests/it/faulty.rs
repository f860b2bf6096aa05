//! The faulty store: faults at the given rates, the same from the same seed, and honest about
//! what they leave behind.

use std::sync::Arc;

use partita_core::Item;
use partita_store::capacity::Metered;
use partita_store::request::{
    CreateTable, GetItem, PutItem, ReturnValues, TransactAction, TransactWriteItems,
};
use partita_store::table::{KeySchema, TableName, string_key};
use partita_store::{ErrorKind, ModelStore, Store, StoreError, StoreResult};
use partita_testkit::{Faults, FaultyStore, conformance};

const WRITES: usize = 2_000;

fn table() -> TableName {
    "notes".parse().unwrap()
}

fn item(number: usize) -> Item {
    string_key(("PK", "p"), ("SK", &number.to_string()))
}

fn get(number: usize) -> GetItem {
    GetItem::new(table(), item(number))
}

fn transaction(number: usize) -> TransactWriteItems {
    let puts = [number, WRITES + number].map(|number| PutItem::new(table(), item(number)));
    TransactWriteItems {
        actions: puts.map(TransactAction::Put).into(),
        token: None,
    }
}

async fn stores(faults: Faults, seed: u64) -> (Arc<ModelStore>, FaultyStore) {
    let model = Arc::new(ModelStore::default());
    let create = CreateTable::new(table(), KeySchema::strings("PK", "SK"));
    model.create_table(create).await.unwrap();
    let faulty = FaultyStore::new(model.clone(), faults, seed);
    (model, faulty)
}

async fn put_all(store: &FaultyStore) -> Vec<StoreResult<Metered<Option<Item>>>> {
    let mut results = Vec::new();
    for number in 0..WRITES {
        let put = PutItem::new(table(), item(number));
        results.push(store.put_item(put, ReturnValues::None).await);
    }
    results
}

fn count<T>(results: &[StoreResult<T>], kind: ErrorKind) -> usize {
    let of_kind = |result: &&StoreResult<T>| result.as_ref().is_err_and(|e| e.kind() == kind);
    results.iter().filter(of_kind).count()
}

#[tokio::test]
async fn without_faults_it_conforms() {
    let store = FaultyStore::new(Arc::new(ModelStore::default()), Faults::default(), 1);
    conformance::run(&store, "faulty").await;
    assert_eq!(store.injected(), 0);
}

#[tokio::test]
async fn rates_are_roughly_kept() {
    let faults = Faults {
        conflict: 0.1,
        throttle: 0.2,
        unknown_outcome: 0.3,
    };
    let (_, store) = stores(faults, 7).await;
    let results = put_all(&store).await;
    for (kind, expected) in [
        (ErrorKind::Conflict, WRITES / 10),
        (ErrorKind::Retry, WRITES / 5),
        (ErrorKind::OutcomeUnknown, WRITES * 3 / 10),
    ] {
        let found = count(&results, kind);
        // Five standard deviations, and the seed is fixed anyway.
        assert!(found.abs_diff(expected) < 100, "{kind:?}: {found}");
    }
    let failed = results.iter().filter(|result| result.is_err()).count();
    assert_eq!(store.injected(), failed as u64);
}

#[tokio::test]
async fn the_same_seed_gives_the_same_faults() {
    let faults = Faults {
        conflict: 0.3,
        throttle: 0.1,
        unknown_outcome: 0.3,
    };
    let outcomes = async |seed| put_all(&stores(faults, seed).await.1).await;
    let first = outcomes(1).await;
    assert_eq!(first, outcomes(1).await);
    assert_ne!(first, outcomes(2).await);
}

#[tokio::test]
async fn a_lost_answer_leaves_all_or_nothing() {
    let faults = Faults {
        unknown_outcome: 1.0,
        ..Faults::default()
    };
    let (model, store) = stores(faults, 3).await;
    let mut carried_out = 0;
    for number in 0..WRITES {
        let result = store.transact_write_items(transaction(number)).await;
        assert!(matches!(result, Err(StoreError::OutcomeUnknown { .. })));
        let one = model.get_item(get(number)).await.unwrap().answer.is_some();
        let two = model.get_item(get(WRITES + number)).await.unwrap().answer;
        assert_eq!(one, two.is_some(), "half of a transaction");
        carried_out += usize::from(one);
    }
    // Before and after happen equally often, or a test might meet only one of them.
    assert!(carried_out.abs_diff(WRITES / 2) < 120, "{carried_out}");
}

#[tokio::test]
async fn other_faults_leave_nothing() {
    let faults = Faults {
        conflict: 0.5,
        throttle: 0.5,
        ..Faults::default()
    };
    let (model, store) = stores(faults, 5).await;
    for number in 0..100 {
        let error = store.transact_write_items(transaction(number)).await;
        let kind = error.unwrap_err().kind();
        assert!(matches!(kind, ErrorKind::Conflict | ErrorKind::Retry));
        assert_eq!(model.get_item(get(number)).await.unwrap().answer, None);
    }
}

#[tokio::test]
async fn reads_are_throttled_only() {
    let faults = Faults {
        conflict: 0.4,
        throttle: 0.2,
        unknown_outcome: 0.4,
    };
    let (_, store) = stores(faults, 9).await;
    let mut results = Vec::new();
    for number in 0..WRITES {
        results.push(store.get_item(get(number)).await);
    }
    let throttled = count(&results, ErrorKind::Retry);
    assert!(throttled.abs_diff(WRITES / 5) < 100, "{throttled}");
    let failed = results.iter().filter(|result| result.is_err()).count();
    assert_eq!(failed, throttled);
}

#[tokio::test]
async fn what_the_store_refuses_stays_refused() {
    let faults = Faults {
        unknown_outcome: 1.0,
        ..Faults::default()
    };
    let (_, store) = stores(faults, 11).await;
    let results = {
        let mut results = Vec::new();
        for _ in 0..100 {
            let put = PutItem::new(table(), Item::new());
            results.push(store.put_item(put, ReturnValues::None).await);
        }
        results
    };
    // Lost before it got there, or refused; never lost after it was refused.
    let refused = count(&results, ErrorKind::FixRequest);
    let lost = count(&results, ErrorKind::OutcomeUnknown);
    assert_eq!(refused + lost, 100);
    assert!(refused > 0 && lost > 0, "{refused} and {lost}");
}
