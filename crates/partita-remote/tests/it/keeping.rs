//! How Amazon is asked to keep a table: every request is recorded, and answered as Amazon would.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use partita_remote::{RemoteStore, Timeouts};
use partita_store::Store as _;
use partita_store::request::CreateTable;
use partita_store::settings::{Encryption, Keeping};
use partita_store::table::{KeySchema, TableName};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const KEY: &str = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";

const PATIENT: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    attempt: Duration::from_secs(5),
    table: Duration::from_secs(10),
};

/// The operations that were asked for, with their input.
type Asked = Arc<Mutex<Vec<(String, Json)>>>;

/// A service that answers by what is asked for the how-manieth time.
async fn recording(answer: fn(&str, usize) -> (u16, Json)) -> (RemoteStore, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let asked = Asked::default();
    let recorded = asked.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(one_request(stream, recorded.clone(), answer));
        }
    });
    (RemoteStore::local(&endpoint, PATIENT), asked)
}

async fn one_request(mut stream: TcpStream, asked: Asked, answer: fn(&str, usize) -> (u16, Json)) {
    let mut request = Vec::new();
    let (operation, input) = loop {
        if stream.read_buf(&mut request).await.unwrap() == 0 {
            return;
        }
        if let Some(whole) = parsed(&request) {
            break whole;
        }
    };
    let before = {
        let mut asked = asked.lock().unwrap();
        let before = asked.iter().filter(|(name, _)| *name == operation).count();
        asked.push((operation.clone(), input));
        before
    };
    let (status, body) = answer(&operation, before);
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/x-amz-json-1.0\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
}

/// The operation and the input of a request, once it is there whole.
fn parsed(request: &[u8]) -> Option<(String, Json)> {
    let text = std::str::from_utf8(request).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.find_map(|(known, value)| known.eq_ignore_ascii_case(name).then_some(value))
    };
    let length: usize = header("content-length")?.parse().ok()?;
    let operation = header("x-amz-target")?.rsplit('.').next()?.to_owned();
    (body.len() == length).then(|| (operation, serde_json::from_str(body).unwrap()))
}

fn table() -> Json {
    json!({
        "TableName": "notes",
        "TableStatus": "ACTIVE",
        "KeySchema": [
            { "AttributeName": "PK", "KeyType": "HASH" },
            { "AttributeName": "SK", "KeyType": "RANGE" },
        ],
        "AttributeDefinitions": [
            { "AttributeName": "PK", "AttributeType": "S" },
            { "AttributeName": "SK", "AttributeType": "S" },
        ],
        "SSEDescription": { "Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": KEY },
    })
}

fn amazon(operation: &str, before: usize) -> (u16, Json) {
    let recovery = json!({
        "ContinuousBackupsDescription": {
            "ContinuousBackupsStatus": "ENABLED",
            "PointInTimeRecoveryDescription": { "PointInTimeRecoveryStatus": "ENABLED" },
        },
    });
    match operation {
        "CreateTable" => (200, json!({ "TableDescription": table() })),
        "DescribeTable" => (200, json!({ "Table": table() })),
        // A new table has no backups for a while.
        "UpdateContinuousBackups" if before == 0 => (
            400,
            json!({ "__type": "x#ContinuousBackupsUnavailableException", "message": "not yet" }),
        ),
        _ => (200, recovery),
    }
}

fn local(operation: &str, before: usize) -> (u16, Json) {
    match operation {
        "UpdateContinuousBackups" | "DescribeContinuousBackups" => {
            (400, json!({ "__type": "x#UnknownOperationException" }))
        }
        operation => amazon(operation, before),
    }
}

fn name() -> TableName {
    "notes".parse().unwrap()
}

fn create(encryption: Encryption, has_recovery: bool) -> CreateTable {
    let mut request = CreateTable::new(name(), KeySchema::strings("PK", "SK"));
    request.keeping = Keeping {
        encryption,
        has_recovery,
    };
    request
}

fn asked_for(asked: &Asked, operation: &str) -> Vec<Json> {
    let asked = asked.lock().unwrap();
    let inputs = asked.iter().filter(|(name, _)| name == operation);
    inputs.map(|(_, input)| input.clone()).collect()
}

#[tokio::test]
async fn a_table_is_encrypted_and_recoverable_as_it_is_asked_for() {
    let (store, asked) = recording(amazon).await;
    let request = create(Encryption::Key(KEY.to_owned()), true);
    store.create_table(request).await.unwrap();
    let created = asked_for(&asked, "CreateTable");
    let key = json!({ "Enabled": true, "SSEType": "KMS", "KMSMasterKeyId": KEY });
    assert_eq!(created[0]["SSESpecification"], key);
    let recovered = asked_for(&asked, "UpdateContinuousBackups");
    assert_eq!(
        recovered.len(),
        2,
        "it is asked again until there are backups"
    );
    assert_eq!(recovered[1]["TableName"], "notes");
    assert_eq!(
        recovered[1]["PointInTimeRecoverySpecification"],
        json!({ "PointInTimeRecoveryEnabled": true })
    );
    let found = store.describe_keeping(&name()).await.unwrap();
    let expected = Keeping {
        encryption: Encryption::Key(KEY.to_owned()),
        has_recovery: true,
    };
    assert_eq!(found, Some(expected));
}

#[tokio::test]
async fn nothing_is_asked_for_that_the_design_does_not_say() {
    let (store, asked) = recording(amazon).await;
    store
        .create_table(create(Encryption::Owned, false))
        .await
        .unwrap();
    assert_eq!(
        asked_for(&asked, "CreateTable")[0].get("SSESpecification"),
        None
    );
    assert!(asked_for(&asked, "UpdateContinuousBackups").is_empty());
    store
        .create_table(create(Encryption::Managed, false))
        .await
        .unwrap();
    let managed = json!({ "Enabled": true, "SSEType": "KMS" });
    assert_eq!(
        asked_for(&asked, "CreateTable")[1]["SSESpecification"],
        managed
    );
}

#[tokio::test]
async fn a_service_without_backups_makes_tables_all_the_same() {
    let (store, _) = recording(local).await;
    store
        .create_table(create(Encryption::Managed, true))
        .await
        .unwrap();
    assert_eq!(store.describe_keeping(&name()).await.unwrap(), None);
}
