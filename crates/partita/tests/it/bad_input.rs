//! Malformed input to the real endpoint: DynamoDB's error comes back, nothing has changed, and the
//! server goes on within its memory.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::{Client, Response};
use serde_json::Value as Json;

use crate::endpoint::Endpoint;

const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=any";
const MEGABYTE: usize = 1_048_576;
/// What the server may hold at most: a few of the largest bodies, whatever is sent.
const RESIDENT_BYTES_MAX: u64 = 400 * MEGABYTE as u64;

/// An endpoint with one table that holds one item.
struct Target {
    endpoint: Endpoint,
    client: Client,
    before: Json,
}

impl Target {
    async fn start() -> Self {
        let mut target = Target {
            endpoint: Endpoint::open(),
            // Making a bomb takes longer than the server lets a connection idle.
            client: Client::builder().pool_max_idle_per_host(0).build().unwrap(),
            before: Json::Null,
        };
        for (operation, body) in [
            (
                "CreateTable",
                r#"{"TableName":"tab","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}"#,
            ),
            (
                "PutItem",
                r#"{"TableName":"tab","Item":{"pk":{"S":"a"},"n":{"N":"1"}}}"#,
            ),
        ] {
            assert_eq!(target.send(operation, body, None).await.status(), 200);
        }
        target.before = target.items().await;
        target
    }

    async fn send(
        &self,
        operation: &str,
        body: impl Into<reqwest::Body>,
        encoding: Option<&str>,
    ) -> Response {
        let mut call = self
            .client
            .post(self.endpoint.url())
            .header("x-amz-target", format!("DynamoDB_20120810.{operation}"))
            .header("x-amz-date", "20260101T000000Z")
            .header("authorization", AUTHORIZATION);
        if let Some(encoding) = encoding {
            call = call.header("content-encoding", encoding);
        }
        call.body(body).send().await.unwrap()
    }

