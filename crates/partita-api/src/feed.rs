//! Feeds over HTTP: a pattern or an item with `Accept: text/event-stream`.
//!
//! ```text
//! committer -> Tail -> Hub: who is concerned? -> Feed::follow -> Outlet -> the connection -> client
//! ```
//!
//! A design has one hub while somebody follows something in it. It decides what each feed
//! says, and puts that into the feed's outlet, which is bounded and which it never waits for. The
//! connection sends what is there, and asks again each time who the caller is.
//!
//! | module | what it has |
//! |---|---|
//! | `budget` | the memory that all feeds share |
//! | `hub` | the feeds of a design, and which changes concern which |
//! | `meters` | what is counted |
//! | `outlet` | what waits to be sent |
//! | `text` | events as text |

mod budget;
mod hub;
mod meters;
mod outlet;
mod text;

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::Response;
use futures::stream;
use partita_plan::feed::{Feed, FeedIds, FeedMoment, Lost};
use partita_plan::{Current, Operation, Partita};
use tokio::sync::{Semaphore, watch};

use crate::admin::ALIVE_EVERY;
use crate::app::App;
use crate::decode::wish::Wish;
use crate::intake::answers::Reader;
use crate::problem::{Problem, ProblemKind};
use crate::request::Request;
use crate::shares::{HeldShare, Shares, Short};
use budget::Budget;
use hub::{Hub, HubHandle};
use meters::OpenFeed;
use outlet::{Drained, Inlet};

pub(crate) use meters::FeedMeters;

/// The media type of a feed.
pub const EVENT_STREAM: &str = "text/event-stream";

/// The header with the id of the last event that a client has seen.
const LAST_EVENT_ID: &str = "Last-Event-ID";

/// Feeds that begin at the same time. Each reads up to 16 MB of rows; further ones wait.
const BEGINNING_MAX: usize = 8;

/// What feeds are granted.
#[derive(Clone, Copy, Debug)]
pub struct FeedLimits {
    /// Feeds at a time.
    pub all: usize,
    /// Feeds of one caller at a time, or of one address without a token.
    pub per_caller: usize,
    /// Bytes of events that wait for one reader.
    pub buffer_bytes: usize,
    /// Bytes that all feeds take together: events that wait, and what decides on rows.
    pub memory_bytes: usize,
    /// How often something is sent where nothing happens.
    pub alive_every: Duration,
}

impl Default for FeedLimits {
    fn default() -> Self {
        FeedLimits {
            all: 2048,
            per_caller: 32,
            buffer_bytes: 1_048_576,
            memory_bytes: 256 * 1_048_576,
            alive_every: ALIVE_EVERY,
        }
    }
}

/// The feeds of a server.
pub(crate) struct Feeds {
    limits: FeedLimits,
    places: Arc<Shares>,
    /// Those of callers without a token, who leave the others theirs.
    unknown_places: Arc<Shares>,
    budget: Arc<Budget>,
    /// Feeds that read their rows at the same time.
    beginning: Semaphore,
    /// For each design, the hub of the stage that it was last asked in.
    hubs: Mutex<HashMap<String, (Arc<Partita>, HubHandle)>>,
}

impl Default for Feeds {
    fn default() -> Self {
        Feeds::new(FeedLimits::default())
    }
}

impl Feeds {
    pub(crate) fn new(limits: FeedLimits) -> Feeds {
        Feeds {
            limits,
            places: Shares::new(limits.all, limits.per_caller),
            unknown_places: Shares::new((limits.all / 2).max(1), limits.per_caller),
            budget: Budget::new(limits.memory_bytes),
            beginning: Semaphore::new(BEGINNING_MAX),
            hubs: Mutex::default(),
        }
    }

    /// The hub of a design in its stage.
    async fn hub(
        &self,
        partita: &Arc<Partita>,
        meters: &Arc<FeedMeters>,
    ) -> Result<HubHandle, Problem> {
        let name = &partita.design().name;
        if let Some((known, hub)) = self.hubs().get(name)
            && Arc::ptr_eq(known, partita)
            && hub.is_open()
        {
            return Ok(hub.clone());
        }
        let buffer_bytes = self.limits.buffer_bytes;
        let budget = self.budget.clone();
        let hub = Hub::start(partita.clone(), buffer_bytes, budget, meters.clone()).await?;
        let mut hubs = self.hubs();
        // Somebody else may have started one meanwhile. Two of them do no harm.
        hubs.insert(name.clone(), (partita.clone(), hub.clone()));
        Ok(hub)
    }

