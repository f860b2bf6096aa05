//! SIGKILL under load, through DynamoDB's protocol: what was acknowledged is there, in the table,
//! in its index and in its stream, and transactions are there as a whole or not at all.

use std::collections::BTreeMap;
use std::path::Path;

use reqwest::Client;
use serde_json::{Value as Json, json};

use crate::server::{Life, Server, rounds, verify_store};

const CLIENTS: u64 = 8;

/// Any signature is taken from this machine.
const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature=0";

/// By the number of a client: how many of its writes were acknowledged in each round.
type Acknowledged = BTreeMap<(u64, u64), u64>;

#[tokio::test(flavor = "multi_thread")]
async fn killed_endpoints_lose_nothing() {
    let data = tempfile::tempdir().unwrap();
    let mut acknowledged = Acknowledged::new();
    for round in 0..rounds() {
        let server = start(data.path(), round);
        let target = Target::new(&server.base);
        target.create_table().await;
        check(&target, &acknowledged).await;
        let life = Life::of(round);
        let writers =
            (0..CLIENTS).map(|client| write_until_it_fails(&target, round, client, &life));
        let writers = futures::future::join_all(writers);
        let (counts, ()) = tokio::join!(writers, life.end(server));
        for (client, count) in (0..CLIENTS).zip(counts) {
            acknowledged.insert((round, client), count);
        }
        if round % 2 == 0 {
            verify_store(data.path()).await;
        }
    }
    let server = start(data.path(), 0);
    check(&Target::new(&server.base), &acknowledged).await;
    let total: u64 = acknowledged.values().sum();
    println!("{total} acknowledged writes in {} rounds", rounds());
}

/// A killed process loses nothing, whether or not it syncs.
fn start(data: &Path, round: u64) -> Server {
    let durability = if round % 4 == 3 { "buffered" } else { "sync" };
    Server::start(data, &["--endpoint-only", "--durability", durability])
}

struct Target {
    client: Client,
    base: String,
}

impl Target {
    fn new(base: &str) -> Self {
        Target {
            client: Client::new(),
            base: base.to_owned(),
        }
    }

    /// The answer, unless there is none.
    async fn call(&self, target: &str, body: &Json) -> Option<Json> {
        let request = self
            .client
            .post(&self.base)
            .header("content-type", "application/x-amz-json-1.0")
            .header("x-amz-target", target)
            .header("x-amz-date", "20260101T000000Z")
            .header("authorization", AUTHORIZATION)
            .body(body.to_string());
        let response = request.send().await.ok()?;
        let status = response.status();
        let text = response.text().await.ok()?;
        assert!(status.is_success(), "{target}: {status} {text}");
        Some(serde_json::from_str(&text).unwrap())
    }

    async fn dynamodb(&self, operation: &str, body: Json) -> Option<Json> {
        let target = format!("DynamoDB_20120810.{operation}");
        self.call(&target, &body).await
    }

    async fn streams(&self, operation: &str, body: Json) -> Json {
        let target = format!("DynamoDBStreams_20120810.{operation}");
        self.call(&target, &body).await.unwrap()
    }

    async fn create_table(&self) {
        let tables = self.dynamodb("ListTables", json!({})).await.unwrap();
        if tables["TableNames"] == json!(["notes"]) {
            return;
        }
        let body = json!({
            "TableName": "notes",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": "PK", "AttributeType": "S"},
                {"AttributeName": "SK", "AttributeType": "N"},
                {"AttributeName": "half", "AttributeType": "S"},
            ],
            "KeySchema": [
                {"AttributeName": "PK", "KeyType": "HASH"},
                {"AttributeName": "SK", "KeyType": "RANGE"},
            ],
            "GlobalSecondaryIndexes": [{
                "IndexName": "by-half",
                "KeySchema": [
                    {"AttributeName": "half", "KeyType": "HASH"},
                    {"AttributeName": "SK", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }],
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"},
        });
        self.dynamodb("CreateTable", body).await.unwrap();
    }

    /// The keys of all items, or of all rows of the index: partition and number.
    async fn scan(&self, index: Option<&str>) -> Vec<(String, u64)> {
        let mut keys = Vec::new();
        let mut body = json!({"TableName": "notes"});
        if let Some(index) = index {
            body["IndexName"] = json!(index);
        }
        loop {
            let page = self.dynamodb("Scan", body.clone()).await.unwrap();
            keys.extend(page["Items"].as_array().unwrap().iter().map(key));
            match page.get("LastEvaluatedKey") {
                Some(last) => body["ExclusiveStartKey"] = last.clone(),
                None => break,
            }
        }
        keys.sort();
        keys
    }

    /// The keys of all records, in their order.
    async fn records(&self) -> Vec<(String, u64)> {
        let body = json!({"TableName": "notes"});
        let described = self.dynamodb("DescribeTable", body).await.unwrap();
        let arn = &described["Table"]["LatestStreamArn"];
        let described = self.streams("DescribeStream", json!({"StreamArn": arn}));
        let shard = &described.await["StreamDescription"]["Shards"][0]["ShardId"];
        let body = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
        let mut iterator = self.streams("GetShardIterator", body).await["ShardIterator"].take();
        let mut keys = Vec::new();
        loop {
            let body = json!({"ShardIterator": iterator});
            let mut page = self.streams("GetRecords", body).await;
            let records = page["Records"].as_array().unwrap();
            if records.is_empty() {
                return keys;
            }
            keys.extend(
                records
                    .iter()
                    .map(|record| key(&record["dynamodb"]["Keys"])),
            );
            iterator = page["NextShardIterator"].take();
        }
    }
}

fn key(item: &Json) -> (String, u64) {
    let partition = item["PK"]["S"].as_str().unwrap().to_owned();
    (
        partition,
        item["SK"]["N"].as_str().unwrap().parse().unwrap(),
    )
}

/// Transactions of two items, one after the other. How many were acknowledged.
async fn write_until_it_fails(target: &Target, round: u64, client: u64, life: &Life) -> u64 {
    let put = |half: &str, number: u64| {
        let item = json!({
            "PK": {"S": format!("{half}-{round}-{client}")},
            "SK": {"N": number.to_string()},
            "half": {"S": half},
        });
        json!({"Put": {"TableName": "notes", "Item": item}})
    };
    for number in 0.. {
        let body = json!({"TransactItems": [put("left", number), put("right", number)]});
        if target.dynamodb("TransactWriteItems", body).await.is_none() {
            return number;
        }
        life.acknowledge();
    }
    unreachable!("the server is killed before the numbers run out")
}

/// Each client's writes are there up to the last acknowledged one, and at most one more that
/// was under way, in table, index and stream alike.
async fn check(target: &Target, acknowledged: &Acknowledged) {
    let items = target.scan(None).await;
    assert_eq!(
        target.scan(Some("by-half")).await,
        items,
        "the index has all"
    );
    let records = target.records().await;
    let mut sorted = records.clone();
    sorted.sort();
    assert_eq!(sorted, items, "every item has one record");
    for ((round, client), count) in acknowledged {
        let numbers = |half: &str| -> Vec<u64> {
            let name = format!("{half}-{round}-{client}");
            let of_client = records.iter().filter(|(partition, _)| *partition == name);
            of_client.map(|(_, number)| *number).collect()
        };
        let (left, right) = (numbers("left"), numbers("right"));
        assert_eq!(left, right, "no half of a transaction");
        let found = left.len() as u64;
        assert!(
            found == *count || found == count + 1,
            "{count} were acknowledged and {found} are there"
        );
        assert_eq!(left, (0..found).collect::<Vec<_>>(), "in their order");
    }
}
