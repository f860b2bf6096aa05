//! The endpoint, and what the targets about it do with an input.
//!
//! `crates/partita-wire/tests/it/fuzzed.rs` includes this file, so that every run of the tests feeds
//! these functions what the corpus has, on the stable toolchain.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use http::Response;
use http::request::Parts;
use partita_core::Item;
use partita_core::expression::{Condition, Statement};
use partita_store::ModelStore;
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_wire::{Credentials, Endpoint};

/// The moment at which every request arrives, and the seeds of `sigv4` are signed.
pub const NOW_MILLIS: i64 = 1_440_938_160_000;

/// An item with every type in it, to evaluate expressions on.
pub static ITEM: LazyLock<Item> = LazyLock::new(|| {
    let json = r#"{
        "pk": {"S": "a"}, "sk": {"N": "1"}, "a": {"N": "1"}, "b": {"S": "text"},
        "c": {"B": "AAEC"}, "d": {"BOOL": true}, "e": {"NULL": true},
        "l": {"L": [{"N": "1"}, {"S": "x"}, {"L": [{"N": "2"}]}]},
        "m": {"M": {"x": {"N": "1"}, "y": {"M": {"z": {"S": "deep"}}}}},
        "ns": {"NS": ["1", "2"]}, "ss": {"SS": ["x", "y"]}, "bs": {"BS": ["AA=="]}
    }"#;
    serde_json::from_str(json).expect("this is an item")
});

/// Requests of one input of `request`; more would only be slow.
const REQUESTS_MAX: usize = 8;

/// Requests, one on each line: an operation and its body.
pub fn request(bytes: &[u8]) {
    let endpoint = endpoint(None);
    for line in bytes.split(|byte| *byte == b'\n').take(REQUESTS_MAX) {
        let (operation, body) = split(line);
        ask(&endpoint, operation, Bytes::copy_from_slice(body));
    }
}

/// The operations that have parameters which expressions have replaced.
const LEGACY_OPERATIONS: [&[u8]; 7] = [
    b"Scan",
    b"Query",
    b"GetItem",
    b"PutItem",
    b"UpdateItem",
    b"DeleteItem",
    b"BatchGetItem",
];

/// A request with the parameters that expressions have replaced: an operation and its body.
pub fn legacy(bytes: &[u8]) {
    let (operation, body) = split(bytes);
    if LEGACY_OPERATIONS.contains(&operation) {
        let endpoint = endpoint_with_table("legacy");
        ask(&endpoint, operation, Bytes::copy_from_slice(body));
    }
}

fn split(line: &[u8]) -> (&[u8], &[u8]) {
    let space = line.iter().position(|byte| *byte == b' ');
    line.split_at(space.unwrap_or(line.len()))
}

/// A PartiQL statement, by itself and at the endpoint.
pub fn partiql(text: &str) {
    // One parameter of each type.
    let parameters = ITEM.values().cloned().collect();
    match Statement::parse(text, parameters) {
        Ok(statement) => evaluate(&statement),
        Err(error) => assert!(!error.message.is_empty()),
    }
    let endpoint = endpoint_with_table("partiql");
    let parameters: Vec<_> = ITEM.values().collect();
    let statement = serde_json::json!({ "Statement": text, "Parameters": parameters, "Limit": 1 });
    ask(&endpoint, b"ExecuteStatement", statement.to_string().into());
    let statements = serde_json::json!([{ "Statement": text, "Parameters": parameters }]);
    let batch = serde_json::json!({ "Statements": statements });
    ask(
        &endpoint,
        b"BatchExecuteStatement",
        batch.to_string().into(),
    );
    let transaction = serde_json::json!({ "TransactStatements": statements });
    ask(
        &endpoint,
        b"ExecuteTransaction",
        transaction.to_string().into(),
    );
}

fn evaluate(statement: &Statement) {
    let holds = |condition: &Option<Condition>| {
        condition
            .as_ref()
            .is_none_or(|condition| condition.holds(&*ITEM))
    };
    match statement {
        Statement::Select(select) | Statement::Exists(select) => drop(holds(&select.condition)),
        Statement::Insert { .. } => {}
        Statement::Update {
            update, condition, ..
        } => {
            if holds(condition) {
                drop(update.apply(&mut ITEM.clone()));
            }
        }
        Statement::Delete { condition, .. } => drop(holds(condition)),
    }
}

/// An endpoint in front of an empty model.
pub fn endpoint(credentials: Option<Credentials>) -> Endpoint {
    let clock = Arc::new(ManualClock::at(NOW_MILLIS));
    let store = Arc::new(ModelStore::new(clock.clone()));
    Endpoint::new(store, credentials, clock, Arc::new(SeededEntropy::new(1)))
}

/// An endpoint in front of a model with one table, two indexes and [`ITEM`] in it.
pub fn endpoint_with_table(name: &str) -> Endpoint {
    let endpoint = endpoint(None);
    let keys = |partition: &str, sort: &str| {
        serde_json::json!([
            {"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}
        ])
    };
    let table = serde_json::json!({
        "TableName": name, "BillingMode": "PAY_PER_REQUEST", "KeySchema": keys("pk", "sk"),
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"},
            {"AttributeName": "b", "AttributeType": "S"},
        ],
        "GlobalSecondaryIndexes": [
            {"IndexName": "gix", "KeySchema": keys("b", "sk"), "Projection": {"ProjectionType": "KEYS_ONLY"}}
        ],
        "LocalSecondaryIndexes": [
            {"IndexName": "lix", "KeySchema": keys("pk", "b"), "Projection": {"ProjectionType": "KEYS_ONLY"}}
        ],
    });
    let put = serde_json::json!({ "TableName": name, "Item": &*ITEM });
    for (operation, body) in [(&b"CreateTable"[..], table), (b"PutItem", put)] {
        let response = ask(&endpoint, operation, body.to_string().into());
        assert!(response.is_some_and(|response| response.status() == 200));
    }
    endpoint
}

const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=any/20150830/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=any";

/// Sends a request of an operation, unless its name never gets past the server's HTTP.
pub fn ask(endpoint: &Endpoint, operation: &[u8], body: Bytes) -> Option<Response<Bytes>> {
    let target = match operation {
        b"ListStreams" | b"DescribeStream" | b"GetShardIterator" | b"GetRecords" => {
            [b"DynamoDBStreams_20120810.", operation].concat()
        }
        _ => [b"DynamoDB_20120810.", operation].concat(),
    };
    let request = http::Request::post("/")
        .header("host", "localhost")
        .header("x-amz-target", target)
        .header("x-amz-date", "20150830T123600Z")
        .header("authorization", AUTHORIZATION);
    let request = request.body(()).ok()?;
    Some(send(endpoint, &request.into_parts().0, body))
}

/// Sends a request, and holds the answer to what every answer must be.
pub fn send(endpoint: &Endpoint, head: &Parts, body: Bytes) -> Response<Bytes> {
    let response = futures::executor::block_on(endpoint.answer(head, body));
    let status = response.status().as_u16();
    // A fuzzed head may ask for a compressed answer.
    let is_plain = !response.headers().contains_key("content-encoding");
    let text = String::from_utf8_lossy(response.body());
    assert!(
        matches!(status, 200 | 400 | 404 | 413 | 431),
        "{status}: {text}"
    );
    if status == 400 && is_plain {
        let json: serde_json::Value = serde_json::from_str(&text).expect("a refusal is JSON");
        assert!(json["__type"].is_string(), "{text}");
    }
    response
}
