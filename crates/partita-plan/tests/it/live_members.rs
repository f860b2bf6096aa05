//! A membership that a live reference hides gives no rights.

use std::sync::Arc;

use partita_plan::{Answer, Caller, Operation, Partita, PlanError};
use partita_store::ModelStore;

use crate::stage::{open, texts};

const DESIGN: &str = r#"
design = "club"

[table]
name = "club"
key  = ["PK", "SK"]

[entity.User]
PK          = "USER#{userId}"
SK          = "PROFILE"
soft-delete = "deletedAt"

[entity.User.attributes]
userId    = "string"
deletedAt = "timestamp?"

[entity.User.allow]
"*" = "userId = caller"

[entity.Club]
PK = "CLUB#{clubId}"
SK = "CLUB"

[entity.Club.attributes]
clubId = "string"
motto  = "string?"

[entity.Club.refs]
me = "Member(clubId, userId = caller), unchecked"

[entity.Club.allow]
create = "signed-in"
read   = "me.userId = caller"
update = "me.userId = caller"

[entity.Member]
PK = "CLUB#{clubId}"
SK = "MEMBER#{userId}"

[entity.Member.attributes]
clubId = "string"
userId = "string"

[entity.Member.refs]
user = "User, live, on delete keep"

[entity.Member.allow]
"*" = "signed-in"
"#;

async fn run(partita: &Partita, operation: Operation) -> Result<Answer, PlanError> {
    partita.run(&Caller::user("dee"), operation).await
}

fn update() -> Operation {
    Operation::Update {
        entity: "Club".into(),
        identity: vec!["shed".into()],
        changes: texts(&[("motto", "onwards")]),
        with_deleted: false,
        version: None,
    }
}

fn delete() -> Operation {
    Operation::Delete {
        entity: "User".into(),
        identity: vec!["dee".into()],
        version: None,
    }
}

fn restore() -> Operation {
    Operation::Restore {
        entity: "User".into(),
        identity: vec!["dee".into()],
        version: None,
    }
}

#[tokio::test]
async fn end_with_their_user_and_come_back_with_it() {
    let partita = open(DESIGN, Arc::new(ModelStore::default()), 1).await;
    for (entity, given) in [
        ("User", [("userId", "dee")].as_slice()),
        ("Club", &[("clubId", "shed")]),
        ("Member", &[("clubId", "shed"), ("userId", "dee")]),
    ] {
        let attributes = texts(given);
        let entity = entity.into();
        run(&partita, Operation::Create { entity, attributes })
            .await
            .unwrap();
    }
    run(&partita, update()).await.unwrap();
    run(&partita, delete()).await.unwrap();
    let refused = run(&partita, update()).await;
    assert!(
        matches!(refused, Err(PlanError::Forbidden { .. })),
        "{refused:?}"
    );
    run(&partita, restore()).await.unwrap();
    run(&partita, update()).await.unwrap();
}
