//! The suite that every store passes.

use partita_store::conformance;

use crate::bench::open;

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_passes() {
    let directory = tempfile::tempdir().unwrap();
    conformance::run(&open(directory.path()), "engine").await;
}
