//! Designs by name, and the trip of a request through them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::Response;
use axum::routing::get;
use partita_plan::{Operation, Partita, PlanError};
use partita_store::{Clock, Entropy, ErrorKind};
use serde_json::json;
use tracing::{error, info};

use crate::decode::{self, Request};
use crate::encode;
use crate::problem::Problem;
use crate::token::Tokens;

/// The largest body: an item of 400 KB, written in JSON at its most verbose.
pub const BODY_BYTES_MAX: usize = 2 * 1_048_576;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What the API serves.
pub struct App {
    designs: BTreeMap<String, Partita>,
    tokens: Tokens,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl App {
    /// An API of these designs.
    pub fn new(
        designs: Vec<Partita>,
        tokens: Tokens,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        let named = |design: Partita| (design.design().name.clone(), design);
        App {
            designs: designs.into_iter().map(named).collect(),
            tokens,
            clock,
            entropy,
        }
    }

    /// The service that answers requests.
    pub fn router(self) -> Router {
        Router::new()
            .route("/healthz", get(healthz))
            .fallback(handle)
            .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
            .with_state(Arc::new(self))
    }

    /// The whole trip of a request: decode, run, encode.
    async fn answer(&self, request: &Request<'_>) -> Result<Response, Problem> {
        let segments = request.segments()?;
        let (name, rest) = segments.split_first().ok_or_else(|| self.no_design(""))?;
        let partita = self.designs.get(name).ok_or_else(|| self.no_design(name))?;
        let verified = self.tokens.verify(name, request.bearer()?)?;
        let operation = decode::operation(request, rest)?;
        let created = matches!(operation, Operation::Create { .. });
        match partita.run(verified.caller(), operation).await {
            Ok(answer) => Ok(encode::answer(partita.design(), &answer, created)),
            Err(refusal) => {
                if let PlanError::Store(cause) = &refusal
                    && cause.kind() != ErrorKind::FixRequest
                {
                    error!(%cause, "the store does not answer as it should");
                }
                Err(refusal.into())
            }
        }
    }

    fn no_design(&self, name: &str) -> Problem {
        let names: Vec<_> = self.designs.keys().map(String::as_str).collect();
        Problem::no_route(format!(
            "there is no design `{name}` here; there is {}",
            names.join(", ")
        ))
    }

    fn request_id(&self) -> String {
        let mut random = [0; 8];
        self.entropy.fill(&mut random);
        random.iter().fold(String::new(), |mut id, byte| {
            write!(id, "{byte:02x}").expect("writing to a string cannot fail");
            id
        })
    }
}

async fn healthz() -> Response {
    encode::json_response(StatusCode::OK, &json!({ "status": "ok" }))
}

async fn handle(
    State(app): State<Arc<App>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let id = app.request_id();
    let began = app.clock.now_millis();
    let request = Request {
        method: &method,
        uri: &uri,
        headers: &headers,
        body: &body,
    };
    let mut response = match app.answer(&request).await {
        Ok(response) => response,
        Err(problem) => encode::problem(&problem),
    };
    // The query is left out: it may hold what nobody should find in a log.
    info!(
        request = id,
        %method,
        path = uri.path(),
        status = response.status().as_u16(),
        millis = app.clock.now_millis() - began,
    );
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}
