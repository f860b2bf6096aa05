//! What the fuzz targets share.
//!
//! | target | input | what must hold |
//! |---|---|---|
//! | `condition`, `key_condition`, `update`, `projection` | the text of an expression | it is refused, or evaluates, and printed it reads back as the same |
//! | `item` | DynamoDB JSON of an item | what is accepted is written and read back as the same |
//! | `number` | the text of a number | the same, and its key bytes read back too |
//! | `request` | lines of an operation and its body | every answer is a result or a refusal, never an internal error |
//! | `partiql` | a PartiQL statement | it is refused or evaluates, and the endpoint answers it as any request |
//! | `legacy` | an operation and its body, with the parameters that expressions have replaced | as `request`, beside an item with every type |
//! | `sigv4` | a request's head and body | what is accepted is refused once its body is another |
//! | `design` | a design file | it compiles, or has diagnostics inside the text |
//!
//! `scripts/fuzz` makes the first inputs from the corpora of the crates' tests.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use http::Response;
use http::request::Parts;
use partita_core::expression::{
    AttributeNames, AttributeValues, ExpressionCache, ExpressionError, RequestExpressions,
};
use partita_core::{Item, Value};
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

/// The names that expressions may use: `#a` for `a` and so on.
pub static NAMES: LazyLock<AttributeNames> = LazyLock::new(|| {
    let names = ITEM.keys().map(|name| (format!("#{name}"), name.to_string()));
    names.collect()
});

/// The values that expressions may use, one of each type: `:a` for the value of `a` and so on.
pub static VALUES: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let values = ITEM.iter().map(|(name, value)| (format!(":{name}"), value.clone()));
    values.collect()
});

/// Reads an expression as a request would bring it. Unused names and values do not matter here.
pub fn read<T>(
    text: &str,
    parse: impl FnOnce(&mut RequestExpressions<'_>, &str) -> Result<T, ExpressionError>,
) -> Option<T> {
    static RECEIVED: LazyLock<AttributeValues> = LazyLock::new(|| {
        let values = VALUES.iter();
        let values = values.map(|(name, value)| (name.clone(), value.clone().into()));
        values.collect()
    });
    // A cache of its own, because an answer must not depend on what was asked before.
    let cache = ExpressionCache::default();
    let mut expressions = RequestExpressions::new(&cache, Some(&NAMES), Some(&RECEIVED))
        .expect("these names and values are right");
    match parse(&mut expressions, text) {
        Ok(expression) => Some(expression),
        Err(error) => {
            assert!(!error.message.is_empty());
            None
        }
    }
}

/// An endpoint in front of an empty model.
pub fn endpoint(credentials: Option<Credentials>) -> Endpoint {
    let clock = Arc::new(ManualClock::at(NOW_MILLIS));
    let store = Arc::new(ModelStore::new(clock.clone()));
    Endpoint::new(store, credentials, clock, Arc::new(SeededEntropy::new(1)))
}

/// An endpoint in front of a model with one table and [`ITEM`] in it.
pub fn endpoint_with_table(name: &str) -> Endpoint {
    let endpoint = endpoint(None);
    let table = serde_json::json!({
        "TableName": name, "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"}],
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
    assert!(matches!(status, 200 | 400 | 404 | 413 | 431), "{status}: {text}");
    if status == 400 && is_plain {
        let json: serde_json::Value = serde_json::from_str(&text).expect("a refusal is JSON");
        assert!(json["__type"].is_string(), "{text}");
    }
    response
}
