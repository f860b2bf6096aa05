//! The corpus on our endpoint, in front of the model.

use std::sync::Arc;

use bytes::Bytes;
use partita_store::ModelStore;
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_wire::Endpoint;

use crate::case::{self, Answer, Case, Kept};

const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=any";

/// The request of a case.
pub(crate) fn request(case: &Case) -> http::Request<Bytes> {
    signed(&case.operation, case.body.clone())
}

/// A request with any signature.
pub(crate) fn signed(operation: &str, body: String) -> http::Request<Bytes> {
    http::Request::post("/")
        .header("x-amz-target", target(operation))
        .header("x-amz-date", "20260101T000000Z")
        .header("content-type", "application/x-amz-json-1.0")
        .header("authorization", AUTHORIZATION)
        .body(body.into())
        .unwrap()
}

/// The operation with its API, of which streams have their own.
fn target(operation: &str) -> String {
    let api = match operation {
        "ListStreams" | "DescribeStream" | "GetShardIterator" | "GetRecords" => {
            "DynamoDBStreams_20120810"
        }
        _ => "DynamoDB_20120810",
    };
    format!("{api}.{operation}")
}

async fn ask(endpoint: &Endpoint, case: &Case) -> Answer {
    let (head, body) = request(case).into_parts();
    let response = endpoint.answer(&head, body).await;
    let checksum = crc32fast::hash(response.body()).to_string();
    assert_eq!(response.headers()["x-amz-crc32"], checksum);
    assert_eq!(response.headers()["x-amzn-requestid"].len(), 52);
    Answer {
        status: response.status().as_u16(),
        body: String::from_utf8(response.body().to_vec()).unwrap(),
    }
}

#[tokio::test]
async fn the_model_answers_as_written() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut wrong = Vec::new();
    for file in case::files() {
        let clock = Arc::new(ManualClock::at(1_767_225_600_000));
        let store = Arc::new(ModelStore::new(clock.clone()));
        let endpoint = Endpoint::new(store, None, clock, Arc::new(SeededEntropy::new(1)));
        let mut cases = case::parse(&std::fs::read_to_string(&file).unwrap());
        let mut kept = Kept::default();
        for case in &mut cases {
            let answer = ask(&endpoint, &kept.fill(case)).await;
            kept.keep(case, &answer);
            if (answer.status, answer.json()) != (case.answer.status, case.answer.json()) {
                wrong.push(format!(
                    "{}: {}\n{} {}\n   is {} {}\nnot  {} {}",
                    file.display(),
                    case.title,
                    case.operation,
                    case.body,
                    answer.status,
                    answer.body,
                    case.answer.status,
                    case.answer.body
                ));
            }
            case.answer = answer;
        }
        if update {
            std::fs::write(&file, case::print(&cases)).unwrap();
        }
    }
    assert!(update || wrong.is_empty(), "{}", wrong.join("\n\n"));
}
