//! DynamoDB's endpoint beside the designs: it reads their tables and does not write them.

use std::path::Path;
use std::process::Command;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::create_table::builders::CreateTableFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, ConditionCheck, DeleteRequest,
    KeySchemaElement, KeyType, Put, PutRequest, ScalarAttributeType, Tag, TimeToLiveSpecification,
    TransactWriteItem, Update, WriteRequest,
};
use reqwest::StatusCode;
use serde_json::{Value as Json, json};

use crate::server::{BINARY, Server, token_for};

const STORY: &str = "01JGFJJZ00000000000000DVNE";
const TABLE: &str = "stories";

fn client(url: &str, secret: &str) -> Client {
    let credentials = Credentials::new("AKIDOFTHETESTS", secret, None, None, "test");
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(credentials)
        .endpoint_url(url)
        .retry_config(RetryConfig::disabled())
        .http_client(aws_smithy_http_client::Builder::new().build_http());
    Client::from_conf(config.build())
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

/// Creates a story over the API.
async fn create_story(server: &Server, data: &Path) {
    let created = reqwest::Client::new()
        .post(format!("{}/stories/Story", server.base))
        .bearer_auth(token_for(
            "stories",
            &["--data", data.to_str().unwrap()],
            "ann",
        ))
        .json(&json!({"userId": "ann", "id": STORY, "title": "Dune"}))
        .send()
        .await
        .unwrap();
    assert_eq!(created.status(), StatusCode::CREATED);
}

/// That something was refused for want of permission, and what it says.
fn denied<T, E: ProvideErrorMetadata + std::fmt::Debug>(
    answer: Result<T, SdkError<E, aws_sdk_dynamodb::config::http::HttpResponse>>,
) -> String {
    let Err(error) = answer else {
        panic!("it was carried out");
    };
    assert_eq!(error.code(), Some("AccessDeniedException"), "{error:?}");
    error.message().unwrap().to_owned()
}

fn partition() -> String {
    format!("USER#ann#STORY#{STORY}")
}

#[tokio::test]
async fn tables_of_designs_are_read_and_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    assert_eq!(server.said("endpoint"), server.base);
    create_story(&server, folder.path()).await;
    let client = client(&server.base, "any");

    let names = client.list_tables().send().await.unwrap();
    assert!(names.table_names().contains(&TABLE.to_owned()), "{names:?}");
    let got = client.get_item().table_name(TABLE);
    let got = got
        .key("PK", text(&partition()))
        .key("SK", text("METADATA"));
    let item = got.send().await.unwrap().item.unwrap();
    assert_eq!(item["title"], text("Dune"));
    let rows = client.scan().table_name(TABLE).send().await.unwrap();
    assert_eq!(rows.count(), 2);

    for (refused, expected) in writes(&client, TABLE).await {
        assert!(refused.contains(expected), "{refused}");
        assert!(
            refused.contains("the design stories governs the table stories"),
            "{refused}"
        );
        assert!(refused.contains("--raw-writes"), "{refused}");
    }
    for (refused, _) in writes(&client, "stories-partita").await {
        assert!(refused.contains("is Partita's own"), "{refused}");
    }
    let rows = client.scan().table_name(TABLE).send().await.unwrap();
    assert_eq!(rows.count(), 2);
}

