//! Clients that ask and do not read.

use std::convert::Infallible;
use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use axum::body::{Body, Bytes};
use hyper::service::service_fn;
use hyper::{Request, Response};
use partita_api::Limits;

use super::get;

/// Larger than what the system takes in for a client.
const LARGE: usize = 64 * 1_048_576;

#[test]
fn who_does_not_read_loses_the_place() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let limits = Limits {
        connections: 4,
        reserved: 0,
        write: Duration::from_millis(100),
        ..Limits::default()
    };
    let address = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let service = service_fn(|request: Request<hyper::body::Incoming>| async move {
            let body = match request.uri().path() {
                "/large" => Bytes::from(vec![0; LARGE]),
                _ => Bytes::from_static(b"small"),
            };
            Ok::<_, Infallible>(Response::new(Body::from(body)))
        });
        tokio::spawn(partita_api::serve(
            listener,
            service,
            limits,
            std::future::pending(),
        ));
        address
    });
    let asked: Vec<TcpStream> = (0..4)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).unwrap();
            let request = b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n";
            stream.write_all(request).unwrap();
            stream
        })
        .collect();
    // It waits until one of them has lost its place.
    assert_eq!(get(&address, "/small", "").body, "small");
    drop(asked);
}
