use partita_core::Value;
use partita_core::expression::{Condition, KeyCondition, Path};
use partita_store::StoreError;
use partita_store::request::{ConditionCheck, CreateTable, TransactGetItems, TransactWriteItems};
use partita_store::surroundings::ManualClock;
use partita_store::table::KeySchema;
use tempfile::TempDir;

use super::*;
use crate::options::Options;

const REASON: &str = "items arrive";

fn name(table: &str) -> TableName {
    table.parse().unwrap()
}

fn item(sort: &str) -> Item {
    Item::from([("PK", Value::from("a")), ("SK", Value::from(sort))])
}

async fn scene() -> (TempDir, Arc<EngineStore>) {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::new(Arc::new(ManualClock::default()));
    let store = Arc::new(EngineStore::open(directory.path(), options).unwrap());
    for table in ["notes", "others"] {
        let request = CreateTable::new(name(table), KeySchema::strings("PK", "SK"));
        store.create_table(request).await.unwrap();
        put(&*store, table, "first").await.unwrap();
    }
    (directory, store)
}

async fn put(store: &dyn Store, table: &str, sort: &str) -> StoreResult<()> {
    let request = PutItem::new(name(table), item(sort));
    store.put_item(request, ReturnValues::None).await.map(drop)
}

async fn count(store: &dyn Store, table: &str) -> StoreResult<usize> {
    let page = store.scan(Scan::new(name(table))).await?;
    Ok(page.answer.items.len())
}

/// Every way in which a caller reaches an item of a table.
async fn attempts(store: &EngineStore, table: &str) -> Vec<(&'static str, StoreResult<()>)> {
    let get = GetItem::new(name(table), item("first"));
    let keys = KeyCondition::partition("PK", "a");
    let address = partita_store::request::ItemAddress {
        table: name(table),
        key: item("first"),
    };
    let batch = BatchGetItem::new(vec![address.clone()]);
    let gets = TransactGetItems {
        gets: vec![(address.clone(), None)],
    };
    let check = TransactWriteItems {
        actions: vec![TransactAction::Check(ConditionCheck {
            table: name(table),
            key: item("first"),
            condition: Condition::Exists(Path::attribute("PK")),
            return_item_on_failure: false,
        })],
        token: None,
    };
    let snapshot = store.snapshot().unwrap();
    vec![
        ("get", store.get_item(get).await.map(drop)),
        ("batch", store.batch_get_item(batch).await.map(drop)),
        (
            "transaction",
            store.transact_get_items(gets).await.map(drop),
        ),
        (
            "query",
            store.query(Query::new(name(table), keys)).await.map(drop),
        ),
        ("scan", count(store, table).await.map(drop)),
        (
            "snapshot",
            snapshot.scan(Scan::new(name(table))).await.map(drop),
        ),
        ("check", store.transact_write_items(check).await.map(drop)),
    ]
}

#[tokio::test]
async fn nobody_sees_a_part_of_what_comes() {
    let (_directory, store) = scene().await;
    let earlier = store.snapshot().unwrap();
    let filling = store.fill_tables(&[name("notes")], REASON).await.unwrap();
    // Writes end first.
    let refused = put(&*store, "notes", "late").await.unwrap_err();
    assert_eq!(
        refused,
        StoreError::ReadOnly {
            message: REASON.to_owned()
        }
    );
    assert_eq!(count(&*store, "notes").await.unwrap(), 1);
    filling.close();
    put(&filling, "notes", "second").await.unwrap();
    let amid = store.snapshot().unwrap();
    for (way, result) in attempts(&store, "notes").await {
        let closed = StoreError::Closed {
            message: REASON.to_owned(),
        };
        assert_eq!(result, Err(closed), "{way}");
    }
    for (way, result) in attempts(&store, "others").await {
        assert_eq!(result, Ok(()), "{way}");
    }
    put(&*store, "others", "second").await.unwrap();
    // Whoever fills them sees them, and what was seen before stays so.
    assert_eq!(count(&filling, "notes").await.unwrap(), 2);
    let page = earlier.scan(Scan::new(name("notes"))).await.unwrap();
    assert_eq!(page.answer.items.len(), 1);
    filling.open();
    drop(filling);
    for (way, result) in attempts(&store, "notes").await {
        assert_eq!(result, Ok(()), "{way}");
    }
    assert_eq!(count(&*store, "notes").await.unwrap(), 2);
    put(&*store, "notes", "third").await.unwrap();
    // A moment amid the items is never read.
    amid.scan(Scan::new(name("notes"))).await.unwrap_err();
    amid.scan(Scan::new(name("others"))).await.unwrap();
}

#[tokio::test]
async fn tables_with_a_part_of_their_items_stay_closed() {
    let (_directory, store) = scene().await;
    let tables = [name("notes")];
    let filling = store.fill_tables(&tables, REASON).await.unwrap();
    assert!(store.fill_tables(&tables, REASON).await.is_err());
    drop(filling);
    put(&*store, "notes", "second").await.unwrap();
    let filling = store.fill_tables(&tables, REASON).await.unwrap();
    filling.close();
    drop(filling);
    put(&*store, "notes", "third").await.unwrap_err();
    count(&*store, "notes").await.unwrap_err();
    let filling = store.fill_tables(&tables, REASON).await.unwrap();
    count(&*store, "notes").await.unwrap_err();
    filling.open();
    assert_eq!(count(&*store, "notes").await.unwrap(), 2);
}