    fn hubs(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Arc<Partita>, HubHandle)>> {
        self.hubs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a request asks for a feed.
pub(crate) fn is_asked_for(method: &Method, headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let mut types = texts.flat_map(|text| text.split(','));
    *method == Method::GET
        && types.any(|one| {
            let mut parts = one.split(';').map(str::trim);
            let is_named = parts
                .next()
                .is_some_and(|name| name.eq_ignore_ascii_case(EVENT_STREAM));
            is_named && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
        })
}

/// What a feed is asked with.
pub(crate) struct FeedCall<'a> {
    pub(crate) app: &'a Arc<App>,
    pub(crate) head: &'a Parts,
    pub(crate) request: &'a Request<'a>,
    pub(crate) current: &'a Arc<Current>,
    pub(crate) partita: &'a Arc<Partita>,
    pub(crate) caller: &'a partita_plan::Caller,
    /// Who is counted.
    pub(crate) reader: Reader,
}

impl FeedCall<'_> {
    /// Begins a feed, or says why there is none.
    pub(crate) async fn answer(
        self,
        operation: Operation,
        wish: &Wish,
    ) -> Result<Response, Problem> {
        let meters = self.app.meters().of_feeds(&self.partita.design().name);
        let begun = self.begin(operation, wish, &meters).await;
        if begun.is_err() {
            meters.count_refused();
        }
        begun
    }

    async fn begin(
        self,
        operation: Operation,
        wish: &Wish,
        meters: &Arc<FeedMeters>,
    ) -> Result<Response, Problem> {
        if wish.with_keys {
            return Err(Problem::bad_request("a feed has no `keys`"));
        }
        if let Operation::Query { limit, cursor, .. } = &operation
            && (limit.is_some() || cursor.is_some())
        {
            let detail = "a feed is of the whole pattern; leave out `limit` and `cursor`";
            return Err(Problem::bad_request(detail));
        }
        let last_id = self.request.header(LAST_EVENT_ID)?;
        let feeds = self.app.feeds();
        let places = match &self.caller.id {
            Some(_) => &feeds.places,
            None => &feeds.unknown_places,
        };
        let place = places.take(self.reader.holder(), 1).map_err(no_place)?;
        let mut feed = self.partita.feed(self.caller, &operation).await?;
        let turn = feeds.beginning.acquire().await;
        let _turn = turn.map_err(|_| Problem::internal())?;
        let hub = feeds.hub(self.partita, meters).await?;
        let (member, at, inlet) = hub.join().await?;
        let mut opening = text::opening();
        let resumed = match last_id.filter(|id| !id.is_empty()) {
            Some(id) => Some(feed.resume(id, &at).await),
            None => None,
        };
        match resumed {
            Some(Ok(events)) => {
                meters.count_events(events.len());
                let id = feed.ids().id(&at.position(self.partita));
                text::push_events(&mut opening, self.partita.design(), &events, last_id, &id);
                text::push_ready(&mut opening, &id);
            }
            Some(Err(Lost::Failed(error))) => return Err(error.into()),
            Some(Err(Lost::Refetch(why))) => {
                meters.count_refetch();
                text::push_refetch(&mut opening, why);
                // It has looked at its rows already, with another beginning in mind.
                feed = self.partita.feed(self.caller, &operation).await?;
                self.push_rows(&mut feed, &at, &mut opening).await?;
            }
            None => self.push_rows(&mut feed, &at, &mut opening).await?,
        }
        let held = self.app.intake().hold_answer(&self.reader, opening.len());
        let held = held.map_err(Problem::unread)?;
        let design = self.partita.design().name.clone();
        let ids = feed.ids().clone();
        member.go_live(feed).await;
        let connection = Connection {
            app: self.app.clone(),
            head: without_the_rest(self.head),
            design,
            caller: self.caller.clone(),
            partita: self.partita.clone(),
            moves: self.current.moves(),
            current: self.current.clone(),
            inlet,
            ids,
            opening: Some((Bytes::from(opening), held)),
            alive_every: feeds.limits.alive_every,
            stopping: self.app.stopping(),
            is_over: false,
            open: OpenFeed::new(meters.clone()),
            _place: place,
        };
        Ok(response(connection))
    }

