//! What the store says when the service does not answer as it should.

use std::time::Duration;

use partita_core::expression::{Bindings, Condition, KeyCondition, Update};
use partita_core::{Item, Value};
use partita_remote::{RemoteStore, Timeouts};
use partita_store::Store;
use partita_store::error::{CancellationReason, ErrorKind, Exhausted, StoreError, StoreResult};
use partita_store::request::{
    BatchGetItem, BatchWrite, BatchWriteItem, CreateTable, DeleteItem, GetItem, ItemAddress,
    ListTables, PutItem, Query, ReturnValues, Scan, TableChange, Tags, TransactAction,
    TransactGetItems, TransactWriteItems, UpdateItem, UpdateTable, UpdateTimeToLive,
};
use partita_store::stream::{
    DescribeStream, GetRecords, GetShardIterator, ListStreams, SequenceNumber, ShardIterator,
    ShardStart, StreamEvent, StreamName, StreamView,
};
use partita_store::table::{KeySchema, TableName};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const SHORT: Timeouts = Timeouts {
    connect: Duration::from_millis(100),
    attempt: Duration::from_millis(200),
    table: Duration::from_millis(200),
};

fn table() -> TableName {
    "notes".parse().unwrap()
}

fn key() -> Item {
    Item::from([("PK".to_owned(), Value::from("a"))])
}

fn put() -> PutItem {
    PutItem::new(table(), key())
}

async fn put_to(endpoint: &str) -> StoreError {
    let store = RemoteStore::local(endpoint, SHORT);
    store.put_item(put(), ReturnValues::None).await.unwrap_err()
}

/// The errors of every operation; the reads first, then the writes.
async fn every_operation(store: &dyn Store) -> (Vec<StoreError>, Vec<StoreError>) {
    fn error<T: std::fmt::Debug>(result: StoreResult<T>) -> StoreError {
        result.unwrap_err()
    }
    let get = GetItem::new(table(), key());
    let address = ItemAddress {
        table: table(),
        key: key(),
    };
    let batch = BatchGetItem::new(vec![address.clone()]);
    let gets = TransactGetItems {
        gets: vec![(address.clone(), None)],
    };
    let batch_write = BatchWriteItem {
        writes: vec![BatchWrite::Delete(address)],
    };
    let query = Query::new(table(), KeyCondition::partition("PK", "a"));
    let update = UpdateItem {
        table: table(),
        key: key(),
        update: Update::parse("SET a = 1", &Bindings::Literals).unwrap(),
        condition: None,
        return_item_on_failure: false,
    };
    let delete = DeleteItem {
        table: table(),
        key: key(),
        condition: None,
        return_item_on_failure: false,
    };
    let create = CreateTable::new(table(), KeySchema::strings("PK", "SK"));
    let transaction = TransactWriteItems {
        actions: vec![TransactAction::Put(put())],
        token: None,
    };
    let none = ReturnValues::None;
    let protect = UpdateTable {
        table: table(),
        changes: vec![TableChange::Protection(true)],
    };
    let expire = UpdateTimeToLive {
        table: table(),
        attribute: "a".to_owned(),
        is_enabled: true,
    };
    let tags = Tags::from([("k".to_owned(), "v".to_owned())]);
    let stream = StreamName {
        table: table(),
        label: "2026-01-31T10:15:00.000".to_owned(),
    };
    let describe_stream = DescribeStream {
        stream: stream.clone(),
        start_after: None,
        limit: None,
    };
    let start = GetShardIterator {
        stream,
        shard: "shard".to_owned(),
        start: ShardStart::Latest,
    };
    let records = GetRecords {
        iterator: ShardIterator("any".to_owned()),
        limit: None,
    };
    let reads = vec![
        error(store.describe_table(&table()).await),
        error(store.list_tables(ListTables::default()).await),
        // It begins with the table's description, and does not get any further.
        error(store.delete_table(&table()).await),
        error(store.get_item(get).await),
        error(store.batch_get_item(batch).await),
        error(store.transact_get_items(gets).await),
        error(store.query(query).await),
        error(store.scan(Scan::new(table())).await),
        error(store.describe_time_to_live(&table()).await),
        error(store.list_tags_of_resource(&table()).await),
        // These begin with the table's description too, which has its ARN.
        error(store.tag_resource(&table(), tags).await),
        error(store.untag_resource(&table(), vec!["k".to_owned()]).await),
        error(store.list_streams(ListStreams::default()).await),
        error(store.describe_stream(describe_stream).await),
        error(store.get_shard_iterator(start).await),
        error(store.get_records(records).await),
    ];
    let writes = vec![
        error(store.create_table(create).await),
        error(store.put_item(put(), none).await),
        error(store.update_item(update, none).await),
        error(store.delete_item(delete, none).await),
        error(store.batch_write_item(batch_write).await),
        error(store.transact_write_items(transaction).await),
        error(store.update_table(protect).await),
        error(store.update_time_to_live(expire).await),
    ];
    (reads, writes)
}

