//! The trip of a request.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue, RETRY_AFTER};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use partita_core::expression::ExpressionCache;
use partita_store::exposition::Exposition;
use partita_store::{Clock, Entropy, Store};
use tracing::{debug, error};

use crate::body;
use crate::compression;
use crate::messages;
use crate::metrics::RequestMeters;
use crate::ops::{self, Context, unknown_operation};
use crate::partiql::NextTokens;
use crate::recovery::Recovery;
use crate::refusal::{Fault, Refusal};
use crate::request_ids::RequestIds;
use crate::sigv4::{self, Admission, Credentials};

const JSON: HeaderValue = HeaderValue::from_static("application/x-amz-json-1.0");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");
const CRC32: HeaderName = HeaderName::from_static("x-amz-crc32");
const TARGET: &str = "x-amz-target";

/// What a load balancer reads from the service when it asks for its health.
const HEALTHY: &[u8] = b"healthy: dynamodb.us-east-1.amazonaws.com ";

/// What the service says of a request that is none of its API, as dynalite's test/connection.js
/// records.
const FOREIGN: &[u8] = b"<UnknownOperationException/>\n";

/// Names and values of a request's headers together.
const HEADER_BYTES_MAX: usize = 16 * 1024;

/// DynamoDB's endpoint in front of a store.
pub struct Endpoint {
    store: Arc<dyn Store>,
    credentials: Option<Credentials>,
    clock: Arc<dyn Clock>,
    ids: RequestIds,
    cache: ExpressionCache,
    next_tokens: NextTokens,
    meters: RequestMeters,
    recovery: OnceLock<Arc<dyn Recovery>>,
}

/// What a request came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointOutcome {
    status: StatusCode,
    /// As JSON, before it is compressed.
    body: Bytes,
}

impl EndpointOutcome {
    fn new(status: StatusCode, body: Bytes) -> Self {
        EndpointOutcome { status, body }
    }

    /// How many bytes are to be encoded.
    pub fn bytes(&self) -> usize {
        self.body.len()
    }
}

impl Endpoint {
    /// An endpoint that takes requests signed with these credentials. Without credentials it
    /// takes every request; then keep it on the loopback interface.
    pub fn new(
        store: Arc<dyn Store>,
        credentials: Option<Credentials>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Endpoint {
            store,
            credentials,
            clock,
            ids: RequestIds::new(&*entropy),
            cache: ExpressionCache::default(),
            next_tokens: NextTokens::new(&*entropy),
            meters: RequestMeters::default(),
            recovery: OnceLock::new(),
        }
    }

    /// Has it tell of the backup behind the server. The first one that is given counts.
    pub fn tell_of(&self, recovery: Arc<dyn Recovery>) {
        let _ = self.recovery.set(recovery);
    }

    /// What is known of a request by its head; an answer, where it is refused whatever its body is.
    pub fn admit(&self, head: &Parts) -> Result<Admission, Box<Response<Bytes>>> {
        if head.method == Method::GET || foreign(head).is_some() {
            return Ok(Admission::Unknown);
        }
        let now_millis = self.clock.now_millis();
        let admission = sigv4::admit(self.credentials.as_ref(), head, now_millis);
        if admission.is_err() {
            self.count(head, &admission, 0);
        }
        admission.map_err(|refusal| Box::new(self.refused(&refusal)))
    }

    /// Answers a request, whatever it holds.
    pub async fn answer(&self, head: &Parts, body: Bytes) -> Response<Bytes> {
        let outcome = self.carry_out(head, body).await;
        self.encode(head, outcome)
    }

    /// Carries a request out, whatever it holds. What it came to is still to be encoded.
    pub async fn carry_out(&self, head: &Parts, body: Bytes) -> EndpointOutcome {
        if head.method == Method::GET && head.uri.path() == "/" {
            return EndpointOutcome::new(StatusCode::OK, Bytes::from_static(HEALTHY));
        }
        if let Some(status) = foreign(head) {
            return EndpointOutcome::new(status, Bytes::from_static(FOREIGN));
        }
        let begun = self.clock.now_micros();
        let result = self.run(head, body).await;
        let micros = self.clock.now_micros().saturating_sub(begun);
        self.count(head, &result, micros);
        match result {
            Ok(answer) => EndpointOutcome::new(StatusCode::OK, answer),
            Err(refusal) => {
                self.tell(&refusal);
                EndpointOutcome::new(refusal.fault.status(), refusal.to_json())
            }
        }
    }