/// Everything that could change a table, and what its refusal names instead.
async fn writes(client: &Client, table: &str) -> Vec<(String, &'static str)> {
    const PATCH: &str = "use PATCH /stories/Story/ann/01JGFJJZ00000000000000DVNE";
    const PUT: &str = "use PUT /stories/Story/";
    const DELETE: &str = "use DELETE /stories/Story/ann/01JGFJJZ00000000000000DVNE";
    const DESIGN: &str = "change the design";
    let (partition, sort) = (text(&partition()), text("METADATA"));
    let put = client.put_item().table_name(table);
    let put = put.item("PK", partition.clone()).item("SK", sort.clone());
    let update = client.update_item().table_name(table);
    let update = update.key("PK", partition.clone()).key("SK", sort.clone());
    let delete = client.delete_item().table_name(table);
    let delete = delete.key("PK", partition.clone()).key("SK", sort.clone());

    let request = PutRequest::builder()
        .item("PK", partition.clone())
        .item("SK", sort.clone());
    let request = WriteRequest::builder()
        .put_request(request.build().unwrap())
        .build();
    let batch_put = client
        .batch_write_item()
        .request_items(table, vec![request]);
    let request = DeleteRequest::builder()
        .key("PK", partition.clone())
        .key("SK", sort.clone());
    let request = WriteRequest::builder()
        .delete_request(request.build().unwrap())
        .build();
    let batch_delete = client
        .batch_write_item()
        .request_items(table, vec![request]);

    let action = Update::builder()
        .table_name(table)
        .update_expression("SET title = :t");
    let action = action.key("PK", partition.clone()).key("SK", sort.clone());
    let action = action
        .expression_attribute_values(":t", text("Worms"))
        .build()
        .unwrap();
    let action = TransactWriteItem::builder().update(action).build();
    let transact_update = client.transact_write_items().transact_items(action);
    let action = Put::builder()
        .table_name(table)
        .item("PK", partition)
        .item("SK", sort);
    let action = TransactWriteItem::builder()
        .put(action.build().unwrap())
        .build();
    let transact_put = client.transact_write_items().transact_items(action);

    let arn = format!("arn:aws:dynamodb:eu-central-1:000000000000:table/{table}");
    let tag = Tag::builder().key("a").value("b").build().unwrap();
    let expiry = TimeToLiveSpecification::builder()
        .attribute_name("until")
        .enabled(true);
    let expiry = client
        .update_time_to_live()
        .table_name(table)
        .time_to_live_specification(expiry.build().unwrap());
    let protect = client
        .update_table()
        .table_name(table)
        .deletion_protection_enabled(true);
    vec![
        (denied(put.send().await), PUT),
        (denied(update.send().await), PATCH),
        (denied(delete.send().await), DELETE),
        (denied(batch_put.send().await), PUT),
        (denied(batch_delete.send().await), DELETE),
        (denied(transact_update.send().await), PATCH),
        (denied(transact_put.send().await), PUT),
        (
            denied(client.delete_table().table_name(table).send().await),
            DESIGN,
        ),
        (denied(protect.send().await), DESIGN),
        (denied(expiry.send().await), DESIGN),
        (
            denied(
                client
                    .tag_resource()
                    .resource_arn(&arn)
                    .tags(tag)
                    .send()
                    .await,
            ),
            DESIGN,
        ),
        (
            denied(
                client
                    .untag_resource()
                    .resource_arn(&arn)
                    .tag_keys("a")
                    .send()
                    .await,
            ),
            DESIGN,
        ),
    ]
}

fn new_table(client: &Client, table: &str) -> CreateTableFluentBuilder {
    let definition = AttributeDefinition::builder().attribute_name("id");
    let definition = definition
        .attribute_type(ScalarAttributeType::S)
        .build()
        .unwrap();
    let key = KeySchemaElement::builder()
        .attribute_name("id")
        .key_type(KeyType::Hash);
    let request = client
        .create_table()
        .table_name(table)
        .billing_mode(BillingMode::PayPerRequest);
    request
        .attribute_definitions(definition)
        .key_schema(key.build().unwrap())
}

