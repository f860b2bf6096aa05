//! The reference model passes the suite.

use partita_store::{ModelStore, conformance};

#[tokio::test]
async fn the_model_conforms() {
    conformance::run(&ModelStore::default(), "model").await;
}
