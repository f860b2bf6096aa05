//! Decisions to the letter, on the shipped designs.

use std::fmt::Write as _;

use partita_core::{Map, Value, plain};
use serde_json::{Value as Json, json};

use super::{Decision, Ruling};
use crate::planner::tests::{NODE, STORY, open, storyhub};
use crate::{Caller, Operation, Partita, PlanError};

fn attributes(json: Json) -> Map {
    plain::map_from_json(json.as_object().unwrap().clone()).unwrap()
}

fn identity(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

fn update(entity: &str, parts: &[&str], changes: Json) -> Operation {
    Operation::Update {
        entity: entity.to_owned(),
        identity: identity(parts),
        changes: attributes(changes),
        with_deleted: false,
        version: None,
    }
}

fn upsert(entity: &str, parts: &[&str], given: Json) -> Operation {
    Operation::Upsert {
        entity: entity.to_owned(),
        identity: identity(parts),
        attributes: attributes(given),
        version: None,
    }
}

fn act(action: &str, on: Option<(&str, &[&str])>, given: Json) -> Operation {
    Operation::Act {
        action: action.to_owned(),
        entity: on.map(|(entity, _)| entity.to_owned()),
        identity: on.map(|(_, parts)| identity(parts)).unwrap_or_default(),
        given: attributes(given),
        version: None,
    }
}

fn query(pattern: &str, parameters: &[(&str, &str)]) -> Operation {
    let parameters = parameters.iter();
    Operation::Query {
        pattern: pattern.to_owned(),
        parameters: parameters
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        limit: None,
        cursor: None,
    }
}

fn ruled(page: &mut String, indent: &str, rulings: &[Ruling]) {
    for ruling in rulings {
        let (record, asked, verdict) = (&ruling.record, &ruling.asked, ruling.verdict);
        let rule = ruling.rule.as_ref().map_or("no rule".to_owned(), |rule| {
            format!("line {}: {} = {}", rule.line, rule.words, rule.text)
        });
        writeln!(page, "{indent}{verdict:?} {asked} {record}, {rule}").unwrap();
    }
}

fn shown(decision: &Result<Decision, PlanError>) -> String {
    let decision = match decision {
        Ok(decision) => decision,
        Err(error) => return format!("{error}\n"),
    };
    let mut page = String::new();
    let answer = if decision.is_allowed { "yes" } else { "no" };
    writeln!(page, "{answer}").unwrap();
    ruled(&mut page, "  ", &decision.rulings);
    for row in &decision.rows {
        let identity = plain::to_json(&Value::M(row.identity.clone()));
        writeln!(page, "  {} {identity}", row.record).unwrap();
        ruled(&mut page, "    ", &row.rulings);
    }
    page
}

async fn asked(partita: &Partita, callers: &[Caller], questions: &[(&str, Operation)]) -> String {
    let mut page = String::new();
    for (title, operation) in questions {
        for caller in callers {
            let decision = partita.can(caller, operation.clone()).await;
            let who = caller.id.as_deref().unwrap_or("nobody");
            let role = caller.role.as_deref().map(|role| format!(" ({role})"));
            let role = role.unwrap_or_default();
            write!(page, "{who}{role}: {title}? {}", shown(&decision)).unwrap();
        }
        page.push('\n');
    }
    page
}

#[tokio::test]
async fn readers_and_authors_of_storyhub() {
    let partita = storyhub().await;
    let admin = Caller {
        role: Some("admin".to_owned()),
        ..Caller::user("root")
    };
    let callers = [
        Caller::anonymous(),
        Caller::user("ann"),
        Caller::user("bob"),
        admin,
    ];
    let chapter: &[&str] = &[STORY, NODE];
    let draft = json!({"storyId": STORY, "authorId": "bob", "title": "Two", "content": "…"});
    let questions = [
        (
            "read the chapter",
            Operation::Get {
                entity: "ChapterNode".to_owned(),
                identity: identity(chapter),
                with_deleted: false,
            },
        ),
        (
            "read ann's profile",
            Operation::Get {
                entity: "User".to_owned(),
                identity: identity(&["ann"]),
                with_deleted: false,
            },
        ),
        (
            "add bob's chapter",
            Operation::Create {
                entity: "ChapterNode".to_owned(),
                attributes: attributes(draft),
            },
        ),
        (
            "rename the chapter",
            update("ChapterNode", chapter, json!({"title": "Uno"})),
        ),
        (
            "rename and approve it",
            update(
                "ChapterNode",
                chapter,
                json!({"title": "Uno", "authorApproved": true}),
            ),
        ),
        (
            "put the chapter",
            upsert("ChapterNode", chapter, json!({"title": "Uno"})),
        ),
        (
            "put a missing chapter of bob's",
            upsert(
                "ChapterNode",
                &[STORY, STORY],
                json!({"authorId": "bob", "title": "Uno", "content": "…"}),
            ),
        ),
        (
            "approve it",
            act("approve", Some(("ChapterNode", chapter)), json!({})),
        ),
        (
            "delete the story",
            Operation::Delete {
                entity: "Story".to_owned(),
                identity: identity(&[STORY]),
                version: None,
            },
        ),
        (
            "delete the chapter",
            Operation::Delete {
                entity: "ChapterNode".to_owned(),
                identity: identity(chapter),
                version: None,
            },
        ),
        (
            "rename a missing chapter",
            update("ChapterNode", &[STORY, STORY], json!({"title": "Uno"})),
        ),
        (
            "list the chapters",
            query("chapters", &[("storyId", STORY)]),
        ),
        (
            "list bob's bookmarks",
            query("bookmarks", &[("userId", "bob")]),
        ),
        ("browse", query("browse", &[])),
    ];
    insta::assert_snapshot!(asked(&partita, &callers, &questions).await);
}

/// A vote on ann's chapter tells her so; whoever marks all of her notifications as read is decided
/// on at each of them.
#[tokio::test]
async fn actions_that_find_their_items() {
    let partita = storyhub().await;
    let vote = Operation::Create {
        entity: "Vote".to_owned(),
        attributes: attributes(json!({
            "userId": "bob", "nodeId": NODE, "storyId": STORY, "voteType": "UPVOTE",
        })),
    };
    partita.run(&Caller::user("bob"), vote).await.unwrap();
    let callers = [Caller::user("ann"), Caller::user("bob")];
    let questions = [
        (
            "mark ann's notifications as read",
            act("markAllRead", None, json!({"userId": "ann"})),
        ),
        (
            "mark one that is not there as read",
            act("markRead", None, json!({"notificationId": NODE})),
        ),
        (
            "list ann's notifications",
            query("notifications", &[("userId", "ann")]),
        ),
    ];
    insta::assert_snapshot!(asked(&partita, &callers, &questions).await);
}

#[tokio::test]
async fn owners_of_stories() {
    let partita = open("stories").await;
    let callers = [Caller::user("ann"), Caller::user("bob")];
    let story = json!({"userId": "ann", "title": "Dune"});
    let questions = [
        (
            "create a story of ann's",
            Operation::Create {
                entity: "Story".to_owned(),
                attributes: attributes(story),
            },
        ),
        (
            "restore a story of ann's that nobody has read",
            Operation::Restore {
                entity: "Story".to_owned(),
                identity: identity(&["ann", STORY]),
                version: None,
            },
        ),
        ("list ann's stories", query("stories", &[("userId", "ann")])),
    ];
    insta::assert_snapshot!(asked(&partita, &callers, &questions).await);
}

/// The API answers 404 for what a live ref hides, and refuses others before that.
#[tokio::test]
async fn an_item_that_a_live_ref_hides_is_not_found() {
    let partita = open("stories").await;
    let ann = Caller::user("ann");
    let create = |entity: &str, given: Json| Operation::Create {
        entity: entity.to_owned(),
        attributes: attributes(given),
    };
    let story = json!({"userId": "ann", "id": STORY, "title": "Dune"});
    partita.run(&ann, create("Story", story)).await.unwrap();
    let node = json!({"userId": "ann", "storyId": STORY, "id": NODE});
    partita.run(&ann, create("Node", node)).await.unwrap();
    let parts = ["ann", STORY, NODE];
    let questions = [
        Operation::Get {
            entity: "Node".to_owned(),
            identity: identity(&parts),
            with_deleted: false,
        },
        update("Node", &parts, json!({"prompt": "…"})),
        Operation::Delete {
            entity: "Node".to_owned(),
            identity: identity(&parts),
            version: None,
        },
    ];
    for question in &questions {
        let decision = partita.can(&ann, question.clone()).await.unwrap();
        assert!(decision.is_allowed, "{question:?}");
    }
    let delete = Operation::Delete {
        entity: "Story".to_owned(),
        identity: identity(&["ann", STORY]),
        version: None,
    };
    partita.run(&ann, delete).await.unwrap();
    for question in &questions {
        let asked = partita.can(&ann, question.clone()).await.err();
        let tried = partita.run(&ann, question.clone()).await.err();
        assert!(
            matches!(asked, Some(PlanError::NotFound { .. })),
            "{question:?}: {asked:?}"
        );
        assert_eq!(asked, tried, "{question:?}");
        let other = partita.can(&Caller::user("bob"), question.clone()).await;
        assert!(!other.unwrap().is_allowed, "{question:?}");
    }
}
