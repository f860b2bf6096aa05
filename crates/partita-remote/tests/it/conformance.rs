//! The suite, on AWS's own implementation.

use partita_remote::{RemoteStore, Timeouts};
use partita_store::conformance;
use partita_store::dynamodb_local::DynamoDbLocal;

#[tokio::test]
async fn dynamodb_local_conforms() {
    let Some(local) = DynamoDbLocal::start() else {
        return;
    };
    let store = RemoteStore::local(&local.endpoint(), Timeouts::default());
    conformance::run(&store, "remote").await;
}
