//! Sums over values that callers replace at the same time.

use std::sync::Arc;

use partita_core::{Map, Value};
use partita_plan::{Caller, Operation, Partita};
use partita_store::{ModelStore, Store};
use partita_testkit::{Faults, FaultyStore};
use partita_verify::Collected;

use crate::stage::{open, texts};

const DESIGN: &str = r#"
design = "shelves"

[table]
name = "shelves"
key  = ["PK", "SK"]

[entity.Shelf]
PK = "SHELF#{shelfId}"
SK = "SHELF"

[entity.Shelf.attributes]
shelfId = "string"
pages   = "sum of pages of Book where lent = false"

[entity.Shelf.allow]
"*" = "signed-in"

[entity.Book]
PK = "BOOK#{bookId}"
SK = "BOOK"

[entity.Book.attributes]
bookId  = "string"
shelfId = "string"
pages   = "int"
lent    = "bool default false"

[entity.Book.refs]
shelf = "Shelf"

[entity.Book.allow]
"*" = "signed-in"

[pattern.shelf]
get = "PK = 'SHELF#{shelfId}' AND SK = 'SHELF'"

[pattern.book]
get = "PK = 'BOOK#{bookId}' AND SK = 'BOOK'"
"#;

/// How many interleavings are tried.
const SEEDS: u64 = 40;

async fn run(partita: &Partita, operation: Operation) {
    let done = partita.run(&Caller::user("ann"), operation).await;
    done.unwrap();
}

fn change(changes: impl Into<Map>) -> Operation {
    Operation::Update {
        entity: "Book".into(),
        identity: vec!["b".into()],
        changes: changes.into(),
        with_deleted: false,
        version: None,
    }
}

fn pages(number: i64) -> Map {
    Map::from([("pages", Value::from(number))])
}

/// Some changes of one book at the same time, in an order that the seed decides.
async fn stays_right(changes: [Map; 3], seed: u64) {
    stays_right_from(Map::new(), changes, seed).await;
}

/// The same, of a book that begins with these attributes besides its pages.
async fn stays_right_from(first: Map, changes: [Map; 3], seed: u64) {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let calm = open(DESIGN, store.clone(), 1_000 + seed).await;
    for shelf in ["one", "two"] {
        let create = Operation::Create {
            entity: "Shelf".into(),
            attributes: texts(&[("shelfId", shelf)]),
        };
        run(&calm, create).await;
    }
    let mut attributes = texts(&[("bookId", "b"), ("shelfId", "one")]);
    attributes.extend(pages(100));
    attributes.extend(first);
    let entity = "Book".into();
    run(&calm, Operation::Create { entity, attributes }).await;
    let shuffled = FaultyStore::new(store, Faults::default(), seed);
    let partita = open(DESIGN, Arc::new(shuffled), seed).await;
    let [one, two, three] = changes.map(change);
    tokio::join!(run(&partita, one), run(&partita, two), run(&partita, three));
    let mut found = Collected::default();
    let report = calm.verify(&mut found).await.unwrap();
    assert!(report.is_clean(), "seed {seed}: {:?}", found.open);
}

#[tokio::test]
async fn are_exact_when_an_amount_is_replaced_by_several() {
    for seed in 0..SEEDS {
        stays_right([pages(200), pages(350), pages(70)], seed).await;
    }
}

#[tokio::test]
async fn are_exact_when_an_amount_is_replaced_while_it_moves_and_stops_to_count() {
    let moved = || texts(&[("shelfId", "two")]);
    let lent = || Map::from([("lent", Value::Bool(true))]);
    for seed in 0..SEEDS {
        stays_right([pages(200), moved(), lent()], seed).await;
    }
}

#[tokio::test]
async fn are_exact_when_an_amount_is_replaced_while_it_begins_to_count() {
    let lent = |is_lent: bool| Map::from([("lent", Value::Bool(is_lent))]);
    for seed in 0..SEEDS {
        let changes = [pages(200), lent(false), pages(70)];
        stays_right_from(lent(true), changes, seed).await;
    }
}
