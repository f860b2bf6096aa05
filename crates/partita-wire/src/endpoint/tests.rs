use futures::executor::block_on;
use http::Request;
use partita_store::ModelStore;
use partita_store::surroundings::{ManualClock, SeededEntropy};

use super::*;
use crate::BODY_BYTES_MAX;

const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=any";

fn endpoint() -> Endpoint {
    let clock = Arc::new(ManualClock::at(0));
    let store = Arc::new(ModelStore::new(clock.clone()));
    Endpoint::new(store, None, clock, Arc::new(SeededEntropy::new(1)))
}

fn ask(request: http::request::Builder, body: impl Into<Bytes>) -> (u16, String) {
    let request = request
        .header("authorization", AUTHORIZATION)
        .header("x-amz-date", "20260101T000000Z");
    let (head, ()) = request.body(()).unwrap().into_parts();
    let response = block_on(endpoint().answer(&head, body.into()));
    let body = String::from_utf8(response.body().to_vec()).unwrap();
    (response.status().as_u16(), body)
}

fn post(target: &str) -> http::request::Builder {
    Request::post("/").header("x-amz-target", target)
}

const UNKNOWN: &str = r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#;

#[test]
fn only_operations_of_the_api_are_known() {
    for request in [
        Request::post("/"),
        post("GetItem"),
        post("DynamoDB_20111205.GetItem"),
        post("DynamoDBStreams_20120810.GetItem"),
        post("DynamoDB_20120810.GetItem."),
        post("DynamoDB_20120810.CreateBackup"),
        Request::put("/").header("x-amz-target", "DynamoDB_20120810.DescribeLimits"),
    ] {
        assert_eq!(ask(request, "{}"), (400, UNKNOWN.to_owned()));
    }
    assert_eq!(ask(post("DynamoDB_20120810.DescribeLimits"), "{}").0, 200);
}

#[test]
fn a_get_asks_for_health() {
    let (status, body) = ask(Request::get("/"), "");
    assert_eq!(status, 200);
    assert!(body.starts_with("healthy: "));
}

#[test]
fn seventeen_megabytes_are_refused() {
    let body = vec![b' '; BODY_BYTES_MAX + 1_048_576];
    assert_eq!(ask(post("DynamoDB_20120810.DescribeLimits"), body).0, 413);
}

#[test]
fn unsigned_requests_learn_nothing() {
    let (head, ()) = post("DynamoDB_20120810.NoSuchThing")
        .body(())
        .unwrap()
        .into_parts();
    let response = block_on(endpoint().answer(&head, "{".into()));
    assert_eq!(
        response.body(),
        r#"{"__type":"com.amazon.coral.service#MissingAuthenticationTokenException","message":"Request is missing Authentication Token"}"#
    );
}

#[test]
fn every_answer_has_its_own_id_and_a_checksum() {
    let endpoint = endpoint();
    let (head, ()) = Request::get("/").body(()).unwrap().into_parts();
    let [one, two] = [(), ()].map(|()| block_on(endpoint.answer(&head, Bytes::new())));
    let id =
        |response: &Response<Bytes>| response.headers()[REQUEST_ID].to_str().unwrap().to_owned();
    assert_ne!(id(&one), id(&two));
    assert_eq!(
        one.headers()[CRC32],
        crc32fast::hash(one.body()).to_string()
    );
    assert_eq!(one.headers()[CONTENT_TYPE], "application/x-amz-json-1.0");
}
