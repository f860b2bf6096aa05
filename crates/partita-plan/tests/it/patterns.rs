//! Jobs for refs that go by a pattern: whoever refers does not know the key of what it refers to.

use std::sync::Arc;

use partita_core::{Item, Map, Value};
use partita_plan::{Caller, JobState, Operation, Partita, Patience, Surroundings};
use partita_store::request::Scan;
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_store::{ModelStore, Store};
use partita_testkit::{Faults, FaultyStore};

/// Likes know the id of their comment, but not the time in its key.
const DESIGN: &str = r#"
design = "talk"

[table]
name = "talk"
key  = ["PK", "SK"]

[entity.Comment]
PK = "ITEM#{itemId}"
SK = "COMMENT#{at}#{commentId}"

[entity.Comment.attributes]
itemId    = "string"
commentId = "string"
at        = "string"
author    = "string"
likes     = "count of Like"

[entity.Comment.allow]
"*" = "public"

[entity.Like]
PK = "ITEM#{itemId}"
SK = "LIKE#{commentId}#{userId}"

[entity.Like.attributes]
itemId    = "string"
commentId = "string"
userId    = "string"
author    = "copy comment.author"

[entity.Like.refs]
comment = "Comment via commentById, on delete cascade"

[entity.Like.allow]
"*" = "public"

[pattern.comments]
query = "PK = 'ITEM#{itemId}' AND begins_with(SK, 'COMMENT#')"

[pattern.commentById]
query  = "PK = 'ITEM#{itemId}' AND begins_with(SK, 'COMMENT#')"
filter = "commentId = '{commentId}'"
one    = true
whole  = 1000

[pattern.likes]
query = "PK = 'ITEM#{itemId}' AND begins_with(SK, 'LIKE#{commentId}#')"
"#;

async fn open(store: Arc<dyn Store>, seed: u64) -> Partita {
    let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let surroundings = Surroundings {
        clock: Arc::new(ManualClock::at(1_767_225_600_000)),
        entropy: Arc::new(SeededEntropy::new(seed)),
        cursor_key: [7; 32],
        patience: Patience {
            attempts: 20,
            pause_millis: 0,
        },
    };
    Partita::open_with(design, store, surroundings)
        .await
        .unwrap()
}

async fn create(partita: &Partita, entity: &str, given: &[(&str, &str)]) {
    let given = given.iter();
    let attributes = given.map(|(name, text)| ((*name).to_owned(), Value::from(*text)));
    let operation = Operation::Create {
        entity: entity.to_owned(),
        attributes: attributes.collect(),
    };
    partita.run(&Caller::user("ann"), operation).await.unwrap();
}

/// Two comments with many likes each.
async fn filled(store: &Arc<dyn Store>) -> Partita {
    let partita = open(store.clone(), 1).await;
    for (comment, at) in [("c", "2025"), ("d", "2026")] {
        let given = [
            ("itemId", "i"),
            ("commentId", comment),
            ("at", at),
            ("author", "ann"),
        ];
        create(&partita, "Comment", &given).await;
        for number in 0..150 {
            let user = format!("{number:04}");
            let given = [("itemId", "i"), ("commentId", comment), ("userId", &*user)];
            create(&partita, "Like", &given).await;
        }
    }
    partita
}

/// How many likes there are of a comment, and what they say of its author.
async fn likes(store: &dyn Store, comment: &str) -> (usize, Vec<String>) {
    let page = store
        .scan(Scan::new("talk".parse().unwrap()))
        .await
        .unwrap();
    let items: Vec<Item> = page.answer.into_parts().unwrap().items;
    let items: Vec<&Item> = items
        .iter()
        .filter(|item| item.contains_key("userId") && item["commentId"] == Value::from(comment))
        .collect();
    let authors = items
        .iter()
        .map(|item| item["author"].as_str().unwrap().to_owned());
    let mut authors: Vec<String> = authors.collect();
    authors.dedup();
    (items.len(), authors)
}

fn identity() -> Vec<String> {
    ["i", "2025", "c"].map(str::to_owned).into()
}

#[tokio::test]
async fn copies_follow_and_cascades_remove_whoever_names_the_item() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = filled(&store).await;
    let ann = Caller::user("ann");
    let update = Operation::Update {
        entity: "Comment".into(),
        identity: identity(),
        changes: Map::from([("author", "eve".into())]),
        with_deleted: false,
        version: None,
    };
    partita.run(&ann, update).await.unwrap();
    assert_eq!(partita.run_jobs().await, Ok(1));
    assert_eq!(likes(&*store, "c").await, (150, vec!["eve".to_owned()]));
    assert_eq!(likes(&*store, "d").await, (150, vec!["ann".to_owned()]));

    let delete = Operation::Delete {
        entity: "Comment".into(),
        identity: identity(),
        version: None,
    };
    partita.run(&ann, delete).await.unwrap();
    let faults = Faults {
        conflict: 0.2,
        throttle: 0.0,
        unknown_outcome: 0.2,
    };
    let faulty = open(Arc::new(FaultyStore::new(store.clone(), faults, 3)), 2).await;
    assert_eq!(faulty.run_jobs().await, Ok(1));
    assert_eq!(likes(&*store, "c").await.0, 0);
    assert_eq!(likes(&*store, "d").await.0, 150, "those of another stay");
    let jobs = partita.jobs().await.unwrap();
    assert!(
        jobs.iter().all(|job| job.state == JobState::Done),
        "{jobs:?}"
    );
    let cascade = jobs.iter().find(|job| job.expected.is_some()).unwrap();
    assert_eq!(cascade.tasks, ["Like.comment"]);
    assert_eq!((cascade.done, cascade.expected), (150, Some(150)));
}
