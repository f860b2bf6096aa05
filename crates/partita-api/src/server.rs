//! The accept loop, with its limits and its graceful stop.
//!
//! `axum::serve` installs no timer, so that hyper's timeouts would never fire. This loop does,
//! and it bounds the connections as well.

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tower::ServiceExt as _;
use tracing::{debug, info, warn};

use crate::request;

/// What the server grants a client.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time; further ones wait to be accepted.
    pub connections: usize,
    /// Time for the head of a request, from the moment that one could begin: it also ends a
    /// connection that is idle.
    pub head: Duration,
    /// Time for open requests when the server stops.
    pub stop: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 4096,
            head: Duration::from_secs(30),
            stop: Duration::from_secs(10),
        }
    }
}

/// Headers of a request, and bytes of its head, that are read at all. What is larger gets an answer
/// without a document, for which hyper has no hook, so the services behind have smaller limits of
/// their own. The buffer grows
/// in steps: a head of up to twice the size may still pass.
const HEADERS_MAX: usize = 2 * request::HEADERS_MAX;
const HEAD_BYTES_MAX: usize = 2 * request::HEAD_BYTES_MAX;

/// A router as a service.
pub fn service(
    router: Router,
) -> impl Service<
    Request<Incoming>,
    Response = Response<axum::body::Body>,
    Error = Infallible,
    Future: Send,
> + Clone
+ Send
+ 'static {
    let router =
        router.map_request(|request: Request<Incoming>| request.map(axum::body::Body::new));
    TowerToHyperService::new(router)
}

/// Serves until `stop` completes, then lets open requests end.
pub async fn serve<S, B>(
    listener: TcpListener,
    service: S,
    limits: Limits,
    stop: impl Future<Output = ()>,
) -> io::Result<()>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(limits.connections));
    let mut stop = std::pin::pin!(stop);
    loop {
        let place = places.clone().acquire_owned();
        let accepted = async {
            let place = place.await.expect("the semaphore is never closed");
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            accepted = accepted => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let connection = connection(stream, service.clone(), limits);
                let watched = graceful.watch(connection);
                tokio::spawn(async move {
                    if let Err(error) = watched.await {
                        debug!(%error, "a connection ended early");
                    }
                    drop(place);
                });
            }
            // Out of file descriptors, say: the next attempt may succeed, a busy loop will not help.
            Err(error) => {
                warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    info!("stopping: no new connections, open requests may end");
    if tokio::time::timeout(limits.stop, graceful.shutdown())
        .await
        .is_err()
    {
        warn!("some requests did not end in time");
    }
    Ok(())
}

fn connection<S, B>(
    stream: TcpStream,
    service: S,
    limits: Limits,
) -> http1::Connection<TokioIo<TcpStream>, S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
    B: Body<Error: Into<Box<dyn Error + Send + Sync>>> + 'static,
{
    if let Err(error) = stream.set_nodelay(true) {
        debug!(%error, "small answers may wait on this connection");
    }
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service)
}
