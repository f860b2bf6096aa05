//! A small accept loop: enough for a test, without the limits of a real one.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use partita_wire::Endpoint;
use tokio::net::TcpListener;

/// Serves the endpoint on a free port until the runtime ends.
pub(crate) async fn start(endpoint: Endpoint) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let endpoint = Arc::new(endpoint);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let endpoint = endpoint.clone();
            let service = service_fn(move |request: http::Request<Incoming>| {
                let endpoint = endpoint.clone();
                async move {
                    let (head, body) = request.into_parts();
                    let body = body.collect().await.unwrap().to_bytes();
                    let response = endpoint.answer(&head, body).await;
                    Ok::<_, Infallible>(response.map(Full::new))
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    address
}
