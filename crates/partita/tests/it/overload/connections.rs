//! Connections that are many, idle, or from one address.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use super::{Answer, PATIENCE, connect, exchange, get};
use crate::server::{Server, token, token_for};

/// A connection from another address of this machine.
fn connect_from(from: &str, to: &str) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
        let stream = socket.connect(to.parse().unwrap()).await.unwrap();
        stream.into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn health(stream: &mut TcpStream) -> Answer {
    let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    exchange(stream, request)
}

fn ask(mut stream: TcpStream) -> Answer {
    health(&mut stream)
}

/// Whether an answer came on one of the reserved places: those close the connection.
fn is_kept(answer: &Answer) -> bool {
    answer.header("connection") == Some("close")
}

#[test]
fn when_all_places_are_taken_operators_are_answered() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["stories", "--connections", "20"]);
    let address = server.address();
    let flags = ["--data", data.path().to_str().unwrap()];
    let admin = token_for(
        "stories",
        &[&flags[..], &["--role", "admin"]].concat(),
        "root",
    );
    let admin = format!("Authorization: Bearer {admin}\r\n");
    let ann = format!("Authorization: Bearer {}\r\n", token(data.path(), "ann"));
    let list = "/stories/query/stories?userId=ann";
    assert_eq!(get(address, list, &ann).status, 200);

    let mut idle = Vec::new();
    while idle.len() < 20 {
        // Who came before may still have a place.
        let mut stream = connect(address);
        if !is_kept(&health(&mut stream)) {
            idle.push(stream);
        }
    }
    let busy = get(address, list, &ann);
    assert_eq!(busy.status, 503);
    assert_eq!(busy.header("retry-after"), Some("1"));
    assert!(
        busy.body.contains("urn:partita:problem:throttled"),
        "{}",
        busy.body
    );
    for path in ["/healthz", "/readyz", "/metrics"] {
        let answer = get(address, path, "");
        assert_eq!(answer.status, 200, "{path}");
        assert!(is_kept(&answer), "{path}: {}", answer.head);
    }
    assert_eq!(
        get(address, "/stories/admin/openapi.json", &admin).status,
        200
    );
    let upload = "PUT /stories/files/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(
        exchange(&mut connect(address), upload.as_bytes()).status,
        503
    );

    // Those who have a place are answered as ever, and their places are free again when they go.
    let mut first = idle.pop().unwrap();
    let request = format!("GET {list} HTTP/1.1\r\nHost: localhost\r\n{ann}\r\n");
    assert_eq!(exchange(&mut first, request.as_bytes()).status, 200);
    drop((first, idle));
    let mut attempts = (0..1_000).map(|_| get(address, list, &ann).status);
    assert!(attempts.any(|status| status == 200));
}

/// Those who connect and say nothing take neither the kept places nor the way to them.
#[test]
fn silent_connections_keep_no_operator_out() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["stories", "--connections", "20"]);
    let address = server.address();
    // More than would make room by their own time for a head while a client is patient.
    let silent: Vec<_> = (0..900).map(|_| connect(address)).collect();
    for _ in 0..5 {
        assert_eq!(get(address, "/healthz", "").status, 200);
    }
    drop(silent);
}

#[test]
fn one_address_has_a_part_of_the_places() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["stories", "--connections-per-address", "4"]);
    let address = server.address();
    let held: Vec<TcpStream> = (0..4).map(|_| connect_from("127.0.0.2", address)).collect();
    let mut refused = connect_from("127.0.0.2", address);
    let mut text = String::new();
    refused.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 503 "), "{text}");
    assert!(text.contains("retry-after: 1\r\n"), "{text}");
    // Another address is not concerned, and neither is a proxy on this machine.
    assert_eq!(ask(connect_from("127.0.0.3", address)).status, 200);
    let proxied: Vec<TcpStream> = (0..20).map(|_| connect(address)).collect();
    for stream in proxied {
        assert_eq!(ask(stream).status, 200);
    }
    for stream in held {
        assert_eq!(ask(stream).status, 200);
    }
    let mut attempts = (0..1_000).map(|_| {
        let mut stream = connect_from("127.0.0.2", address);
        let _ = stream
            .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        text
    });
    assert!(attempts.any(|text| text.starts_with("HTTP/1.1 200 ")));
}

#[test]
fn a_proxy_elsewhere_is_one_that_somebody_names() {
    let data = tempfile::tempdir().unwrap();
    let flags = [
        "stories",
        "--connections-per-address",
        "4",
        "--trusted-proxy",
        "127.0.0.2",
    ];
    let server = Server::start(data.path(), &flags);
    let trusted = [(); 9].map(|()| connect_from("127.0.0.2", server.address()));
    for stream in trusted {
        assert_eq!(ask(stream).status, 200);
    }
}
