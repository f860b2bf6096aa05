//! What operators ask of a server: whether it is well, and what it has counted.
//!
//! Prometheus cannot sign its requests. What it reads holds no items, but the names of what
//! clients do, so it is served on an address of its own that somebody chose (`--metrics-listen`), or
//! where only this machine can ask. A proxy on this machine asks for others, so requests that one has
//! forwarded are not answered, and none at all where the flags say that there is one. Whether the
//! server is well is no secret.

mod outgoing;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use partita_api::ApiMeters;
use partita_api::admin::{Currents, Installation, Running};
use partita_api::console::door;
use partita_store::exposition::{self, Exposition};
use partita_store::surroundings::SystemClock;
use partita_store::table::TableName;
use partita_store::{Clock as _, Store};
use partita_wire::Endpoint;
use tokio::sync::Mutex;
use tokio::time::timeout;
use tracing::warn;

use crate::backup::continuous::Backup;
use outgoing::Outgoing;

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
    /// What leaves the system.
    outgoing: Outgoing,
    /// The designs, of which others may share the tables.
    served: Currents,
    /// The backup behind the server.
    backup: Option<Backup>,
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
        installation: &Installation,
    ) -> Watched {
        Watched {
            store,
            probe: table.map(|table| Arc::new(Probe::new(table))),
            endpoint,
            api,
            commands: installation.running.clone(),
            outgoing: Outgoing::new(installation.served.clone()),
            served: installation.served.clone(),
            backup: None,
            begun_millis: SystemClock.now_millis(),
            is_stopping: Arc::default(),
        }
    }

    /// The same, with a backup behind the server.
    pub(crate) fn with_backup(self, backup: Option<Backup>) -> Watched {
        Watched { backup, ..self }
    }

    /// From here on the server is not ready any more, so that load balancers send no further
    /// requests.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }
}

/// Who is told what a server has counted, at one of its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Everybody who reaches the address.
    Everybody,
    /// This machine.
    Local,
    /// Nobody.
    Nobody,
}

/// `GET /healthz` and `GET /readyz`, and `GET /metrics` for those who are told.
pub(crate) fn router(watched: Watched, told: Told) -> Router {
    let router = Router::new()
        .route("/healthz", get(health))
        .route("/readyz", get(readiness));
    let router = match told {
        Told::Everybody => router.route("/metrics", get(exposition)),
        Told::Local => router.route("/metrics", get(local_exposition)),
        Told::Nobody => router,
    };
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

fn is_well(watched: &Watched) -> bool {
    let meters = watched.store.meters();
    meters.is_none_or(|meters| meters.stopped.is_none())
}

/// Whether requests should be sent here: not while writes are refused, the store cannot be reached or
/// there is no lease on tables that others share, and not once the server is stopping.
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
    for design in watched.served.all() {
        if let Some(why) = design.why_not_writing() {
            let name = design.get().design().name.clone();
            let sentence = format!("no writes are taken for `{name}`: {why}\n");
            return (StatusCode::SERVICE_UNAVAILABLE, sentence).into_response();
        }
    }
    // Requests are answered all the same, so this is told to those who read, and not a refusal.
    if let Some(behind) = watched.backup.as_ref().and_then(Backup::told)
        && is_well(&watched)
    {
        return (StatusCode::OK, format!("well\n{behind}")).into_response();
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

/// The same for whoever is on this machine; others find nothing here.
async fn local_exposition(state: State<Watched>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    if door::is_local(&head) {
        return exposition(state).await;
    }
    let sentence = "metrics are for this machine: give them an address with --metrics-listen\n";
    (StatusCode::NOT_FOUND, sentence).into_response()
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
    watched.outgoing.expose(&mut text).await;
    if let Some(backup) = &watched.backup {
        backup.expose(&mut text);
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
