//! Ids of ours and subjects of other issuers are not confused.

use std::sync::Arc;

use partita_core::{Map, Value};
use partita_plan::{Caller, Claims, Operation, Partita, Patience, SignUp, SignedUp, Surroundings};
use partita_store::ModelStore;
use partita_store::surroundings::{ManualClock, SeededEntropy};

use super::START;
use crate::stage;

fn claims(subject: &str) -> Claims {
    Claims {
        subject: subject.to_owned(),
        signed_in_millis: Some(START),
        others: Map::from([
            ("email", Value::from(format!("{subject}@example.org"))),
            ("email_verified", Value::Bool(true)),
            ("name", Value::from("Somebody")),
        ]),
    }
}

/// People sign up, with ids that are ours or such as another issuer may have.
async fn open(is_identity_given: bool) -> Partita {
    let text = std::fs::read_to_string(stage::folder("circle").join("circle.toml")).unwrap();
    let text = match is_identity_given {
        true => text
            .replace(
                "userId     = \"uuid, generated\"",
                "userId     = \"string\"",
            )
            .replace(
                "userId     = \"uuid, fixed\"",
                "userId     = \"string, fixed\"",
            )
            .replace("userId    = \"uuid\"", "userId    = \"string\"")
            .replace("userId = \"uuid\"", "userId = \"string\"")
            .replace(
                "enum email | google | forge\"",
                "enum email | google | forge default email\"",
            ),
        false => text,
    };
    let surroundings = Surroundings {
        clock: Arc::new(ManualClock::at(START)),
        entropy: Arc::new(SeededEntropy::new(1)),
        cursor_key: [7; 32],
        patience: Patience::default(),
    };
    let design = stage::compiled("circle", &text, "circle");
    let store = Arc::new(ModelStore::default());
    Partita::open_with(design, store, surroundings)
        .await
        .unwrap()
}

fn new(given: Map) -> SignUp {
    SignUp {
        login: "ann@example.org".to_owned(),
        password: "$hash".to_owned(),
        given,
        public_url: String::new(),
    }
}

/// An issuer may let people choose their subjects. Then they do not choose whose account they have.
#[tokio::test]
async fn a_subject_of_an_issuer_is_no_id_of_ours() {
    for is_identity_given in [false, true] {
        let partita = open(is_identity_given).await;
        let given = Map::from([("handle", Value::from("ann"))]);
        let signed_up = partita.sign_up(&new(given)).await;
        let SignedUp::Created { id: ann, .. } = signed_up.unwrap() else {
            panic!("nobody else is there");
        };
        let may_act = async |id: &str| partita.may_act(id, Some(&claims(id))).await.unwrap();
        assert!(partita.may_act(&ann, None).await.unwrap());
        assert!(!may_act(&ann).await, "{is_identity_given}");
        // Whoever is not there is refused alike, unless tokens of the issuer make accounts.
        assert_eq!(may_act("theirs").await, is_identity_given);
        assert_eq!(may_act("theirs").await, is_identity_given);
        // Nor is it theirs after it was deleted and made again.
        let delete = Operation::Delete {
            entity: "User".to_owned(),
            identity: vec![ann.clone()],
            version: None,
        };
        partita
            .run(&Caller::user(ann.as_str()), delete)
            .await
            .unwrap();
        assert!(!may_act(&ann).await, "{is_identity_given}");
    }
}
