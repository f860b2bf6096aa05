//! The accept loop, with its limits and its graceful stop.
//!
//! `axum::serve` installs no timer, so that hyper's timeouts would never fire. This loop does,
//! and it bounds the connections as well: all of them, and those of one address. A few places are
//! kept for health checks and administrators when all others are taken.
//!
//! | module | what it holds |
//! |---|---|
//! | `listener` | where connections come from |
//! | `places` | who has a connection, and of which kind |
//! | `pace` | a stream whose client has to read what is written |

mod listener;
mod pace;
mod places;

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::body::{Body, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderValue, TRANSFER_ENCODING};
use hyper::http::Extensions;
use hyper::http::uri::Authority;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper::{HeaderMap, Request, Response, StatusCode, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinError;
use tower::ServiceExt as _;
use tracing::{debug, info, warn};

use crate::request;
pub use listener::Listener;
#[cfg(unix)]
pub use listener::LocalListener;
use pace::Paced;
use places::{ConnectionPlace, Places};

/// What the server grants clients.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at a time.
    pub connections: usize,
    /// Further connections, which are answered only what operators ask: health, metrics, and
    /// whatever administrators ask. Those beyond these wait to be accepted.
    pub reserved: usize,
    /// Connections of one address at a time; of one network of 64 bits, where addresses are so
    /// plentiful.
    pub per_address: usize,
    /// Addresses that may have more: those of proxies, who connect for everybody.
    pub trusted: Vec<IpAddr>,
    /// Time for the head of a request, from the moment that one could begin: it also ends a
    /// connection that is idle.
    pub head: Duration,
    /// Time for a client to read some of what is waiting for it.
    pub write: Duration,
    /// Time for open requests when the server stops.
    pub stop: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 4096,
            reserved: 32,
            per_address: 256,
            trusted: vec![
                IpAddr::from([127, 0, 0, 1]),
                IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
            ],
            head: Duration::from_secs(30),
            write: Duration::from_secs(30),
            stop: Duration::from_secs(10),
        }
    }
}

/// Time for the head of a request on a connection that is kept for operators, who know at once what
/// they want.
const RESERVED_HEAD: Duration = Duration::from_secs(3);

/// Headers of a request, and bytes of its head, that are read at all. What is larger gets an answer
/// without a document, for which hyper has no hook, so the services behind have smaller limits of
/// their own. The buffer grows
/// in steps: a head of up to twice the size may still pass.
const HEADERS_MAX: usize = 2 * request::HEADERS_MAX;
const HEAD_BYTES_MAX: usize = 2 * request::HEAD_BYTES_MAX;

/// The answer to a client for which there is no place.
const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// The answer to a request without exactly one host.
const ONE_HOST: &str = "a request of HTTP/1.1 has one Host header, with a name or an address\n";

/// The answer to a request whose body comes in a coding that is not understood.
const ONLY_CHUNKED: &str = "the only transfer coding that is understood is chunked\n";

/// What is said when the server stops before an answer is there.
const STOPPED: &str = "the server has stopped\n";

/// Marks a request that came when all places were taken.
#[derive(Clone, Copy, Debug)]
struct Reserved;

/// Marks a request with the address or network that it comes from, unless that is a proxy.
#[derive(Clone, Copy, Debug)]
struct RequestOrigin(IpAddr);

/// The address or network that a request comes from, unless that is a proxy.
pub(crate) fn network_of(extensions: &Extensions) -> Option<IpAddr> {
    extensions.get::<RequestOrigin>().map(|origin| origin.0)
}

/// The network that an address counts for.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    places::network(address.to_canonical())
}

/// Marks a request with the port of the server that it came to.
#[derive(Clone, Copy, Debug)]
struct Port(u16);

/// The port of the server that a request came to.
pub(crate) fn port_of(extensions: &Extensions) -> Option<u16> {
    extensions.get::<Port>().map(|port| port.0)
}

/// Whether a request came when all places were taken, so that only operators are answered.
pub fn is_reserved(extensions: &Extensions) -> bool {
    extensions.get::<Reserved>().is_some()
}

/// A router as a service.
pub fn service(
    router: Router,
) -> impl Service<
    Request<Incoming>,
    Response = Response<axum::body::Body>,
    Error = Infallible,
    Future: Send + 'static,
> + Clone
+ Send
+ 'static {
    let router =
        router.map_request(|request: Request<Incoming>| request.map(axum::body::Body::new));
    TowerToHyperService::new(router)
}

