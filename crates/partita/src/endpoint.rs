//! DynamoDB's endpoint on the server's sockets: whole bodies in, whole answers out.
//!
//! It is the administrator's. Beside designs it reads everything, past their rules, and writes only
//! the tables that no design governs, unless it was started with `--raw-writes`.

use std::convert::Infallible;
use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body as HttpBody, Incoming};
use hyper::service::{Service, service_fn};
use partita_api::server;
use partita_design::Design;
use partita_store::surroundings::{SystemClock, SystemEntropy};
use partita_store::{GuardedStore, SettlingStore, Store};
use partita_wire::{BODY_BYTES_MAX, Credentials, Endpoint};
use tokio::time::timeout;

use crate::cli::{ServeFlags, StoreKind};
use crate::governed::Governed;

/// For a whole body, however it trickles in.
const BODY_TIME_MAX: Duration = Duration::from_secs(60);
/// Of a body that is refused for its size. Who sends more may find the connection closed.
const DRAINED_BYTES_MAX: usize = 4 * BODY_BYTES_MAX;

/// What a request of DynamoDB's clients always has.
const TARGET: &str = "x-amz-target";

/// The endpoint in front of a store, with designs that govern some of its tables; or why there is
/// none.
pub(crate) fn open(
    flags: &ServeFlags,
    designs: &[(String, Design)],
    store: Arc<dyn Store>,
) -> Result<Result<Arc<Endpoint>, &'static str>> {
    if let Some(reason) = reason_for_none(flags) {
        return Ok(Err(reason));
    }
    let store: Arc<dyn Store> = match flags.raw_writes {
        true => store,
        false => {
            let designs = designs.iter().map(|(_, design)| design.clone());
            Arc::new(GuardedStore::new(store, Governed::by(designs)))
        }
    };
    let store: Arc<dyn Store> = match flags.table_state_delay {
        0 => store,
        seconds => {
            let millis = i64::from(seconds) * 1_000;
            Arc::new(SettlingStore::new(store, Arc::new(SystemClock), millis))
        }
    };
    let credentials = credentials(flags)?;
    let (clock, entropy) = (Arc::new(SystemClock), Arc::new(SystemEntropy));
    Ok(Ok(Arc::new(Endpoint::new(
        store,
        credentials,
        clock,
        entropy,
    ))))
}

/// Why there is no endpoint beside designs.
fn reason_for_none(flags: &ServeFlags) -> Option<&'static str> {
    let is_open = flags.credentials_file.is_none();
    match () {
        () if flags.endpoint_only => None,
        () if flags.no_endpoint => Some("none, by --no-endpoint"),
        () if flags.place.store == StoreKind::Dynamodb => Some("none: DynamoDB has its own"),
        // Whoever can reach it could read everything.
        () if is_open && !flags.listen.ip().is_loopback() => {
            Some("none without --credentials-file, because others can reach this address")
        }
        () => None,
    }
}

/// What answers on the server's address: DynamoDB's clients by the endpoint, and everybody else by
/// the routes. The endpoint's requests pass these by, because there is nothing to be routed.
pub(crate) fn service(
    endpoint: Option<Arc<Endpoint>>,
    routes: Router,
) -> impl Service<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future: Send>
+ Clone
+ Send
+ 'static {
    let routes = server::service(routes);
    service_fn(move |request: Request<Incoming>| {
        let (endpoint, routes) = (endpoint.clone(), routes.clone());
        async move {
            match endpoint {
                Some(endpoint) if request.headers().contains_key(TARGET) => {
                    Ok(answer(&endpoint, request).await)
                }
                _ => routes.call(request).await,
            }
        }
    })
}

/// Routes that leave whatever they do not know to the endpoint, which refuses it in its own words.
pub(crate) fn behind(routes: Router, endpoint: Arc<Endpoint>) -> Router {
    routes.fallback(move |request: Request<Body>| {
        let endpoint = endpoint.clone();
        async move { answer(&endpoint, request).await }
    })
}

async fn answer<B>(endpoint: &Endpoint, request: Request<B>) -> Response<Body>
where
    B: HttpBody<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>>,
{
    let (head, body) = request.into_parts();
    if body.size_hint().lower() > BODY_BYTES_MAX as u64 {
        // Whether it ends in time matters only to the client.
        let _ = timeout(BODY_TIME_MAX, drain(body)).await;
        return endpoint.too_large().map(Body::from);
    }
    let body = Limited::new(body, BODY_BYTES_MAX).collect();
    match timeout(BODY_TIME_MAX, body).await {
        Ok(Ok(body)) => {
            let answer = endpoint.answer(&head, body.to_bytes()).await;
            answer.map(Body::from)
        }
        Ok(Err(_)) => endpoint.too_large().map(Body::from),
        Err(_) => plain(StatusCode::REQUEST_TIMEOUT),
    }
}

/// Reads and forgets what is too large: a client that is still sending would not read why.
async fn drain(body: impl HttpBody<Data = Bytes>) {
    let mut body = pin!(body);
    let mut bytes = 0;
    while let Some(Ok(frame)) = body.frame().await {
        bytes += frame.data_ref().map_or(0, Bytes::len);
        if bytes > DRAINED_BYTES_MAX {
            break;
        }
    }
}

fn plain(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// The credentials that clients must sign with: two lines of a file.
fn credentials(flags: &ServeFlags) -> Result<Option<Credentials>> {
    let Some(path) = &flags.credentials_file else {
        return Ok(None);
    };
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the credentials {}", path.display()))?;
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    match (lines.next(), lines.next(), lines.next()) {
        (Some(id), Some(secret), None) => Ok(Some(Credentials::new(id, secret.into()))),
        _ => bail!(
            "{} must have two lines: an access key id and a secret access key",
            path.display()
        ),
    }
}
