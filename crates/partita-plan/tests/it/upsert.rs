//! Create or change: what a caller gives for an item that may be there or not.

use std::sync::Arc;

use partita_core::{Map, Number, Value, plain};
use partita_plan::{Answer, Caller, Operation, Partita, Patience, PlanError, Surroundings};
use partita_store::surroundings::ManualClock;
use partita_store::{ModelStore, Store};
use partita_testkit::{Faults, FaultyStore};
use serde_json::{Value as Json, json};

const DESIGN: &str = r#"
design = "shelf"

[table]
name = "shelf"
key  = ["PK", "SK"]

[entity.Shelf]
PK = "SHELF#{shelfId}"
SK = "METADATA"

[entity.Shelf.attributes]
shelfId = "string"
books   = "count of Book"
pages   = "sum of pages of Book"

[entity.Shelf.allow]
"*" = "signed-in"

[entity.Book]
PK          = "SHELF#{shelfId}"
SK          = "BOOK#{bookId}"
soft-delete = "deleted"

[entity.Book.attributes]
shelfId   = "string"
id        = "ulid, generated, as bookId"
title     = "string 1..50"
language  = "string default 'en'"
edition   = "int?, fixed"
pages     = "int 0.. default 0"
status    = "state new -> read -> lent; lent -> read"
note      = "string?"
owner     = "string = caller on create"
createdAt = "timestamp = now on create"
updatedAt = "timestamp = now on write"
version   = "version"
deleted   = "bool default false"

[entity.Book.refs]
shelf = "Shelf"

[entity.Book.allow]
create = "signed-in"
read   = "owner = caller"
update = "owner = caller"
delete = "owner = caller"

[view.BookByTitle]
of   = "Book"
PK   = "TITLE#{title}"
SK   = "{shelfId}#{bookId}"
keep = ["title", "pages"]

[entity.Visit]
PK = "VISITOR#{visitor}"
SK = "AT#{at}"

[entity.Visit.attributes]
visitor = "string"
at      = "timestamp = now on create"
mood    = "string?"

[entity.Visit.allow]
"*" = "visitor = caller"
"#;

const BOOK: &str = "01JGFJJZ00000000000000DVNE";

async fn open(store: Arc<dyn Store>, clock: &Arc<ManualClock>) -> Partita {
    let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let surroundings = Surroundings {
        clock: clock.clone(),
        patience: Patience {
            attempts: 30,
            pause_millis: 0,
        },
        ..Surroundings::default()
    };
    let partita = Partita::open_with(design, store, surroundings)
        .await
        .unwrap();
    let shelf = Operation::Upsert {
        entity: "Shelf".to_owned(),
        identity: vec!["s".to_owned()],
        attributes: Map::new(),
        version: None,
    };
    partita.run(&Caller::user("ann"), shelf).await.unwrap();
    partita
}

async fn on_the_model() -> (Partita, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(1_767_225_600_000));
    let partita = open(Arc::new(ModelStore::default()), &clock).await;
    (partita, clock)
}

fn put(attributes: Json, version: Option<i64>) -> Operation {
    Operation::Upsert {
        entity: "Book".to_owned(),
        identity: vec!["s".to_owned(), BOOK.to_owned()],
        attributes: plain::map_from_json(attributes.as_object().unwrap().clone()).unwrap(),
        version,
    }
}

async fn run(partita: &Partita, user: &str, operation: Operation) -> Result<Answer, PlanError> {
    partita.run(&Caller::user(user), operation).await
}

async fn shelf(partita: &Partita) -> Map {
    let get = Operation::Get {
        entity: "Shelf".to_owned(),
        identity: vec!["s".to_owned()],
        with_deleted: false,
    };
    match run(partita, "ann", get).await.unwrap() {
        Answer::Record(shelf) => shelf.attributes,
        other => panic!("{other:?}"),
    }
}

async fn is_clean(partita: &Partita) {
    let mut found = partita_verify::Collected::default();
    partita.verify(&mut found).await.unwrap();
    assert!(found.open.is_empty(), "{:#?}", found.open);
}

fn faults(answer: Result<Answer, PlanError>) -> Vec<String> {
    let Err(PlanError::Invalid { faults }) = answer else {
        panic!("{answer:?}");
    };
    let mut names: Vec<_> = faults.into_iter().map(|fault| fault.attribute).collect();
    names.sort();
    names
}

