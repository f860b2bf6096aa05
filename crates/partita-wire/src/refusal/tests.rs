use partita_core::Value;

use super::*;

fn check(error: StoreError, status: u16, json: &str) {
    let refusal = Refusal::from(error);
    assert_eq!(refusal.fault.status(), status);
    assert_eq!(refusal.to_json(), json);
}

fn item() -> Item {
    Item::from([("a", Value::from("b"))])
}

#[test]
fn store_errors_become_dynamodbs() {
    let table = || "notes".parse().unwrap();
    check(
        StoreError::validation("no"),
        400,
        r#"{"__type":"com.amazon.coral.validate#ValidationException","message":"no"}"#,
    );
    check(
        StoreError::TableNotFound { table: table() },
        400,
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"Requested resource not found"}"#,
    );
    check(
        StoreError::ConditionFailed {
            table: table(),
            item: Some(Box::new(item())),
        },
        400,
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","Item":{"a":{"S":"b"}},"message":"The conditional request failed"}"#,
    );
}

#[test]
fn a_full_disk_has_words_of_its_own() {
    let message = "there are only 100 MB left".to_owned();
    check(
        StoreError::DiskFull { message },
        503,
        r#"{"__type":"com.amazon.coral.service#ServiceUnavailableException","message":"The server's disk is full, so that nothing was written. Reads go on, and writes are taken again once the operator has freed space."}"#,
    );
}

#[test]
fn a_cancelled_transaction_lists_its_reasons() {
    let reasons = vec![
        CancellationReason::None,
        CancellationReason::ConditionalCheckFailed { item: Some(item()) },
    ];
    check(
        StoreError::TransactionCanceled { reasons },
        400,
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Item":{"a":{"S":"b"}},"Message":"The conditional request failed"}],"Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [None, ConditionalCheckFailed]"}"#,
    );
}

#[test]
fn what_happens_inside_is_not_told() {
    let message = "/var/lib/secret: disk on fire".to_owned();
    for error in [
        StoreError::Unavailable {
            message: message.clone(),
        },
        StoreError::OutcomeUnknown {
            message: message.clone(),
        },
        StoreError::Corrupt { message },
    ] {
        let refusal = Refusal::from(error);
        assert_eq!(refusal.fault.status(), 500);
        assert!(refusal.cause().is_some(), "the log needs it");
        assert!(!refusal.to_json().windows(6).any(|bytes| bytes == b"secret"));
    }
}
