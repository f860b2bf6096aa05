//! The same request, sent twice at once: whoever sends it is not refused for what they have.

use std::sync::Arc;

use partita_core::{Map, Value};
use partita_plan::{Caller, Operation, Partita, PlanError};
use partita_store::surroundings::{ManualClock, SystemEntropy};
use partita_store::{ModelStore, Store};

use crate::meddler::{Meddle, Meddler};
use crate::stage::open;

const START: i64 = 2_082_758_400_000;
const ANN: &str = "00000000-0000-4000-8000-000000000a11";
const BOB: &str = "00000000-0000-4000-8000-000000000b0b";

fn user(id: &str, name: &str) -> Map {
    Map::from([
        ("userId", Value::from(id)),
        ("email", Value::from(format!("{name}@example.org"))),
        ("provider", Value::from("email")),
        ("handle", Value::from(name)),
    ])
}

fn rename(id: &str, name: &str) -> Operation {
    Operation::Update {
        entity: "User".to_owned(),
        identity: vec![id.to_owned()],
        changes: Map::from([("handle", Value::from(name))]),
        with_deleted: false,
        version: None,
    }
}

/// Runs `first` between what `second` has read and its transaction.
async fn in_between(
    table: &str,
    first: (&'static str, Operation),
    second: (&str, Operation),
) -> Result<(), PlanError> {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let clock = Arc::new(ManualClock::at(START));
    let partita: Arc<Partita> = Arc::new(open("circle", table, &store, &clock).await);
    for (id, name) in [(ANN, "ann"), (BOB, "bob")] {
        partita
            .create_past_rules("User", user(id, name))
            .await
            .unwrap();
    }
    let (other, (caller, operation)) = (partita.clone(), first);
    let meddle: Meddle = Box::new(move || {
        let (other, operation) = (other.clone(), operation.clone());
        Box::pin(async move {
            other.run(&Caller::user(caller), operation).await.unwrap();
        })
    });
    let meddler = Arc::new(Meddler::new(store.clone(), meddle, None));
    let behind: Arc<dyn Store> = meddler.clone();
    let late = open("circle", table, &behind, &clock).await;
    let late = late.with_tokens_from(Arc::new(SystemEntropy));
    meddler.arm();
    let (caller, operation) = second;
    let done = late.run(&Caller::user(caller), operation).await;
    assert!(meddler.has_meddled());
    done.map(drop)
}

#[tokio::test]
async fn a_value_of_ones_own_is_not_taken() {
    let done = in_between(
        "circle",
        (ANN, rename(ANN, "anna")),
        (ANN, rename(ANN, "anna")),
    );
    done.await.unwrap();
}

#[tokio::test]
async fn a_value_that_another_was_faster_to_take_is_taken() {
    let done = in_between(
        "circle",
        (BOB, rename(BOB, "anna")),
        (ANN, rename(ANN, "anna")),
    );
    let refused = done.await.unwrap_err();
    assert!(matches!(refused, PlanError::Taken { .. }), "{refused}");
}
