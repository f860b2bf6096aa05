//! Records with attributes of their own: members of conversations and what they have not read.

use std::sync::Arc;

use partita_core::{Map, Value};
use partita_plan::{Answer, Caller, Operation, Partita, Surroundings};
use partita_store::ModelStore;

const DESIGN: &str = r#"
design = "talk"

[table]
name = "talk"
key  = ["PK", "SK"]

[entity.Conversation]
PK = "CONV#{convId}"
SK = "META"

[entity.Conversation.attributes]
convId         = "string"
participantIds = "list of string 1..20"
lastMessageAt  = "timestamp?"
title          = "string"

[entity.Conversation.allow]
"*" = "signed-in"

[view.Member]
of   = "Conversation"
each = "userId in participantIds"
PK   = "USER#{userId}"
SK   = "CONV#{convId}"
keep = ["convId", "title", "lastMessageAt"]

[view.Member.attributes]
lastReadAt  = "timestamp?"
unreadCount = "counter"

[view.Member.allow]
read     = "userId = caller"
markRead = "userId = caller"

[action.markRead]
entity = "Member"
set    = { lastReadAt = "{now}", unreadCount = 0 }

[entity.Message]
PK = "CONV#{convId}"
SK = "MSG#{messageId}"

[entity.Message.attributes]
convId    = "string"
messageId = "ulid, generated"
senderId  = "string = caller on create"
createdAt = "timestamp = now on create"

[entity.Message.refs]
conversation = "Conversation"

[entity.Message.allow]
"*" = "signed-in"

[trigger.messageTime]
on     = "create Message"
update = "conversation"
set    = { lastMessageAt = "{createdAt}" }

[trigger.unread]
on     = "create Message"
each   = "member in conversation.participantIds"
when   = "member <> senderId"
update = "Member(userId = member)"
add    = { unreadCount = 1 }

[pattern.conversations]
query = "PK = 'USER#{userId}' AND begins_with(SK, 'CONV#')"

[pattern.messages]
query = "PK = 'CONV#{convId}' AND begins_with(SK, 'MSG#')"

[pattern.conversation]
get = "PK = 'CONV#{convId}' AND SK = 'META'"
"#;

async fn talk() -> Partita {
    let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let store = Arc::new(ModelStore::default());
    let partita = Partita::open(design, store, Surroundings::default()).await;
    partita.unwrap()
}

fn people(names: &[&str]) -> Value {
    Value::L(names.iter().map(|name| Value::from(*name)).collect())
}

async fn run(partita: &Partita, user: &str, operation: Operation) -> Answer {
    partita.run(&Caller::user(user), operation).await.unwrap()
}

fn create(entity: &str, attributes: Map) -> Operation {
    Operation::Create {
        entity: entity.to_owned(),
        attributes,
    }
}

fn change(name: &str, value: Value) -> Operation {
    Operation::Update {
        entity: "Conversation".to_owned(),
        identity: vec!["c".to_owned()],
        changes: Map::from([(name.to_owned(), value)]),
        with_deleted: false,
        version: None,
    }
}

/// The only conversation of a user.
async fn side_of(partita: &Partita, user: &str) -> Option<Map> {
    let query = Operation::Query {
        pattern: "conversations".to_owned(),
        parameters: [("userId".to_owned(), user.to_owned())].into(),
        limit: None,
        cursor: None,
    };
    match run(partita, user, query).await {
        Answer::Page { mut records, .. } => records.pop().map(|record| record.attributes),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn unread_messages_are_counted_for_everybody_but_the_sender() {
    let partita = talk().await;
    let conversation = Map::from([
        ("convId".to_owned(), Value::from("c")),
        ("title".to_owned(), Value::from("Lunch")),
        ("participantIds".to_owned(), people(&["ann", "bob"])),
    ]);
    run(&partita, "ann", create("Conversation", conversation)).await;
    let message = || {
        create(
            "Message",
            Map::from([("convId".to_owned(), Value::from("c"))]),
        )
    };
    run(&partita, "ann", message()).await;
    run(&partita, "ann", message()).await;

    let bob = side_of(&partita, "bob").await.unwrap();
    assert_eq!(bob["unreadCount"], Value::from(2));
    assert!(bob.contains_key("lastMessageAt"), "{bob:?}");
    let ann = side_of(&partita, "ann").await.unwrap();
    assert_eq!(ann["unreadCount"], Value::from(0));

    // What is derived changes, and what is the record's own stays.
    run(&partita, "ann", change("title", Value::from("Dinner"))).await;
    let bob = side_of(&partita, "bob").await.unwrap();
    assert_eq!(
        (&bob["title"], &bob["unreadCount"]),
        (&"Dinner".into(), &2.into())
    );

    let read = Operation::Act {
        action: "markRead".to_owned(),
        entity: Some("Member".to_owned()),
        identity: vec!["bob".to_owned(), "c".to_owned()],
        given: Map::new(),
        version: None,
    };
    run(&partita, "bob", read.clone()).await;
    let bob = side_of(&partita, "bob").await.unwrap();
    assert_eq!(bob["unreadCount"], Value::from(0));
    assert!(bob.contains_key("lastReadAt"), "{bob:?}");
    let refused = partita.run(&Caller::user("ann"), read).await;
    assert!(refused.is_err(), "{refused:?}");

    // Who leaves loses his side; who comes begins with nothing unread.
    run(
        &partita,
        "ann",
        change("participantIds", people(&["ann", "cid"])),
    )
    .await;
    assert_eq!(side_of(&partita, "bob").await, None);
    let cid = side_of(&partita, "cid").await.unwrap();
    assert_eq!(cid["unreadCount"], Value::from(0));
}
