//! Previews of the shipped designs, to the letter, and that they cost what the writes cost.

use std::sync::Arc;

use partita_core::{Map, plain};
use partita_store::request::TransactWriteItems;
use serde_json::{Value as Json, json};

use super::Preview;
use crate::planner::tests::{NODE, STORY, open, storyhub};
use crate::{Caller, Operation, Partita, PlanError};

fn attributes(json: Json) -> Map {
    plain::map_from_json(json.as_object().unwrap().clone()).unwrap()
}

fn create(entity: &str, given: Json) -> Operation {
    Operation::Create {
        entity: entity.to_owned(),
        attributes: attributes(given),
    }
}

fn vote() -> Operation {
    create(
        "Vote",
        json!({"userId": "bob", "nodeId": NODE, "storyId": STORY, "voteType": "UPVOTE"}),
    )
}

async fn preview(partita: &Partita, user: &str, operation: Operation) -> Preview {
    let caller = Caller::user(user);
    partita.preview(&caller, operation).await.unwrap()
}

#[tokio::test]
async fn writes_of_stories() {
    let partita = open("stories").await;
    let story = json!({"userId": "ann", "id": STORY, "title": "Dune"});
    let created = preview(&partita, "ann", create("Story", story.clone())).await;
    insta::assert_snapshot!("create_story", created.to_string());
    insta::assert_snapshot!("create_story_json", format!("{:#}", created.to_json()));
    partita
        .run(&Caller::user("ann"), create("Story", story.clone()))
        .await
        .unwrap();
    let delete = Operation::Delete {
        entity: "Story".to_owned(),
        identity: vec!["ann".to_owned(), STORY.to_owned()],
        version: None,
    };
    let deleted = preview(&partita, "ann", delete).await;
    insta::assert_snapshot!("delete_story", deleted.to_string());
    let again = partita
        .preview(&Caller::user("ann"), create("Story", story))
        .await;
    let entity = "Story".to_owned();
    assert_eq!(
        again,
        Err(PlanError::Exists { entity }),
        "refused as the write would be"
    );
}

#[tokio::test]
async fn a_vote_and_a_read_of_storyhub() {
    let partita = storyhub().await;
    let voted = preview(&partita, "bob", vote()).await;
    insta::assert_snapshot!("vote", voted.to_string());
    insta::assert_snapshot!("vote_json", format!("{:#}", voted.to_json()));
    let read = Operation::Act {
        action: "recordRead".to_owned(),
        entity: Some("ChapterNode".to_owned()),
        identity: vec![STORY.to_owned(), NODE.to_owned()],
        given: Map::new(),
        version: None,
    };
    let counted = preview(&partita, "bob", read).await;
    insta::assert_snapshot!("record_read", counted.to_string());
    let query = Operation::Query {
        pattern: "browse".to_owned(),
        parameters: Default::default(),
        limit: None,
        cursor: None,
    };
    assert_eq!(preview(&partita, "bob", query).await, Preview::default());
}

/// Nothing is written by looking, and what was told is what the store takes for it.
#[tokio::test]
async fn a_preview_changes_nothing_and_costs_what_the_write_costs() {
    let partita = storyhub().await;
    let first = preview(&partita, "bob", vote()).await;
    let second = preview(&partita, "bob", vote()).await;
    assert_eq!(first.actions.len(), second.actions.len());
    let store = Arc::clone(&partita.runner.store);
    let request = TransactWriteItems {
        actions: first.actions.clone(),
        token: None,
    };
    let written = store.transact_write_items(request).await.unwrap();
    assert_eq!(written.consumed, first.consumed);
}
