//! What is derived is not as the design says: whoever meets it hears what is wrong, and who mends it.

use std::sync::Arc;

use partita_core::expression::Update;
use partita_core::{Item, Map, Value};
use partita_design::template::dotted;
use partita_plan::{Answer, Caller, Operation, Partita, PlanError};
use partita_store::request::{DeleteItem, ReturnValues, UpdateItem};
use partita_store::{ModelStore, Store};
use partita_verify::{Collected, Permission};

use crate::stage::{open, texts};

const DESIGN: &str = r#"
design = "polls"

[table]
name = "polls"
key  = ["PK", "SK"]

[index]
GSI1 = ["GSI1PK", "GSI1SK"]

[entity.Poll]
PK     = "POLL#{pollId}"
SK     = "METADATA"
GSI1PK = "POLLS"
GSI1SK = "{heat:06}#{pollId}"

[entity.Poll.attributes]
pollId  = "string"
title   = "string"
votes   = "count of Vote"
heat    = "count of Cheer"
version = "version"

[entity.Poll.unique]
title = "TITLE#{title}"

[entity.Poll.allow]
"*" = "signed-in"

[entity.Vote]
PK = "POLL#{pollId}"
SK = "VOTE#{voter}"

[entity.Vote.attributes]
pollId = "string"
voter  = "string"

[entity.Vote.refs]
poll = "Poll, on delete cascade"

[entity.Vote.allow]
"*" = "signed-in"

[entity.Cheer]
PK = "POLL#{pollId}"
SK = "CHEER#{voter}"

[entity.Cheer.attributes]
pollId = "string"
voter  = "string"

[entity.Cheer.refs]
poll = "Poll, on delete cascade"

[entity.Cheer.allow]
"*" = "signed-in"

[view.Past]
history-of = "Poll"
PK         = "PAST#{pollId}"
SK         = "{version:06}"
keep       = ["title", "version"]

[pattern.polls]
query = "GSI1PK = 'POLLS'"

[pattern.past]
query = "PK = 'PAST#{pollId}'"

[pattern.votes]
query = "PK = 'POLL#{pollId}' AND begins_with(SK, 'VOTE#')"

[pattern.cheers]
query = "PK = 'POLL#{pollId}' AND begins_with(SK, 'CHEER#')"
"#;

struct Polls {
    store: Arc<ModelStore>,
    partita: Partita,
}

impl Polls {
    /// A poll with a vote.
    async fn open() -> Polls {
        let store = Arc::new(ModelStore::default());
        let polls = Polls {
            partita: open(DESIGN, store.clone(), 1).await,
            store,
        };
        let poll = texts(&[("pollId", "p"), ("title", "Sea or hills?")]);
        polls.create("Poll", poll).await.unwrap();
        polls.vote("ann").await.unwrap();
        polls
    }

    async fn run(&self, operation: Operation) -> Result<Answer, PlanError> {
        self.partita.run(&Caller::user("ann"), operation).await
    }

    async fn create(&self, entity: &str, attributes: Map) -> Result<Answer, PlanError> {
        let entity = entity.to_owned();
        self.run(Operation::Create { entity, attributes }).await
    }

    async fn vote(&self, voter: &str) -> Result<Answer, PlanError> {
        let vote = texts(&[("pollId", "p"), ("voter", voter)]);
        self.create("Vote", vote).await
    }

    async fn cheer(&self, voter: &str) -> Result<Answer, PlanError> {
        let cheer = texts(&[("pollId", "p"), ("voter", voter)]);
        self.create("Cheer", cheer).await
    }

    async fn delete(&self) -> Result<Answer, PlanError> {
        self.run(Operation::Delete {
            entity: "Poll".into(),
            identity: vec!["p".into()],
            version: None,
        })
        .await
    }

    async fn rename(&self, title: &str) -> Result<Answer, PlanError> {
        self.run(Operation::Update {
            entity: "Poll".into(),
            identity: vec!["p".into()],
            changes: texts(&[("title", title)]),
            with_deleted: false,
            version: None,
        })
        .await
    }