    async fn push_rows(
        &self,
        feed: &mut Feed,
        at: &FeedMoment,
        opening: &mut Vec<u8>,
    ) -> Result<(), Problem> {
        let rows = feed.rows(at).await?;
        let position = at.position(self.partita);
        let id = feed.ids().unready_id(&position);
        text::push_rows(opening, self.partita.design(), &rows, &id);
        text::push_ready(opening, &feed.ids().id(&position));
        Ok(())
    }
}

fn no_place(short: Short) -> Problem {
    match short {
        Short::All => Problem::busy(),
        Short::Own => Problem::new(
            ProblemKind::Throttled,
            "you follow as many feeds as one caller may; close one of them",
        ),
    }
}

/// What tells who the caller is.
fn without_the_rest(head: &Parts) -> Parts {
    let mut kept = head.clone();
    let names = [header::AUTHORIZATION, header::COOKIE, header::HOST];
    let headers = names.into_iter().flat_map(|name| {
        let values = head.headers.get_all(&name).iter().cloned();
        values
            .map(move |value| (name.clone(), value))
            .collect::<Vec<_>>()
    });
    kept.headers = HeaderMap::new();
    for (name, value) in headers {
        kept.headers.append(name, value);
    }
    kept
}

fn response(connection: Connection) -> Response {
    let chunks = stream::unfold(connection, async |mut connection| {
        let chunk = connection.next().await?;
        Some((Ok::<_, Infallible>(chunk), connection))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    let headers = response.headers_mut();
    let media_type = HeaderValue::from_static(EVENT_STREAM);
    headers.insert(header::CONTENT_TYPE, media_type);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    // Proxies of this kind would keep events back until they have enough of them.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// The connection that sends a feed.
struct Connection {
    app: Arc<App>,
    head: Parts,
    design: String,
    caller: partita_plan::Caller,
    partita: Arc<Partita>,
    current: Arc<Current>,
    moves: watch::Receiver<u64>,
    inlet: Inlet,
    ids: Arc<FeedIds>,
    /// The rows as they were, counted until they are sent.
    opening: Option<(Bytes, HeldShare)>,
    alive_every: Duration,
    stopping: Option<watch::Receiver<bool>>,
    is_over: bool,
    open: OpenFeed,
    /// Free again when the connection is closed.
    _place: HeldShare,
}

impl Connection {
    /// What is sent next; none at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        if let Some((opening, held)) = self.opening.take() {
            // What is being sent counts until the next is asked for.
            self.inlet.hold(held);
            return Some(opening);
        }
        self.inlet.release();
        let mut silence = std::pin::pin!(tokio::time::sleep(self.alive_every));
        loop {
            let came = tokio::select! {
                biased;
                () = stopped(&mut self.stopping) => return None,
                _ = self.moves.changed() => None,
                drained = self.inlet.next() => Some(drained),
                () = &mut silence => Some(self.inlet.silent(&self.ids)),
            };
            if !Arc::ptr_eq(&self.current.get(), &self.partita) {
                return Some(self.end("the design has changed"));
            }
            let Some(drained) = came else { continue };
            // INVARIANT: nothing is sent to somebody whose session or token has ended.
            if !self.is_still_there().await {
                return None;
            }
            return match drained {
                Drained::Events(events) => Some(events),
                Drained::Silence(line) => Some(line),
                Drained::Lost(why) => Some(self.end(why)),
                Drained::Over => None,
            };
        }
    }

    fn end(&mut self, why: &str) -> Bytes {
        self.is_over = true;
        self.open.meters().count_refetch();
        let mut text = Vec::new();
        text::push_refetch(&mut text, why);
        text.into()
    }

    /// Whether the credential is still good, and of the same caller.
    async fn is_still_there(&self) -> bool {
        let request = Request {
            method: &self.head.method,
            uri: &self.head.uri,
            headers: &self.head.headers,
            body: &[],
        };
        let verified = self.app.identify(&self.head, &self.partita, &request).await;
        match verified {
            Ok(verified) => *verified.caller() == self.caller,
            Err(problem) => {
                tracing::debug!(
                    design = self.design,
                    kind = problem.kind.name(),
                    "a feed ends"
                );
                false
            }
        }
    }
}

/// Waits until the process is told to stop.
async fn stopped(stopping: &mut Option<watch::Receiver<bool>>) {
    let told = match stopping {
        Some(stopping) => stopping.wait_for(|is_stopping| *is_stopping).await.is_ok(),
        None => false,
    };
    if !told {
        std::future::pending::<()>().await;
    }
}