#[tokio::test]
async fn creates_with_defaults_and_then_replaces_what_is_given() {
    let (partita, clock) = on_the_model().await;
    let created = run(
        &partita,
        "ann",
        put(json!({"title": "Dune", "pages": 412}), None),
    )
    .await;
    let Ok(Answer::Created(book)) = created else {
        panic!("{created:?}");
    };
    assert_eq!(
        book.attributes["id"],
        Value::from(BOOK),
        "the identity gives it"
    );
    assert_eq!(book.attributes["language"], Value::from("en"));
    assert_eq!(book.attributes["status"], Value::from("new"));
    assert_eq!(
        shelf(&partita).await["pages"],
        Value::N(Number::from(412_i64))
    );

    clock.advance(1000);
    let change = json!({"bookId": BOOK, "title": "Dune", "pages": 400, "note": "worms"});
    let changed = run(&partita, "ann", put(change, Some(1))).await;
    let Ok(Answer::Record(changed)) = changed else {
        panic!("{changed:?}");
    };
    assert_eq!(
        changed.attributes["createdAt"],
        book.attributes["createdAt"]
    );
    assert_ne!(
        changed.attributes["updatedAt"],
        book.attributes["updatedAt"]
    );
    assert_eq!(changed.attributes["version"], Value::N(Number::from(2_i64)));
    let shelved = shelf(&partita).await;
    assert_eq!(shelved["books"], Value::N(Number::from(1_i64)));
    assert_eq!(shelved["pages"], Value::N(Number::from(400_i64)));

    let cleared = run(&partita, "ann", put(json!({"note": null}), None)).await;
    let Ok(Answer::Record(cleared)) = cleared else {
        panic!("{cleared:?}");
    };
    assert!(!cleared.attributes.contains_key("note"));
    assert_eq!(
        cleared.attributes["pages"],
        Value::N(Number::from(400_i64)),
        "it was not given"
    );
    is_clean(&partita).await;
}

#[tokio::test]
async fn refuses_what_a_creation_or_a_change_would() {
    let (partita, _) = on_the_model().await;
    let stale = run(&partita, "ann", put(json!({"title": "Dune"}), Some(1))).await;
    assert!(
        matches!(stale, Err(PlanError::StaleVersion { .. })),
        "{stale:?}"
    );
    let bad = json!({"pages": -1, "status": "read", "colour": "red", "owner": "bob"});
    let bad = faults(run(&partita, "ann", put(bad, None)).await);
    assert_eq!(bad, ["colour", "owner", "pages", "status", "title"]);
    let other = json!({"bookId": "01JGFJJZ00000000000000AAAA", "title": "Dune"});
    assert_eq!(faults(run(&partita, "ann", put(other, None)).await), ["id"]);

    let book = json!({"title": "Dune", "edition": 1});
    run(&partita, "ann", put(book.clone(), None)).await.unwrap();
    let same = run(&partita, "ann", put(book, None)).await;
    assert!(matches!(same, Ok(Answer::Record(_))), "{same:?}");
    let bad = json!({"title": null, "edition": 2, "status": "lent", "shelfId": "t"});
    let bad = faults(run(&partita, "ann", put(bad, None)).await);
    assert_eq!(bad, ["edition", "shelfId", "status", "title"]);
    let stale = run(&partita, "ann", put(json!({"title": "Emma"}), Some(1))).await;
    assert!(
        matches!(stale, Err(PlanError::StaleVersion { .. })),
        "{stale:?}"
    );
    is_clean(&partita).await;
}

#[tokio::test]
async fn leaves_what_is_deleted_until_it_is_restored() {
    let (partita, _) = on_the_model().await;
    run(&partita, "ann", put(json!({"title": "Dune"}), None))
        .await
        .unwrap();
    let delete = Operation::Delete {
        entity: "Book".to_owned(),
        identity: vec!["s".to_owned(), BOOK.to_owned()],
        version: None,
    };
    run(&partita, "ann", delete).await.unwrap();
    let answer = run(&partita, "ann", put(json!({"title": "Emma"}), None)).await;
    let Err(PlanError::NotFound { deleted: true, .. }) = answer else {
        panic!("{answer:?}");
    };
    is_clean(&partita).await;
}