/// Whoever reaches an endpoint that asks for no credentials could make themselves an administrator of
/// a design that is served later. So such items are not served before the operator has taken them
/// over, which works beside the server that has them.
#[tokio::test]
async fn items_from_before_a_design_are_not_served_until_they_are_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--endpoint-only"]);
    let client = client(&server.base, "any");
    let mut table = client
        .create_table()
        .table_name(TABLE)
        .billing_mode(BillingMode::PayPerRequest);
    for (name, kind) in [("PK", KeyType::Hash), ("SK", KeyType::Range)] {
        let definition = AttributeDefinition::builder().attribute_name(name);
        let definition = definition.attribute_type(ScalarAttributeType::S);
        let key = KeySchemaElement::builder().attribute_name(name);
        table = table
            .attribute_definitions(definition.build().unwrap())
            .key_schema(key.key_type(kind).build().unwrap());
    }
    table.send().await.unwrap();
    let put = client.put_item().table_name(TABLE);
    let put = put.item("PK", text("USER#ann"));
    let put = put.item("SK", text(&format!("STORY#{STORY}")));
    put.item("ItemType", text("StoryIndex"))
        .send()
        .await
        .unwrap();
    let partita = |words: &[&str], code: i32| {
        let output = Command::new(BINARY)
            .args(words)
            .arg("--data")
            .arg(folder.path())
            .env_remove("TABLE_NAME")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {output:?}");
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let beside = partita(&["adopt", "stories", "--start"], 1);
    assert!(beside.contains("is left behind by a `Story`"), "{beside}");
    assert!(beside.contains("nothing was written"), "{beside}");
    assert_eq!(server.stop(), Some(0));

    let said = partita(&["serve", "stories", "--listen", "127.0.0.1:0"], 1);
    assert!(
        said.contains("has items, and no design is recorded for them"),
        "{said}"
    );
    assert_eq!(partita(&["adopt", "stories", "--start"], 1), beside);
    let said = partita(&["admin", "grant", "stories", "ann", "admin"], 1);
    assert!(said.contains("no design is recorded"), "{said}");

    let server = Server::start(folder.path(), &["--endpoint-only"]);
    partita(&["repair", "stories", "--yes"], 0);
    let put = client_of(&server).put_item().table_name(TABLE);
    let put = put.item("PK", text(&partition()));
    let put = put.item("SK", text("METADATA"));
    put.item("ItemType", text("StoryMetadata"))
        .send()
        .await
        .unwrap();
    let said = partita(&["adopt", "stories", "--start"], 1);
    assert!(said.contains("to do        1 items are none"), "{said}");
    let delete = |client: Client| {
        let delete = client.delete_item().table_name(TABLE);
        let delete = delete.key("PK", text(&partition()));
        delete.key("SK", text("METADATA")).send()
    };
    delete(client_of(&server)).await.unwrap();
    let said = partita(&["adopt", "stories", "--start"], 0);
    assert!(said.contains("adopted"), "{said}");
    // From then on the design governs the table.
    denied(delete(client_of(&server)).await);
    assert_eq!(server.stop(), Some(0));
    Server::start(folder.path(), &["stories"]);
}

fn client_of(server: &Server) -> Client {
    client(&server.base, "any")
}

async fn create_table(client: &Client, table: &str) {
    new_table(client, table).send().await.unwrap();
}

/// The rules of a design that is served later cannot be written beforehand, and those of one that
/// is not served now cannot be changed.
#[tokio::test]
async fn designs_that_are_not_served_govern_their_tables() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["stories"]);
    create_story(&server, folder.path()).await;
    drop(server);
    let endpoint_only: &[&str] = &["--endpoint-only"];
    for flags in [&["figureforge"], endpoint_only] {
        let server = Server::start(folder.path(), flags);
        let client = client(&server.base, "any");
        for (refused, _) in writes(&client, TABLE).await {
            assert!(
                refused.contains("the design stories, which is not served now, governs"),
                "{refused}"
            );
            assert!(refused.contains("--raw-writes"), "{refused}");
        }
        for (refused, _) in writes(&client, "stories-partita").await {
            assert!(refused.contains("is Partita's own"), "{refused}");
        }
        let planted = denied(new_table(&client, "mine-partita").send().await);
        assert!(planted.contains("choose another name"), "{planted}");
        let rows = client.scan().table_name(TABLE).send().await.unwrap();
        assert_eq!(rows.count(), 2);
    }
    let server = Server::start(folder.path(), &["--endpoint-only", "--raw-writes"]);
    create_table(&client(&server.base, "any"), "mine-partita").await;
}

