//! Streams, with the client that AWS has for them.

use aws_sdk_dynamodb::types::{BillingMode, StreamSpecification, StreamViewType};
use aws_sdk_dynamodbstreams::Client as Streams;
use aws_sdk_dynamodbstreams::config::retry::RetryConfig;
use aws_sdk_dynamodbstreams::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodbstreams::types::{
    AttributeValue, OperationType, Record, ShardIteratorType, StreamStatus,
};

use super::settings::{attribute, hash};
use super::{client, number, text};
use crate::endpoint::{self, Endpoint};

const TABLE: &str = "notes";

fn streams(endpoint: &Endpoint) -> Streams {
    let credentials = Credentials::new(endpoint::KEY_ID, endpoint::SECRET, None, None, "test");
    let config = aws_sdk_dynamodbstreams::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(credentials)
        .endpoint_url(endpoint.url())
        .retry_config(RetryConfig::disabled())
        .http_client(aws_smithy_http_client::Builder::new().build_http());
    Streams::from_conf(config.build())
}

/// An item comes, changes, and goes.
async fn change(client: &aws_sdk_dynamodb::Client) {
    for v in 1..=2 {
        let put = client.put_item().table_name(TABLE);
        let put = put.item("pk", text("ann")).item("v", number(v));
        put.send().await.unwrap();
    }
    let delete = client.delete_item().table_name(TABLE);
    delete.key("pk", text("ann")).send().await.unwrap();
}

#[tokio::test]
async fn a_stream_tells_every_change() {
    let endpoint = Endpoint::start();
    let (client, streams) = (client(&endpoint, endpoint::SECRET), streams(&endpoint));
    let specification = StreamSpecification::builder()
        .stream_enabled(true)
        .stream_view_type(StreamViewType::NewAndOldImages);
    let create = client
        .create_table()
        .table_name(TABLE)
        .attribute_definitions(attribute("pk"))
        .key_schema(hash("pk"))
        .billing_mode(BillingMode::PayPerRequest)
        .stream_specification(specification.build().unwrap());
    create.send().await.unwrap();
    change(&client).await;

    let listed = streams.list_streams().table_name(TABLE).send().await;
    let listed = listed.unwrap().streams.unwrap();
    let arn = listed[0].stream_arn().unwrap();
    let described = streams.describe_stream().stream_arn(arn).send().await;
    let described = described.unwrap().stream_description.unwrap();
    assert_eq!(described.stream_status, Some(StreamStatus::Enabled));
    let shard = described.shards()[0].shard_id().unwrap();
    let records = read(&streams, arn, shard).await;
    let names: Vec<_> = records.iter().filter_map(Record::event_name).collect();
    let expected = [
        OperationType::Insert,
        OperationType::Modify,
        OperationType::Remove,
    ];
    assert_eq!(names, expected.iter().collect::<Vec<_>>());
    let modify = records[1].dynamodb().unwrap();
    let v = |number: &str| AttributeValue::N(number.to_owned());
    assert_eq!(modify.old_image().unwrap()["v"], v("1"));
    assert_eq!(modify.new_image().unwrap()["v"], v("2"));

    let missing = arn.replace(TABLE, "missing");
    let missing = streams.describe_stream().stream_arn(missing).send().await;
    let missing = missing.unwrap_err().into_service_error();
    assert!(missing.is_resource_not_found_exception());
}

/// All that a shard has, two at a time.
async fn read(streams: &Streams, arn: &str, shard: &str) -> Vec<Record> {
    let first = streams.get_shard_iterator().stream_arn(arn).shard_id(shard);
    let first = first.shard_iterator_type(ShardIteratorType::TrimHorizon);
    let mut next = first.send().await.unwrap().shard_iterator;
    let mut found = Vec::new();
    while let Some(iterator) = next.take() {
        let page = streams.get_records().shard_iterator(iterator).limit(2);
        let page = page.send().await.unwrap();
        if page.records().is_empty() {
            break;
        }
        found.extend(page.records.unwrap_or_default());
        next = page.next_shard_iterator;
    }
    found
}
