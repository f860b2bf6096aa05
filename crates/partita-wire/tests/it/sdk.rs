//! AWS's own SDK as the client.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials as SdkCredentials, Region};
use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::types::AttributeValue;
use partita_store::request::CreateTable;
use partita_store::surroundings::{SeededEntropy, SystemClock};
use partita_store::table::KeySchema;
use partita_store::{ModelStore, Store as _};
use partita_wire::{Credentials, Endpoint};

use crate::server;

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

async fn client(server: Option<Credentials>, secret: &str) -> Client {
    let store = ModelStore::default();
    let schema = KeySchema::strings("PK", "SK");
    let table = "notes".parse().unwrap();
    store
        .create_table(CreateTable { table, schema })
        .await
        .unwrap();
    let endpoint = Endpoint::new(
        Arc::new(store),
        server,
        Arc::new(SystemClock),
        Arc::new(SeededEntropy::new(7)),
    );
    let address = server::start(endpoint).await;
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(SdkCredentials::new("AKID", secret, None, None, "test"))
        .endpoint_url(format!("http://{address}"))
        .retry_config(RetryConfig::disabled())
        .http_client(aws_smithy_http_client::Builder::new().build_http());
    Client::from_conf(config.build())
}

fn credentials() -> Option<Credentials> {
    Some(Credentials::new("AKID", "the secret".into()))
}

async fn put_and_get(client: &Client) {
    let put = client
        .put_item()
        .table_name("notes")
        .item("PK", text("a"))
        .item("SK", text("b"))
        .item("n", AttributeValue::N("1.50".into()));
    put.send().await.unwrap();
    let get = client
        .get_item()
        .table_name("notes")
        .key("PK", text("a"))
        .key("SK", text("b"));
    let found = get.send().await.unwrap().item.unwrap();
    assert_eq!(found["n"], AttributeValue::N("1.5".into()));
}

#[tokio::test]
async fn any_credentials_do_where_none_are_configured() {
    put_and_get(&client(None, "whatever").await).await;
}

#[tokio::test]
async fn the_configured_credentials_do() {
    put_and_get(&client(credentials(), "the secret").await).await;
}

#[tokio::test]
async fn another_secret_is_refused() {
    let client = client(credentials(), "a guess").await;
    let refused = client.describe_limits().send().await.unwrap_err();
    let refused = refused.into_service_error();
    assert_eq!(refused.code(), Some("InvalidSignatureException"));
}