/// A design that a command has made beside the server governs its table from then on.
#[tokio::test]
async fn a_sidecar_that_comes_later_counts() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["figureforge"]);
    let data = folder.path().to_str().unwrap();
    let filled = Command::new(BINARY)
        .args(["demo", "stories", "--data", data])
        .output()
        .unwrap();
    assert!(filled.status.success(), "{filled:?}");
    let client = client(&server.base, "any");
    for (refused, _) in writes(&client, TABLE).await {
        assert!(
            refused.contains("the design that stories-partita records"),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn other_tables_are_anybodys() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["stories"]);
    create_story(&server, folder.path()).await;
    let client = client(&server.base, "any");
    create_table(&client, "mine").await;
    let put = client.put_item().table_name("mine").item("id", text("1"));
    put.send().await.unwrap();
    // A condition on a design's item writes nothing there.
    let check = ConditionCheck::builder()
        .table_name(TABLE)
        .condition_expression("attribute_exists(PK)");
    let check = check
        .key("PK", text(&partition()))
        .key("SK", text("METADATA"))
        .build()
        .unwrap();
    let put = Put::builder()
        .table_name("mine")
        .item("id", text("2"))
        .build()
        .unwrap();
    let request = client
        .transact_write_items()
        .transact_items(TransactWriteItem::builder().condition_check(check).build())
        .transact_items(TransactWriteItem::builder().put(put).build());
    request.send().await.unwrap();
    assert_eq!(
        client
            .scan()
            .table_name("mine")
            .send()
            .await
            .unwrap()
            .count(),
        2
    );
    client
        .delete_table()
        .table_name("mine")
        .send()
        .await
        .unwrap();
}

#[tokio::test]
async fn raw_writes_are_written_where_somebody_asks_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["stories", "--raw-writes"]);
    let client = client(&server.base, "any");
    let put = client.put_item().table_name(TABLE);
    put.item("PK", text("a"))
        .item("SK", text("b"))
        .send()
        .await
        .unwrap();
}

#[tokio::test]
async fn the_configured_credentials_are_verified_beside_designs_too() {
    let folder = tempfile::tempdir().unwrap();
    let credentials = folder.path().join("credentials");
    std::fs::write(&credentials, "AKIDOFTHETESTS\nthe secret\n").unwrap();
    let flags = [
        "stories",
        "--credentials-file",
        credentials.to_str().unwrap(),
    ];
    let server = Server::start(folder.path(), &flags);
    let guess = client(&server.base, "a guess")
        .list_tables()
        .send()
        .await
        .unwrap_err();
    assert_eq!(guess.code(), Some("InvalidSignatureException"));
    client(&server.base, "the secret")
        .list_tables()
        .send()
        .await
        .unwrap();
}

/// Without signatures, a request that comes through a proxy or from a web page is refused.
#[tokio::test]
async fn without_credentials_only_this_machine_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["stories"]);
    let ask = |name: &'static str, value: &'static str| {
        let request = reqwest::Client::new()
            .post(&server.base)
            .header("x-amz-target", "DynamoDB_20120810.ListTables")
            .header("x-amz-date", "20260101T000000Z")
            .header("authorization", "AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=any")
            .header(name, value)
            .body("{}");
        async move {
            let answer = request.send().await.unwrap();
            let status = answer.status().as_u16();
            let body: Json = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
            (
                status,
                body["__type"].as_str().unwrap_or_default().to_owned(),
            )
        }
    };
    assert_eq!(ask("x-anything", "else").await.0, 200);
    let denied = (
        400,
        "com.amazon.coral.service#AccessDeniedException".to_owned(),
    );
    assert_eq!(ask("host", "rebound.example").await, denied);
    assert_eq!(ask("x-forwarded-for", "10.0.0.1").await, denied);
}

#[tokio::test]
async fn there_need_be_no_endpoint() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["stories", "--no-endpoint"]);
    assert!(server.said("endpoint").contains("--no-endpoint"));
    let client = client(&server.base, "any");
    assert!(client.list_tables().send().await.is_err());
}
