//! Every scenario of every design, on every store, and over HTTP.

use std::sync::Arc;

use partita_store::{ModelStore, Store};

use crate::scenario::{Stage, load};
use crate::stage;

/// Runs all scenarios, each in a table of its own, and reports all that fail.
pub(crate) async fn run_all<F>(design: &str, unique: &str, stage: impl Fn(String) -> F)
where
    F: Future<Output = Stage>,
{
    let scenarios = load(design);
    let is_shipped = partita_design::shipped::find(design).is_some();
    let least = if is_shipped { 12 } else { 1 };
    assert!(
        scenarios.len() >= least,
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

/// The scenarios of a design through the library.
pub(crate) async fn in_library(design: &str, unique: &str, store: Arc<dyn Store>) {
    run_all(design, unique, async |table| {
        stage::in_library(design, &table, store.clone()).await
    })
    .await;
}

async fn on_the_engine(design: &str) {
    let folder = tempfile::tempdir().unwrap();
    let store = stage::engine(folder.path());
    in_library(design, "engine", Arc::new(store)).await;
}

async fn over_http(design: &str) {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(stage::engine(folder.path()));
    run_all(design, "http", async |table| {
        stage::over_http(design, &table, store.clone()).await
    })
    .await;
}

/// Three tests for every design, so that each runs by itself and is named when it fails.
macro_rules! scenarios {
    ($($design:ident)*) => {$(
        mod $design {
            use super::*;

            #[tokio::test]
            async fn on_the_model() {
                let store = Arc::new(ModelStore::default());
                in_library(stringify!($design), "model", store).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn on_the_engine() {
                super::on_the_engine(stringify!($design)).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn over_http() {
                super::over_http(stringify!($design)).await;
            }
        }
    )*};
}

scenarios! { stories storyhub mediahub holdthatthought figureforge helpdesk tenants clubs boards }
