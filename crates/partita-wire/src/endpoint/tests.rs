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
    let response = respond(request, body);
    let body = String::from_utf8(response.body().to_vec()).unwrap();
    (response.status().as_u16(), body)
}

fn respond(request: http::request::Builder, body: impl Into<Bytes>) -> Response<Bytes> {
    let request = request
        .header("authorization", AUTHORIZATION)
        .header("x-amz-date", "20260101T000000Z");
    let (head, ()) = request.body(()).unwrap().into_parts();
    block_on(endpoint().answer(&head, body.into()))
}

fn post(target: &str) -> http::request::Builder {
    Request::post("/").header("x-amz-target", target)
}

const UNKNOWN: &str = r#"{"__type":"com.amazon.coral.service#UnknownOperationException","Message":"An unknown operation was requested."}"#;

#[test]
fn only_operations_of_the_api_are_known() {
    for request in [
        Request::post("/"),
        post("GetItem"),
        post("DynamoDB_20111205.GetItem"),
        post("DynamoDBStreams_20120810.GetItem"),
        post("DynamoDB_20120810.GetItem."),
        post("DynamoDB_20120810.CreateBackup"),
    ] {
        assert_eq!(ask(request, "{}"), (400, UNKNOWN.to_owned()));
    }
    assert_eq!(ask(post("DynamoDB_20120810.DescribeLimits"), "{}").0, 200);
}

#[test]
fn other_methods_paths_and_large_headers_are_foreign() {
    let limits = "DynamoDB_20120810.DescribeLimits";
    for (request, expected) in [
        (Request::put("/"), 404),
        (Request::delete("/"), 404),
        (Request::options("/"), 404),
        (Request::post("/tables"), 404),
        (
            Request::post("/").header("x-large", "a".repeat(16_384)),
            431,
        ),
        (
            Request::post("/?x=1").header("x-large", "a".repeat(15_000)),
            200,
        ),
    ] {
        let (status, body) = ask(request.header("x-amz-target", limits), "{}");
        assert_eq!(status, expected);
        assert_eq!(body == "<UnknownOperationException/>\n", status != 200);
    }
}

#[test]
fn a_large_answer_is_compressed_for_a_client_that_takes_it() {
    let statement = format!("SELECT {}", "x".repeat(8_000));
    let body = format!(r#"{{"Statement":"{statement}"}}"#);
    let request = post("DynamoDB_20120810.ExecuteStatement").header("accept-encoding", "gzip");
    let response = respond(request, body);
    assert_eq!(response.headers()["content-encoding"], "gzip");
    let checksum = crc32fast::hash(response.body()).to_string();
    assert_eq!(response.headers()["x-amz-crc32"], checksum);
    let mut unfolded = String::new();
    let mut decoder = flate2::read::GzDecoder::new(&**response.body());
    std::io::Read::read_to_string(&mut decoder, &mut unfolded).unwrap();
    assert!(unfolded.contains(&statement));
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
