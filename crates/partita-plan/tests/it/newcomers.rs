//! Whoever begins to refer to an item while it is removed, or while its copies are renewed, is not
//! left behind. Nothing here counts who refers, so that no count tells.

use std::sync::Arc;

use partita_core::Value;
use partita_plan::{Caller, Left, Operation, Partita, PlanError};
use partita_store::{ModelStore, Store};
use partita_testkit::{Faults, FaultyStore};

use crate::inn::{DESIGN, guest, removal, renaming, room};
use crate::stage::{items, open, run};

/// How many interleavings are tried.
const SEEDS: u64 = 60;

/// An inn with one room, in which one guest is.
async fn inn() -> (Arc<dyn Store>, Partita) {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(DESIGN, store.clone(), 0).await;
    for operation in [room(), guest("g0")] {
        run(&partita, operation).await.unwrap();
    }
    (store, partita)
}

/// The operation while three guests come, in an order that the seed decides.
async fn amid_newcomers(store: &Arc<dyn Store>, operation: Operation, seed: u64) -> usize {
    let shuffled = FaultyStore::new(store.clone(), Faults::default(), seed);
    let partita = open(DESIGN, Arc::new(shuffled), seed + 1).await;
    let (done, one, two, three) = tokio::join!(
        run(&partita, operation),
        run(&partita, guest("g1")),
        run(&partita, guest("g2")),
        run(&partita, guest("g3")),
    );
    done.unwrap();
    [one, two, three]
        .iter()
        .filter(|guest| guest.is_ok())
        .count()
}

#[tokio::test]
async fn none_outlives_what_it_refers_to() {
    let mut accepted = 0;
    for seed in 0..SEEDS {
        let (store, partita) = inn().await;
        accepted += amid_newcomers(&store, removal(), seed).await;
        assert_eq!(items(&*store, "inn").await, [], "seed {seed}");
        // Nothing is held any more, so that the room can be let again at once.
        run(&partita, room()).await.unwrap();
    }
    assert!(accepted > 0, "no guest came before the room was gone");
}

#[tokio::test]
async fn none_keeps_a_copy_of_what_was() {
    let mut accepted = 0;
    for seed in 0..SEEDS {
        let (store, _) = inn().await;
        accepted += amid_newcomers(&store, renaming(), seed).await;
        for item in items(&*store, "inn").await {
            assert_eq!(item["title"], Value::from("red"), "seed {seed}: {item:?}");
        }
    }
    assert_eq!(accepted as u64, 3 * SEEDS);
}

/// Looking again is part of the write: it is recorded with it, and leaves nothing behind.
#[tokio::test]
async fn looking_again_leaves_no_trace() {
    let (store, partita) = inn().await;
    let ann = Caller::user("ann");
    for operation in [renaming(), removal()] {
        let preview = partita.preview(&ann, operation.clone()).await.unwrap();
        assert_eq!(preview.job, Some(Left::LookAgain), "{operation:?}");
        run(&partita, operation).await.unwrap();
        let mut aside = items(&*store, "inn-partita").await;
        aside.retain(|item| item["PK"] != Value::from("DESIGN"));
        assert_eq!(aside, []);
        assert_eq!(partita.jobs().await, Ok(Vec::new()));
    }
}

/// Within one transaction the guests of the old room could not be told from those of the new.
#[tokio::test]
async fn a_batch_does_not_let_again_what_it_removes() {
    let (_, partita) = inn().await;
    let ann = Caller::user("ann");
    let refused = partita.run_all(&ann, vec![removal(), room()]).await;
    let Err(PlanError::Batch { refusals }) = refused else {
        panic!("{refused:?}")
    };
    let entity = "Room".to_owned();
    assert_eq!(refusals[0].position, 1);
    assert_eq!(refusals[0].error, PlanError::StillRemoved { entity });
    partita
        .run_all(&ann, vec![renaming(), removal()])
        .await
        .unwrap();
    assert_eq!(partita.jobs().await, Ok(Vec::new()));
}
