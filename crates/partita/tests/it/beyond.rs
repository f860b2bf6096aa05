//! What is larger than one write or one transaction, on every store: batches, upserts that race,
//! limits that the sidecar counts, an action on more items than fit, and `verify` after it.

use std::sync::Arc;

use partita_core::{Map, Value, plain};
use partita_plan::{Answer, Caller, Operation, Partita, PlanError};
use partita_store::{ModelStore, Store};
use partita_verify::Collected;
use serde_json::{Value as Json, json};

use crate::stage;

const DESIGN: &str = r#"
design = "inbox"

[table]
name = "inbox"
key  = ["PK", "SK"]

[entity.User]
PK = "USER#{userId}"
SK = "PROFILE"

[entity.User.attributes]
userId = "string"
notes  = "count of Note"
unread = "count of Note where read = false"
name   = "string?"

[entity.User.allow]
"*" = "userId = caller"

[entity.Note]
PK = "USER#{userId}"
SK = "NOTE#{noteId}"

[entity.Note.attributes]
userId = "string"
noteId = "string"
text   = "string"
read   = "bool default false"

[entity.Note.refs]
user = "User"

[entity.Note.allow]
"*"         = "userId = caller"
markRead    = "userId = caller"
markAllRead = "userId = caller"

[action.markRead]
entity = "Note"
set    = { read = true }

[action.markAllRead]
each  = "note in notes"
when  = "note.read = false"
apply = "markRead"

[limit.notes]
of    = "create Note"
allow = "130 per day"

[pattern.notes]
query = "PK = 'USER#{userId}' AND begins_with(SK, 'NOTE#')"
"#;

const BATCHES: usize = 3;
const NOTES_EACH: usize = 40;

fn map(json: Json) -> Map {
    plain::map_from_json(json.as_object().unwrap().clone()).unwrap()
}

fn ann() -> Caller {
    Caller::user("ann")
}

fn user(name: &str) -> Operation {
    Operation::Upsert {
        entity: "User".to_owned(),
        identity: vec!["ann".to_owned()],
        attributes: map(json!({ "name": name })),
        version: None,
    }
}

fn note(number: usize) -> Operation {
    let note = json!({"userId": "ann", "noteId": format!("{number:03}"), "text": "…"});
    Operation::Create {
        entity: "Note".to_owned(),
        attributes: map(note),
    }
}

async fn stored(partita: &Partita) -> Map {
    let get = Operation::Get {
        entity: "User".to_owned(),
        identity: vec!["ann".to_owned()],
        with_deleted: false,
    };
    match partita.run(&ann(), get).await.unwrap() {
        Answer::Record(user) => user.attributes,
        other => panic!("{other:?}"),
    }
}

/// Upserts that meet each other: one creates, the others change.
async fn upserts_race(partita: &Arc<Partita>) {
    let clients = (0..4).map(|client| {
        let partita = partita.clone();
        tokio::spawn(async move { partita.run(&ann(), user(&format!("Ann {client}"))).await })
    });
    let clients: Vec<_> = clients.collect();
    let mut created = 0;
    for client in clients {
        match client.await.unwrap() {
            Ok(Answer::Created(_)) => created += 1,
            Ok(Answer::Record(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(created, 1);
}

/// Batches that meet each other: every note counts once.
async fn batches_race(partita: &Arc<Partita>) {
    let clients = (0..BATCHES).map(|batch| {
        let partita = partita.clone();
        let notes = (0..NOTES_EACH).map(|number| note(batch * NOTES_EACH + number));
        let notes: Vec<_> = notes.collect();
        let key = format!("batch-{batch}");
        tokio::spawn(async move {
            let first = partita.run_all_once(&ann(), notes.clone(), &key).await;
            assert_eq!(partita.run_all_once(&ann(), notes, &key).await, first);
            first.map(|answers| answers.len())
        })
    });
    let clients: Vec<_> = clients.collect();
    for client in clients {
        assert_eq!(client.await.unwrap(), Ok(NOTES_EACH));
    }
    let user = stored(partita).await;
    assert_eq!(user["notes"], Value::from(120));
    // Ten more are allowed, and a batch with one too many is refused whole.
    let more: Vec<_> = (120..131).map(note).collect();
    let Err(PlanError::Batch { refusals }) = partita.run_all(&ann(), more).await else {
        panic!("the limit is not kept");
    };
    assert_eq!(refusals[0].position, 10);
    assert!(
        matches!(refusals[0].error, PlanError::LimitReached { .. }),
        "{refusals:?}"
    );
    assert_eq!(stored(partita).await["notes"], Value::from(120));
}

async fn all_are_read_by_a_job(partita: &Partita) {
    let mark = Operation::Act {
        action: "markAllRead".to_owned(),
        entity: None,
        identity: Vec::new(),
        given: map(json!({"userId": "ann"})),
        version: None,
    };
    let decision = partita.can(&ann(), mark.clone()).await.unwrap();
    assert!(decision.is_allowed);
    assert_eq!(decision.rows.len(), 120, "all of them are decided on");
    let whole = partita.run_all(&ann(), vec![mark.clone()]).await;
    let Err(error @ PlanError::Batch { .. }) = whole else {
        panic!("{whole:?}");
    };
    assert!(error.to_string().contains("nothing to a job"), "{error}");
    partita.run(&ann(), mark).await.unwrap();
    assert_eq!(partita.run_jobs().await, Ok(1));
    let user = stored(partita).await;
    assert_eq!(user["unread"], Value::from(0), "{user:?}");
}

/// The whole of it on a store.
pub(crate) async fn goes_well(store: Arc<dyn Store>) {
    let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let partita = Arc::new(Partita::open(design, store).await.unwrap());
    upserts_race(&partita).await;
    batches_race(&partita).await;
    all_are_read_by_a_job(&partita).await;
    let mut found = Collected::default();
    partita.verify(&mut found).await.unwrap();
    assert!(found.open.is_empty(), "{:#?}", found.open);
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_model() {
    goes_well(Arc::new(ModelStore::default())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let store = stage::engine(folder.path());
    goes_well(Arc::new(store)).await;
}
