//! Bounds of size that are too long for the corpus.

use std::sync::Arc;

use partita_store::ModelStore;
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_wire::Endpoint;
use serde_json::{Value as Json, json};

use crate::corpus::signed;

fn endpoint() -> Endpoint {
    let clock = Arc::new(ManualClock::at(0));
    let store = Arc::new(ModelStore::new(clock.clone()));
    Endpoint::new(store, None, clock, Arc::new(SeededEntropy::new(1)))
}

async fn ask(endpoint: &Endpoint, operation: &str, body: &Json) -> (u16, String) {
    let (head, body) = signed(operation, body.to_string()).into_parts();
    let response = endpoint.answer(&head, body).await;
    let json: Json = serde_json::from_slice(response.body()).unwrap();
    let message = json["message"].as_str().unwrap_or_default().to_owned();
    (response.status().as_u16(), message)
}

fn item(name: &str, bytes: usize) -> Json {
    json!({"pk": {"S": name}, "text": {"S": "x".repeat(bytes)}})
}

fn table() -> Json {
    json!({
        "TableName": "sizes", "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    })
}

const TOO_LARGE: &str = "Item size has exceeded the maximum allowed size";

#[tokio::test]
async fn an_item_that_is_too_large_is_refused_before_its_table_is_looked_for() {
    let (endpoint, item) = (endpoint(), item("a", 409_600));
    let put = json!({"TableName": "nowhere", "Item": item});
    let refused = (400, TOO_LARGE.to_owned());
    assert_eq!(ask(&endpoint, "PutItem", &put).await, refused);
    let batch = json!({"RequestItems": {"nowhere": [{"PutRequest": {"Item": item}}]}});
    assert_eq!(ask(&endpoint, "BatchWriteItem", &batch).await, refused);
    let transaction = json!({"TransactItems": [{"Put": put}]});
    let answer = ask(&endpoint, "TransactWriteItems", &transaction).await;
    assert_eq!(answer, refused);
}

/// dynalite's test/updateItem.js and dynoxide's CHANGELOG record these words of the service.
#[tokio::test]
async fn an_update_that_leaves_an_item_too_large_is_refused_in_its_own_words() {
    let endpoint = endpoint();
    assert_eq!(ask(&endpoint, "CreateTable", &table()).await.0, 200);
    let put = json!({"TableName": "sizes", "Item": item("a", 400_000)});
    assert_eq!(ask(&endpoint, "PutItem", &put).await.0, 200);
    let refused = (
        400,
        "Item size to update has exceeded the maximum allowed size".to_owned(),
    );
    let more = json!({"S": "y".repeat(10_000)});
    let update = json!({
        "TableName": "sizes", "Key": {"pk": {"S": "a"}}, "UpdateExpression": "SET more = :more",
        "ExpressionAttributeValues": {":more": more},
    });
    assert_eq!(ask(&endpoint, "UpdateItem", &update).await, refused);
    let statement = json!({
        "Statement": "UPDATE sizes SET more = ? WHERE pk = 'a'", "Parameters": [more],
    });
    assert_eq!(
        ask(&endpoint, "ExecuteStatement", &statement).await,
        refused
    );
    let statement = json!({
        "Statement": "INSERT INTO sizes VALUE {'pk': 'b', 'text': ?}",
        "Parameters": [{"S": "x".repeat(409_600)}],
    });
    let refused = (400, TOO_LARGE.to_owned());
    assert_eq!(
        ask(&endpoint, "ExecuteStatement", &statement).await,
        refused
    );
}

#[tokio::test]
async fn a_transaction_has_at_most_four_megabytes() {
    let endpoint = endpoint();
    assert_eq!(ask(&endpoint, "CreateTable", &table()).await.0, 200);
    for (count, expected) in [(10, 200), (12, 400)] {
        let put = |number: usize| {
            let item = item(&format!("{count}-{number}"), 350_000);
            json!({"Put": {"TableName": "sizes", "Item": item}})
        };
        let actions: Vec<_> = (0..count).map(put).collect();
        let request = json!({ "TransactItems": actions });
        let (status, message) = ask(&endpoint, "TransactWriteItems", &request).await;
        assert_eq!(status, expected);
        let words = "The aggregate size of the items in the transaction cannot exceed 4 MB";
        assert_eq!(message == words, status == 400, "{message}");
    }
}
