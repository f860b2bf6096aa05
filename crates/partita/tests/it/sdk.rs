//! AWS's own SDK as the client, over a socket.

mod indexes;
mod operations;
mod settings;
mod statements;
mod streams;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::types::AttributeValue;

use crate::endpoint::{self, Endpoint};

/// A client that knows this secret, and takes the first answer for the last.
fn client(endpoint: &Endpoint, secret: &str) -> Client {
    let credentials = Credentials::new(endpoint::KEY_ID, secret, None, None, "test");
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(credentials)
        .endpoint_url(endpoint.url())
        .retry_config(RetryConfig::disabled())
        .http_client(aws_smithy_http_client::Builder::new().build_http());
    Client::from_conf(config.build())
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn number(number: i32) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

#[tokio::test]
async fn any_credentials_do_where_none_are_configured() {
    let endpoint = Endpoint::open();
    operations::run(&client(&endpoint, "whatever")).await;
}

#[tokio::test]
async fn the_configured_credentials_do() {
    let endpoint = Endpoint::start();
    operations::run(&client(&endpoint, endpoint::SECRET)).await;
}

#[tokio::test]
async fn another_secret_is_refused() {
    let endpoint = Endpoint::start();
    let client = client(&endpoint, "a guess");
    let refused = client.describe_limits().send().await.unwrap_err();
    let refused = refused.into_service_error();
    assert_eq!(refused.code(), Some("InvalidSignatureException"));
}