#[track_caller]
fn all(errors: &[StoreError], kind: ErrorKind) {
    for error in errors {
        assert_eq!(error.kind(), kind, "{error}");
    }
}

#[tokio::test]
async fn a_refused_connection_means_not_carried_out() {
    let (reads, writes) = every_operation(&RemoteStore::local(&nobody().await, SHORT)).await;
    all(&reads, ErrorKind::Unavailable);
    all(&writes, ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_malformed_endpoint_means_not_carried_out() {
    for endpoint in ["not a url", "http://does-not-exist.invalid"] {
        let error = put_to(endpoint).await;
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    }
}

#[tokio::test]
async fn silence_leaves_a_write_unknown() {
    let error = put_to(&serve("", Duration::from_secs(60)).await).await;
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
}

#[tokio::test]
async fn a_server_error_leaves_a_write_unknown() {
    let endpoint = answering(500, "InternalServerError").await;
    let (reads, writes) = every_operation(&RemoteStore::local(&endpoint, SHORT)).await;
    all(&reads, ErrorKind::Unavailable);
    all(&writes, ErrorKind::OutcomeUnknown);
}

#[tokio::test]
async fn an_answer_that_nobody_can_read_leaves_a_write_unknown() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nnonsense",
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"Attr",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 400 Bad\r\nContent-Length: 6\r\n\r\n<html>",
        "HTTP/1.1 502 Bad\r\nContent-Length: 6\r\n\r\n<html>",
        "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n",
        "",
    ] {
        let error = put_to(&serve(answer, Duration::ZERO).await).await;
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{answer}: {error}");
    }
}

#[tokio::test]
async fn refusals_keep_their_meaning() {
    let name = table();
    for (code, expected) in [
        ("ValidationException", StoreError::validation("said so")),
        (
            "ResourceNotFoundException",
            StoreError::TableNotFound { table: name },
        ),
        ("ThrottlingException", StoreError::Throttled),
        (
            "ProvisionedThroughputExceededException",
            StoreError::Throttled,
        ),
        ("RequestLimitExceeded", StoreError::Throttled),
        (
            "TransactionConflictException",
            StoreError::TransactionConflict,
        ),
        (
            "IdempotentParameterMismatchException",
            StoreError::IdempotentParameterMismatch,
        ),
    ] {
        assert_eq!(put_to(&answering(400, code).await).await, expected);
    }
    // Amazon says which table or index has no capacity left.
    let reasons = r#"{"__type": "x#ProvisionedThroughputExceededException", "message": "said so",
        "ThrottlingReasons": [{"reason": "IndexWriteKeyRangeThroughputExceeded",
        "resource": "arn:aws:dynamodb:eu-west-1:123456789012:table/t/index/byOwner"}]}"#;
    let error = put_to(&serve(leak(400, reasons), Duration::ZERO).await).await;
    let expected = Exhausted {
        reason: "IndexWriteKeyRangeThroughputExceeded".to_owned(),
        index: Some("byOwner".to_owned()),
    };
    assert_eq!(error, StoreError::Exhausted(expected));
    // An earlier request with the same token may yet succeed.
    let error = put_to(&answering(400, "TransactionInProgressException").await).await;
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
}

#[tokio::test]
async fn refused_credentials_say_what_to_configure() {
    for code in ["UnrecognizedClientException", "InvalidSignatureException"] {
        let error = put_to(&answering(400, code).await).await;
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains("AWS_ACCESS_KEY_ID"), "{error}");
    }
    let error = put_to(&answering(400, "AccessDeniedException").await).await;
    assert!(error.to_string().contains("IAM"), "{error}");
}

