//! DynamoDB's endpoint on the server's sockets: whole bodies in, whole answers out.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use axum::Router;
use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use futures::StreamExt as _;
use partita_store::Store;
use partita_store::surroundings::{SystemClock, SystemEntropy};
use partita_wire::{BODY_BYTES_MAX, Credentials, Endpoint};
use tokio::time::timeout;

use crate::cli::ServeFlags;

/// For a whole body, however it trickles in.
const BODY_TIME_MAX: Duration = Duration::from_secs(60);
/// Of a body that is refused for its size. Who sends more may find the connection closed.
const DRAINED_BYTES_MAX: usize = 4 * BODY_BYTES_MAX;

/// The endpoint in front of a store.
pub(crate) fn open(flags: &ServeFlags, store: Arc<dyn Store>) -> Result<Arc<Endpoint>> {
    let credentials = credentials(flags)?;
    let (clock, entropy) = (Arc::new(SystemClock), Arc::new(SystemEntropy));
    Ok(Arc::new(Endpoint::new(store, credentials, clock, entropy)))
}

/// The service that answers DynamoDB's clients.
pub(crate) fn router(endpoint: Arc<Endpoint>) -> Router {
    Router::new().fallback(answer).with_state(endpoint)
}

async fn answer(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    if body.size_hint().lower() > BODY_BYTES_MAX as u64 {
        // Whether it ends in time matters only to the client.
        let _ = timeout(BODY_TIME_MAX, drain(body)).await;
        return endpoint.too_large().map(Body::from);
    }
    match timeout(BODY_TIME_MAX, to_bytes(body, BODY_BYTES_MAX)).await {
        Ok(Ok(body)) => endpoint.answer(&head, body).await.map(Body::from),
        Ok(Err(_)) => endpoint.too_large().map(Body::from),
        Err(_) => plain(StatusCode::REQUEST_TIMEOUT),
    }
}

/// Reads and forgets what is too large: a client that is still sending would not read why.
async fn drain(body: Body) {
    let mut chunks = body.into_data_stream();
    let mut bytes = 0;
    while let Some(Ok(chunk)) = chunks.next().await {
        bytes += chunk.len();
        if bytes > DRAINED_BYTES_MAX {
            break;
        }
    }
}

fn plain(status: StatusCode) -> Response {
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
