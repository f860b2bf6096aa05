//! The table's `ttl`: only what the design declares as an `expiry` lets the store delete an item.

use std::sync::Arc;

use partita_core::{Item, Map, Value, plain};
use partita_plan::{Caller, Operation, Partita, PlanError};
use partita_store::request::{PutItem, ReturnValues};
use partita_store::{ModelStore, Store};
use partita_verify::{Collected, Permission};
use serde_json::{Value as Json, json};

use crate::stage::{NOW, items, open};

const DESIGN: &str = r#"
design = "polls"

[table]
name = "polls"
key  = ["PK", "SK"]
ttl  = "ttl"

[entity.Poll]
PK = "POLL#{pollId}"
SK = "POLL"

[entity.Poll.attributes]
pollId = "string"
votes  = "count of Vote"

[entity.Poll.allow]
"*" = "signed-in"

[entity.Vote]
PK     = "POLL#{pollId}"
SK     = "VOTE#{userId}"
open   = true
repeat = "update"

[entity.Vote.attributes]
pollId = "string"
userId = "string"
code   = "string?"

[entity.Vote.refs]
poll = "Poll, on delete refuse"

[entity.Vote.unique]
code = "UNIQUE#CODE#{code}"

[entity.Vote.allow]
"*" = "userId = caller"

[view.Ballot]
of   = "Vote"
PK   = "BALLOTS#{pollId}"
SK   = "B#{userId}"
keep = ["code"]
"#;

fn map(attributes: Json) -> Map {
    plain::map_from_json(attributes.as_object().unwrap().clone()).unwrap()
}

fn create(entity: &str, attributes: Json) -> Operation {
    Operation::Create {
        entity: entity.to_owned(),
        attributes: map(attributes),
    }
}

async fn run(partita: &Partita, operation: Operation) -> Result<(), PlanError> {
    let answer = partita.run(&Caller::user("bob"), operation).await;
    answer.map(|_| ())
}

/// A poll with bob's vote.
async fn voted(store: &Arc<dyn Store>) -> Partita {
    let partita = open(DESIGN, store.clone(), 1).await;
    let vote = json!({"pollId": "p", "userId": "bob", "code": "c", "more": 1});
    run(&partita, create("Poll", json!({"pollId": "p"})))
        .await
        .unwrap();
    run(&partita, create("Vote", vote)).await.unwrap();
    partita
}

#[tokio::test]
async fn callers_cannot_give_an_open_entity_the_ttl() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = voted(&store).await;
    let other = create("Poll", json!({"pollId": "q"}));
    run(&partita, other).await.unwrap();
    let vote = || ("Vote".to_owned(), vec!["p".to_owned(), "bob".to_owned()]);
    for ttl in [json!(1), json!("1"), json!(null)] {
        let whole = json!({"pollId": "p", "userId": "bob", "ttl": ttl});
        let (entity, identity) = vote();
        let update = Operation::Update {
            entity,
            identity,
            changes: map(json!({"ttl": ttl})),
            with_deleted: false,
            version: None,
        };
        let other = json!({"pollId": "q", "userId": "bob", "ttl": ttl});
        for operation in [create("Vote", whole), create("Vote", other), update] {
            let refused = run(&partita, operation.clone()).await;
            let Err(PlanError::Invalid { faults }) = refused else {
                panic!("{operation:?}: {refused:?}");
            };
            assert_eq!(faults[0].message, "is kept by Partita and cannot be given");
        }
    }
    let stored = items(&*store, "polls").await;
    assert!(
        stored.iter().all(|item| !item.contains_key("ttl")),
        "{stored:?}"
    );
    assert_eq!(
        partita
            .verify(&mut Collected::default())
            .await
            .unwrap()
            .drifts,
        0
    );
}

/// Sets the ttl of bob's vote past the design.
async fn give_ttl(store: &dyn Store, seconds: i64) {
    let stored = items(store, "polls").await;
    let is_vote = |item: &&Item| item["SK"] == Value::from("VOTE#bob");
    let mut vote = stored.iter().find(is_vote).unwrap().clone();
    vote.insert("ttl".to_owned(), Value::from(seconds));
    let put = PutItem::new("polls".parse().unwrap(), vote);
    store.put_item(put, ReturnValues::None).await.unwrap();
}

#[tokio::test]
async fn what_expired_items_left_behind_is_mended_before_they_are_swept() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = voted(&store).await;
    give_ttl(&*store, NOW / 1000 - 5).await;
    let mut found = Collected::default();
    let report = partita.verify(&mut found).await.unwrap();
    assert_eq!(
        report.drifts, 3,
        "the count, the ballot, the guard: {:?}",
        found.open
    );
    let all = Permission::granted();
    let report = partita.repair(all, &mut found).await.unwrap();
    assert_eq!(
        (report.mended, report.is_clean()),
        (3, true),
        "{:?}",
        found.open
    );
    let stored = items(&*store, "polls").await;
    assert_eq!(stored.len(), 2, "the poll, and the vote until it is swept");
}

/// Somebody gave it, so somebody has to say that it goes.
#[tokio::test]
async fn a_ttl_that_was_given_is_told_and_goes_only_by_name() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = voted(&store).await;
    give_ttl(&*store, NOW / 1000 + 5_000).await;
    let mut found = Collected::default();
    let report = partita
        .repair(Permission::granted(), &mut found)
        .await
        .unwrap();
    assert_eq!((report.mended, report.is_clean()), (0, false));
    let told = found.open[0].0.to_string();
    assert!(told.contains("lets the store delete the item"), "{told}");
    let named = Permission::granted().to_remove("entity.Vote.open");
    let report = partita.repair(named, &mut found).await.unwrap();
    assert_eq!(
        (report.mended, report.is_clean()),
        (1, true),
        "{:?}",
        found.open
    );
    let stored = items(&*store, "polls").await;
    assert!(stored.iter().all(|item| !item.contains_key("ttl")));
    assert!(stored.iter().any(|item| item.contains_key("more")));
}
