//! Pages that are full, asked for by many at once.

use std::io::Write as _;
use std::net::TcpStream;

use serde_json::json;

use super::{connect, exchange, get, post, read_answer};
use crate::server::Server;

/// A few pages, each in memory several times, and the server itself, which is not optimised here.
const MEGABYTES_MAX: u64 = 400;

/// Requests at a time. If each took what one takes, they would take more than a gigabyte.
const REQUESTS: usize = 120;

/// Anybody writes and reads texts.
const BLOG: &str = r#"
design = "blog"
[table]
name = "blog"
key  = ["PK", "SK"]
[entity.Post]
PK = "BLOG#{blog}"
SK = "POST#{number}"
[entity.Post.attributes]
blog   = "string"
number = "string"
body   = "string"
[entity.Post.allow]
"*" = "public"
[pattern.posts]
query = "PK = 'BLOG#{blog}' AND begins_with(SK, 'POST#')"
"#;

/// Who asks for many full pages waits for room, or is refused; the server and others go on.
#[test]
fn full_pages_are_made_within_the_memory_for_them() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("blog.toml");
    std::fs::write(&file, BLOG).unwrap();
    let flags = [
        "--memory",
        "--bodies-mb",
        "64",
        "--connections-per-address",
        "4096",
        file.to_str().unwrap(),
    ];
    let server = Server::start(data.path(), &flags);
    for number in 10..25 {
        let post_of =
            json!({ "blog": "x", "number": number.to_string(), "body": "a".repeat(300_000) });
        let request = post("/blog/Post", "", &post_of.to_string());
        assert_eq!(
            exchange(&mut connect(server.address()), &request).status,
            201
        );
    }
    let ask = b"GET /blog/query/posts?blog=x&limit=100 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let asking = || -> TcpStream {
        let mut stream = connect(server.address());
        stream.write_all(ask).unwrap();
        stream
    };
    let mut asked: Vec<TcpStream> = (0..REQUESTS).map(|_| asking()).collect();
    let small = get(server.address(), "/blog/query/posts?blog=none", "");
    assert_eq!(small.status, 200, "{}", small.body);
    let mut answered = 0;
    for stream in &mut asked {
        let answer = read_answer(stream);
        match answer.status {
            200 => answered += 1,
            503 => assert!(answer.header("retry-after").is_some(), "{}", answer.head),
            status => panic!("{status}: {:.300}", answer.body),
        }
    }
    assert!(answered > 0);
    let peak = server.peak_megabytes();
    assert!(peak < MEGABYTES_MAX, "{peak} MB");
}
