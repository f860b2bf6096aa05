//! The corpus on DynamoDB Local: our answers are DynamoDB's, or the case says why not.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use partita_testkit::dynamodb_local::DynamoDbLocal;
use serde_json::{Map, Value as Json};

use crate::case::{self, Answer, Case, Difference, Kept};
use crate::corpus;

type Http = Client<HttpConnector, Full<Bytes>>;

async fn ask(http: &Http, endpoint: &str, case: &Case) -> Answer {
    let mut request = corpus::request(case).map(Full::new);
    *request.uri_mut() = endpoint.parse().unwrap();
    let response = http.request(request).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    Answer {
        status,
        body: String::from_utf8(body.to_vec()).unwrap(),
    }
}

/// An answer without what the two cannot agree on: moments, regions, and the spelling of
/// `message`, which DynamoDB Local has wrong. An item's own attributes stay as they are.
fn comparable(answer: &Answer) -> Json {
    let mut json = answer.json();
    forget_names_of_streams(&mut json);
    if let Some(map) = json.as_object_mut() {
        if let Some(message) = map.remove("Message") {
            map.insert("message".into(), message);
        }
        let kind = map.get("__type").and_then(Json::as_str).map(short);
        if let Some(kind) = kind {
            map.insert("__type".into(), kind.into());
        }
        if let Some(Json::String(message)) = map.get_mut("message") {
            *message = message.replace(":ddblocal:", ":us-east-1:");
        }
        for name in ["Table", "TableDescription"] {
            if let Some(table) = map.get_mut(name).and_then(Json::as_object_mut) {
                forget_moments(table);
                forget_moments_of_indexes(table);
            }
        }
    }
    json
}

/// What a stream's names and numbers are made of differs from server to server.
const OF_STREAMS: &[&str] = &[
    "LatestStreamArn",
    "LatestStreamLabel",
    "StreamArn",
    "StreamLabel",
    "LastEvaluatedStreamArn",
    "CreationRequestDateTime",
    "ShardId",
    "StartingSequenceNumber",
    "EndingSequenceNumber",
    "SequenceNumber",
    "ShardIterator",
    "NextShardIterator",
    "ApproximateCreationDateTime",
    "eventID",
    "awsRegion",
];

/// Names stay, so that one which is missing shows.
fn forget_names_of_streams(json: &mut Json) {
    match json {
        Json::Object(map) => {
            for (name, value) in map.iter_mut() {
                if OF_STREAMS.contains(&name.as_str()) {
                    *value = Json::Null
                } else {
                    forget_names_of_streams(value)
                }
            }
        }
        Json::Array(list) => list.iter_mut().for_each(forget_names_of_streams),
        _ => {}
    }
}

fn short(kind: &str) -> String {
    kind.rsplit('#').next().unwrap_or(kind).to_owned()
}

fn forget_moments(table: &mut Map<String, Json>) {
    for name in ["CreationDateTime", "TableArn", "TableId", "IndexArn"] {
        table.remove(name);
    }
    for (name, moments) in [
        (
            "BillingModeSummary",
            &["LastUpdateToPayPerRequestDateTime"][..],
        ),
        (
            "ProvisionedThroughput",
            &["LastIncreaseDateTime", "LastDecreaseDateTime"],
        ),
    ] {
        if let Some(inner) = table.get_mut(name).and_then(Json::as_object_mut) {
            moments
                .iter()
                .for_each(|moment| drop(inner.remove(*moment)));
        }
    }
}

/// The moments of a table's indexes, their order and that of definitions, which says nothing, and the throughput that
/// DynamoDB Local leaves out where none is provisioned.
fn forget_moments_of_indexes(table: &mut Map<String, Json>) {
    if let Some(list) = table
        .get_mut("AttributeDefinitions")
        .and_then(Json::as_array_mut)
    {
        list.sort_by_key(|definition| definition["AttributeName"].to_string());
    }
    for name in ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"] {
        let Some(indexes) = table.get_mut(name).and_then(Json::as_array_mut) else {
            continue;
        };
        for index in indexes.iter_mut().filter_map(Json::as_object_mut) {
            forget_moments(index);
            index.remove("ProvisionedThroughput");
        }
        indexes.sort_by_key(|index| index["IndexName"].to_string());
    }
}

/// How two answers differ, if they do.
fn difference(ours: &Answer, theirs: &Answer) -> Option<Difference> {
    let (mut one, mut two) = (comparable(ours), comparable(theirs));
    if ours.status == theirs.status && one == two {
        return None;
    }
    for json in [&mut one, &mut two] {
        if let Some(map) = json.as_object_mut() {
            map.remove("message");
        }
    }
    if ours.status == theirs.status && ours.status != 200 && one == two {
        Some(Difference::Text)
    } else {
        Some(Difference::Answer)
    }
}

#[tokio::test]
async fn dynamodb_local_agrees_but_for_what_is_marked() {
    let Some(local) = tokio::task::spawn_blocking(DynamoDbLocal::start)
        .await
        .unwrap()
    else {
        return;
    };
    let http: Http = Client::builder(TokioExecutor::new()).build_http();
    let mut wrong = Vec::new();
    for file in case::files() {
        let mut kept = Kept::default();
        for case in case::parse(&std::fs::read_to_string(&file).unwrap()) {
            let theirs = ask(&http, &local.endpoint(), &kept.fill(&case)).await;
            kept.keep(&case, &theirs);
            let found = difference(&case.answer, &theirs);
            let marked = case.difference.as_ref().map(|(kind, _)| *kind);
            if found != marked {
                wrong.push(format!(
                    "{}: {}\nmarked {marked:?}, found {found:?}\n{} {}\n ours {} {}\nlocal {} {}",
                    file.display(),
                    case.title,
                    case.operation,
                    case.body,
                    case.answer.status,
                    case.answer.body,
                    theirs.status,
                    theirs.body,
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
