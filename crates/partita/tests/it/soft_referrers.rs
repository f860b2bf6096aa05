//! Soft-deleted items whose target is deleted, and comes back: `on delete refuse` and `keep`, on
//! every store.

use std::sync::Arc;

use partita_core::{Map, Value, plain};
use partita_plan::{Answer, Caller, Operation, Partita, PlanError};
use partita_store::{ModelStore, Store};
use partita_verify::Collected;
use serde_json::{Value as Json, json};

use crate::stage;

const DESIGN: &str = r#"
design = "softly"

[table]
name          = "softly"
key           = ["PK", "SK"]
discriminator = "Kind"

[index]
byOwner = ["GSI1PK", "GSI1SK"]

[entity.Owner]
PK = "OWNER#{owner}"
SK = "OWNER"

[entity.Owner.attributes]
owner   = "string"
name    = "string"
things  = "count of Thing"
keepers = "count of Keeper"

[entity.Owner.allow]
"*" = "public"

[entity.Thing]
PK          = "THING#{id}"
SK          = "THING"
GSI1PK      = "OWNER#{owner}"
GSI1SK      = "THING#{id}"
soft-delete = "gone"

[entity.Thing.attributes]
id        = "string"
owner     = "string"
gone      = "bool default false"
ownerName = "copy own.name"

[entity.Thing.refs]
own = "Owner, on delete refuse"

[entity.Thing.allow]
"*" = "public"

[entity.Keeper]
PK          = "KEEPER#{id}"
SK          = "KEEPER"
GSI1PK      = "OWNER#{owner}"
GSI1SK      = "KEEPER#{id}"
soft-delete = "gone"

[entity.Keeper.attributes]
id        = "string"
owner     = "string"
gone      = "bool default false"
ownerName = "copy own.name"

[entity.Keeper.refs]
own = "Owner, on delete keep"

[entity.Keeper.allow]
"*" = "public"

[pattern.things]
query = "GSI1PK = 'OWNER#{owner}' AND begins_with(GSI1SK, 'THING#')"
"#;

async fn run(partita: &Partita, operation: Operation) -> Result<Map, PlanError> {
    let answer = partita.run(&Caller::user("ann"), operation).await?;
    while partita.run_jobs().await.unwrap() > 0 {}
    Ok(match answer {
        Answer::Record(one) | Answer::Created(one) => one.attributes,
        _ => Map::new(),
    })
}

fn create(entity: &str, attributes: Json) -> Operation {
    let attributes = plain::map_from_json(attributes.as_object().unwrap().clone());
    Operation::Create {
        entity: entity.to_owned(),
        attributes: attributes.unwrap(),
    }
}

fn delete(entity: &str, id: &str) -> Operation {
    Operation::Delete {
        entity: entity.to_owned(),
        identity: vec![id.to_owned()],
        version: None,
    }
}

fn restore(entity: &str) -> Operation {
    Operation::Restore {
        entity: entity.to_owned(),
        identity: vec!["1".to_owned()],
        version: None,
    }
}

async fn assert_clean(partita: &Partita) {
    let mut found = Collected::default();
    let report = partita.verify(&mut found).await.unwrap();
    assert!(report.is_clean(), "{:?}", found.open);
}

/// The target of soft-deleted items goes and comes back under another name.
pub(crate) async fn follow_who_comes_back(store: Arc<dyn Store>) {
    let design = partita_design::check(DESIGN, &|_| None).0.unwrap();
    let partita = Partita::open(design, store).await.unwrap();
    let owner = |name: &str| create("Owner", json!({"owner": "a", "name": name}));
    run(&partita, owner("First")).await.unwrap();
    for entity in ["Thing", "Keeper"] {
        let item = json!({"id": "1", "owner": "a"});
        run(&partita, create(entity, item)).await.unwrap();
    }
    let refused = run(&partita, delete("Owner", "a")).await;
    assert!(
        matches!(refused, Err(PlanError::InUse { .. })),
        "{refused:?}"
    );
    for (entity, id) in [("Thing", "1"), ("Keeper", "1"), ("Owner", "a")] {
        run(&partita, delete(entity, id)).await.unwrap();
    }
    assert_clean(&partita).await;

    // Like a new one, it wants its owner.
    let alone = run(&partita, restore("Thing")).await.unwrap_err();
    let item = json!({"id": "2", "owner": "a"});
    let new = run(&partita, create("Thing", item)).await.unwrap_err();
    assert_eq!(alone, new);
    assert_clean(&partita).await;

    run(&partita, owner("Second")).await.unwrap();
    assert_clean(&partita).await;
    for entity in ["Thing", "Keeper"] {
        let restored = run(&partita, restore(entity)).await.unwrap();
        assert_eq!(restored["ownerName"], Value::from("Second"), "{entity}");
    }
    let get = Operation::Get {
        entity: "Owner".to_owned(),
        identity: vec!["a".to_owned()],
        with_deleted: false,
    };
    let owner = run(&partita, get).await.unwrap();
    assert_eq!(
        (&owner["things"], &owner["keepers"]),
        (&1.into(), &1.into())
    );
    assert_clean(&partita).await;
}

#[tokio::test]
async fn on_the_model() {
    follow_who_comes_back(Arc::new(ModelStore::default())).await;
}

#[tokio::test]
async fn on_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    follow_who_comes_back(Arc::new(stage::engine(folder.path()))).await;
}
