//! What operators ask of a server: whether it is well, and what it has counted.
//!
//! Prometheus cannot sign its requests. What it reads holds no items, but the names of what
//! clients do, so it is served where only this machine can ask, or on an address of its own that
//! somebody chose (`--metrics-listen`). Whether the server is well is no secret.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use partita_api::ApiMeters;
use partita_api::admin::Running;
use partita_store::exposition::{self, Exposition};
use partita_store::surroundings::SystemClock;
use partita_store::table::TableName;
use partita_store::{Clock as _, Store};
use partita_wire::Endpoint;
use tokio::sync::Mutex;
use tokio::time::timeout;
use tracing::warn;

/// How long an answer of a store that is elsewhere counts, however often somebody asks whether the
/// server is ready.
const PROBED_MILLIS: i64 = 2_000;
/// Time for its answer.
const PROBE_TIME_MAX: Duration = Duration::from_secs(2);

/// What the answers are made from.
#[derive(Clone)]
pub(crate) struct Watched {
    store: Arc<dyn Store>,
    /// Asks whether the store can be reached, where it is elsewhere.
    probe: Option<Arc<Probe>>,
    endpoint: Option<Arc<Endpoint>>,
    api: Option<Arc<ApiMeters>>,
    /// Commands for administrators that are being carried out.
    commands: Running,
    begun_millis: i64,
    /// Whether the server is stopping.
    is_stopping: Arc<AtomicBool>,
}

impl Watched {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        table: Option<TableName>,
        endpoint: Option<Arc<Endpoint>>,
        api: Option<Arc<ApiMeters>>,
        commands: Running,
    ) -> Watched {
        Watched {
            store,
            probe: table.map(|table| Arc::new(Probe::new(table))),
            endpoint,
            api,
            commands,
            begun_millis: SystemClock.now_millis(),
            is_stopping: Arc::default(),
        }
    }

    /// From here on the server is not ready any more, so that load balancers send no further
    /// requests.
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

/// Whether requests should be sent here: not while writes are refused or the store cannot be
/// reached, and not once the server is stopping.
async fn readiness(State(watched): State<Watched>) -> Response {
    if watched.is_stopping.load(Ordering::Relaxed) {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response();
    }
    if let Some(probe) = &watched.probe
        && !probe.is_reached(&*watched.store).await
    {
        let sentence = "the store cannot be reached\n";
        return (StatusCode::SERVICE_UNAVAILABLE, sentence).into_response();
    }
    health(State(watched)).await
}

/// Asks a store that is elsewhere for a table, and remembers the answer for a moment.
struct Probe {
    table: TableName,
    /// When it was asked, and whether it answered. Locked while asking, so that one request does.
    last: Mutex<Option<(i64, bool)>>,
}

impl Probe {
    fn new(table: TableName) -> Self {
        Probe {
            table,
            last: Mutex::default(),
        }
    }

    async fn is_reached(&self, store: &dyn Store) -> bool {
        let mut last = self.last.lock().await;
        let now = SystemClock.now_millis();
        if let Some((asked, is_reached)) = *last
            && (asked..asked.saturating_add(PROBED_MILLIS)).contains(&now)
        {
            return is_reached;
        }
        let answer = timeout(PROBE_TIME_MAX, store.describe_table(&self.table)).await;
        let is_reached = matches!(answer, Ok(Ok(_)));
        let was_reached = last.is_none_or(|(_, was_reached)| was_reached);
        if !is_reached && was_reached {
            match answer {
                Ok(Err(error)) => warn!(%error, "the store cannot be reached"),
                _ => warn!("the store does not answer in time"),
            }
        }
        // The answer counts from when it came.
        *last = Some((SystemClock.now_millis(), is_reached));
        is_reached
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
    text.gauge(
        "partita_admin_commands",
        "Commands for administrators that are being carried out.",
        watched.commands.count(),
    );
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

/// The memory of this process, on Linux.
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
