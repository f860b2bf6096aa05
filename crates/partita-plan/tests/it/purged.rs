//! What was purged from a store is purged from an earlier state of it.

use std::collections::BTreeSet;

use partita_plan::purged::purged_items;
use partita_store::request::ListTables;

use super::*;
use crate::stage::{create, items, open, run};

const MEMOS: &str = r#"
design = "memos"
[table]
name = "memos"
key  = ["PK", "SK"]
[entity.Memo]
PK = "BOOK#{bookId}"
SK = "{memoId}"
soft-delete = "gone"
[entity.Memo.attributes]
bookId = "string"
memoId = "string"
gone   = "timestamp?"
[entity.Memo.allow]
"*"   = "signed-in"
purge = "signed-in"
"#;

/// The same items under another name and with other keys.
const NOTES: &str = r#"
design = "memos"
[table]
name = "memos"
key  = ["PK", "SK"]
[entity.Note]
PK = "NOTE#{noteId}"
SK = "BOOK#{bookId}"
soft-delete = "gone"
was = { name = "Memo", PK = "BOOK#{bookId}", SK = "{noteId}" }
[entity.Note.attributes]
bookId = "string"
noteId = "string, was memoId"
gone   = "timestamp?"
[entity.Note.allow]
"*"   = "signed-in"
purge = "signed-in"
"#;

async fn purge(partita: &Partita, entity: &str, identity: &[&str]) {
    let entity = entity.to_owned();
    let identity: Vec<String> = identity.iter().map(|part| (*part).to_owned()).collect();
    let delete = Operation::Delete {
        entity: entity.clone(),
        identity: identity.clone(),
        version: None,
    };
    run(partita, delete).await.unwrap();
    let purge = Operation::Purge {
        entity,
        identity,
        version: None,
    };
    run(partita, purge).await.unwrap();
}

/// What stands for everything that was purged from a store.
async fn purged(store: &dyn Store) -> BTreeSet<String> {
    let tables = store.list_tables(ListTables::default()).await.unwrap();
    let mut purged = BTreeSet::new();
    for table in tables.names {
        let rows = items(store, table.as_str()).await;
        purged.extend(rows.iter().flat_map(purged_items));
    }
    purged
}

#[tokio::test]
async fn an_item_is_known_by_its_identity_whatever_its_key_and_its_name_are() {
    let (today, before) = (
        Arc::new(ModelStore::default()),
        Arc::new(ModelStore::default()),
    );
    let notes = open(NOTES, today.clone(), 1).await;
    create(&notes, "Note", &[("bookId", "b"), ("noteId", "1")]).await;
    purge(&notes, "Note", &["1", "b"]).await;

    let memos = open(MEMOS, before.clone(), 2).await;
    for (book, memo) in [("b", "1"), ("b", "2"), ("1", "b")] {
        create(&memos, "Memo", &[("bookId", book), ("memoId", memo)]).await;
    }
    let done = memos.purge_again(&purged(&*today).await).await.unwrap();
    assert_eq!(done, 1);
    let left: Vec<_> = items(&*before, "memos").await;
    let left: Vec<_> = left.iter().map(|item| (&item["PK"], &item["SK"])).collect();
    let stays = [["BOOK#1", "b"], ["BOOK#b", "2"]].map(|key| key.map(Value::from));
    let stays: Vec<_> = stays.iter().map(|[one, two]| (one, two)).collect();
    assert_eq!(left, stays);
}

const SHELVES: &str = r#"
design = "shelves"
[table]
name = "shelves"
key  = ["PK", "SK"]
[entity.Shelf]
PK = "SHELF#{shelfId}"
SK = "A"
soft-delete = "gone"
[entity.Shelf.attributes]
shelfId = "string"
jars    = "count of Jar"
gone    = "timestamp?"
[entity.Shelf.allow]
"*"   = "signed-in"
purge = "signed-in"
[entity.Jar]
PK = "SHELF#{shelfId}"
SK = "JAR#{jarId}"
soft-delete = "gone"
[entity.Jar.attributes]
shelfId = "string"
jarId   = "string"
gone    = "timestamp?"
[entity.Jar.refs]
shelf = "Shelf, on delete refuse"
[entity.Jar.allow]
"*"   = "signed-in"
purge = "signed-in"
"#;

/// A shelf comes before its jars, so that it is refused until they are gone.
#[tokio::test]
async fn what_others_hold_is_purged_after_them_or_named() {
    let (today, before) = (
        Arc::new(ModelStore::default()),
        Arc::new(ModelStore::default()),
    );
    let mut opened = Vec::new();
    for (store, seed) in [(&today, 3), (&before, 4)] {
        let shelves = open(SHELVES, store.clone(), seed).await;
        for shelf in ["full", "held"] {
            create(&shelves, "Shelf", &[("shelfId", shelf)]).await;
            create(&shelves, "Jar", &[("shelfId", shelf), ("jarId", "1")]).await;
        }
        opened.push(shelves);
    }
    purge(&opened[0], "Jar", &["full", "1"]).await;
    purge(&opened[0], "Shelf", &["full"]).await;
    let gone = Operation::Delete {
        entity: "Jar".into(),
        identity: vec!["held".into(), "1".into()],
        version: None,
    };
    run(&opened[0], gone).await.unwrap();
    purge(&opened[0], "Shelf", &["held"]).await;

    let done = opened[1].purge_again(&purged(&*today).await).await.unwrap();
    assert_eq!(done, 2);
    assert_eq!(items(&*before, "shelves").await.len(), 2);
}
