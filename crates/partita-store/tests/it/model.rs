//! The model passes the suite, as every store does.

use std::sync::Arc;

use partita_core::expression::{Bindings, Update};
use partita_core::{Item, Value};
use partita_store::error::CancellationReason;
use partita_store::request::{
    CreateTable, GetItem, ItemAddress, TransactAction, TransactGetItems, TransactWriteItems,
    UpdateItem,
};
use partita_store::surroundings::ManualClock;
use partita_store::table::{KeySchema, TableName, string_key};
use partita_store::{ModelStore, Store, StoreError};
use partita_testkit::conformance;

#[tokio::test]
async fn the_model_conforms() {
    conformance::run(&ModelStore::default(), "model").await;
}

#[tokio::test]
async fn items_expire() {
    let clock = Arc::new(ManualClock::at(0));
    let store = ModelStore::new(clock.clone());
    let sweep = async || store.sweep();
    let result = conformance::items_expire(&store, &clock, sweep).await;
    result.unwrap();
}

#[tokio::test]
async fn streams_age() {
    let clock = Arc::new(ManualClock::at(0));
    let store = ModelStore::new(clock.clone());
    let sweep = async || store.sweep();
    let result = conformance::streams_age(&store, &clock, sweep).await;
    result.unwrap();
}

/// The suite never moves the clock, because it also runs on Amazon's; so this test is the model's.
#[tokio::test]
async fn a_token_holds_for_ten_minutes() {
    let clock = Arc::new(ManualClock::at(0));
    let store = ModelStore::new(clock.clone());
    let table: TableName = "notes".parse().unwrap();
    let create = CreateTable::new(table.clone(), KeySchema::strings("PK", "SK"));
    store.create_table(create).await.unwrap();
    let key = string_key(("PK", "a"), ("SK", "b"));
    let adding = |amount: i64| {
        let text = format!("SET n = if_not_exists(n, 0) + {amount}");
        let update = UpdateItem {
            table: table.clone(),
            key: key.clone(),
            update: Update::parse(&text, &Bindings::Literals).unwrap(),
            condition: None,
            return_item_on_failure: false,
        };
        TransactWriteItems {
            actions: vec![TransactAction::Update(update)],
            token: Some("once".to_owned()),
        }
    };
    let ten_minutes = 600_000;
    for (time, amount, expected) in [
        (0, 1, Ok(())),
        (ten_minutes - 1, 1, Ok(())),
        (
            ten_minutes - 1,
            2,
            Err(StoreError::IdempotentParameterMismatch),
        ),
        (ten_minutes, 2, Ok(())),
    ] {
        clock.set(time);
        let result = store.transact_write_items(adding(amount)).await;
        assert_eq!(result.map(|metered| metered.answer), expected, "at {time}");
    }
    let get = GetItem::new(table.clone(), key.clone());
    let found = store.get_item(get).await.unwrap().answer;
    let found = found.unwrap().into_item().unwrap();
    assert_eq!(found["n"], Value::from(3_i64));
}

/// DynamoDB Local says it in ways of its own, so this is not in the suite.
#[tokio::test]
async fn a_key_that_does_not_fit_cancels_a_transactional_get() {
    let store = ModelStore::default();
    let table: TableName = "notes".parse().unwrap();
    let create = CreateTable::new(table.clone(), KeySchema::strings("PK", "SK"));
    store.create_table(create).await.unwrap();
    let fitting = string_key(("PK", "a"), ("SK", "b"));
    let get = async |faulty: Item| {
        let address = |key: Item| ItemAddress {
            table: table.clone(),
            key,
        };
        let gets = vec![(address(fitting.clone()), None), (address(faulty), None)];
        let result = store.transact_get_items(TransactGetItems { gets }).await;
        result.unwrap_err()
    };
    let half = Item::from([("PK".to_owned(), Value::from("a"))]);
    let reason = CancellationReason::Validation {
        message: "The provided key element does not match the schema".to_owned(),
    };
    let reasons = vec![CancellationReason::None, reason];
    let expected = StoreError::TransactionCanceled { reasons };
    assert_eq!(get(half).await, expected);
    let empty = get(string_key(("PK", ""), ("SK", "b"))).await;
    let is_canceled = matches!(empty, StoreError::TransactionCanceled { .. });
    assert!(is_canceled, "{empty:?}");
}
