//! DynamoDB's endpoint on the server's sockets: whole bodies in, whole answers out.
//!
//! It is the administrator's. It reads everything, past the rules of designs, and writes only the
//! tables that no design governs, unless it was started with `--raw-writes`.

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_ENCODING, EXPECT};
use axum::http::request::Parts;
use axum::http::{Request, Response, StatusCode};
use hyper::body::{Body as HttpBody, Incoming};
use hyper::service::{Service, service_fn};
use partita_api::intake::{self, BodyLimits, Intake, Received, Sender, Unread};
use partita_api::server;
use partita_design::Design;
use partita_store::surroundings::{SystemClock, SystemEntropy};
use partita_store::{GuardedStore, SettlingStore, Store};
use partita_wire::{Admission, BODY_BYTES_MAX, Credentials, Endpoint};

use crate::cli::ServeFlags;
use crate::governed::Governed;

/// For a whole body, however it trickles in.
const BODY_TIME_MAX: Duration = Duration::from_secs(60);
/// Of a body that can be held without asking whose it is, while there is room.
const SMALL_BYTES: u64 = 16 * 1024;
/// Of a body that is refused. Who sends more may find the connection closed.
const DRAINED_BYTES_MAX: usize = 4 * BODY_BYTES_MAX;

/// What a request of DynamoDB's clients always has.
const TARGET: &str = "x-amz-target";

/// The endpoint in front of a store, with designs that govern some of its tables; or why there is
/// none.
pub(crate) async fn open(
    flags: &ServeFlags,
    designs: &[(String, Design)],
    store: Arc<dyn Store>,
) -> Result<Result<Arc<Endpoint>, &'static str>> {
    if let Some(reason) = reason_for_none(flags) {
        return Ok(Err(reason));
    }
    // In DynamoDB itself its own permissions decide.
    let store: Arc<dyn Store> = if flags.raw_writes || flags.place.is_shared() {
        store
    } else {
        let designs = designs.iter().map(|(_, design)| design.clone());
        let governed = Governed::by(designs.collect(), store.clone()).await?;
        Arc::new(GuardedStore::new(store, governed))
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
        () if flags.place.is_shared() => Some("none: DynamoDB has its own"),
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
    intake: Arc<Intake>,
) -> impl Service<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future: Send>
+ Clone
+ Send
+ 'static {
    let routes = server::service(routes);
    service_fn(move |request: Request<Incoming>| {
        let (endpoint, routes, intake) = (endpoint.clone(), routes.clone(), intake.clone());
        async move {
            match endpoint {
                Some(endpoint) if request.headers().contains_key(TARGET) => {
                    Ok(answer(&endpoint, &intake, request).await)
                }
                _ => routes.call(request).await,
            }
        }
    })
}

/// Routes that leave whatever they do not know to the endpoint, which refuses it in its own words.
pub(crate) fn behind(routes: Router, endpoint: Arc<Endpoint>, intake: Arc<Intake>) -> Router {
    routes.fallback(move |request: Request<Body>| {
        let (endpoint, intake) = (endpoint.clone(), intake.clone());
        async move { answer(&endpoint, &intake, request).await }
    })
}

async fn answer<B>(endpoint: &Endpoint, intake: &Intake, request: Request<B>) -> Response<Body>
where
    B: HttpBody<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Unpin,
{
    let (head, mut body) = request.into_parts();
    let answer = match receive(endpoint, intake, &head, &mut body).await {
        Ok(received) => {
            let bytes = if is_compressed(&head) {
                BODY_BYTES_MAX
            } else {
                received.bytes.len()
            };
            let outcome = endpoint.carry_out(&head, received.bytes.clone());
            let outcome = intake.carry_out(bytes, outcome).await;
            let encoded = intake::work_on(outcome.bytes(), || endpoint.encode(&head, outcome));
            encoded.map(Body::from)
        }
        Err(refusal) => *refusal,
    };
    // Whoever waits to be asked for the body need not send it.
    if !head.headers.contains_key(EXPECT) {
        intake::drain(body, DRAINED_BYTES_MAX).await;
    }
    answer
}

/// Reads the body, or says why not. A large one of a sender who cannot be who it claims to be is
/// not read at all.
async fn receive<B>(
    endpoint: &Endpoint,
    intake: &Intake,
    head: &Parts,
    body: &mut B,
) -> Result<Received, Box<Response<Body>>>
where
    B: HttpBody<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Unpin,
{
    let is_small = body.size_hint().upper().is_some_and(|it| it <= SMALL_BYTES);
    let admission = if is_small && !intake.is_short() {
        // It costs less to hold it than to verify its signature twice.
        Admission::Unknown
    } else {
        endpoint
            .admit(head)
            .map_err(|refusal| Box::new(refusal.map(Body::from)))?
    };
    let sender = match admission {
        Admission::Known => Sender::Known,
        Admission::Unknown => Sender::Unknown,
    };
    let limits = BodyLimits {
        bytes: BODY_BYTES_MAX,
        time: BODY_TIME_MAX,
    };
    let mut read = intake.read(sender, limits, body).await;
    // A small body can unfold to the largest.
    if let (Ok(received), true) = (&mut read, is_compressed(head)) {
        let grown = received.grow(BODY_BYTES_MAX);
        read = grown.and(read);
    }
    read.map_err(|unread| {
        Box::new(match unread {
            Unread::TooLarge => endpoint.too_large().map(Body::from),
            Unread::Malformed => endpoint.malformed().map(Body::from),
            Unread::NoRoom => endpoint.busy().map(Body::from),
            Unread::TooSlow => plain(StatusCode::REQUEST_TIMEOUT),
        })
    })
}

fn is_compressed(head: &Parts) -> bool {
    let encoding = head.headers.get(CONTENT_ENCODING);
    encoding.is_some_and(|encoding| !matches!(encoding.as_bytes(), b"" | b"identity"))
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

#[cfg(test)]
mod tests;
