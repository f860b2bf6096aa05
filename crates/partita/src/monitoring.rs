//! What operators ask of the endpoint: whether it is well, and what it has counted.
//!
//! Prometheus cannot sign its requests. What it reads holds no items, but the names of what
//! clients do, so it is served where only this machine can ask, or on an address of its own that
//! somebody chose (`--metrics-listen`). Whether the server is well is no secret.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use partita_store::Clock;
use partita_store::surroundings::SystemClock;
use partita_wire::Endpoint;
use partita_wire::metrics::{self, Exposition};

/// What the answers are made from.
#[derive(Clone)]
struct Watched {
    endpoint: Arc<Endpoint>,
    begun_millis: i64,
}

/// `GET /healthz`, and `GET /metrics` if it may be asked for here.
pub(crate) fn router(endpoint: Arc<Endpoint>, has_metrics: bool) -> Router {
    let mut router = Router::new().route("/healthz", get(health));
    if has_metrics {
        router = router.route("/metrics", get(exposition));
    }
    let begun_millis = SystemClock.now_millis();
    router.with_state(Watched {
        endpoint,
        begun_millis,
    })
}

/// Whether writes are taken.
async fn health(State(watched): State<Watched>) -> Response {
    match watched.endpoint.stopped() {
        None => (StatusCode::OK, "well\n").into_response(),
        Some(cause) => {
            let sentence = format!("no writes are taken: {cause}\n");
            (StatusCode::SERVICE_UNAVAILABLE, sentence).into_response()
        }
    }
}

async fn exposition(State(watched): State<Watched>) -> Response {
    let mut text = watched.endpoint.metrics();
    let begun_millis = watched.begun_millis;
    let up_millis = SystemClock.now_millis().saturating_sub(begun_millis);
    text.gauge(
        "partita_uptime_seconds",
        "How long the server has been there.",
        up_millis.max(0) / 1000,
    );
    expose_memory(&mut text);
    let content_type = HeaderValue::from_static(metrics::CONTENT_TYPE);
    ([(CONTENT_TYPE, content_type)], text.into_text()).into_response()
}

/// The memory of this process, where the system tells it as Linux does.
fn expose_memory(text: &mut Exposition) {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return;
    };
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = resident.and_then(|it| it.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    if let Some(kilobytes) = kilobytes {
        text.gauge(
            "process_resident_memory_bytes",
            "Resident memory size in bytes.",
            kilobytes * 1024,
        );
    }
}
