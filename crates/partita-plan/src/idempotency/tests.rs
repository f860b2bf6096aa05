//! Keys on the model, and on a store that loses answers.

use std::sync::Arc;

use partita_core::{Map, Value};
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_store::{Faults, FaultyStore, ModelStore, Store};

use crate::{Answer, Caller, Operation, Partita, Patience, PlanError, Surroundings};

const ANN: &str = "0d9a6a52-5a0c-4a5e-9d3b-8b8f8f8f8f01";

async fn open(store: Arc<dyn Store>, clock: &Arc<ManualClock>, attempts: u32) -> Partita {
    let source = partita_design::shipped::find("mediahub").unwrap().source;
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
        Answer::Record(record) => record.attributes["id"].as_str().unwrap().to_owned(),
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