    async fn items(&self) -> Json {
        let scanned = self.send("Scan", r#"{"TableName":"tab"}"#, None).await;
        assert_eq!(scanned.status(), 200);
        scanned.json().await.unwrap()
    }

    /// The error that a body gets, `400 SerializationException`, say; nothing has changed.
    async fn refusal(&self, operation: &str, body: Vec<u8>, encoding: Option<&str>) -> String {
        let shown = String::from_utf8_lossy(&body[..body.len().min(120)]).into_owned();
        let response = self.send(operation, body, encoding).await;
        let status = response.status().as_u16();
        let error: Json = response.json().await.unwrap();
        assert!((400..500).contains(&status), "{status} {error} for {shown}");
        assert_eq!(self.items().await, self.before, "after {shown}");
        let kind = error["__type"].as_str().unwrap();
        let message = error["message"].as_str().or(error["Message"].as_str());
        let kind = kind.rsplit('#').next().unwrap();
        format!("{status} {kind} {}", message.unwrap_or_default())
    }

    async fn check(&self, operation: &str, body: String, expected: &str) {
        let shown: String = body.chars().take(120).collect();
        let refusal = self.refusal(operation, body.into_bytes(), None).await;
        assert!(refusal.starts_with(expected), "{refusal} for {shown}");
    }

    async fn check_memory(&self) {
        let url = format!("{}/metrics", self.endpoint.url());
        let text = self.client.get(url).send().await.unwrap();
        let text = text.text().await.unwrap();
        let mut lines = text.lines();
        let bytes = lines.find_map(|line| line.strip_prefix("process_resident_memory_bytes "));
        let bytes: u64 = bytes.unwrap().parse().unwrap();
        assert!(bytes < RESIDENT_BYTES_MAX, "{bytes} bytes are resident");
    }
}

fn put(attribute: &str) -> String {
    format!(r#"{{"TableName":"tab","Item":{{"pk":{{"S":"b"}},"x":{attribute}}}}}"#)
}

fn update(condition: &str) -> String {
    format!(
        r#"{{"TableName":"tab","Key":{{"pk":{{"S":"a"}}}},"UpdateExpression":"SET n = n","ConditionExpression":"{condition}"}}"#
    )
}

fn nested(open: &str, inner: &str, close: &str, depth: usize) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn what_is_not_json_or_of_the_wrong_type_is_a_serialization_exception() {
    let target = Target::start().await;
    for body in [
        "",
        "{",
        "null",
        "[]",
        "nonsense",
        r#"{"TableName":"tab","Item":{"pk":{"S":"b"}}"#,
        r#"{"TableName":"tab","Item":{"pk":{"S":"b"}}} {}"#,
        r#"{"TableName":1,"Item":{"pk":{"S":"b"}}}"#,
        r#"{"TableName":"tab","Item":[]}"#,
        r#"{"TableName":"tab","Item":{"pk":"b"}}"#,
        r#"{"TableName":"tab","Item":{"pk":{"S":1}}}"#,
        r#"{"TableName":"tab","Item":{"pk":{"S":"b"},"x":{"BOOL":"maybe"}}}"#,
        r#"{"TableName":"tab","Item":{"pk":{"S":"b"},"x":{"B":"not base64!"}}}"#,
        r#"{"TableName":"tab","Item":{"pk":{"S":"\ud800"}}}"#,
    ] {
        let expected = "400 SerializationException";
        target.check("PutItem", body.to_owned(), expected).await;
    }
    let invalid = [&b"{\"TableName\":\"\xff\xfe"[..], b"\"}"].concat();
    let refusal = target.refusal("PutItem", invalid, None).await;
    assert!(
        refusal.starts_with("400 SerializationException"),
        "{refusal}"
    );
}

#[tokio::test]
async fn deep_nesting_is_refused() {
    let target = Target::start().await;
    for body in [nested("[", "", "]", 1_000), nested("[", "", "]", 1_000_000)] {
        target
            .check("PutItem", body, "400 SerializationException")
            .await;
    }
    // An unknown parameter is skipped, however deep it is.
    for body in [
        nested(r#"{"a":"#, "1", "}", 100_000),
        format!(r#"{{"Unknown":{}}}"#, nested("[", "", "]", 100_000)),
    ] {
        let expected = "400 ValidationException 2 validation errors detected";
        target.check("PutItem", body, expected).await;
    }
    for depth in [32, 1_000, 100_000] {
        let list = put(&nested(r#"{"L":["#, r#"{"S":"a"}"#, "]}", depth));
        let map = put(&nested(r#"{"M":{"a":"#, r#"{"S":"a"}"#, "}}", depth));
        for body in [list, map] {
            target.check("PutItem", body, "400 ").await;
        }
    }
}

#[tokio::test]
async fn hostile_expressions_are_refused() {
    let target = Target::start().await;
    let expected = "400 ValidationException Invalid ConditionExpression: ";
    for condition in [
        nested("(", "n = n", ")", 500),
        nested("(", "", ")", 2_000),
        format!("{}n = n", "NOT ".repeat(1_000)),
        format!("n = n{}", " AND n = n".repeat(400)),
        format!("a{} = n", ".a".repeat(2_000)),
        format!("a{} = n", "[0]".repeat(1_300)),
        format!("size({}", "size(".repeat(500)),
        "n = \u{1F600}".to_owned(),
        "ｎ = n".to_owned(),
        "\u{202E}n = n".to_owned(),
        format!("n = {}", "n".repeat(4_093)),
        format!("n IN ({}n)", "n, ".repeat(1_000)),
    ] {
        target
            .check("UpdateItem", update(&condition), expected)
            .await;
    }
    let long = update(&"n".repeat(10 * MEGABYTE));
    target.check("UpdateItem", long, expected).await;
}

#[tokio::test]
async fn values_beyond_their_bounds_are_refused() {
    let target = Target::start().await;
    let number = |text: &str| put(&format!(r#"{{"N":"{text}"}}"#));
    for text in [
        "1e999999999",
        "-1e999999999",
        "1e126",
        "1e-131",
        "NaN",
        "Infinity",
        "0x10",
        " 1",
        "",
        &"9".repeat(39),
        &"9".repeat(MEGABYTE),
        &format!("1e{}", "9".repeat(MEGABYTE)),
    ] {
        target
            .check("PutItem", number(text), "400 ValidationException")
            .await;
    }
    for body in [
        format!(
            r#"{{"TableName":"tab","Item":{{"pk":{{"S":"{}"}}}}}}"#,
            "k".repeat(2_049)
        ),
        format!(
            r#"{{"TableName":"{}","Item":{{"pk":{{"S":"b"}}}}}}"#,
            "t".repeat(MEGABYTE)
        ),
        put(&format!(r#"{{"S":"{}"}}"#, "v".repeat(409_600))),
        put(&format!(r#"{{"S":"{}"}}"#, "v".repeat(15 * MEGABYTE))),
        put(r#"{"SS":[]}"#),
        put(r#"{"SS":["a","a"]}"#),
        put(r#"{"NULL":false}"#),
        put(r#"{"S":"a","N":"1"}"#),
        put("{}"),
    ] {
        target
            .check("PutItem", body, "400 ValidationException")
            .await;
    }
    target.check_memory().await;
}

#[tokio::test]
async fn bodies_that_are_too_large_are_refused_plain_and_unfolded() {
    let target = Target::start().await;
    let large = vec![b' '; 17 * MEGABYTE];
    let refusal = target.refusal("PutItem", large.clone(), None).await;
    assert!(
        refusal.starts_with("413 RequestEntityTooLarge"),
        "{refusal}"
    );
    let bomb = gzipped(&vec![b' '; 64 * MEGABYTE]);
    assert!(bomb.len() < MEGABYTE);
    // Gzip in gzip unfolds once, and is no JSON then.
    let twice = gzipped(&bomb);
    for (body, expected) in [
        (gzipped(&large), "413 RequestEntityTooLargeException"),
        (bomb.clone(), "413 RequestEntityTooLargeException"),
        (twice, "400 SerializationException"),
        (bomb[..bomb.len() / 2].to_vec(), "4"),
        (b"\x1f\x8b\x08".to_vec(), "400 SerializationException"),
        (b"not gzip at all".to_vec(), "400 SerializationException"),
    ] {
        let refusal = target.refusal("PutItem", body, Some("gzip")).await;
        assert!(refusal.starts_with(expected), "{refusal}");
    }
    let put = put(r#"{"S":"cut"}"#);
    let cut = gzipped(put.as_bytes());
    let cut = cut[..cut.len() - 6].to_vec();
    let refusal = target.refusal("PutItem", cut, Some("gzip")).await;
    assert!(
        refusal.starts_with("400 SerializationException"),
        "{refusal}"
    );
    let unknown = target
        .refusal("PutItem", put.into_bytes(), Some("br"))
        .await;
    assert!(
        unknown.starts_with("400 SerializationException"),
        "{unknown}"
    );
    target.check_memory().await;
}
