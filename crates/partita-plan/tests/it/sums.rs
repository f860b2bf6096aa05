//! Sums over values that callers replace at the same time.

use std::sync::Arc;

use partita_core::{Map, Value};
use partita_plan::{Caller, Operation, Partita, PlanError};
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

/// A number has 38 digits: with a tiny amount in a sum, nobody could add an ordinary one.
#[tokio::test]
async fn an_amount_that_leaves_no_room_for_others_is_refused() {
    let design = DESIGN.replace("pages   = \"int\"", "pages   = \"number\"");
    let partita = open(&design, Arc::new(ModelStore::default()), 1).await;
    let shelf = texts(&[("shelfId", "one")]);
    let entity = "Shelf".to_owned();
    let attributes = shelf.clone();
    run(&partita, Operation::Create { entity, attributes }).await;
    let book = |id: &str, pages: &str, is_lent: bool| {
        let mut attributes = texts(&[("bookId", id), ("shelfId", "one")]);
        attributes.extend(Map::from([
            ("pages", Value::N(pages.parse().unwrap())),
            ("lent", Value::Bool(is_lent)),
        ]));
        let entity = "Book".into();
        Operation::Create { entity, attributes }
    };
    let ann = Caller::user("ann");
    for pages in ["1e-100", "1e18", "0.1234567890123"] {
        let refused = partita.run(&ann, book("tiny", pages, false)).await;
        let PlanError::Invalid { faults } = refused.unwrap_err() else {
            panic!("{pages} is taken");
        };
        assert_eq!(faults[0].attribute, "pages");
        assert!(
            faults[0].message.contains("`pages` of `Shelf`"),
            "{faults:?}"
        );
    }
    for (id, pages) in [
        ("b", "100"),
        ("c", "-0.000000000001"),
        ("d", "999999999999999999"),
    ] {
        run(&partita, book(id, pages, false)).await;
    }
    // What does not count is not added; it is refused when it begins to count.
    run(&partita, book("e", "1e-100", true)).await;
    let counted = Operation::Update {
        entity: "Book".into(),
        identity: vec!["e".into()],
        changes: Map::from([("lent", Value::Bool(false))]),
        with_deleted: false,
        version: None,
    };
    let refused = partita.run(&ann, counted).await;
    assert!(
        matches!(refused, Err(PlanError::Invalid { .. })),
        "{refused:?}"
    );
    run(&partita, change(Map::from([("pages", Value::from(7_i64))]))).await;
    let mut found = Collected::default();
    assert!(partita.verify(&mut found).await.unwrap().is_clean());
}
