//! What operators ask of a server: whether it is well, and what it has counted.
//!
//! Prometheus cannot sign its requests. What it reads holds no items, but the names of what
//! clients do, so it is served where only this machine can ask, or on an address of its own that
//! somebody chose (`--metrics-listen`). Whether the server is well is no secret.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use partita_api::ApiMeters;
use partita_store::exposition::{self, Exposition};
use partita_store::surroundings::SystemClock;
use partita_store::{Clock as _, Store};
use partita_wire::Endpoint;

/// What the answers are made from.
#[derive(Clone)]
pub(crate) struct Watched {
    store: Arc<dyn Store>,
    endpoint: Option<Arc<Endpoint>>,
    api: Option<Arc<ApiMeters>>,
    begun_millis: i64,
    /// Whether the server was told to stop.
    is_stopping: Arc<AtomicBool>,
}

impl Watched {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        endpoint: Option<Arc<Endpoint>>,
        api: Option<Arc<ApiMeters>>,
    ) -> Watched {
        Watched {
            store,
            endpoint,
            api,
            begun_millis: SystemClock.now_millis(),
            is_stopping: Arc::default(),
        }
    }

    /// From here on the server is not ready any more, so that nobody sends it further requests.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }
}

/// `GET /healthz` and `GET /readyz`, and `GET /metrics` if it may be asked for here.
pub(crate) fn router(watched: Watched, has_metrics: bool) -> Router {
    let mut router = Router::new()
        .route("/healthz", get(health))
        .route("/readyz", get(readiness));
    if has_metrics {
        router = router.route("/metrics", get(exposition));
    }
    router.with_state(watched)
}

/// Whether writes are taken. A server that takes none needs somebody.
async fn health(State(watched): State<Watched>) -> Response {
    match watched.store.meters().and_then(|meters| meters.stopped) {
        None => (StatusCode::OK, "well\n").into_response(),
        Some(cause) => {
            let sentence = format!("no writes are taken: {cause}\n");
            (StatusCode::SERVICE_UNAVAILABLE, sentence).into_response()
        }
    }
}

/// Whether requests should be sent here: not while writes are not taken, and not any more once the
/// server was told to stop.
async fn readiness(State(watched): State<Watched>) -> Response {
    match watched.is_stopping.load(Ordering::Relaxed) {
        true => (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response(),
        false => health(State(watched)).await,
    }
}

async fn exposition(State(watched): State<Watched>) -> Response {
    let mut text = Exposition::default();
    if let Some(api) = &watched.api {
        api.expose(&mut text);
    }
    if let Some(endpoint) = &watched.endpoint {
        endpoint.expose(&mut text);
    }
    if let Some(meters) = watched.store.meters() {
        text.store(&meters);
    }
    let begun_millis = watched.begun_millis;
    let up_millis = SystemClock.now_millis().saturating_sub(begun_millis);
    text.gauge(
        "partita_uptime_seconds",
        "How long the server has been there.",
        up_millis.max(0) / 1000,
    );
    expose_memory(&mut text);
    let content_type = HeaderValue::from_static(exposition::CONTENT_TYPE);
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