#[tokio::test]
async fn cancellation_reasons_keep_their_order_and_meaning() {
    let body = r##"{"__type": "x#TransactionCanceledException", "CancellationReasons": [
        {"Code": "None"}, {"Code": "TransactionConflict"}, {"Code": "ThrottlingError"},
        {"Code": "ThrottlingError", "Message": "Throughput exceeds the current capacity for one or more global secondary indexes."},
        {"Code": "ConditionalCheckFailed", "Item": {"PK": {"S": "a"}}},
        {"Code": "ValidationError", "Message": "said so"},
        {"Code": "ItemCollectionSizeLimitExceeded", "Message": "full"}]}"##;
    let expected = vec![
        CancellationReason::None,
        CancellationReason::TransactionConflict,
        CancellationReason::Throttled,
        CancellationReason::Exhausted(Exhausted {
            reason: "IndexWriteThroughputExceeded".to_owned(),
            index: None,
        }),
        CancellationReason::ConditionalCheckFailed { item: Some(key()) },
        CancellationReason::Validation {
            message: "said so".to_owned(),
        },
        CancellationReason::Validation {
            message: "ItemCollectionSizeLimitExceeded: full".to_owned(),
        },
    ];
    let endpoint = serve(leak(400, body), Duration::ZERO).await;
    let store = RemoteStore::local(&endpoint, SHORT);
    let transact = async |count| {
        let request = TransactWriteItems {
            actions: vec![TransactAction::Put(put()); count],
            token: None,
        };
        store.transact_write_items(request).await.unwrap_err()
    };
    let reasons = StoreError::TransactionCanceled { reasons: expected };
    assert_eq!(transact(7).await, reasons);
    // A reason that belongs to no action must not be taken for another's.
    assert_eq!(transact(6).await, StoreError::validation("said so"));
}

#[tokio::test]
async fn a_table_that_stays_in_creation_is_not_waited_for_for_ever() {
    let body = r#"{"TableDescription": {"TableStatus": "CREATING"}, "Table": {"TableStatus": "CREATING"}}"#;
    let store = RemoteStore::local(&serve(leak(200, body), Duration::ZERO).await, SHORT);
    let request = CreateTable::new(table(), KeySchema::strings("PK", "SK"));
    let error = store.create_table(request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
}

#[tokio::test]
async fn a_key_of_an_unknown_type_is_an_error() {
    let body = r#"{"Table": {"KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "V"}]}}"#;
    let store = RemoteStore::local(&serve(leak(200, body), Duration::ZERO).await, SHORT);
    let error = store.describe_table(&table()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("`PK`"), "{error}");
}

#[tokio::test]
async fn a_number_that_is_none_is_damage_to_a_read_and_a_doubt_to_a_write() {
    let body = r#"{"Item": {"n": {"N": "x"}}, "Attributes": {"n": {"N": "x"}}}"#;
    let store = RemoteStore::local(&serve(leak(200, body), Duration::ZERO).await, SHORT);
    let get = GetItem::new(table(), key());
    let error = store.get_item(get).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    let error = store
        .put_item(put(), ReturnValues::AllOld)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
}

#[tokio::test]
async fn the_condition_that_always_holds_is_left_out() {
    let endpoint = serve(leak(200, "{}"), Duration::ZERO).await;
    let request = PutItem {
        condition: Some(Condition::All(Vec::new())),
        ..put()
    };
    let store = RemoteStore::local(&endpoint, SHORT);
    let answer = store.put_item(request, ReturnValues::None).await;
    assert_eq!(answer.map(|metered| metered.answer), Ok(None));
}

#[tokio::test]
async fn a_record_is_read_with_who_deleted_its_item() {
    let record = |number: &str, identity: &str| {
        format!(
            r#"{{"eventName": "REMOVE", {identity} "dynamodb": {{
                "ApproximateCreationDateTime": 1769854500, "SequenceNumber": "{number}",
                "SizeBytes": 10, "StreamViewType": "OLD_IMAGE", "Keys": {{"PK": {{"S": "a"}}}},
                "OldImage": {{"PK": {{"S": "a"}}, "b": {{"BS": ["AP8="]}}, "l": {{"L": [{{"N": "1.50"}}]}}}}}}}}"#
        )
    };
    let service =
        r#""userIdentity": {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"},"#;
    let body = format!(
        r#"{{"Records": [{}, {}, {}], "NextShardIterator": "next"}}"#,
        record("000000000000000000007", ""),
        record("100000000000000000008", service),
        record(
            "100000000000000000009",
            &service.replace("dynamodb.", "lambda.")
        ),
    );
    let store = RemoteStore::local(&serve(leak(200, &body), Duration::ZERO).await, SHORT);
    let request = GetRecords {
        iterator: ShardIterator("any".to_owned()),
        limit: None,
    };
    let page = store.get_records(request).await.unwrap();
    assert_eq!(page.next, Some(ShardIterator("next".to_owned())));
    let [asked, expired, other] = &page.records[..] else {
        panic!("{page:?}");
    };
    let expiries = [asked, expired, other].map(|record| record.is_expiry);
    assert_eq!(expiries, [false, true, false]);
    assert_eq!(asked.number, SequenceNumber(7));
    assert_eq!(asked.created_seconds, 1_769_854_500);
    assert_eq!(asked.event, StreamEvent::Remove);
    assert_eq!((asked.view, asked.size_bytes), (StreamView::OldImage, 10));
    assert_eq!((&asked.key, &asked.new), (&key(), &None));
    let mut old = key();
    old.insert("b".to_owned(), Value::Bs([vec![0, 255]].into()));
    let number = Value::N("1.5".parse().unwrap());
    old.insert("l".to_owned(), Value::L(vec![number]));
    assert_eq!(asked.old, Some(old));
}

