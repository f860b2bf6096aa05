use axum::http::{HeaderMap, HeaderValue, Method, Uri, header};
use partita_core::Name;
use partita_design::shipped;

use super::*;
use crate::routes::{Routes, Target};

/// The operation that a request asks of the design `stories`, or the problem.
fn decoded(method: &str, uri: &str, content: &str) -> Result<Operation, Problem> {
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let uri: Uri = uri.parse().unwrap();
    let mut headers = HeaderMap::new();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    let request = Request {
        method: &method,
        uri: &uri,
        headers: &headers,
        body: content.as_bytes(),
    };
    let segments = request.segments()?;
    let path: Vec<&str> = segments[1..].iter().map(String::as_str).collect();
    let source = shipped::find("stories").unwrap().source;
    let design = partita_design::check(source, &|_| None).0.unwrap();
    let routes = Routes::of(&design);
    let found = routes.find(request.method, &path)?;
    let Target::Operation(verb) = &found.route.target else {
        panic!("{uri} asks for no operation")
    };
    operation(&design, *verb, &found, &Brought::of(&request)?)
}

#[test]
fn an_encoded_slash_stays_inside_its_part() {
    let got = decoded("GET", "/stories/Story/a%2Fb/c%23d", "").unwrap();
    let Operation::Get { identity, .. } = got else {
        panic!("{got:?}")
    };
    assert_eq!(identity, ["a/b", "c#d"]);
}

#[test]
fn head_is_get() {
    let head = decoded("HEAD", "/stories/Story/a/b", "").unwrap();
    assert_eq!(head, decoded("GET", "/stories/Story/a/b", "").unwrap());
}

#[test]
fn restore_is_the_last_part() {
    let got = decoded("POST", "/stories/Story/ann/1/restore", "").unwrap();
    let Operation::Restore { identity, .. } = got else {
        panic!("{got:?}")
    };
    assert_eq!(identity, ["ann", "1"]);
}

#[test]
fn queries_have_parameters_limit_and_cursor() {
    let got = decoded(
        "GET",
        "/stories/query/stories?userId=a%20b&limit=5&cursor=x",
        "",
    )
    .unwrap();
    assert_eq!(
        got,
        Operation::Query {
            pattern: "stories".into(),
            parameters: Parameters::from([("userId".into(), "a b".into())]),
            limit: Some(5),
            cursor: Some("x".into()),
        }
    );
}

#[test]
fn refusals() {
    for (method, uri, content, status) in [
        ("GET", "/stories", "", 404),
        ("GET", "/stories/", "", 404),
        ("GET", "/stories/Story", "", 405),
        ("PUT", "/stories/query/stories", "{}", 405),
        ("POST", "/stories/query/stories", "", 405),
        ("POST", "/stories/Story", "[]", 400),
        ("POST", "/stories/Story", "{", 400),
        ("POST", "/stories/Story", r#"{"n": 1e999}"#, 422),
        ("POST", "/stories/Story", r#"{"a": 1, "a": 2}"#, 422),
        (
            "POST",
            "/stories/Story",
            r#"{"a": [1, {"b": {"c": 1, "c": 2}}]}"#,
            422,
        ),
        (
            "POST",
            "/stories/Story",
            r#"{"a": {"$serde_json::private::Number": "1"}}"#,
            400,
        ),
        ("POST", "/stories/Story?x=1", "{}", 400),
        ("DELETE", "/stories/Story/a/b?x=1", "", 400),
        ("POST", "/stories/Story/a/b/restore?x=1", "", 400),
        ("POST", "/stories/Story/a", "", 404),
        ("GET", "/stories/Story/%FF/b", "", 400),
        ("GET", "/stories/Story/a/b?deleted=yes", "", 400),
        ("GET", "/stories/Story/a/b?other=1", "", 400),
        ("GET", "/stories/query/stories?limit=x", "", 400),
        ("GET", "/stories/query/stories?a=1&a=2", "", 400),
    ] {
        let got = decoded(method, uri, content);
        let got = got.expect_err(uri).status().as_u16();
        assert_eq!(got, status, "{method} {uri}");
    }
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(1000), "]".repeat(1000));
    assert!(decoded("POST", "/stories/Story", &deep).is_err());
}

#[test]
fn names_that_stand_twice_are_told_with_their_place() {
    let body = r#"{"a": 1.50, "b": [{"c": null}, {"c": {"d": 1, "d": true}}], "a": "x"}"#;
    let problem = decoded("POST", "/stories/Story", body).unwrap_err();
    assert_eq!(
        problem.detail,
        "`b[1].c.d` is given twice; `a` is given twice"
    );
}

#[test]
fn what_stands_in_the_path_need_not_stand_elsewhere() {
    let path = "/stories/users/a%20b/stories/01JGFJJZ00000000000000DVNE/nodes";
    let got = decoded("POST", path, r#"{"type": "x", "userId": "a b"}"#).unwrap();
    let Operation::Create { entity, attributes } = got else {
        panic!("{got:?}")
    };
    assert_eq!(entity, "Node");
    let names: Vec<_> = attributes.keys().map(Name::as_str).collect();
    assert_eq!(names, ["storyId", "type", "userId"]);
    assert_eq!(attributes["userId"].as_str(), Some("a b"));

    let got = decoded("GET", &format!("{path}?limit=3"), "").unwrap();
    let Operation::Query { parameters, .. } = got else {
        panic!("{got:?}")
    };
    assert_eq!(parameters["userId"], "a b");
    assert_eq!(parameters.len(), 2);

    let other = decoded("POST", path, r#"{"userId": "bob"}"#).unwrap_err();
    assert_eq!(other.detail, "`userId` is `a b` in the path");
    let twice = decoded("GET", &format!("{path}?userId=bob"), "").unwrap_err();
    assert_eq!(twice.detail, "`userId` stands in the path already");
}
