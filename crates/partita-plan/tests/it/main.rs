//! Designs other than the shipped ones: what `stories` has no need of.
#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod afterwards;
mod batch;
mod behind;
mod bounds;
mod cascade_effects;
mod cascades;
mod consistency;
mod copies;
mod drifted;
mod effects;
mod every;
mod expiring_views;
mod expiry;
mod figureforge;
mod files;
mod fresh;
mod guards;
mod hidden;
mod hot;
mod inn;
mod kept;
mod late;
mod letters;
mod limits;
mod lists;
mod live_members;
mod long_keys;
mod members;
mod memory;
mod moves;
mod newcomers;
mod orders;
mod patterns;
mod purged;
mod refusals;
mod repeated;
mod restores;
mod reuse;
mod stage;
mod sums;
mod unique;
mod unlisted;
mod uploads;
mod upsert;
mod versions;

use std::sync::Arc;

use partita_core::{Map, Value};
use partita_plan::{Answer, Caller, Operation, Partita, Patience, PlanError, Surroundings};
use partita_store::{ModelStore, Store};
use partita_testkit::{Faults, FaultyStore};

const DESIGN: &str = r#"
design = "notes"

[table]
name = "notes"
key  = ["PK", "SK"]

[entity.Folder]
PK          = "FOLDER#{folderId}"
SK          = "METADATA"
soft-delete = "deleted"

[entity.Folder.attributes]
folderId = "string"
deleted  = "bool default false"

[entity.Folder.allow]
"*" = "signed-in"

[entity.Note]
PK = "NOTE#{noteId}"
SK = "METADATA"

[entity.Note.attributes]
noteId   = "string"
folderId = "string?"
owner    = "string"
text     = "string?"

[entity.Note.refs]
folder = "Folder, live"

[entity.Note.allow]
create = "signed-in"
read   = "owner = caller"
update = "signed-in"
delete = "owner = caller"

[pattern.note]
get = "PK = 'NOTE#{noteId}' AND SK = 'METADATA'"
"#;

async fn open(store: Arc<dyn Store>) -> Partita {
    let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let surroundings = Surroundings {
        patience: Patience {
            attempts: 3,
            pause_millis: 0,
        },
        ..Surroundings::default()
    };
    Partita::open_with(design, store, surroundings)
        .await
        .unwrap()
}

async fn create(partita: &Partita, entity: &str, attributes: &[(&str, &str)]) {
    let attributes: Map = attributes
        .iter()
        .map(|(name, text)| ((*name).to_owned(), Value::from(*text)))
        .collect();
    let entity = entity.to_owned();
    let operation = Operation::Create { entity, attributes };
    partita.run(&Caller::user("ann"), operation).await.unwrap();
}

fn get(note: &str) -> Operation {
    Operation::Get {
        entity: "Note".into(),
        identity: vec![note.into()],
        with_deleted: false,
    }
}

fn update(note: &str) -> Operation {
    Operation::Update {
        entity: "Note".into(),
        identity: vec![note.into()],
        changes: Map::from([("text", "changed".into())]),
        with_deleted: false,
        version: None,
    }
}

fn delete(entity: &str, id: &str) -> Operation {
    Operation::Delete {
        entity: entity.into(),
        identity: vec![id.into()],
        version: None,
    }
}

fn is_not_found(answer: &Result<Answer, PlanError>) -> bool {
    matches!(answer, Err(PlanError::NotFound { .. }))
}

