//! Records with attributes of their own: members of conversations and what they have not read.

use std::sync::Arc;

use partita_core::{Map, Value};
use partita_plan::{Answer, Caller, Operation, Partita, PlanError, Surroundings};
use partita_store::ModelStore;
use partita_store::surroundings::ManualClock;

const DESIGN: &str = r#"
design = "talk"

[table]
name = "talk"
key  = ["PK", "SK"]
ttl  = "TTL"

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

[entity.RateLimit]
PK = "USER#{userId}"
SK = "RATE#{action}"

[entity.RateLimit.attributes]
userId      = "string, key-only"
action      = "string, key-only"
count       = "counter"
windowStart = "epoch-ms"
TTL         = "expiry"

[entity.RateLimit.allow]
read = "userId = caller"

[limits]
entity = "RateLimit"
caller = "userId"
limit  = "action"
count  = "count"
start  = "windowStart"
end    = "TTL"

[limit.message]
of    = "create Message"
allow = "2 per hour"

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

[pattern.everything]
scan = "SK = 'META'"

[pattern.conversation]
get = "PK = 'CONV#{convId}' AND SK = 'META'"
"#;

async fn talk(clock: &Arc<ManualClock>) -> Partita {
    let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let store = Arc::new(ModelStore::default());
    let surroundings = Surroundings {
        clock: clock.clone(),
        ..Surroundings::default()
    };
    Partita::open_with(design, store, surroundings)
        .await
        .unwrap()
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(1_767_225_600_000))
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

fn conversation() -> Operation {
    let attributes = Map::from([
        ("convId".to_owned(), Value::from("c")),
        ("title".to_owned(), Value::from("Lunch")),
        ("participantIds".to_owned(), people(&["ann", "bob"])),
    ]);
    create("Conversation", attributes)
}

fn message() -> Operation {
    let conversation = ("convId".to_owned(), Value::from("c"));
    create("Message", Map::from([conversation]))
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
    let partita = talk(&clock()).await;
    run(&partita, "ann", conversation()).await;
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

#[tokio::test]
async fn nobody_writes_more_than_a_limit_allows() {
    let clock = clock();
    let partita = talk(&clock).await;
    run(&partita, "ann", conversation()).await;
    for _ in 0..2 {
        run(&partita, "ann", message()).await;
    }
    clock.advance(1_800_000);
    let refused = partita.run(&Caller::user("ann"), message()).await;
    let expected = PlanError::LimitReached {
        limit: "message".to_owned(),
        count: 2,
        window_seconds: 3600,
        wait_seconds: 1800,
    };
    assert_eq!(refused, Err(expected));
    run(&partita, "bob", message()).await;
    // The window ends, and the record of it is not swept yet.
    clock.advance(1_800_000);
    run(&partita, "ann", message()).await;
}

#[tokio::test]
async fn a_scan_finds_what_its_condition_says() {
    let partita = talk(&clock()).await;
    run(&partita, "ann", conversation()).await;
    let query = Operation::Query {
        pattern: "everything".to_owned(),
        parameters: Default::default(),
        limit: None,
        cursor: None,
    };
    let found = run(&partita, "ann", query).await;
    let Answer::Page { records, .. } = found else {
        panic!("{found:?}")
    };
    assert_eq!(records.len(), 1, "{records:?}");
}