    /// A program that knows nothing of the design writes into a poll.
    async fn spoil(&self, name: &str, value: Value) {
        let update = UpdateItem {
            table: "polls".parse().unwrap(),
            key: key("POLL#p", "METADATA"),
            update: Update::default().setting(dotted(name), value),
            condition: None,
            return_item_on_failure: false,
        };
        let spoilt = self.store.update_item(update, ReturnValues::None).await;
        spoilt.unwrap();
    }

    /// The same deletes something.
    async fn remove(&self, partition: &str, sort: &str) {
        let delete = DeleteItem {
            table: "polls".parse().unwrap(),
            key: key(partition, sort),
            condition: None,
            return_item_on_failure: false,
        };
        let removed = self.store.delete_item(delete, ReturnValues::None).await;
        removed.unwrap();
    }

    async fn repair(&self) {
        let mut found = Collected::default();
        let repaired = self.partita.repair(Permission::granted(), &mut found);
        repaired.await.unwrap();
    }

    /// The states that were kept of the poll.
    async fn past(&self) -> usize {
        let answer = self.run(Operation::Query {
            pattern: "past".into(),
            parameters: [("pollId".to_owned(), "p".to_owned())].into(),
            limit: None,
            cursor: None,
        });
        match answer.await.unwrap() {
            Answer::Page { records, .. } => records.len(),
            other => panic!("{other:?}"),
        }
    }
}

fn key(partition: &str, sort: &str) -> Item {
    Item::from([("PK", partition), ("SK", sort)].map(|(name, text)| (name, Value::from(text))))
}

/// What is said, and what it is about.
fn check(answer: Result<Answer, PlanError>, attribute: &str, said: &str) {
    let Err(error) = answer else {
        panic!("{answer:?}");
    };
    let PlanError::Drift {
        attribute: found, ..
    } = &error
    else {
        panic!("{error:?}");
    };
    assert_eq!(found, attribute);
    let sentence = error.to_string();
    assert!(sentence.contains(said), "{sentence}");
    assert!(sentence.contains("`partita repair`"), "{sentence}");
}

#[tokio::test]
async fn a_count_that_is_wrong_is_named_where_it_keeps_an_item() {
    for (count, said) in [
        (
            3,
            "`votes` of this `Poll` counts 2 `Vote` that are not found",
        ),
        (0, "counts less `Vote` than there are"),
    ] {
        let polls = Polls::open().await;
        polls.spoil("votes", Value::from(count)).await;
        check(polls.delete().await, "votes", said);
        polls.repair().await;
        polls.delete().await.unwrap();
    }
}

#[tokio::test]
async fn a_guard_that_is_missing_or_anothers_is_named() {
    for said in [
        "`title` of this `Poll` has no guard",
        "is guarded for another item",
    ] {
        let polls = Polls::open().await;
        polls.remove("TITLE#Sea or hills?", "UNIQUE").await;
        if said.contains("another") {
            let other = texts(&[("pollId", "q"), ("title", "Sea or hills?")]);
            polls.create("Poll", other).await.unwrap();
        }
        check(polls.rename("Hills or sea?").await, "title", said);
        check(polls.delete().await, "title", said);
    }
    let polls = Polls::open().await;
    polls.remove("TITLE#Sea or hills?", "UNIQUE").await;
    polls.repair().await;
    polls.rename("Hills or sea?").await.unwrap();
}

#[tokio::test]
async fn a_count_that_is_no_number_is_named() {
    let polls = Polls::open().await;
    polls.spoil("votes", Value::from("many")).await;
    let said = "`votes` of this `Poll` is stored as something else than a number";
    check(polls.vote("bob").await, "votes", said);
    polls.repair().await;
    polls.vote("bob").await.unwrap();
}

/// A count is no write of its item, whether it is part of a key or not.
#[tokio::test]
async fn a_count_in_a_key_replaces_no_state() {
    let polls = Polls::open().await;
    for voter in ["ann", "bob", "cy"] {
        polls.cheer(voter).await.unwrap();
        polls.vote(&format!("{voter}-too")).await.unwrap();
    }
    assert_eq!(polls.past().await, 0);
    polls.rename("Hills or sea?").await.unwrap();
    polls.cheer("dan").await.unwrap();
    polls.rename("Neither").await.unwrap();
    assert_eq!(polls.past().await, 2);
}