    /// The answer as the client wants it, which takes long where it is large and compressed.
    pub fn encode(&self, head: &Parts, outcome: EndpointOutcome) -> Response<Bytes> {
        self.response(head, outcome.status, outcome.body)
    }

    /// The answer to a body that is larger than [`BODY_BYTES_MAX`](crate::BODY_BYTES_MAX).
    pub fn too_large(&self) -> Response<Bytes> {
        self.refused(&Refusal::silent(Fault::RequestTooLarge))
    }

    /// The answer to a body that breaks off, or whose parts are not those of HTTP.
    pub fn malformed(&self) -> Response<Bytes> {
        self.refused(&Refusal::silent(Fault::Serialization))
    }

    /// The answer when there is no room for a body right now.
    pub fn busy(&self) -> Response<Bytes> {
        let refusal = Refusal::new(Fault::ServiceUnavailable, messages::BUSY);
        let mut response = self.refused(&refusal);
        let soon = HeaderValue::from_static("1");
        response.headers_mut().insert(RETRY_AFTER, soon);
        response
    }

    /// An answer that is too short to be compressed.
    fn refused(&self, refusal: &Refusal) -> Response<Bytes> {
        self.tell(refusal);
        self.plain(refusal.fault.status(), refusal.to_json())
    }

    fn tell(&self, refusal: &Refusal) {
        if let Some(cause) = refusal.cause() {
            error!(%cause, "the store does not answer as it should");
        }
        debug!(fault = ?refusal.fault, message = refusal.message, "refused");
    }

    /// Writes the counts of requests so far.
    pub fn expose(&self, text: &mut Exposition) {
        self.meters.expose(text);
    }

    fn count<T>(&self, head: &Parts, result: &Result<T, Refusal>, micros: i64) {
        let target = head.headers.get(TARGET).and_then(|it| it.to_str().ok());
        self.meters
            .count(target.unwrap_or_default(), result, micros);
    }

    /// The whole trip: authenticate, find the operation, decode, ask the store, encode.
    async fn run(&self, head: &Parts, body: Bytes) -> Result<Bytes, Refusal> {
        body::check_size(&body)?;
        let now_millis = self.clock.now_millis();
        let verified = sigv4::authenticate(self.credentials.as_ref(), head, &body, now_millis)?;
        let target = target(head)?;
        let body = body::plain(head, body)?;
        let context = Context {
            store: &*self.store,
            cache: &self.cache,
            next_tokens: &self.next_tokens,
            host: head.headers.get(HOST).and_then(|it| it.to_str().ok()),
            recovery: self.recovery.get().map(|it| &**it),
        };
        ops::run(verified, target, context, &body).await
    }

    fn response(&self, head: &Parts, status: StatusCode, body: Bytes) -> Response<Bytes> {
        let (body, encoding) = compression::compressed(&head.headers, body);
        let mut response = self.plain(status, body);
        compression::describe(&mut response, encoding);
        response
    }

    fn plain(&self, status: StatusCode, body: Bytes) -> Response<Bytes> {
        let checksum = crc32fast::hash(&body);
        let mut response = Response::new(body);
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(CRC32, HeaderValue::from(checksum));
        headers.insert(REQUEST_ID, self.ids.next());
        response
    }
}

/// The status of a request that is none of this API: the service knows one path and one method,
/// and bounds the headers.
fn foreign(head: &Parts) -> Option<StatusCode> {
    let headers = head.headers.iter();
    let bytes = headers.map(|(name, value)| name.as_str().len() + value.len());
    if bytes.sum::<usize>() > HEADER_BYTES_MAX {
        return Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    }
    let is_known = head.method == Method::POST && head.uri.path() == "/";
    (!is_known).then_some(StatusCode::NOT_FOUND)
}

/// What the request asks for, as `DynamoDB_20120810.GetItem`.
fn target(head: &Parts) -> Result<&str, Refusal> {
    head.headers
        .get(TARGET)
        .and_then(|target| target.to_str().ok())
        .ok_or_else(unknown_operation)
}

#[cfg(test)]
mod tests;
