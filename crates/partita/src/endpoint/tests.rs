use axum::http::header::ACCEPT_ENCODING;
use http_body_util::BodyExt as _;
use partita_store::ModelStore;
use serde_json::json;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::yield_now;

use super::*;

const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=any";

/// Attempts of a bystander to be answered beside a large answer, of which one must succeed.
const ATTEMPTS: usize = 20;

fn request(operation: &str, body: &serde_json::Value) -> Request<Body> {
    Request::post("/")
        .header(TARGET, format!("DynamoDB_20120810.{operation}"))
        .header("authorization", AUTHORIZATION)
        .header("x-amz-date", "20260101T000000Z")
        .header(ACCEPT_ENCODING, "gzip")
        .body(Body::from(body.to_string()))
        .unwrap()
}

async fn filled(intake: &Intake) -> Endpoint {
    let (clock, entropy) = (Arc::new(SystemClock), Arc::new(SystemEntropy));
    let endpoint = Endpoint::new(Arc::new(ModelStore::default()), None, clock, entropy);
    let table = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    let made = answer(&endpoint, intake, request("CreateTable", &table)).await;
    assert_eq!(made.status(), 200);
    for number in 1..=3 {
        let words = (0..50_000).map(|at| format!("{:05} ", at * number % 99_991));
        let text: String = words.collect();
        let item = json!({"pk": {"S": number.to_string()}, "text": {"S": text}});
        let put = json!({"TableName": "tab", "Item": item});
        let put = answer(&endpoint, intake, request("PutItem", &put)).await;
        assert_eq!(put.status(), 200);
    }
    endpoint
}

/// On the only thread that answers requests, nothing but a wait lets others go on.
#[test]
fn a_large_answer_is_encoded_while_others_are_answered() {
    let mut runtime = Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
    let large = runtime.spawn(async {
        let intake = Intake::default();
        let endpoint = filled(&intake).await;
        let scan = json!({"TableName": "tab"});
        for _ in 0..ATTEMPTS {
            // A task that was aside stays there until it waits.
            yield_now().await;
            let (sent, mut received) = oneshot::channel();
            tokio::spawn(async { sent.send(()) });
            let seen = answer(&endpoint, &intake, request("Scan", &scan)).await;
            let is_overtaken = received.try_recv().is_ok();
            assert_eq!(seen.headers()[CONTENT_ENCODING], "gzip");
            let bytes = seen.into_body().collect().await.unwrap().to_bytes().len();
            assert!((1..900_000).contains(&bytes), "{bytes}");
            if is_overtaken {
                return true;
            }
        }
        false
    });
    assert!(runtime.block_on(large).unwrap(), "others have to wait");
}
