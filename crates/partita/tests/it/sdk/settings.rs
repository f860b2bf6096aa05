//! UpdateTable, time to live and tags.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, CreateGlobalSecondaryIndexAction,
    DeleteGlobalSecondaryIndexAction, GlobalSecondaryIndexUpdate, IndexStatus, KeySchemaElement,
    KeyType, Projection, ProjectionType, ScalarAttributeType, TableDescription, Tag,
    TimeToLiveSpecification, TimeToLiveStatus,
};

use super::{client, text};
use crate::endpoint::{self, Endpoint};

const TABLE: &str = "notes";

pub(super) fn attribute(name: &str) -> AttributeDefinition {
    let definition = AttributeDefinition::builder().attribute_name(name);
    let definition = definition.attribute_type(ScalarAttributeType::S);
    definition.build().unwrap()
}

pub(super) fn hash(name: &str) -> KeySchemaElement {
    let element = KeySchemaElement::builder().attribute_name(name);
    element.key_type(KeyType::Hash).build().unwrap()
}

#[tokio::test]
async fn a_table_changes() {
    let endpoint = Endpoint::start();
    let client = client(&endpoint, endpoint::SECRET);
    let create = client.create_table().table_name(TABLE);
    let create = create
        .attribute_definitions(attribute("pk"))
        .key_schema(hash("pk"));
    let create = create.billing_mode(BillingMode::PayPerRequest);
    create.send().await.unwrap();
    indexes(&client).await;
    protection(&client).await;
    time_to_live(&client).await;
    tags(&client).await;
}

async fn describe(client: &Client) -> TableDescription {
    let described = client.describe_table().table_name(TABLE).send().await;
    described.unwrap().table.unwrap()
}

async fn update_index(client: &Client, update: GlobalSecondaryIndexUpdate) {
    let request = client.update_table().table_name(TABLE);
    let request = request.attribute_definitions(attribute("kind"));
    let request = request.global_secondary_index_updates(update);
    request.send().await.unwrap();
}

async fn indexes(client: &Client) {
    for number in 0..30 {
        let put = client.put_item().table_name(TABLE);
        let put = put.item("pk", text(&number.to_string()));
        let put = put.item("kind", text(["even", "odd"][number % 2]));
        put.send().await.unwrap();
    }
    let create = CreateGlobalSecondaryIndexAction::builder()
        .index_name("by-kind")
        .key_schema(hash("kind"))
        .projection(
            Projection::builder()
                .projection_type(ProjectionType::All)
                .build(),
        );
    let update = GlobalSecondaryIndexUpdate::builder().create(create.build().unwrap());
    update_index(client, update.build()).await;
    while describe(client).await.global_secondary_indexes()[0].index_status
        != Some(IndexStatus::Active)
    {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let query = client.query().table_name(TABLE).index_name("by-kind");
    let query = query
        .key_condition_expression("kind = :k")
        .expression_attribute_values(":k", text("odd"));
    assert_eq!(query.send().await.unwrap().count, 15);
    let delete = DeleteGlobalSecondaryIndexAction::builder().index_name("by-kind");
    let update = GlobalSecondaryIndexUpdate::builder().delete(delete.build().unwrap());
    update_index(client, update.build()).await;
    assert!(describe(client).await.global_secondary_indexes().is_empty());
}

async fn protection(client: &Client) {
    let protect = |is_protected| {
        let update = client.update_table().table_name(TABLE);
        update.deletion_protection_enabled(is_protected).send()
    };
    protect(true).await.unwrap();
    let refused = client.delete_table().table_name(TABLE).send().await;
    let refused = refused.unwrap_err().into_service_error();
    assert_eq!(refused.code(), Some("ValidationException"));
    protect(false).await.unwrap();
}

async fn time_to_live(client: &Client) {
    let specification = TimeToLiveSpecification::builder()
        .attribute_name("expires")
        .enabled(true);
    let update = client.update_time_to_live().table_name(TABLE);
    let update = update.time_to_live_specification(specification.build().unwrap());
    update.send().await.unwrap();
    let described = client.describe_time_to_live().table_name(TABLE);
    let described = described.send().await.unwrap();
    let described = described.time_to_live_description.unwrap();
    assert_eq!(described.attribute_name(), Some("expires"));
    let status = described.time_to_live_status;
    assert_eq!(status, Some(TimeToLiveStatus::Enabled));
}

async fn tags(client: &Client) {
    let arn = describe(client).await.table_arn.unwrap();
    let tag = |key: &str, value: &str| Tag::builder().key(key).value(value).build().unwrap();
    let request = client.tag_resource().resource_arn(&arn);
    let request = request.tags(tag("stage", "test")).tags(tag("owner", "ann"));
    request.send().await.unwrap();
    let request = client.untag_resource().resource_arn(&arn).tag_keys("stage");
    request.send().await.unwrap();
    let listed = client.list_tags_of_resource().resource_arn(&arn);
    let listed = listed.send().await.unwrap();
    assert_eq!(listed.tags(), [tag("owner", "ann")]);
}
