//! The requests that are measured.

use std::ops::Range;

use clap::ValueEnum;
use serde_json::{Value as Json, json};

use crate::flags::BenchFlags;

/// Items of one partition; a query reads them all.
const PARTITION_ITEMS: u64 = 20;
/// What an item has besides its payload, as DynamoDB counts.
const ITEM_BYTES_MIN: usize = 150;

/// One kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Workload {
    /// PutItem of 1 KB into a table with two indexes
    Put,
    /// GetItem of 1 KB
    Get,
    /// Query of 20 items
    Query,
    /// Query of 20 items of an index
    QueryIndex,
    /// UpdateItem that adds to a counter
    Update,
    /// TransactWriteItems of a put and two counters
    Transact,
}

impl Workload {
    /// The next request of one connection: its operation and its body.
    pub(super) fn request(
        self,
        table: &str,
        flags: &BenchFlags,
        items: u64,
        random: &mut fastrand::Rng,
    ) -> (&'static str, String) {
        let number = random.u64(0..items.max(1));
        match self {
            Workload::Put => {
                // Half of them are new, half replace an item.
                let number = random.u64(0..items.max(1) * 2);
                (
                    "PutItem",
                    json!({"TableName": table, "Item": item(number, flags.item_bytes)}).to_string(),
                )
            }
            Workload::Get => (
                "GetItem",
                json!({"TableName": table, "Key": key(number)}).to_string(),
            ),
            Workload::Query => {
                let partition = partition(number);
                let query = json!({
                    "TableName": table,
                    "KeyConditionExpression": "PK = :p",
                    "ExpressionAttributeValues": {":p": {"S": partition}},
                    "Limit": PARTITION_ITEMS,
                });
                ("Query", query.to_string())
            }
            Workload::QueryIndex => {
                let query = json!({
                    "TableName": table,
                    "IndexName": "GSI1",
                    "KeyConditionExpression": "GSI1PK = :p",
                    "ExpressionAttributeValues": {":p": {"S": status(number)}},
                    "Limit": PARTITION_ITEMS,
                });
                ("Query", query.to_string())
            }
            Workload::Update => {
                let mut update = counter(number);
                update["TableName"] = table.into();
                ("UpdateItem", update.to_string())
            }
            Workload::Transact => {
                let transaction = transaction(table, flags, items, random);
                ("TransactWriteItems", transaction)
            }
        }
    }

    /// What flags and reports call it.
    pub(super) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Whether nothing is changed by it.
    pub(super) fn is_read(self) -> bool {
        matches!(self, Workload::Get | Workload::Query | Workload::QueryIndex)
    }
}

fn transaction(table: &str, flags: &BenchFlags, items: u64, random: &mut fastrand::Rng) -> String {
    // Three items that are never the same.
    let put = items * 2 + random.u64(0..items.max(1));
    let one = random.u64(0..items.max(1));
    let two = items * 3 + random.u64(0..items.max(1));
    let update = |number| {
        let mut update = counter(number);
        update["TableName"] = table.into();
        json!({ "Update": update })
    };
    let put = json!({"Put": {"TableName": table, "Item": item(put, flags.item_bytes)}});
    json!({"TransactItems": [put, update(one), update(two)]}).to_string()
}

fn counter(number: u64) -> Json {
    json!({
        "Key": key(number),
        "UpdateExpression": "SET hits = if_not_exists(hits, :zero) + :one",
        "ExpressionAttributeValues": {":zero": {"N": "0"}, ":one": {"N": "1"}},
    })
}

/// The table: string keys and two indexes with everything in them.
pub(super) fn table(name: &str) -> String {
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let keys = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let index = |name: &str, hash: &str, range: &str| json!({"IndexName": name, "KeySchema": keys(hash, range), "Projection": {"ProjectionType": "ALL"}});
    let names = ["PK", "SK", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK"];
    json!({
        "TableName": name,
        "AttributeDefinitions": names.map(attribute),
        "KeySchema": keys("PK", "SK"),
        "GlobalSecondaryIndexes": [index("GSI1", "GSI1PK", "GSI1SK"), index("GSI2", "GSI2PK", "GSI2SK")],
        "BillingMode": "PAY_PER_REQUEST",
    })
    .to_string()
}

/// A batch that writes the items of these numbers.
pub(super) fn batch(table: &str, numbers: Range<u64>, item_bytes: usize) -> String {
    let puts: Vec<Json> = numbers
        .map(|number| json!({"PutRequest": {"Item": item(number, item_bytes)}}))
        .collect();
    json!({"RequestItems": {table: puts}}).to_string()
}

fn partition(number: u64) -> String {
    format!("USER#{:08}", number / PARTITION_ITEMS)
}

fn key(number: u64) -> Json {
    json!({"PK": {"S": partition(number)}, "SK": {"S": format!("ITEM#{number:012}")}})
}

fn status(number: u64) -> String {
    format!("STATUS#{}", number % 100)
}

fn item(number: u64, item_bytes: usize) -> Json {
    let mut item = key(number);
    let text = |text: String| json!({ "S": text });
    item["GSI1PK"] = text(status(number));
    item["GSI1SK"] = text(format!("{number:012}"));
    item["GSI2PK"] = text(format!("OWNER#{}", number % 1000));
    item["GSI2SK"] = text(format!("{number:012}"));
    item["payload"] = text("x".repeat(item_bytes.saturating_sub(ITEM_BYTES_MIN)));
    item
}