#[tokio::test]
async fn a_stranger_hears_of_an_item_only_where_it_is_in_the_way() {
    let (partita, _) = on_the_model().await;
    run(&partita, "ann", put(json!({"title": "Dune"}), None))
        .await
        .unwrap();
    let taken = run(&partita, "bob", put(json!({"title": "Emma"}), None)).await;
    assert!(matches!(taken, Err(PlanError::Exists { .. })), "{taken:?}");
    assert_eq!(
        faults(run(&partita, "bob", put(json!({}), None)).await),
        ["title"]
    );
    let emma = put(json!({"title": "Emma"}), None);
    let nobody = partita.run(&Caller::anonymous(), emma).await;
    assert!(
        matches!(nobody, Err(PlanError::Unauthenticated { .. })),
        "{nobody:?}"
    );
}

#[tokio::test]
async fn an_identity_that_is_computed_cannot_be_chosen() {
    let (partita, clock) = on_the_model().await;
    let visit = |at: &str, mood: &str| Operation::Upsert {
        entity: "Visit".to_owned(),
        identity: vec!["ann".to_owned(), at.to_owned()],
        attributes: Map::from([("mood".to_owned(), Value::from(mood))]),
        version: None,
    };
    let chosen = run(&partita, "ann", visit("2020-01-01T00:00:00.000Z", "good")).await;
    let is_missing = matches!(chosen, Err(PlanError::NotFound { .. }));
    assert!(is_missing, "{chosen:?}");
    let create = Operation::Create {
        entity: "Visit".to_owned(),
        attributes: Map::from([("visitor".to_owned(), Value::from("ann"))]),
    };
    let Ok(Answer::Created(made)) = run(&partita, "ann", create).await else {
        panic!("nothing was created");
    };
    clock.advance(5);
    let at = made.attributes["at"].as_str().unwrap();
    let changed = run(&partita, "ann", visit(at, "good")).await;
    assert!(matches!(changed, Ok(Answer::Record(_))), "{changed:?}");
}

#[tokio::test]
async fn under_a_key_it_happens_once_and_says_the_same_again() {
    let (partita, _) = on_the_model().await;
    let ann = Caller::user("ann");
    let dune = || put(json!({"title": "Dune", "pages": 10}), None);
    let first = partita.run_once(&ann, dune(), "k").await;
    run(&partita, "ann", put(json!({"pages": 20}), None))
        .await
        .unwrap();
    let again = partita.run_once(&ann, dune(), "k").await;
    assert!(matches!(first, Ok(Answer::Created(_))), "{first:?}");
    assert_eq!(first, again);
    assert_eq!(
        shelf(&partita).await["pages"],
        Value::N(Number::from(20_i64))
    );
}

/// Some meet an item that another has created since they looked, some one that was deleted.
#[test]
fn whoever_meets_another_changes_what_the_other_has_made() {
    let faults = Faults {
        conflict: 0.1,
        throttle: 0.05,
        unknown_outcome: 0.05,
    };
    for seed in 0..20 {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let clock = Arc::new(ManualClock::at(1_767_225_600_000));
            let store = Arc::new(ModelStore::default());
            open(store.clone(), &clock).await;
            let faulty = Arc::new(FaultyStore::new(store, faults, seed));
            let partita = Arc::new(open(faulty, &clock).await);
            let clients = (0..4_i64).map(|client| {
                let partita = partita.clone();
                tokio::spawn(async move {
                    let title = format!("Dune {client}");
                    let book = json!({"title": title, "pages": 100 + client});
                    run(&partita, "ann", put(book, None)).await
                })
            });
            let clients: Vec<_> = clients.collect();
            let mut created = 0;
            for client in clients {
                match client.await.unwrap() {
                    Ok(Answer::Created(_)) => created += 1,
                    Ok(Answer::Record(_)) => {}
                    other => panic!("seed {seed}: {other:?}"),
                }
            }
            assert_eq!(created, 1, "seed {seed}");
            assert_eq!(
                shelf(&partita).await["books"],
                Value::N(Number::from(1_i64))
            );
            is_clean(&partita).await;
        });
    }
}