/// A path of the API cannot ask for these, so no scenario does.
#[tokio::test]
async fn what_has_no_path_is_refused() {
    let partita = open(Arc::new(ModelStore::default())).await;
    let ann = Caller::user("ann");
    create(&partita, "Note", &[("noteId", "n"), ("owner", "ann")]).await;
    let restored = partita.run(
        &ann,
        Operation::Restore {
            entity: "Note".into(),
            identity: vec!["n".into()],
            version: None,
        },
    );
    let entity = "Note".to_owned();
    assert_eq!(
        restored.await,
        Err(PlanError::NotRestorable { entity }),
        "a delete removes a note"
    );
    for identity in [vec![], vec!["n".to_owned(), "m".to_owned()]] {
        let got = partita.run(
            &ann,
            Operation::Get {
                entity: "Note".into(),
                identity,
                with_deleted: false,
            },
        );
        let refused = got.await;
        assert!(
            matches!(refused, Err(PlanError::Invalid { .. })),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn a_live_reference_hides_an_item_whose_identity_does_not_name_the_target() {
    let partita = open(Arc::new(ModelStore::default())).await;
    let ann = Caller::user("ann");
    create(&partita, "Folder", &[("folderId", "f")]).await;
    let note = [("noteId", "n"), ("folderId", "f"), ("owner", "ann")];
    create(&partita, "Note", &note).await;
    create(&partita, "Note", &[("noteId", "free"), ("owner", "ann")]).await;
    assert!(partita.run(&ann, get("n")).await.is_ok());
    partita.run(&ann, delete("Folder", "f")).await.unwrap();
    for operation in [get("n"), update("n"), delete("Note", "n")] {
        let answer = partita.run(&ann, operation.clone()).await;
        assert!(is_not_found(&answer), "{operation:?}: {answer:?}");
    }
    assert!(
        partita.run(&ann, get("free")).await.is_ok(),
        "it is in no folder"
    );
}

#[tokio::test]
async fn a_stranger_cannot_tell_what_exists_and_is_not_shown_what_he_may_not_read() {
    let partita = open(Arc::new(ModelStore::default())).await;
    create(&partita, "Note", &[("noteId", "n"), ("owner", "ann")]).await;
    let bob = Caller::user("bob");
    for note in ["n", "missing"] {
        let answer = partita.run(&bob, get(note)).await;
        assert!(is_not_found(&answer), "{note}: {answer:?}");
        let answer = partita.run(&bob, delete("Note", note)).await;
        assert!(is_not_found(&answer), "{note}: {answer:?}");
    }
    assert_eq!(partita.run(&bob, update("n")).await, Ok(Answer::Done));
    let shown = partita.run(&Caller::user("ann"), get("n")).await.unwrap();
    let Answer::Record(note) = shown else {
        panic!("{shown:?}")
    };
    assert_eq!(note.attributes["text"], Value::from("changed"));
}

/// Every design of the checker's corpus that has no error is opened: the whole language runs.
#[tokio::test]
async fn what_is_checked_runs() {
    let corpus = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../partita-design/tests/corpus"
    );
    let mut opened = 0;
    for file in std::fs::read_dir(corpus).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let source = std::fs::read_to_string(&path).unwrap();
        let (Some(design), _) = partita_design::check(&source, &|_| None) else {
            continue;
        };
        let store = Arc::new(ModelStore::default());
        let partita = Partita::open(design, store).await;
        if let Err(error) = partita {
            panic!("{}: {error}", path.display());
        }
        opened += 1;
    }
    assert!(opened > 50, "only {opened} designs were opened");
}

#[tokio::test]
async fn groups_of_the_token_decide_where_the_design_names_no_attribute() {
    let rule = "read   = \"contains(caller.groups, 'staff')\"";
    let source = DESIGN.replace("read   = \"owner = caller\"", rule);
    let (design, diagnostics) = partita_design::check(&source, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let store = Arc::new(ModelStore::default());
    let partita = Partita::open(design, store).await;
    let partita = partita.unwrap();
    create(&partita, "Note", &[("noteId", "n"), ("owner", "ann")]).await;
    let in_groups = |groups: &[&str]| Caller {
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        ..Caller::user("bob")
    };
    for (groups, is_shown) in [
        (&["staff", "cooks"][..], true),
        (&["cooks"], false),
        (&["staffs"], false),
        (&[], false),
    ] {
        let answer = partita.run(&in_groups(groups), get("n")).await;
        assert_eq!(answer.is_ok(), is_shown, "{groups:?}: {answer:?}");
    }
    let nobody = Caller {
        id: None,
        ..in_groups(&["staff"])
    };
    assert!(partita.run(&nobody, get("n")).await.is_err());
}

#[tokio::test]
async fn a_throttled_write_says_so() {
    let throttled = Faults {
        throttle: 1.0,
        ..Faults::default()
    };
    let store = FaultyStore::calm(Arc::new(ModelStore::default()), throttled, 1);
    let store = Arc::new(store);
    let partita = open(store.clone()).await;
    store.begin();
    let operation = Operation::Create {
        entity: "Folder".into(),
        attributes: Map::from([("folderId", "f".into())]),
    };
    let answer = partita.run(&Caller::user("ann"), operation).await;
    // The place of a new item is read first.
    let Err(PlanError::Hot(hot)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(
        (hot.key.as_str(), hot.record.as_str()),
        ("FOLDER#{folderId}", "Folder")
    );
    assert_eq!(hot.line, Some(9));
}
