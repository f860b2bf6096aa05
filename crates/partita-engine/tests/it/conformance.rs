//! The suite that every store passes.

use std::sync::Arc;

use partita_engine::{Durability, EngineStore, Options, Upkeep};
use partita_store::surroundings::{ManualClock, SystemClock};
use partita_testkit::conformance;

use crate::bench::open;

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_passes() {
    let directory = tempfile::tempdir().unwrap();
    conformance::run(&open(directory.path()), "engine").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_passes_without_a_sync_for_each_commit() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::new(Arc::new(SystemClock)).durability(Durability::Buffered);
    let store = EngineStore::open(directory.path(), options).unwrap();
    conformance::run(&store, "buffered").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_old_goes() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::default());
    let options = Options::new(clock.clone()).upkeep(Upkeep::OnRequest);
    let store = EngineStore::open(directory.path(), options).unwrap();
    let sweep = async || store.upkeep().await.unwrap();
    conformance::items_expire(&store, &clock, sweep)
        .await
        .unwrap();
    conformance::streams_age(&store, &clock, sweep)
        .await
        .unwrap();
    assert_eq!(store.verify().await, Ok(Vec::new()));
}
