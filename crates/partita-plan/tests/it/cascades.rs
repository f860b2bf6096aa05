//! Cascades are for good, also onto what is only deleted softly.

use std::collections::BTreeMap;
use std::sync::Arc;

use partita_plan::{Answer, Caller, Operation, Partita, PlanError};
use partita_store::{ModelStore, Store};
use partita_verify::Collected;

use crate::stage::{items, open, texts};

const HELPDESK: &str = include_str!("../../../partita/tests/designs/helpdesk/helpdesk.toml");
const TICKETS: usize = 130;

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
async fn remove_what_is_deleted_softly_and_what_is_not() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(DESIGN, store.clone(), 1).await;
    for operation in [
        create("Drawer", &[("drawerId", "d")]),
        create("Paper", &[("drawerId", "d"), ("paperId", "deleted")]),
        create("Paper", &[("drawerId", "d"), ("paperId", "live")]),
        delete("Paper", &["d", "deleted"]),
        delete("Drawer", &["d"]),
    ] {
        run(&partita, operation).await.unwrap();
    }
    assert_eq!(items(&*store, "desk").await, []);
    let restore = Operation::Restore {
        entity: "Paper".into(),
        identity: vec!["d".into(), "deleted".into()],
        version: None,
    };
    let refused = run(&partita, restore).await;
    assert!(
        matches!(refused, Err(PlanError::NotFound { .. })),
        "{refused:?}"
    );
}

/// How many items there are, by what their sort keys begin with.
async fn census(store: &dyn Store) -> BTreeMap<String, usize> {
    let mut census = BTreeMap::new();
    for item in items(store, "helpdesk").await {
        let sort = item["SK"].as_str().unwrap();
        let kind = sort.split('#').next().unwrap();
        *census.entry(kind.to_owned()).or_default() += 1;
    }
    census
}

/// More children than a transaction holds, half of them deleted softly, each with a past, a
/// comment and a guard.
#[tokio::test]
async fn go_on_as_a_job_and_leave_nothing_but_what_is_kept() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(HELPDESK, store.clone(), 1).await;
    let org = [("orgId", "acme"), ("name", "Acme")];
    run(&partita, create("Org", &org)).await.unwrap();
    for count in 0..TICKETS {
        let id = ulid::Ulid::from_parts(count as u64, 1).to_string();
        let number = count.to_string();
        let ticket = [
            ("orgId", "acme"),
            ("ticketId", id.as_str()),
            ("number", number.as_str()),
            ("title", "Printer"),
        ];
        let comment = [
            ("orgId", "acme"),
            ("ticketId", id.as_str()),
            ("text", "Hello"),
        ];
        let change = Operation::Update {
            entity: "Ticket".into(),
            identity: vec!["acme".into(), id.clone()],
            changes: texts(&[("title", "Phone")]),
            with_deleted: false,
            version: None,
        };
        run(&partita, create("Ticket", &ticket)).await.unwrap();
        run(&partita, create("Comment", &comment)).await.unwrap();
        run(&partita, change).await.unwrap();
        if count % 2 == 0 {
            run(&partita, delete("Ticket", &["acme", &id]))
                .await
                .unwrap();
        }
    }
    run(&partita, delete("Org", &["acme"])).await.unwrap();
    partita.run_jobs().await.unwrap();

    let closings = BTreeMap::from([("CLOSING".to_owned(), TICKETS)]);
    assert_eq!(census(&*store).await, closings, "each was closed once");
    let mut found = Collected::default();
    partita.verify(&mut found).await.unwrap();
    assert_eq!(found.open, []);
    // The name is free for another one.
    run(&partita, create("Org", &org)).await.unwrap();
}
