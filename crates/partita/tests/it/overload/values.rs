//! Values that are small to send and to store, and large in memory.

use serde_json::{Value as Json, json};

use super::bodies::signed;
use super::{Answer, connect, exchange, get, post};
use crate::server::{Server, token_for};

/// A few of the largest items, and the server itself, which is not optimised here.
const MEGABYTES_MAX: u64 = 400;

fn call(server: &Server, operation: &str, body: &Json) -> Answer {
    let target = format!("x-amz-target: DynamoDB_20120810.{operation}\r\n");
    let headers = target + &signed("AKIDANYBODY");
    let request = post("/", &headers, &body.to_string());
    exchange(&mut connect(server.address()), &request)
}

fn empties(count: usize) -> Json {
    json!({ "L": vec![json!({ "S": "" }); count] })
}

/// A text of 4 KB can ask for hundreds of copies of a value.
#[test]
fn the_endpoint_makes_no_copies_without_end() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--memory", "stories"]);
    let table = |definitions: Vec<Json>| {
        json!({
            "TableName": "large",
            "KeySchema": [{ "AttributeName": "p", "KeyType": "HASH" }],
            "AttributeDefinitions": definitions,
            "BillingMode": "PAY_PER_REQUEST",
        })
    };
    let key = |name: String| json!({ "AttributeName": name, "AttributeType": "S" });
    let many = (0..60_000).map(|at| key(format!("p{at}"))).collect();
    assert_eq!(call(&server, "CreateTable", &table(many)).status, 400);
    let one = vec![key("p".to_owned())];
    assert_eq!(call(&server, "CreateTable", &table(one)).status, 200);
    let item = json!({ "p": { "S": "a" }, "l": empties(200_000) });
    let put = json!({ "TableName": "large", "Item": item });
    assert_eq!(call(&server, "PutItem", &put).status, 200);
    let mentions = |value: &str| {
        let all: Vec<_> = (0..400).map(|at| format!("z{at}={value}")).collect();
        all.join(",")
    };
    let update = |expression: String, values: Option<Json>| {
        let mut request = json!({ "TableName": "large", "Key": { "p": { "S": "a" } } });
        request["UpdateExpression"] = expression.into();
        if let Some(values) = values {
            request["ExpressionAttributeValues"] = json!({ ":v": values });
        }
        call(&server, "UpdateItem", &request)
    };
    for (expression, values) in [
        (format!("SET {}", mentions(":v")), Some(empties(200_000))),
        (format!("SET {}", mentions("l")), None),
        (
            "SET m = list_append(l, l), n = list_append(l, l)".into(),
            None,
        ),
    ] {
        let answer = update(expression, values);
        assert_eq!(answer.status, 400, "{:.300}", answer.body);
    }
    let condition = vec!["l = :v"; 100].join(" OR ");
    let mut put = put;
    put["ConditionExpression"] = condition.into();
    put["ExpressionAttributeValues"] = json!({ ":v": empties(200_000) });
    assert_eq!(call(&server, "PutItem", &put).status, 400);
    let peak = server.peak_megabytes();
    assert!(peak < MEGABYTES_MAX, "{peak} MB");
}

/// Anybody writes things to it.
const HEAP: &str = r#"
design = "heap"
[table]
name = "heap"
key  = ["PK", "SK"]
[entity.Thing]
PK = "HEAP#{heapId}"
SK = "THING#{thingId}"
[entity.Thing.attributes]
heapId  = "string"
thingId = "string"
data    = "map?"
[entity.Thing.allow]
"*" = "public"
[pattern.things]
query = "PK = 'HEAP#{heapId}' AND begins_with(SK, 'THING#')"
"#;

#[test]
fn a_page_of_large_items_ends_early() {
    let data = tempfile::tempdir().unwrap();
    let heap = data.path().join("heap.toml");
    std::fs::write(&heap, HEAP).unwrap();
    let server = Server::start(data.path(), &[heap.to_str().unwrap()]);
    let large = vec![r#""""#; 390_000].join(",");
    for at in 0..6 {
        let thing = format!(r#"{{"heapId":"h","thingId":"t{at}","data":{{"a":[{large}]}}}}"#);
        let answer = exchange(
            &mut connect(server.address()),
            &post("/heap/Thing", "", &thing),
        );
        assert_eq!(answer.status, 201, "{:.300}", answer.body);
    }
    let mut seen = 0;
    let list = "/heap/query/things?heapId=h&limit=100";
    let mut path = list.to_owned();
    loop {
        let answer = get(server.address(), &path, "");
        let page: Json = serde_json::from_str(&answer.body).unwrap();
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 1, "{} items on a page", items.len());
        seen += items.len();
        let Some(cursor) = page["cursor"].as_str() else {
            break;
        };
        path = format!("{list}&cursor={cursor}");
    }
    assert_eq!(seen, 6);
    // A feed would hold them all at once.
    let feed = get(
        server.address(),
        "/heap/query/things?heapId=h",
        "Accept: text/event-stream\r\n",
    );
    assert_eq!(feed.status, 422, "{:.300}", feed.body);
    let peak = server.peak_megabytes();
    assert!(peak < MEGABYTES_MAX, "{peak} MB");
}

/// Somebody who sends a byte now and then has some of the places for uploads, and not all.
#[test]
fn one_caller_does_not_take_all_uploads() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--memory", "holdthatthought"]);
    let flags = ["--data", data.path().to_str().unwrap()];
    let headers = |user: &str| {
        let token = token_for("holdthatthought", &flags, user);
        format!("Authorization: Bearer {token}\r\n")
    };
    let (slow, honest) = (headers("slow"), headers("honest"));
    let url = |headers: &str, size: usize| {
        let asked = json!({ "contentType": "image/jpeg", "size": size }).to_string();
        let request = post("/holdthatthought/files/letters", headers, &asked);
        let answer = exchange(&mut connect(server.address()), &request);
        assert_eq!(answer.status, 201, "{}", answer.body);
        let answer: Json = serde_json::from_str(&answer.body).unwrap();
        answer["upload"]["url"].as_str().unwrap().to_owned()
    };
    let put = |url: &str, size: usize| {
        format!(
            "PUT {url} HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/jpeg\r\nContent-Length: {size}\r\n\r\nx"
        )
    };
    let waiting: Vec<_> = (0..8)
        .map(|_| {
            let mut stream = connect(server.address());
            let begun = put(&url(&slow, 1_000_000), 1_000_000);
            std::io::Write::write_all(&mut stream, begun.as_bytes()).unwrap();
            stream
        })
        .collect();
    let send = |headers: &str| {
        let whole = put(&url(headers, 1), 1);
        exchange(&mut connect(server.address()), whole.as_bytes())
    };
    // Those that were begun take their places a moment later.
    let mut attempts = (0..80).map(|_| send(&slow));
    let refused = attempts.find(|answer| answer.status == 503).unwrap();
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(refused.body.contains("one caller"), "{}", refused.body);
    assert_eq!(send(&honest).status, 201);
    drop(waiting);
}
