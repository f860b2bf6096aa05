use std::sync::Arc;

use partita_core::key::KeyType;
use partita_core::{Item, Value};

use super::SettlingStore;
use crate::error::StoreError;
use crate::model::ModelStore;
use crate::request::{CreateTable, ListTables, PutItem, ReturnValues, TableStatus};
use crate::store::Store as _;
use crate::surroundings::ManualClock;
use crate::table::{KeyAttribute, KeySchema, TableName};

fn table() -> TableName {
    "notes".parse().unwrap()
}

fn create() -> CreateTable {
    let partition = KeyAttribute {
        name: "pk".to_owned(),
        kind: KeyType::S,
    };
    let key = KeySchema {
        partition,
        sort: None,
    };
    CreateTable::new(table(), key)
}

fn put() -> PutItem {
    let item = Item::from([("pk".to_owned(), Value::from("a"))]);
    PutItem::new(table(), item)
}

fn stores() -> (Arc<ManualClock>, SettlingStore) {
    let clock = Arc::new(ManualClock::at(0));
    let model = Arc::new(ModelStore::new(clock.clone()));
    (clock.clone(), SettlingStore::new(model, clock, 1_000))
}

async fn status(store: &SettlingStore) -> TableStatus {
    store.describe_table(&table()).await.unwrap().status
}

#[tokio::test]
async fn a_table_is_created_before_it_is_there() {
    let (clock, store) = stores();
    let created = store.create_table(create()).await.unwrap();
    assert_eq!(created.status, TableStatus::Creating);
    assert_eq!(status(&store).await, TableStatus::Creating);
    let early = store.put_item(put(), ReturnValues::None).await;
    assert!(matches!(early, Err(StoreError::TableNotFound { .. })));
    let twice = store.delete_table(&table()).await.unwrap_err();
    assert!(twice.to_string().contains("Table is being created: notes"));
    clock.advance(1_000);
    assert_eq!(status(&store).await, TableStatus::Active);
    store.put_item(put(), ReturnValues::None).await.unwrap();
}

#[tokio::test]
async fn a_table_is_deleted_and_listed_before_it_is_gone() {
    let (clock, store) = stores();
    store.create_table(create()).await.unwrap();
    clock.advance(1_000);
    store.delete_table(&table()).await.unwrap();
    assert_eq!(status(&store).await, TableStatus::Deleting);
    let names = store.list_tables(ListTables::default()).await.unwrap();
    assert_eq!(names.names, [table()]);
    let again = store.create_table(create()).await.unwrap_err();
    assert!(again.to_string().contains("Table is being deleted: notes"));
    clock.advance(1_000);
    let gone = store.describe_table(&table()).await.unwrap_err();
    assert!(matches!(gone, StoreError::TableNotFound { .. }));
    let names = store.list_tables(ListTables::default()).await.unwrap();
    assert!(names.names.is_empty());
    store.create_table(create()).await.unwrap();
}
