//! Every scenario of every design, on every store, and over HTTP.

use std::sync::Arc;

use partita_engine::{EngineStore, Options};
use partita_store::surroundings::SystemClock;
use partita_store::{ModelStore, Store};

use crate::scenario::{Stage, load};
use crate::stage;

/// Runs all scenarios, each in a table of its own, and reports all that fail.
pub(crate) async fn run_all<F>(design: &str, unique: &str, stage: impl Fn(String) -> F)
where
    F: Future<Output = Stage>,
{
    let scenarios = load(design);
    assert!(
        scenarios.len() >= 12,
        "only {} scenarios found",
        scenarios.len()
    );
    let mut failures = Vec::new();
    for (index, scenario) in scenarios.iter().enumerate() {
        let stage = stage(format!("{design}-{unique}-{index}")).await;
        if let Err(failure) = scenario.run(&stage).await {
            failures.push(failure);
        }
    }
    let (failed, all) = (failures.len(), scenarios.len());
    assert!(
        failures.is_empty(),
        "{failed} of {all} failed:\n\n{}",
        failures.join("\n\n")
    );
}

#[tokio::test]
async fn stories_on_the_model() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    run_all("stories", "model", async |table| {
        stage::in_library("stories", &table, store.clone()).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stories_on_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> =
        Arc::new(EngineStore::open(folder.path(), Options::new(Arc::new(SystemClock))).unwrap());
    run_all("stories", "engine", async |table| {
        stage::in_library("stories", &table, store.clone()).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stories_over_http_on_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> =
        Arc::new(EngineStore::open(folder.path(), Options::new(Arc::new(SystemClock))).unwrap());
    run_all("stories", "http", async |table| {
        stage::over_http("stories", &table, store.clone()).await
    })
    .await;
}

/// What the other designs add is tried on both stores, and over HTTP where the requests are new.
async fn in_library(design: &str, unique: &str, store: Arc<dyn Store>) {
    run_all(design, unique, async |table| {
        stage::in_library(design, &table, store.clone()).await
    })
    .await;
}

#[tokio::test]
async fn storyhub_on_the_model() {
    in_library("storyhub", "model", Arc::new(ModelStore::default())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn storyhub_on_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let store = EngineStore::open(folder.path(), Options::new(Arc::new(SystemClock))).unwrap();
    in_library("storyhub", "engine", Arc::new(store)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn storyhub_over_http_on_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> =
        Arc::new(EngineStore::open(folder.path(), Options::new(Arc::new(SystemClock))).unwrap());
    run_all("storyhub", "http", async |table| {
        stage::over_http("storyhub", &table, store.clone()).await
    })
    .await;
}

#[tokio::test]
async fn mediahub_on_the_model() {
    in_library("mediahub", "model", Arc::new(ModelStore::default())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mediahub_on_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let store = EngineStore::open(folder.path(), Options::new(Arc::new(SystemClock))).unwrap();
    in_library("mediahub", "engine", Arc::new(store)).await;
}
