//! Attributes that a design does not list: nobody is shown them, and nothing removes them.

use std::sync::Arc;

use partita_core::{Map, Value, plain};
use partita_plan::{Answer, Caller, Operation, Partita};
use partita_store::request::{PutItem, ReturnValues};
use partita_store::{ModelStore, Store};
use serde_json::{Value as Json, json};

use crate::stage::{items, open};

fn design(is_open: bool) -> String {
    format!(
        r#"
design = "notes"

[table]
name          = "notes"
key           = ["PK", "SK"]
discriminator = "Kind"

[entity.Note]
PK   = "USER#{{userId}}"
SK   = "NOTE#{{noteId}}"
open = {is_open}

[entity.Note.attributes]
userId     = "string"
noteId     = "string"
title      = "string"
stats.size = "int?"

[entity.Note.allow]
"*" = "public"

[pattern.notes]
query = "PK = 'USER#{{userId}}' AND begins_with(SK, 'NOTE#')"
"#
    )
}

fn map(attributes: Json) -> Map {
    plain::map_from_json(attributes.as_object().unwrap().clone()).unwrap()
}

/// A note into which another program wrote more than the design knows of.
async fn with_more(is_open: bool) -> (Partita, Arc<dyn Store>) {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(&design(is_open), store.clone(), 1).await;
    let note = map(json!({
        "PK": "USER#ann", "SK": "NOTE#1", "Kind": "Note", "userId": "ann", "noteId": "1",
        "title": "One", "stats": {"size": 3, "rank": 9}, "ssn": "078-05-1120",
    }));
    let put = PutItem::new("notes".parse().unwrap(), note);
    store.put_item(put, ReturnValues::None).await.unwrap();
    (partita, store)
}

async fn shown(partita: &Partita, operation: Operation) -> Json {
    let answer = partita.run(&Caller::user("bob"), operation).await.unwrap();
    let record = match answer {
        Answer::Record(record) => record,
        Answer::Page { records, .. } => records.into_iter().next().unwrap(),
        other => panic!("{other:?}"),
    };
    Json::Object(plain::map_to_json(&record.attributes))
}

fn get() -> Operation {
    Operation::Get {
        entity: "Note".to_owned(),
        identity: vec!["ann".to_owned(), "1".to_owned()],
        with_deleted: false,
    }
}

fn query() -> Operation {
    Operation::Query {
        pattern: "notes".to_owned(),
        parameters: [("userId".to_owned(), "ann".to_owned())].into(),
        limit: None,
        cursor: None,
    }
}

fn update() -> Operation {
    Operation::Update {
        entity: "Note".to_owned(),
        identity: vec!["ann".to_owned(), "1".to_owned()],
        changes: map(json!({"title": "Two"})),
        with_deleted: false,
        version: None,
    }
}

#[tokio::test]
async fn they_are_shown_to_nobody_and_stay() {
    let (partita, store) = with_more(false).await;
    for operation in [get(), query(), update()] {
        let shown = shown(&partita, operation.clone()).await;
        assert_eq!(shown.get("ssn"), None, "{operation:?}");
        assert_eq!(shown["stats"], json!({"size": 3}), "{operation:?}");
        assert_eq!(shown["Kind"], "Note", "{operation:?}");
    }
    let stored = items(&*store, "notes").await;
    let note = stored.iter().find(|item| item["SK"] == "NOTE#1".into());
    let note = note.unwrap();
    assert_eq!(note["title"], "Two".into());
    assert_eq!(note["ssn"], "078-05-1120".into());
    assert!(matches!(&note["stats"], Value::M(stats) if stats.contains_key("rank")));
}

#[tokio::test]
async fn an_open_entity_shows_them() {
    let (partita, _) = with_more(true).await;
    for operation in [get(), query(), update()] {
        let shown = shown(&partita, operation.clone()).await;
        assert_eq!(shown["ssn"], "078-05-1120", "{operation:?}");
        assert_eq!(shown["stats"]["rank"], 9, "{operation:?}");
    }
}