#[tokio::test]
async fn refusals_of_streams_keep_their_meaning() {
    let stream = StreamName {
        table: table(),
        label: "2026-01-31T10:15:00.000".to_owned(),
    };
    let iterator = format!("arn:aws:dynamodb:x:1:{}/{stream}|1|abc", "table");
    for (code, expected) in [
        ("ExpiredIteratorException", StoreError::IteratorExpired),
        ("TrimmedDataAccessException", StoreError::RecordsTrimmed),
        (
            "ResourceNotFoundException",
            StoreError::StreamNotFound { stream },
        ),
        // Too many readers, not too much of anything.
        ("LimitExceededException", StoreError::Throttled),
    ] {
        let endpoint = answering(400, code).await;
        let request = GetRecords {
            iterator: ShardIterator(iterator.clone()),
            limit: None,
        };
        let store = RemoteStore::local(&endpoint, SHORT);
        assert_eq!(store.get_records(request).await, Err(expected));
    }
}

#[tokio::test]
async fn refusals_of_changes_keep_their_meaning() {
    let message = "said so".to_owned();
    for (code, expected) in [
        (
            "ResourceInUseException",
            StoreError::ResourceInUse {
                message: message.clone(),
            },
        ),
        (
            "LimitExceededException",
            StoreError::LimitExceeded { message },
        ),
        (
            "ResourceNotFoundException",
            StoreError::TableNotFound { table: table() },
        ),
    ] {
        let request = UpdateTable {
            table: table(),
            changes: vec![TableChange::Protection(false)],
        };
        let store = RemoteStore::local(&answering(400, code).await, SHORT);
        assert_eq!(store.update_table(request).await, Err(expected));
    }
}

#[test]
fn debug_output_has_no_secrets() {
    let store = RemoteStore::local("http://127.0.0.1:1", SHORT);
    let text = format!("{store:?}");
    assert!(!text.contains("local"), "{text}");
}

/// An address without a listener.
async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// A server that refuses everything with a code.
async fn answering(status: u16, code: &str) -> String {
    let body =
        format!(r#"{{"__type": "com.amazonaws.dynamodb.v20120810#{code}", "message": "said so"}}"#);
    serve(leak(status, &body), Duration::ZERO).await
}

/// An HTTP answer. Tests are short, so their texts may live as long as they do.
fn leak(status: u16, body: &str) -> &'static str {
    let answer = format!(
        "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    answer.leak()
}

/// A server with one answer for everyone: it reads what comes, answers, lingers and closes.
async fn serve(answer: &'static str, linger: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = vec![0; 65536];
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(answer.as_bytes()).await;
                tokio::time::sleep(linger).await;
            });
        }
    });
    format!("http://{address}")
}
