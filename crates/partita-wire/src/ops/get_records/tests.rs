use partita_core::Value;
use partita_store::stream::{SequenceNumber, StreamView};
use serde_json::{Value as Json, json};

use super::*;

fn record(number: u128, is_expiry: bool) -> StreamRecord {
    let key = Item::from([("pk".to_owned(), Value::from("a"))]);
    StreamRecord {
        number: SequenceNumber(number),
        created_seconds: 1_767_225_600,
        event: StreamEvent::Remove,
        old: Some(key.clone()),
        new: None,
        key,
        view: StreamView::NewAndOldImages,
        size_bytes: 6,
        is_expiry,
    }
}

fn encoded(record: StreamRecord) -> Json {
    let page = Records {
        records: vec![record],
        next: None,
    };
    serde_json::from_slice(&encode(page)).unwrap()
}

#[test]
fn a_record_of_an_expired_item_says_who_deleted_it() {
    let expected = json!({"Records": [{
        "eventID": event_id(&record(7, true)),
        "eventName": "REMOVE",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "dynamodb": {
            "ApproximateCreationDateTime": 1_767_225_600.0,
            "Keys": {"pk": {"S": "a"}},
            "OldImage": {"pk": {"S": "a"}},
            "SequenceNumber": "000000000000000000007",
            "SizeBytes": 6,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
        "userIdentity": {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"},
    }]});
    assert_eq!(encoded(record(7, true)), expected);
    assert_eq!(
        encoded(record(7, false))["Records"][0]["userIdentity"],
        Json::Null
    );
}

#[test]
fn a_record_keeps_its_id() {
    let id = event_id(&record(7, false));
    assert_eq!(id.len(), 32);
    assert_eq!(event_id(&record(7, false)), id);
    assert_ne!(event_id(&record(8, false)), id);
}
