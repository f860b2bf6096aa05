//! Generated requests with the parameters that expressions have replaced, and PartiQL statements.
//! The words of errors are the corpus's to compare.

use fastrand::Rng;
use partita_testkit::dynamodb_local::DynamoDbLocal;
use serde_json::{Map, Value as Json, json};

use super::ask::{Local, Ours};
use super::attribute::{NAMES, any, item, key, key_value, named, pick};
use super::normal::Answer;
use super::tables::{self, TABLES, Table};
use super::{Request, describe, mutation, seed, statements, wanted};

const OPERATORS: [&str; 13] = [
    "EQ",
    "NE",
    "LT",
    "LE",
    "GT",
    "GE",
    "IN",
    "BETWEEN",
    "NULL",
    "NOT_NULL",
    "CONTAINS",
    "NOT_CONTAINS",
    "BEGINS_WITH",
];

#[tokio::test]
async fn legacy_parameters_and_statements_are_answered_alike() {
    let Some(server) = tokio::task::spawn_blocking(DynamoDbLocal::start)
        .await
        .unwrap()
    else {
        return;
    };
    let (ours, local) = (Ours::start(), Local::new(&server));
    for request in tables::create() {
        let answers = (ours.send(&request).await, local.send(&request).await);
        assert_eq!((answers.0.status, answers.1.status), (200, 200));
    }
    let mut random = Rng::with_seed(seed());
    let mut different = Vec::new();
    for _ in 0..wanted() * 20 {
        let request = if random.u8(..3) == 0 {
            statements::request(&mut random)
        } else {
            request(&mut random)
        };
        let one = ours.exchange(&request).await;
        let two = local.exchange(&request).await;
        if !agree(&one, &two) {
            different.push(describe(&request, &one, &two));
        }
    }
    different.truncate(10);
    assert!(different.is_empty(), "{}", different.join("\n\n"));
}

/// Whether the answers are the same but for words, and for what DynamoDB Local is known to get
/// wrong: it fails on some statements, has names of its own for an item that is there already,
/// looks for a table before it checks a filter, and refuses a transaction for an update that does
/// not fit its item.
fn agree(ours: &Answer, local: &Answer) -> bool {
    let level = |answer: &Answer| {
        let (mut answer, _) = answer.clone().split();
        statements::level(&mut answer.body);
        answer
    };
    let kinds = (ours.kind(), local.kind());
    local.status == 500
        || kinds
            == (
                Some("ValidationException"),
                Some("ResourceNotFoundException"),
            )
        || kinds
            == (
                Some("TransactionCanceledException"),
                Some("ValidationException"),
            )
        || level(ours) == level(local)
}

fn request(random: &mut Rng) -> Request {
    let table = &TABLES[random.usize(..2)];
    let (operation, mut body) = match random.u8(..8) {
        0 | 1 => ("PutItem", json!({ "Item": item(random, table) })),
        2 => {
            let expected = expected(random);
            let item = item(random, table);
            ("PutItem", json!({ "Item": item, "Expected": expected }))
        }
        3 => {
            let key = key(random, table.keys);
            (
                "UpdateItem",
                json!({ "Key": key, "AttributeUpdates": updates(random), "ReturnValues": "ALL_NEW" }),
            )
        }
        4 => {
            let (key, expected) = (key(random, table.keys), expected(random));
            (
                "DeleteItem",
                json!({ "Key": key, "Expected": expected, "ReturnConsumedCapacity": "TOTAL" }),
            )
        }
        5 => ("Query", query(random, table)),
        6 => ("Scan", json!({ "ScanFilter": comparisons(random) })),
        _ if random.bool() => ("GetItem", json!({ "Key": key(random, table.keys) })),
        _ => ("BatchGetItem", batch(random, table)),
    };
    if operation != "BatchGetItem" {
        body["TableName"] = table.name.into();
    }
    for filter in ["ScanFilter", "QueryFilter", "Expected"] {
        let count = body[filter].as_object().map_or(0, Map::len);
        if count > 1 && random.bool() {
            body["ConditionalOperator"] = pick(random, &["AND", "OR"]).into();
        }
    }
    if matches!(operation, "Query" | "Scan" | "GetItem") && random.u8(..3) == 0 {
        body["AttributesToGet"] = json!([pick(random, &NAMES), "pk"]);
    }
    let body = body.as_object().cloned().unwrap_or_default();
    let body = body.into_iter().filter(|(_, value)| !value.is_null());
    let mut request = Request {
        operation,
        body: Json::Object(body.collect()),
    };
    if random.u8(..4) == 0 {
        mutation::spoil(random, &mut request);
    }
    request
}

fn batch(random: &mut Rng, table: &Table) -> Json {
    let keys = json!([key(random, table.keys)]);
    let attributes = json!([pick(random, &NAMES), "pk"]);
    json!({ "RequestItems": { table.name: { "Keys": keys, "AttributesToGet": attributes } } })
}

/// An operator with its values, which are mostly of the types that it takes.
fn comparison(random: &mut Rng, name: &str) -> Json {
    let operator = pick(random, &OPERATORS);
    let count = match operator {
        "NULL" | "NOT_NULL" => 0,
        "BETWEEN" => 2,
        "IN" => random.usize(1..4),
        _ => 1,
    };
    let values = (0..count).map(|_| match random.u8(..4) {
        0 => any(random),
        _ => named(random, name),
    });
    let values: Vec<Json> = values.collect();
    match count {
        0 => json!({ "ComparisonOperator": operator }),
        _ => json!({ "ComparisonOperator": operator, "AttributeValueList": values }),
    }
}

fn comparisons(random: &mut Rng) -> Json {
    let count = random.usize(1..3);
    let pairs = (0..count).map(|_| {
        let name = pick(random, &NAMES);
        (name.to_owned(), comparison(random, name))
    });
    Json::Object(pairs.collect())
}

fn expected(random: &mut Rng) -> Json {
    let name = pick(random, &NAMES);
    match random.u8(..4) {
        0 => json!({ name: { "Exists": false } }),
        1 => json!({ name: { "Value": named(random, name) } }),
        _ => comparisons(random),
    }
}

/// Always one PUT among them: DynamoDB Local creates an item for what only deletes.
fn updates(random: &mut Rng) -> Json {
    let mut updates = Map::new();
    for _ in 0..random.usize(..3) {
        let name = pick(random, &NAMES);
        let update = match random.u8(..4) {
            0 => json!({ "Action": "DELETE" }),
            1 => json!({ "Action": "DELETE", "Value": named(random, name) }),
            _ => json!({ "Action": "ADD", "Value": named(random, name) }),
        };
        updates.insert(name.to_owned(), update);
    }
    let name = pick(random, &NAMES);
    let value = named(random, name);
    updates.insert(name.to_owned(), json!({ "Action": "PUT", "Value": value }));
    updates.into()
}

fn query(random: &mut Rng, table: &Table) -> Json {
    let (name, kind) = table.keys.partition;
    let partition =
        json!({ "ComparisonOperator": "EQ", "AttributeValueList": [key_value(random, kind)] });
    let mut keys = Map::from_iter([(name.to_owned(), partition)]);
    if let Some((name, kind)) = table.keys.sort
        && random.bool()
    {
        let operator = pick(random, &["EQ", "LT", "LE", "GT", "GE"]);
        let value = key_value(random, kind);
        let sort = json!({ "ComparisonOperator": operator, "AttributeValueList": [value] });
        keys.insert(name.to_owned(), sort);
    }
    if random.bool() {
        json!({ "KeyConditions": keys, "QueryFilter": comparisons(random) })
    } else {
        json!({ "KeyConditions": keys })
    }
}
