//! Lists and the views that have a record for each element: refs followed back over them, and what
//! they show.

use std::sync::Arc;

use partita_core::{Map, Value};
use partita_plan::{Answer, Caller, Operation, Partita};
use partita_store::ModelStore;

use crate::{delete, is_not_found};

const DESIGN: &str = r#"
design = "rooms"

[table]
name = "rooms"
key  = ["PK", "SK"]

[entity.User]
PK = "USER#{userId}"
SK = "PROFILE"

[entity.User.attributes]
userId = "string"

[entity.User.allow]
"*" = "signed-in"

[entity.Room]
PK = "ROOM#{roomId}"
SK = "ROOM"

[entity.Room.attributes]
roomId    = "string"
memberIds = "list of string ..20"

[entity.Room.refs]
members = "User(userId in memberIds), on delete cascade"

[entity.Room.allow]
"*" = "signed-in"

[view.Member]
of   = "Room"
each = "member in memberIds"
PK   = "USER#{member}"
SK   = "ROOM#{roomId}"

[view.Member.attributes]
room   = "= roomId"
hidden = "= roomId, secret"
pin    = "string default '0000', secret"

[pattern.roomsOf]
query = "PK = 'USER#{member}' AND begins_with(SK, 'ROOM#')"
"#;

async fn rooms() -> Partita {
    let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let store = Arc::new(ModelStore::default());
    Partita::open(design, store).await.unwrap()
}

async fn create(partita: &Partita, entity: &str, attributes: Map) {
    let entity = entity.to_owned();
    let operation = Operation::Create { entity, attributes };
    partita.run(&Caller::user("ann"), operation).await.unwrap();
}

fn room(id: &str) -> Operation {
    Operation::Get {
        entity: "Room".to_owned(),
        identity: vec![id.to_owned()],
        with_deleted: false,
    }
}

#[tokio::test]
async fn a_deleted_target_takes_along_what_names_it_in_a_list() {
    let partita = rooms().await;
    for name in ["ann", "bob", "cid"] {
        let user = ("userId".to_owned(), Value::from(name));
        create(&partita, "User", Map::from([user])).await;
    }
    for (id, members) in [("one", ["ann", "bob"]), ("two", ["ann", "cid"])] {
        let members = members.into_iter().map(Value::from).collect();
        let attributes = Map::from([
            ("roomId".to_owned(), Value::from(id)),
            ("memberIds".to_owned(), Value::L(members)),
        ]);
        create(&partita, "Room", attributes).await;
    }

    let ann = Caller::user("ann");
    partita.run(&ann, delete("User", "bob")).await.unwrap();
    let answer = partita.run(&ann, room("one")).await;
    assert!(is_not_found(&answer), "{answer:?}");
    let answer = partita.run(&ann, room("two")).await;
    assert!(matches!(answer, Ok(Answer::Record(_))), "{answer:?}");
}

#[tokio::test]
async fn what_is_secret_in_a_view_is_not_shown() {
    let partita = rooms().await;
    let user = ("userId".to_owned(), Value::from("ann"));
    create(&partita, "User", Map::from([user])).await;
    let room = Map::from([
        ("roomId".to_owned(), Value::from("one")),
        ("memberIds".to_owned(), Value::L(vec![Value::from("ann")])),
    ]);
    create(&partita, "Room", room).await;
    let query = Operation::Query {
        pattern: "roomsOf".to_owned(),
        parameters: [("member".to_owned(), "ann".to_owned())].into(),
        limit: None,
        cursor: None,
    };
    let answer = partita.run(&Caller::user("ann"), query).await.unwrap();
    let Answer::Page { records, .. } = answer else {
        panic!("{answer:?}")
    };
    let shown = &records[0].attributes;
    assert_eq!(shown["room"], Value::from("one"));
    assert!(!shown.contains_key("hidden"), "{shown:?}");
    assert!(!shown.contains_key("pin"), "{shown:?}");
}
