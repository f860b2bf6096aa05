//! Requests that are not quite of HTTP, and heads that cannot be.

use super::{connect, exchange, get};
use crate::server::{Server, token};

#[test]
fn a_chunked_body_that_is_none_is_a_bad_request() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--memory", "stories"]);
    let ann = format!("Authorization: Bearer {}\r\n", token(data.path(), "ann"));
    let signed = "x-amz-target: DynamoDB_20120810.ListTables\r\nx-amz-date: 20260101T000000Z\r\nAuthorization: AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=any\r\n";
    for (path, headers, kind) in [
        (
            "/stories/Story",
            ann.as_str(),
            "urn:partita:problem:bad-request",
        ),
        ("/", signed, "SerializationException"),
    ] {
        for chunks in ["zz\r\n{}\r\n0\r\n\r\n", "2\r\n{}xx0\r\n\r\n", "-1\r\n{}"] {
            let request = format!(
                "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n{headers}\r\n{chunks}"
            );
            let answer = exchange(&mut connect(server.address()), request.as_bytes());
            assert_eq!(answer.status, 400, "{path} {chunks:?}: {}", answer.body);
            assert!(answer.body.contains(kind), "{}", answer.body);
        }
        let fine = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n{headers}\r\n1\r\n{{\r\n1\r\n}}\r\n0\r\n\r\n"
        );
        let answer = exchange(&mut connect(server.address()), fine.as_bytes());
        assert!(
            [200, 422].contains(&answer.status),
            "{path}: {}",
            answer.body
        );
    }
}

#[test]
fn a_body_has_no_transfer_coding_but_chunked() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--memory", "stories"]);
    let ann = format!("Authorization: Bearer {}\r\n", token(data.path(), "ann"));
    for (path, headers) in [("/stories/Story", ann.as_str()), ("/", "")] {
        for (codings, refused) in [
            ("Transfer-Encoding: gzip, chunked", &[501][..]),
            ("Transfer-Encoding: identity, chunked", &[501]),
            ("Transfer-Encoding: chunked, chunked", &[400, 501]),
            ("Transfer-Encoding: ,chunked", &[501]),
            (
                "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
                &[501],
            ),
            (
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
                &[400, 501],
            ),
            ("Transfer-Encoding: chunked, gzip", &[400]),
            ("Transfer-Encoding: gzip", &[400]),
        ] {
            let request = format!(
                "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{codings}\r\n{headers}\r\n2\r\n{{}}\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
            );
            // Nothing that follows on the connection is taken for a request.
            let answer = exchange(&mut connect(server.address()), request.as_bytes());
            assert!(
                refused.contains(&answer.status),
                "{codings}: {}",
                answer.status
            );
            assert!(
                !answer.body.contains("200 OK"),
                "{codings}: {}",
                answer.body
            );
        }
    }
    let fine =
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n";
    let answer = exchange(&mut connect(server.address()), fine.as_bytes());
    assert_eq!(answer.status, 200);
}

#[test]
fn a_request_is_for_one_host() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--memory", "stories"]);
    for (request, status) in [
        ("GET /healthz HTTP/1.1\r\n\r\n", 400),
        ("GET /stories/docs HTTP/1.1\r\n\r\n", 400),
        (
            "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
            400,
        ),
        ("GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
        (
            "POST / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nx-amz-target: DynamoDB_20120810.ListTables\r\nContent-Length: 2\r\n\r\n{}",
            400,
        ),
        ("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
        ("GET /healthz HTTP/1.0\r\n\r\n", 200),
    ] {
        let answer = exchange(&mut connect(server.address()), request.as_bytes());
        assert_eq!(answer.status, status, "{request}");
    }
}

#[test]
fn long_heads_get_short_answers() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--memory", "stories"]);
    let long = "x".repeat(20_000);
    let ann = format!("Authorization: Bearer {}\r\n", token(data.path(), "ann"));
    for (path, headers) in [
        (format!("/{long}"), String::new()),
        (format!("/stories/{long}"), String::new()),
        (format!("/stories/Story/ann/{long}"), ann.clone()),
        (
            format!("/stories/query/stories?userId=ann&{long}=1"),
            ann.clone(),
        ),
        (
            format!("/stories/query/stories?userId=ann&{long}=1&{long}=2"),
            ann.clone(),
        ),
        (
            format!("/stories/query/stories?userId=ann&cursor={long}"),
            ann.clone(),
        ),
        (
            "/stories/query/stories".to_owned(),
            format!("Authorization: Bearer {long}\r\n"),
        ),
        (
            format!("/stories/query/stories?{}", "a=1&".repeat(5_000)),
            ann,
        ),
    ] {
        let answer = get(server.address(), &path, &headers);
        assert!(
            (400..500).contains(&answer.status),
            "{path:.60}: {}",
            answer.status
        );
        assert!(answer.body.len() < 2_000, "{path:.60}: {}", answer.body);
    }
}
