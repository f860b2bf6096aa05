//! Keys on the model, and on a store that loses answers.

use std::sync::Arc;

use partita_core::{Map, Value};
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_store::{ModelStore, Store};
use partita_testkit::{Faults, FaultyStore};
use sha2::{Digest as _, Sha256};

use super::room;
use crate::{Answer, Caller, Operation, Partita, Patience, PlanError, Surroundings};

const ANN: &str = "0d9a6a52-5a0c-4a5e-9d3b-8b8f8f8f8f01";

async fn open(store: Arc<dyn Store>, clock: &Arc<ManualClock>, attempts: u32) -> Partita {
    let source = partita_design::shipped::find("mediahub").unwrap().source;
    open_design(source, store, clock, attempts).await
}

async fn open_design(
    source: &str,
    store: Arc<dyn Store>,
    clock: &Arc<ManualClock>,
    attempts: u32,
) -> Partita {
    let (design, _) = partita_design::check(source, &|_| None);
    let surroundings = Surroundings {
        clock: clock.clone(),
        entropy: Arc::new(SeededEntropy::new(3)),
        cursor_key: [7; 32],
        patience: Patience {
            attempts,
            pause_millis: 0,
        },
    };
    let opened = Partita::open_with(design.unwrap(), store, surroundings).await;
    opened.unwrap()
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(1_767_225_600_000))
}

fn album(title: &str) -> Operation {
    Operation::Create {
        entity: "Album".into(),
        attributes: Map::from([("title", title.into()), ("createdBy", ANN.into())]),
    }
}

fn view(album: &str) -> Operation {
    Operation::Act {
        action: "recordView".into(),
        entity: Some("Album".into()),
        identity: vec![album.into()],
        given: Map::new(),
        version: None,
    }
}