/// Serves until `stop` completes, then lets open requests end.
pub async fn serve<L, S, B>(
    listener: L,
    service: S,
    limits: Limits,
    stop: impl Future<Output = ()>,
) -> io::Result<()>
where
    L: Listener,
    S: Service<
            Request<Incoming>,
            Response = Response<B>,
            Error = Infallible,
            Future: Send + 'static,
        > + Clone
        + Send
        + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>>
        + From<&'static str>
        + Send
        + 'static,
{
    let graceful = GracefulShutdown::new();
    let places = Places::new(&limits);
    let port = listener.port();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = async {
            places.any_left().await;
            listener.accept().await
        };
        let accepted = tokio::select! {
            accepted = accepted => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, address)) => {
                let Some(place) = places.take(address) else {
                    L::refuse(&stream, BUSY);
                    continue;
                };
                let place = Arc::new(place);
                let connection = connection(stream, service.clone(), &limits, &place, port);
                let watched = graceful.watch(connection);
                tokio::spawn(async move {
                    let ended = tokio::select! {
                        ended = watched => ended,
                        () = place.ended() => return,
                    };
                    if let Err(error) = ended {
                        debug!(%error, "a connection ended early");
                    }
                });
            }
            // Out of file descriptors, say: the next attempt may succeed, a busy loop will not
            // help.
            Err(error) => {
                warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    info!("stopping: no new connections, open requests may end");
    let ended = async {
        graceful.shutdown().await;
        places.all_free().await;
    };
    if tokio::time::timeout(limits.stop, ended).await.is_err() {
        warn!("some requests did not end in time");
    }
    Ok(())
}

fn connection<T, S, B>(
    stream: T,
    service: S,
    limits: &Limits,
    place: &Arc<ConnectionPlace>,
    port: Option<u16>,
) -> http1::Connection<
    TokioIo<Paced<T>>,
    impl Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send>
    + use<T, S, B>,
>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service<
            Request<Incoming>,
            Response = Response<B>,
            Error = Infallible,
            Future: Send + 'static,
        > + Clone
        + Send
        + 'static,
    B: Body<Error: Into<Box<dyn Error + Send + Sync>>> + From<&'static str> + Send + 'static,
{
    let is_reserved = place.is_reserved();
    let place = place.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        let place = place.clone();
        place.has_asked();
        let answer = if !has_one_host(request.version(), request.headers()) {
            Err(refusal(StatusCode::BAD_REQUEST, ONE_HOST))
        } else if !is_only_chunked(request.headers()) {
            Err(refusal(StatusCode::NOT_IMPLEMENTED, ONLY_CHUNKED))
        } else {
            if is_reserved {
                request.extensions_mut().insert(Reserved);
            }
            if let Some(port) = port {
                request.extensions_mut().insert(Port(port));
            }
            if let Some(network) = place.network() {
                request.extensions_mut().insert(RequestOrigin(network));
            }
            Ok(service.call(request))
        };
        async move {
            match answer {
                Ok(answer) => to_the_end(answer, place).await,
                Err(refusal) => Ok(refusal),
            }
        }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(if is_reserved {
            RESERVED_HEAD.min(limits.head)
        } else {
            limits.head
        })
        .keep_alive(!is_reserved)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(Paced::new(stream, limits.write)), service)
}

/// Answers a request also if its client hangs up. A write may be several writes to the store, and
/// must not stop between them. It keeps the place of its connection, so that clients that hang up
/// have no more requests than clients that wait.
async fn to_the_end<B>(
    answer: impl Future<Output = Result<Response<B>, Infallible>> + Send + 'static,
    place: Arc<ConnectionPlace>,
) -> Result<Response<B>, Infallible>
where
    B: From<&'static str> + Send + 'static,
{
    let answered = tokio::spawn(async move {
        let answer = answer.await;
        drop(place);
        answer
    });
    match answered.await.map_err(JoinError::try_into_panic) {
        Ok(answer) => answer,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        // The server stops, and the client is gone.
        Err(Err(_)) => Ok(refusal(StatusCode::BAD_REQUEST, STOPPED)),
    }
}

/// Whether a request has exactly one `Host`. A proxy might use the first of two, and we the
/// second. HTTP/1.0 has none by right.
fn has_one_host(version: Version, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) => version < Version::HTTP_11,
        (Some(host), None) => is_host(host),
        (Some(_), Some(_)) => false,
    }
}

/// Whether a body is chunked and nothing else, if it has a transfer coding at all. What is compressed
/// besides would be taken for the bytes that it was made of (RFC 9112, 6.1).
fn is_only_chunked(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(coding), None) => coding.as_bytes().eq_ignore_ascii_case(b"chunked"),
        (Some(_), Some(_)) => false,
    }
}

/// Whether a value is a host and perhaps a port. It is empty where the URL has no host.
fn is_host(value: &HeaderValue) -> bool {
    let Ok(text) = value.to_str() else {
        return false;
    };
    text.is_empty() || (!text.contains('@') && text.parse::<Authority>().is_ok())
}

fn refusal<B: From<&'static str>>(status: StatusCode, sentence: &'static str) -> Response<B> {
    let mut response = Response::new(B::from(sentence));
    *response.status_mut() = status;
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, text);
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

#[cfg(test)]
mod tests;
