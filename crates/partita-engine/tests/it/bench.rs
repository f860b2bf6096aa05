//! What the tests share: a store in a directory of its own, and short calls.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use partita_core::expression::{Bindings, Update};
use partita_core::key::KeyType;
use partita_core::{Item, Value};
use partita_engine::{EngineStore, Options};
use partita_store::Store;
use partita_store::index::{IndexKind, IndexProjection, IndexSchema};
use partita_store::request::{CreateTable, GetItem, PutItem, Scan, TransactAction, UpdateItem};
use partita_store::surroundings::SystemClock;
use partita_store::table::{KeyAttribute, KeySchema, TableName, TableSchema};

pub(crate) fn open(directory: &Path) -> EngineStore {
    EngineStore::open(directory, Options::new(Arc::new(SystemClock))).unwrap()
}

pub(crate) fn table() -> TableName {
    "notes".parse().unwrap()
}

/// Creates the table, unless an earlier run has.
pub(crate) async fn create_table(store: &EngineStore) {
    if store.describe_table(&table()).await.is_err() {
        let request = CreateTable::new(table(), schema());
        store.create_table(request).await.unwrap();
    }
}

/// Two strings, and an index of each kind.
pub(crate) fn schema() -> TableSchema {
    let attribute = |name: &str, kind| KeyAttribute {
        name: name.to_owned(),
        kind,
    };
    let global = IndexSchema {
        name: "by-amount".to_owned(),
        kind: IndexKind::Global,
        partition: vec![attribute("amount", KeyType::N)],
        sort: vec![attribute("SK", KeyType::S)],
        projection: IndexProjection::All,
    };
    let local = IndexSchema {
        name: "amounts".to_owned(),
        kind: IndexKind::Local,
        partition: vec![attribute("PK", KeyType::S)],
        sort: vec![attribute("amount", KeyType::N)],
        projection: IndexProjection::KeysOnly,
    };
    TableSchema {
        key: KeySchema::strings("PK", "SK"),
        indexes: vec![global, local],
    }
}

pub(crate) fn key(partition: &str, sort: impl ToString) -> Item {
    Item::from([
        ("PK".to_owned(), Value::from(partition)),
        ("SK".to_owned(), Value::from(sort.to_string())),
    ])
}

/// A put of a key with one number.
pub(crate) fn put(key: Item, name: &str, number: i64) -> PutItem {
    let mut item = key;
    item.insert(name.to_owned(), Value::from(number));
    PutItem::new(table(), item)
}

/// Adds to a number.
pub(crate) fn add(key: Item, number: i64) -> UpdateItem {
    UpdateItem {
        table: table(),
        key,
        update: Update::parse(&format!("ADD amount {number}"), &Bindings::Literals).unwrap(),
        condition: None,
        return_item_on_failure: false,
    }
}

pub(crate) fn adding(key: Item, number: i64) -> TransactAction {
    TransactAction::Update(add(key, number))
}

/// One number of an item, 0 where it is missing.
pub(crate) async fn number(store: &dyn Store, key: Item, name: &str) -> i64 {
    let request = GetItem::new(table(), key);
    let item = store.get_item(request).await.unwrap().answer;
    item.map_or(0, |item| number_of(&item.into_item().unwrap(), name))
}

pub(crate) fn number_of(item: &Item, name: &str) -> i64 {
    let number = item.get(name).and_then(Value::as_number);
    number.map_or(0, |number| number.to_string().parse().unwrap())
}

/// Everything in the table.
pub(crate) async fn all(store: &dyn Store) -> Vec<Item> {
    let mut items = Vec::new();
    let mut scan = Scan::new(table());
    loop {
        let page = store.scan(scan.clone()).await.unwrap();
        let page = page.answer.into_parts().unwrap();
        items.extend(page.items);
        match page.last_key {
            Some(last_key) => scan.start_after = Some(last_key),
            None => return items,
        }
    }
}

/// Runs one test of this binary, and no other, in a process of its own.
///
/// Such a test is ignored otherwise, and finds its directory in `PARTITA_CHILD_DIRECTORY`.
pub(crate) fn child(mut command: Command, test: &str, directory: &Path) -> Command {
    command
        .args([
            test,
            "--exact",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(CHILD_DIRECTORY, directory);
    command
}

pub(crate) const CHILD_DIRECTORY: &str = "PARTITA_CHILD_DIRECTORY";
