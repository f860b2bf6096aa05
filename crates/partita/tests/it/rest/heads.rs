//! What is no request, or has too long a head: answered by the HTTP library, before
//! anything of ours sees it. `docs/errors.md` says what clients get.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use super::Api;

/// Everything that the server says to some bytes, until it closes the connection.
fn answer(api: &Api, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(api.server.base.trim_start_matches("http://")).unwrap();
    // The server may close before it has read everything.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

#[test]
fn a_head_that_nobody_understands_is_answered_without_a_document() {
    let api = Api::start(&[]);
    let headers = |count: usize| "x: 1\r\n".repeat(count);
    for (head, status) in [
        ("NONSENSE\r\n\r\n".to_owned(), "400 Bad Request"),
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), "400 Bad Request"),
        (
            "GET / HTTP/1.1\r\nno header\r\n\r\n".to_owned(),
            "400 Bad Request",
        ),
        ("G\u{1}T / HTTP/1.1\r\n\r\n".to_owned(), "400 Bad Request"),
        (
            format!("GET / HTTP/1.1\r\n{}\r\n", headers(200)),
            "431 Request Header Fields Too Large",
        ),
        (
            format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "x".repeat(200_000)),
            "431 Request Header Fields Too Large",
        ),
        (
            format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000)),
            "414 URI Too Long",
        ),
    ] {
        let answer = answer(&api, head.as_bytes());
        let shown: String = head.chars().take(40).collect();
        let (line, rest) = answer.split_once("\r\n").unwrap();
        assert_eq!(line, format!("HTTP/1.1 {status}"), "{shown:?}");
        assert!(rest.contains("connection: close\r\n"), "{answer:?}");
        assert!(rest.contains("content-length: 0\r\n"), "{answer:?}");
        assert!(rest.ends_with("\r\n\r\n"), "{answer:?}");
        assert!(!rest.contains("content-type"), "{answer:?}");
    }
    // Who speaks HTTP/2 is not answered at all.
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    assert_eq!(answer(&api, preface.as_bytes()), "");
}

/// Whose votes they are is in the path, so the body need not be read.
#[tokio::test]
async fn rules_on_the_path_are_asked_before_the_body_is_read() {
    let api = Api::with_story(&[]).await;
    let token = api.token("ann");
    for (path, kind, status) in [
        ("users/bob/votes", "application/json", "403 Forbidden"),
        ("users/bob/votes", "text/plain", "403 Forbidden"),
        ("users/ann/votes", "application/json", "400 Bad Request"),
    ] {
        let request = format!(
            "POST /storyhub/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Authorization: Bearer {token}\r\nContent-Type: {kind}\r\nContent-Length: 1\r\n\r\n{{"
        );
        let answer = answer(&api, request.as_bytes());
        let line = format!("HTTP/1.1 {status}\r\n");
        assert!(answer.starts_with(&line), "{path} {kind}: {answer}");
    }
}

#[tokio::test]
async fn a_request_has_one_token() {
    let api = Api::with_story(&[]).await;
    let (ann, bob) = (api.token("ann"), api.token("bob"));
    let request = format!(
        "GET /storyhub/users/ann HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Authorization: Bearer {ann}\r\nAuthorization: Bearer {bob}\r\n\r\n"
    );
    let answer = answer(&api, request.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
}
