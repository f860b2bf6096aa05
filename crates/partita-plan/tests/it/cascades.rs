//! Cascades onto what is only soft-deleted.

use std::sync::Arc;

use partita_core::Value;
use partita_plan::{Answer, Caller, Operation, Partita, PlanError};
use partita_store::surroundings::ManualClock;
use partita_store::{ModelStore, Store};
use partita_verify::Collected;

use crate::stage::{NOW, items, open_at, texts};

const DESIGN: &str = r#"
design = "desk"

[table]
name = "desk"
key  = ["PK", "SK"]

[entity.Drawer]
PK = "DRAWER#{drawerId}"
SK = "METADATA"

[entity.Drawer.attributes]
drawerId = "string"

[entity.Drawer.allow]
"*" = "signed-in"

[entity.Paper]
PK          = "DRAWER#{drawerId}"
SK          = "PAPER#{paperId}"
soft-delete = "deletedAt"

[entity.Paper.attributes]
drawerId  = "string"
paperId   = "string"
deletedAt = "timestamp?"

[entity.Paper.refs]
drawer = "Drawer, on delete cascade"

[entity.Paper.allow]
"*" = "signed-in"

[pattern.papers]
query = "PK = 'DRAWER#{drawerId}' AND begins_with(SK, 'PAPER#')"
"#;

async fn run(partita: &Partita, operation: Operation) -> Result<Answer, PlanError> {
    partita.run(&Caller::user("ann"), operation).await
}

fn create(entity: &str, given: &[(&str, &str)]) -> Operation {
    Operation::Create {
        entity: entity.into(),
        attributes: texts(given),
    }
}

fn delete(entity: &str, identity: &[&str]) -> Operation {
    Operation::Delete {
        entity: entity.into(),
        identity: identity.iter().map(|&part| part.to_owned()).collect(),
        version: None,
    }
}

#[tokio::test]
async fn they_delete_it_softly_once_and_nothing_brings_it_back() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let clock = Arc::new(ManualClock::at(NOW));
    let partita = open_at(DESIGN, store.clone(), 1, clock.clone()).await;
    for operation in [
        create("Drawer", &[("drawerId", "d")]),
        create("Paper", &[("drawerId", "d"), ("paperId", "early")]),
        create("Paper", &[("drawerId", "d"), ("paperId", "late")]),
        delete("Paper", &["d", "early"]),
    ] {
        run(&partita, operation).await.unwrap();
    }
    clock.advance(60_000);
    run(&partita, delete("Drawer", &["d"])).await.unwrap();

    let papers = items(&*store, "desk").await;
    let deleted: Vec<&Value> = papers.iter().map(|paper| &paper["deletedAt"]).collect();
    let times = ["2026-01-01T00:00:00.000Z", "2026-01-01T00:01:00.000Z"].map(Value::from);
    assert_eq!(deleted, [&times[0], &times[1]]);

    let mut found = Collected::default();
    partita.verify(&mut found).await.unwrap();
    assert_eq!(
        found.open,
        [],
        "a soft-deleted paper has gone with its drawer"
    );

    let restore = Operation::Restore {
        entity: "Paper".into(),
        identity: vec!["d".into(), "late".into()],
        version: None,
    };
    let refused = run(&partita, restore).await;
    let Err(PlanError::Invalid { faults }) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(faults[0].attribute, "drawer");
    assert_eq!(items(&*store, "desk").await, papers);
}
