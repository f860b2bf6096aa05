//! Accounts of people whom another issuer knows, on the model.

use std::sync::Arc;

use partita_core::{Map, Value};
use partita_store::ModelStore;
use partita_store::surroundings::{ManualClock, SeededEntropy};

use super::{Claims, folded};
use crate::{Caller, Operation, Partita, Patience, Surroundings};

const DESIGN: &str = r#"
design = "notes"

[table]
name = "notes"
key  = ["PK", "SK"]

[caller]
type = "User"

[accounts]
entity = "User"

[accounts.provision]
email = "email"

[entity.User]
PK = "USER#{userId}"
SK = "PROFILE"

[entity.User.attributes]
userId = "string"
email  = "string email"

[entity.User.allow]
"*" = "public"
"#;

async fn open() -> Partita {
    let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let surroundings = Surroundings {
        clock: Arc::new(ManualClock::at(1_767_225_600_000)),
        entropy: Arc::new(SeededEntropy::new(1)),
        cursor_key: [7; 32],
        patience: Patience::default(),
    };
    let store = Arc::new(ModelStore::default());
    let opened = Partita::open_with(design, store, surroundings).await;
    opened.unwrap()
}

fn claims(subject: &str) -> Claims {
    Claims {
        subject: subject.to_owned(),
        signed_in_millis: None,
        others: Map::from([("email", Value::from("ann@example.org"))]),
    }
}

#[test]
fn only_letters_of_ascii_are_folded() {
    assert_eq!(folded(" Mark@Example.org\n"), "mark@example.org");
    for other in ["mar\u{212a}@example.org", "\u{a0}mark@example.org"] {
        assert_eq!(folded(other), other);
    }
}

/// However the account came about, and whether a token was ever shown for it or not.
#[tokio::test]
async fn who_is_deleted_does_not_come_back_with_a_token() {
    let partita = open().await;
    let run = async |operation| partita.run(&Caller::user("root"), operation).await;
    for (id, is_seen) in [("made", true), ("seen", true), ("unseen", false)] {
        if id != "made" {
            let attributes = Map::from([
                ("userId", Value::from(id)),
                ("email", Value::from("ann@example.org")),
            ]);
            let entity = "User".to_owned();
            let create = Operation::Create { entity, attributes };
            run(create).await.unwrap();
        }
        if is_seen {
            assert!(partita.may_act(id, Some(&claims(id))).await.unwrap());
        }
        let delete = Operation::Delete {
            entity: "User".to_owned(),
            identity: vec![id.to_owned()],
            version: None,
        };
        run(delete).await.unwrap();
        for claims in [Some(claims(id)), None] {
            let may_act = partita.may_act(id, claims.as_ref()).await.unwrap();
            assert!(!may_act, "{id}");
        }
    }
}