fn id_of(answer: &Answer) -> String {
    match answer {
        Answer::Created(record) => record.attributes["id"].as_str().unwrap().to_owned(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_same_request_gives_the_same_answer_for_a_day() {
    let clock = clock();
    let partita = open(Arc::new(ModelStore::default()), &clock, 3).await;
    let ann = Caller::user(ANN);
    let first = partita.run_once(&ann, album("Sea"), "k1").await.unwrap();
    let change = Operation::Update {
        entity: "Album".into(),
        identity: vec![id_of(&first)],
        changes: Map::from([("title", "Lake".into())]),
        with_deleted: false,
        version: None,
    };
    partita.run(&ann, change).await.unwrap();
    clock.advance(23 * 3_600_000);
    let second = partita.run_once(&ann, album("Sea"), "k1").await.unwrap();
    assert_eq!(first, second, "as it was answered, not as it is now");
    let other = partita.run_once(&ann, album("Sky"), "k1").await;
    assert_eq!(other, Err(PlanError::KeyReused));
    let another = partita.run_once(&ann, album("Sea"), "k2").await.unwrap();
    assert_ne!(id_of(&first), id_of(&another));
    clock.advance(2 * 3_600_000);
    let later = partita.run_once(&ann, album("Sky"), "k1").await.unwrap();
    assert_ne!(id_of(&first), id_of(&later), "the key is forgotten");
}

#[tokio::test]
async fn keys_of_different_callers_are_different_keys() {
    let partita = open(Arc::new(ModelStore::default()), &clock(), 3).await;
    let bob = Caller::user("0d9a6a52-5a0c-4a5e-9d3b-8b8f8f8f8f02");
    partita
        .run_once(&Caller::user(ANN), album("Sea"), "k")
        .await
        .unwrap();
    let forged = partita.run_once(&bob, album("Sea"), "k").await;
    assert!(
        matches!(forged, Err(PlanError::Forbidden { .. })),
        "{forged:?}"
    );
}

#[tokio::test]
async fn what_was_refused_may_pass_the_next_time() {
    let partita = open(Arc::new(ModelStore::default()), &clock(), 3).await;
    let ann = Caller::user(ANN);
    let refused = partita.run_once(&ann, album(""), "k").await;
    assert!(
        matches!(refused, Err(PlanError::Invalid { .. })),
        "{refused:?}"
    );
    assert!(partita.run_once(&ann, album("Sea"), "k").await.is_ok());
    for key in ["", "a\nb", &"x".repeat(256)] {
        let refused = partita.run_once(&ann, album("Sea"), key).await;
        assert!(matches!(refused, Err(PlanError::Invalid { .. })), "{key:?}");
    }
}

/// A tally is counted at least once; under a key it is counted once.
#[tokio::test]
async fn under_a_key_even_a_tally_is_exact() {
    let clock = clock();
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let ann = Caller::user(ANN);
    let calm = open(store.clone(), &clock, 3).await;
    let created = calm.run(&ann, album("Sea")).await.unwrap();
    let id = id_of(&created);
    let lossy = Faults {
        conflict: 0.1,
        throttle: 0.1,
        unknown_outcome: 0.5,
    };
    let faulty = Arc::new(FaultyStore::new(store, lossy, 5));
    // So impatient that many outcomes stay unknown; then the caller repeats.
    let partita = open(faulty.clone(), &clock, 2).await;
    for number in 0..40 {
        let key = format!("view-{number}");
        let mut attempts = 0;
        while partita.run_once(&ann, view(&id), &key).await.is_err() {
            attempts += 1;
            assert!(attempts < 1_000);
        }
    }
    assert!(faulty.injected() > 40);
    let get = Operation::Get {
        entity: "Album".into(),
        identity: vec![id],
        with_deleted: false,
    };
    let Answer::Record(album) = calm.run(&ann, get).await.unwrap() else {
        panic!("it is there")
    };
    assert_eq!(album.attributes["viewCount"], Value::N(40_i64.into()));
}

const NOTES: &str = r#"
design = "notes"

[table]
name = "notes"
key  = ["PK", "SK"]

[entity.Note]
PK = "NOTE#{noteId}"
SK = "NOTE"

[entity.Note.attributes]
noteId  = "string"
title   = "string?"
text    = "string?"
version = "version"

[entity.Note.allow]
"*" = "signed-in"
"#;

/// A table of notes, and what its sidecar holds.
struct Notes {
    partita: Partita,
    store: Arc<dyn Store>,
    ann: Caller,
}

impl Notes {
    async fn new(clock: &Arc<ManualClock>) -> Notes {
        let store: Arc<dyn Store> = Arc::new(ModelStore::default());
        Notes {
            partita: open_design(NOTES, store.clone(), clock, 10).await,
            store,
            ann: Caller::user("ann"),
        }
    }

    async fn run(&self, operation: Operation, key: &str) -> Result<Answer, PlanError> {
        self.partita.run_once(&self.ann, operation, key).await
    }

    /// The bytes of all outcomes.
    async fn bytes(&self) -> usize {
        let scan = partita_store::request::Scan::new("notes-partita".parse().unwrap());
        let page = self.store.scan(scan).await.unwrap().answer;
        let items = page.into_parts().unwrap().items;
        items.iter().map(partita_core::size::item_bytes).sum()
    }
}

fn note(id: &str, text: &str) -> Operation {
    Operation::Create {
        entity: "Note".into(),
        attributes: Map::from([("noteId", id.into()), ("text", text.into())]),
    }
}

fn titled(id: &str, title: &str) -> Operation {
    Operation::Update {
        entity: "Note".into(),
        identity: vec![id.into()],
        changes: Map::from([("title", title.into())]),
        with_deleted: false,
        version: None,
    }
}

fn gone(id: &str) -> Operation {
    Operation::Delete {
        entity: "Note".into(),
        identity: vec![id.into()],
        version: None,
    }
}

fn attributes(answer: &Answer) -> &Map {
    match answer {
        Answer::Record(record) | Answer::Created(record) => &record.attributes,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_small_change_of_a_large_item_keeps_little() {
    let notes = Notes::new(&clock()).await;
    let large = "x".repeat(290_000);
    notes.run(note("n", &large), "create").await.unwrap();
    for number in 0..20 {
        let key = format!("change-{number}");
        let title = format!("title {number}");
        notes.run(titled("n", &title), &key).await.unwrap();
    }
    let bytes = notes.bytes().await;
    assert!(bytes < 21 * 1_000, "{bytes}");
}

#[tokio::test]
async fn a_large_item_is_told_as_it_is_by_then() {
    let notes = Notes::new(&clock()).await;
    let large = "x".repeat(10_000);
    let created = notes.run(note("n", &large), "create").await.unwrap();
    let again = notes.run(note("n", &large), "create").await.unwrap();
    assert_eq!(created, again, "nothing has changed");
    let changed = notes.run(titled("n", "one"), "change").await.unwrap();
    assert_eq!(notes.run(titled("n", "one"), "change").await, Ok(changed));
    notes
        .partita
        .run(&notes.ann, titled("n", "two"))
        .await
        .unwrap();
    for (operation, key) in [
        (note("n", &large), "create"),
        (titled("n", "one"), "change"),
    ] {
        let again = notes.run(operation, key).await.unwrap();
        assert_eq!(attributes(&again)["title"], Value::from("two"));
        assert_eq!(attributes(&again)["version"], Value::from(3));
    }
    assert_eq!(notes.run(gone("n"), "gone").await, Ok(Answer::Done));
    for (operation, key) in [
        (note("n", &large), "create"),
        (titled("n", "one"), "change"),
    ] {
        let again = notes.run(operation, key).await.unwrap();
        let identity = Map::from([("noteId", Value::from("n"))]);
        assert_eq!(
            *attributes(&again),
            identity,
            "it was carried out, and is gone"
        );
    }
    assert_eq!(notes.run(gone("n"), "gone").await, Ok(Answer::Done));
}

#[tokio::test]
async fn a_batch_keeps_what_is_small() {
    let notes = Notes::new(&clock()).await;
    let large = "x".repeat(10_000);
    let batch = || {
        vec![
            note("a", "small"),
            note("b", &large),
            note("c", "small too"),
        ]
    };
    let run = async || {
        notes
            .partita
            .run_all_once(&notes.ann, batch(), "batch")
            .await
            .unwrap()
    };
    let first = run().await;
    assert_eq!(run().await, first);
    for id in ["a", "b", "c"] {
        notes
            .partita
            .run(&notes.ann, titled(id, "new"))
            .await
            .unwrap();
    }
    notes.partita.run(&notes.ann, gone("c")).await.unwrap();
    let again = run().await;
    assert_eq!((&again[0], &again[2]), (&first[0], &first[2]));
    assert_eq!(attributes(&again[1])["title"], Value::from("new"));
    assert!(notes.bytes().await < 5_000);
}

/// Keys that are counted together.
fn keys_of_one_room() -> impl Iterator<Item = String> {
    let keys = (0..).map(|number| format!("key-{number}"));
    keys.filter(|key| Sha256::digest(key.as_bytes())[0].is_multiple_of(16))
}

#[tokio::test]
async fn what_is_kept_of_a_caller_is_bounded() {
    let clock = clock();
    let notes = Notes::new(&clock).await;
    let text = "x".repeat(3_900);
    let mut keys = keys_of_one_room();
    let mut written = Vec::new();
    let refused = loop {
        let key = keys.next().unwrap();
        match notes.run(note(&key, &text), &key).await {
            Ok(answer) => written.push((key, answer)),
            Err(refused) => break refused,
        }
        clock.advance(1_000);
        assert!(written.len() < 1_000);
    };
    let seconds = written.len() as u64;
    assert!((450..=530).contains(&written.len()), "{}", written.len());
    assert_eq!(
        refused,
        PlanError::TooManyKeys {
            wait_seconds: 3_600 - seconds
        }
    );
    let bytes = notes.bytes().await as u64;
    assert!(bytes <= room::BYTES_PER_HOUR / 16 + 1_000, "{bytes}");
    // What was written is told again, and others write on.
    let (key, answer) = &written[0];
    assert_eq!(notes.run(note(key, &text), key).await.as_ref(), Ok(answer));
    let key = keys.next().unwrap();
    let bob = Caller::user("bob");
    let other = notes.partita.run_once(&bob, note("bob", &text), &key).await;
    assert!(other.is_ok());
    notes
        .partita
        .run(&notes.ann, note("without a key", &text))
        .await
        .unwrap();
    clock.advance(3_600_000);
    assert!(notes.run(note(&key, &text), &key).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_at_once_one_is_carried_out() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let faults = Faults {
        conflict: 0.2,
        throttle: 0.0,
        unknown_outcome: 0.2,
    };
    let faulty = Arc::new(FaultyStore::new(store, faults, 11));
    let partita = Arc::new(open_design(NOTES, faulty, &clock(), 100).await);
    let large = "x".repeat(10_000);
    let batch = vec![note("n", &large), titled("n", "one")];
    let attempts = (0..12).map(|_| {
        let (partita, batch) = (partita.clone(), batch.clone());
        tokio::spawn(async move {
            let ann = Caller::user("ann");
            partita.run_all_once(&ann, batch, "key").await.unwrap()
        })
    });
    let attempts: Vec<_> = attempts.collect();
    for attempt in attempts {
        let answers = attempt.await.unwrap();
        assert_eq!(attributes(&answers[1])["title"], Value::from("one"));
        assert_eq!(attributes(&answers[1])["version"], Value::from(2));
    }
}
