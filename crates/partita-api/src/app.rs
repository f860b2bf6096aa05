//! Designs by name, and the trip of a request through them.

mod files;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use futures::FutureExt as _;
use partita_core::{excerpt, plain};
use partita_plan::{Caller, Current, Partita, PlanError};
use partita_store::{Clock, Entropy, ErrorKind, StoreError};
use serde_json::Value as Json;
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::{error, info, warn};

use crate::admin::{self, Allowed, Desk, Installation};
use crate::admission::{self, Refusal};
use crate::auth::oidc::Providers;
use crate::auth::{self, Auth, AuthCall, PublicUrl, identity};
use crate::batch::Batch;
use crate::compress::compress;
use crate::console::{self, CONSOLE, Door};
use crate::cors::Origins;
use crate::decode::body;
use crate::decode::wish::Wish;
use crate::decode::{self, Brought};
use crate::docs;
use crate::encode::{self, Outcome};
use crate::feed::{self, FeedCall, FeedLimits, Feeds};
use crate::files::{Files, whole_name};
use crate::intake::answers::Reader;
use crate::intake::{self, BodyLimits, Intake, Received, Sender, Unread};
use crate::meters::{ApiMeters, Asked};
use crate::openapi::{self, Published};
use crate::problem::Problem;
use crate::request::{self, Request};
use crate::request_id::{self, REQUEST_ID};
use crate::routes::{Found, Routes, Target, Verb};
use crate::server;
use crate::token::{TokenError, Tokens, Verified};
use files::OnFiles;

/// The largest body: an item of 400 KB, written in JSON at its most verbose.
pub const BODY_BYTES_MAX: usize = 2 * 1_048_576;

/// For the whole body, however it trickles in.
const BODY_TIME_MAX: Duration = Duration::from_secs(30);

/// Of a body that nobody reads, because its request is refused.
const DRAINED_BYTES_MAX: usize = 2 * BODY_BYTES_MAX;

/// Far longer than the planner is patient; what takes longer is stuck.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(30);

/// What the API serves.
pub struct App {
    designs: BTreeMap<String, Slot>,
    tokens: Arc<Tokens>,
    origins: Option<Origins>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    meters: Arc<ApiMeters>,
    files: Option<Arc<Files>>,
    intake: Arc<Intake>,
    auth: Auth,
    /// The operator's way into the console, where there is one.
    console: Option<Arc<Door>>,
    /// What commands for administrators work on.
    installation: Option<Installation>,
    feeds: Feeds,
}

/// A design in the stage that its migration is in.
struct Slot {
    current: Arc<Current>,
    served: RwLock<Arc<Served>>,
}

impl Slot {
    fn new(current: Arc<Current>) -> Slot {
        let served = Served::new(current.get());
        Slot {
            served: RwLock::new(Arc::new(served)),
            current,
        }
    }

    /// What is served now. The routes are made again when another design is.
    fn served(&self) -> Arc<Served> {
        let partita = self.current.get();
        let known = self.served.read().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&known.partita, &partita) {
            return known.clone();
        }
        drop(known);
        let made = Arc::new(Served::new(partita));
        let mut known = self.served.write().unwrap_or_else(PoisonError::into_inner);
        *known = made.clone();
        made
    }
}

/// A design that is served, and the requests that it answers.
struct Served {
    partita: Arc<Partita>,
    routes: Routes,
    /// Made when somebody asks for it, and then kept: a start should not wait for it.
    document: OnceLock<Published>,
}

impl Served {
    fn new(partita: Arc<Partita>) -> Served {
        Served {
            routes: Routes::of(partita.design()),
            document: OnceLock::new(),
            partita,
        }
    }

    fn document(&self) -> &Published {
        let make = || Published::new(self.partita.design(), &self.routes);
        self.document.get_or_init(make)
    }
}

/// A design that is to be served, whichever stage its migration is in.
pub struct Serving(Arc<Current>);

impl From<Arc<Current>> for Serving {
    fn from(current: Arc<Current>) -> Serving {
        Serving(current)
    }
}

impl From<Arc<Partita>> for Serving {
    fn from(partita: Arc<Partita>) -> Serving {
        Serving(Current::new(partita))
    }
}

impl From<Partita> for Serving {
    fn from(partita: Partita) -> Serving {
        Serving(Current::new(partita))
    }
}

impl App {
    /// An API of these designs.
    pub fn new(
        designs: Vec<impl Into<Serving>>,
        tokens: impl Into<Arc<Tokens>>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        let designs = designs.into_iter().map(|one| Slot::new(one.into().0));
        let designs: BTreeMap<String, Slot> = designs
            .map(|slot| (slot.current.get().design().name.clone(), slot))
            .collect();
        let served = designs.iter().map(|(name, slot)| (name, slot.served()));
        let served: Vec<_> = served.collect();
        let routes = served
            .iter()
            .map(|(name, served)| (name.as_str(), &served.routes));
        App {
            meters: Arc::new(
                ApiMeters::new(routes).with_keys(designs.values().map(|slot| slot.current.clone())),
            ),
            designs,
            tokens: tokens.into(),
            origins: None,
            installation: None,
            console: None,
            auth: Auth::new(clock.clone(), entropy.clone()),
            clock,
            entropy,
            files: None,
            intake: Arc::default(),
            feeds: Feeds::default(),
        }
    }

    /// Has bodies counted together with those of others.
    #[must_use]
    pub fn with_intake(mut self, intake: Arc<Intake>) -> Self {
        self.intake = intake;
        self
    }

    /// Grants feeds so much.
    #[must_use]
    pub fn with_feed_limits(mut self, limits: FeedLimits) -> Self {
        self.feeds = Feeds::new(limits);
        self
    }

    /// Lets pages of these origins call the API from browsers.
    #[must_use]
    pub fn with_origins(mut self, origins: Option<Origins>) -> Self {
        self.origins = origins;
        self
    }

    /// Puts this address into links that are mailed, and takes cookies from its pages.
    #[must_use]
    pub fn with_public_url(mut self, url: PublicUrl) -> Self {
        self.auth.public_url = url;
        self
    }

    /// Lets people sign in at these providers, where their design knows them.
    #[must_use]
    pub fn with_providers(mut self, providers: Providers) -> Self {
        self.auth.providers = providers;
        self
    }

    /// Carries out commands for administrators, too.
    #[must_use]
    pub fn with_administration(mut self, installation: Installation) -> Self {
        self.console = installation.console.clone();
        self.installation = Some(installation);
        self
    }

    /// What it counts.
    pub fn meters(&self) -> Arc<ApiMeters> {
        self.meters.clone()
    }

    /// Serves the files of the designs, too.
    #[must_use]
    pub fn with_files(mut self, files: Files) -> Self {
        self.files = Some(Arc::new(files));
        self
    }

    /// The service that answers requests.
    pub fn router(self) -> Router {
        let origins = self.origins.clone();
        let router = Router::new().fallback(handle).with_state(Arc::new(self));
        match origins {
            Some(origins) => router.layer(origins.layer()),
            None => router,
        }
    }

    /// Answers, and lets whoever is still sending come to an end.
    async fn within_bounds(
        self: &Arc<Self>,
        head: &Parts,
        body: Body,
        asked: &Asked,
    ) -> Result<Response, Problem> {
        let mut body = Some(body);
        let answer = self.answer(head, &mut body, asked).await;
        match body {
            // Whoever waits to be asked for the body need not send it.
            Some(body) if !head.headers.contains_key(header::EXPECT) => {
                intake::drain(body, DRAINED_BYTES_MAX).await;
            }
            _ => {}
        }
        answer
    }

    /// The whole trip of a request: who calls, what for, and whether they may, before its body is
    /// read; then whoever answers it.
    async fn answer(
        self: &Arc<Self>,
        head: &Parts,
        body: &mut Option<Body>,
        asked: &Asked,
    ) -> Result<Response, Problem> {
        request::check_head(head)?;
        let is_reserved = server::is_reserved(&head.extensions);
        if files::is_upload(head) {
            if is_reserved {
                return Err(Problem::busy());
            }
            return self.upload(head, body).await;
        }
        let request = Request {
            method: &head.method,
            uri: &head.uri,
            headers: &head.headers,
            body: &[],
        };
        let segments = request.segments()?;
        if segments == [""] && !request.is_write() {
            let served: Vec<_> = self.designs.values().map(Slot::served).collect();
            let designs = served.iter().map(|served| served.partita.design());
            return Ok(docs::index(designs, request.headers));
        }
        let (name, rest) = segments.split_first().ok_or_else(|| self.no_design(""))?;
        if name == CONSOLE {
            return self.open_console(head, &request, rest, body).await;
        }
        let slot = self.designs.get(name).ok_or_else(|| self.no_design(name))?;
        let mut served = slot.served();
        let partita = &served.partita;
        let verified = self.identify(head, partita, &request).await?;
        let caller = verified.caller();
        if is_reserved && !is_administrator(&served.partita, &verified).await? {
            return Err(Problem::busy());
        }
        let file = whole_name(rest);
        let path = path_of(rest, file.as_deref());
        let found = served.routes.find(request.method, &path)?;
        asked.set(name, &found.route.operation_id);
        admit(&served, caller, &request, &found)?;
        admit_administrator(&served, &verified, &found.route.target).await?;
        let reader = Reader::new(name, caller, &head.extensions, request.is_write());
        self.intake.demand_room(&reader).map_err(Problem::unread)?;
        let received = if found.route.target.takes_body() {
            let bytes_max = match found.route.target {
                Target::Auth(_) => auth::BODY_BYTES_MAX,
                _ => BODY_BYTES_MAX,
            };
            self.receive(caller, body, bytes_max).await?
        } else {
            Received::none()
        };
        let request = Request {
            body: &received.bytes,
            ..request
        };
        let client = identity::client_of(head);
        // INVARIANT: of a request that is refused as superseded, nothing was written but what it
        // counts: its last write decides, and what follows that one is repeated alone.
        let answer = loop {
            let found = served.routes.find(request.method, &path)?;
            let call = Call {
                head,
                slot,
                served: &served,
                verified: &verified,
                request,
                found: &found,
                client,
                port: server::port_of(&head.extensions),
            };
            let answer = || timeout(REQUEST_TIME_MAX, self.carry_out(&call));
            let answer = self.intake.make(&reader, received.bytes.len(), answer);
            // The inner limit is for one attempt at the work, this one for waiting for memory as well.
            let answer = match timeout(REQUEST_TIME_MAX, answer).await {
                Ok(Ok((Ok(answer), made))) => answer.map(|mut answer| {
                    made.map(|made| answer.extensions_mut().insert(made));
                    answer
                }),
                Ok(Err(short)) => Err(Problem::no_memory(short)),
                Ok(Ok((Err(_), _))) | Err(_) => Err(Problem::stuck(request.is_write())),
            };
            match answer {
                Err(problem) if problem.is_superseded() => {
                    served = slot.served();
                    let found = served.routes.find(request.method, &path)?;
                    admit(&served, caller, &request, &found)?;
                    admit_administrator(&served, &verified, &found.route.target).await?;
                }
                answer => break answer,
            }
        };
        answer.map(|mut answer| {
            answer.extensions_mut().insert(reader);
            answer
        })
    }

    /// Who sends a request to a design.
    pub(crate) async fn identify(
        &self,
        head: &Parts,
        partita: &Partita,
        request: &Request<'_>,
    ) -> Result<Verified, Problem> {
        if let (Some(door), Some(bearer)) = (&self.console, request.bearer()?)
            && console::door::is_credential(bearer)
        {
            let is_good = console::door::is_local(head) && door.admits(bearer);
            let known = is_good.then(Verified::of_console);
            return known.ok_or(TokenError::Expired.into());
        }
        identity::identify(&self.auth, &self.tokens, partita, request).await
    }

    /// Answers what is asked of the console: its files, and the operator's way in.
    async fn open_console(
        &self,
        head: &Parts,
        request: &Request<'_>,
        path: &[String],
        body: &mut Option<Body>,
    ) -> Result<Response, Problem> {
        let no_file = || Problem::no_route("the console has no such file");
        let asked = console::find(path).ok_or_else(no_file)?;
        match (asked, &self.console) {
            (console::Asked::File(name), Some(_)) if !request.is_write() => {
                console::file(name, request.headers)
            }
            (console::Asked::Session, Some(door)) if request.is_write() => {
                let anybody = Caller::anonymous();
                let received = self.receive(&anybody, body, auth::BODY_BYTES_MAX).await?;
                let request = Request {
                    body: &received.bytes,
                    ..*request
                };
                console::session(door, head, &request)
            }
            _ => Err(no_file()),
        }
    }

    /// Reads the body, as far as there is room for those of such callers.
    async fn receive(
        &self,
        caller: &Caller,
        body: &mut Option<Body>,
        bytes_max: usize,
    ) -> Result<Received, Problem> {
        let sender = match caller.id {
            Some(_) => Sender::Known,
            None => Sender::Unknown,
        };
        let limits = BodyLimits {
            bytes: bytes_max,
            time: BODY_TIME_MAX,
        };
        let Some(body) = body.as_mut() else {
            return Ok(Received::none());
        };
        let read = self.intake.read(sender, limits, body).await;
        read.map_err(|unread| match unread {
            Unread::TooLarge => Problem::too_large(bytes_max),
            Unread::TooSlow => Problem::too_slow(BODY_TIME_MAX.as_secs()),
            Unread::Malformed => Problem::bad_request("the body breaks off, or is not of HTTP"),
            Unread::NoRoom => Problem::busy(),
        })
    }

    /// Has a request answered by whoever answers such.
    async fn carry_out(self: &Arc<Self>, call: &Call<'_>) -> Result<Response, Problem> {
        let Call {
            head,
            slot,
            served,
            verified,
            request,
            found,
            client,
            port: _,
        } = call;
        let caller = verified.caller();
        match &found.route.target {
            Target::Operation(verb)
                if verb.is_read() && feed::is_asked_for(request.method, &head.headers) =>
            {
                let answer = self.follow(call, *verb).await;
                let design = served.partita.design();
                answer.map_err(|problem| problem.about(design, *verb))
            }
            Target::Operation(verb) => {
                let answer = operate(&served.partita, verified, request, *verb, found);
                let design = served.partita.design();
                answer.await.map_err(|problem| problem.about(design, *verb))
            }
            Target::Batch => batch(served, caller, request).await,
            Target::Auth(asked) => {
                let call = AuthCall {
                    auth: &self.auth,
                    partita: &served.partita,
                    current: &slot.current,
                    verified,
                    request: *request,
                    client: *client,
                    session: found.value("session"),
                    provider: found.value("provider"),
                };
                call.answer(*asked).await
            }
            Target::Admin(command) => self.administrate(command, call),
            Target::AdminDocument => {
                // A token of the operator is for one command, and this is none.
                let Request { body, .. } = &call.request;
                let admitted = self
                    .tokens
                    .admit(call.verified, "openapi.json", body, call.port);
                admitted?;
                let document = openapi::admin_document(served.partita.design(), &served.routes);
                Ok(encode::json_response(StatusCode::OK, &document))
            }
            Target::Document => Ok(served.document().response(request.headers)),
            Target::Page => Ok(docs::page()),
            target @ (Target::AskUpload { .. } | Target::SendFile | Target::ReadFile) => {
                let on = OnFiles {
                    partita: &served.partita,
                    verified,
                    request,
                };
                self.on_files(&on, target, found).await
            }
        }
    }

    /// Begins a feed of what a request reads.
    async fn follow(self: &Arc<Self>, call: &Call<'_>, verb: Verb) -> Result<Response, Problem> {
        let partita = &call.served.partita;
        let caller = call.verified.caller();
        let mut brought = Brought::of(&call.request)?;
        let wish = Wish::of(&call.request, verb, &mut brought)?;
        let operation = decode::operation(partita.design(), verb, call.found, &brought)?;
        let reader = Reader::new(&partita.design().name, caller, &call.head.extensions, false);
        let feed = FeedCall {
            app: self,
            head: call.head,
            request: &call.request,
            current: &call.slot.current,
            partita,
            caller,
            reader,
        };
        feed.answer(operation, &wish).await
    }

    /// The feeds that are followed here.
    pub(crate) fn feeds(&self) -> &Feeds {
        &self.feeds
    }

    /// Bodies and answers that are in memory.
    pub(crate) fn intake(&self) -> &Intake {
        &self.intake
    }

    /// Becomes true when the process is told to stop.
    pub(crate) fn stopping(&self) -> Option<watch::Receiver<bool>> {
        let installation = self.installation.as_ref()?;
        Some(installation.stopping.clone())
    }

    /// Starts a command for somebody who may have it carried out.
    fn administrate(&self, command: &admin::Row, call: &Call<'_>) -> Result<Response, Problem> {
        let Some(installation) = self.installation.clone() else {
            return Err(Problem::no_route("there is no administration here"));
        };
        let partita = call.served.partita.clone();
        let (name, body) = (command.name, call.request.body);
        self.tokens.admit(call.verified, name, body, call.port)?;
        let request = plain::map_to_json(&body::object(&call.request)?);
        let design = &partita.design().name;
        let (by, is_operator) = (call.verified.who(), call.verified.is_operator());
        info!(
            design,
            command = command.name,
            by,
            is_operator,
            "a command for administrators"
        );
        let desk = Desk::of_served(installation, partita, is_operator);
        let lines = command.start(desk.clone(), Json::Object(request));
        let lines = lines.map_err(|failure| Problem::bad_request(failure.detail))?;
        Ok(admin::answer::response(&desk, lines))
    }

    fn no_design(&self, name: &str) -> Problem {
        let names: Vec<_> = self.designs.keys().map(String::as_str).collect();
        Problem::no_route(format!(
            "there is no design `{}` here; there is {}",
            excerpt::name(name),
            names.join(", ")
        ))
    }
}

/// A request whose caller is known and whose body is read.
struct Call<'a> {
    head: &'a Parts,
    slot: &'a Slot,
    served: &'a Served,
    verified: &'a Verified,
    request: Request<'a>,
    found: &'a Found<'a>,
    /// Where it comes from.
    client: Option<IpAddr>,
    /// Where the server listens that it came to.
    port: Option<u16>,
}

/// Whether somebody administrates the design, or operates the installation.
async fn is_administrator(partita: &Partita, verified: &Verified) -> Result<bool, Problem> {
    let caller = verified.caller();
    Ok(verified.is_operator() || partita.is_administrator(caller).await?)
}

/// Refuses what the rules do not allow the caller, whatever the body says.
fn admit(
    served: &Served,
    caller: &Caller,
    request: &Request<'_>,
    found: &Found<'_>,
) -> Result<(), Problem> {
    let partita = &served.partita;
    let verb = match &found.route.target {
        Target::Operation(verb) => *verb,
        Target::Batch => return Ok(partita.demand_token_to_write(caller)?),
        Target::AskUpload { prefix } => return Ok(partita.permit_upload(caller, prefix)?),
        _ => return Ok(()),
    };
    let admitted = admission::admit(partita, caller, verb, found, Brought::of(request));
    admitted.map(drop).map_err(Refusal::into_problem)
}

/// Refuses a command, before its request is read, to everybody who may not have it carried out.
async fn admit_administrator(
    served: &Served,
    verified: &Verified,
    target: &Target,
) -> Result<(), Problem> {
    match target {
        Target::Admin(command) if command.allowed == Allowed::Operator => {
            if verified.is_operator() {
                Ok(())
            } else {
                Err(Problem::for_operator(verified.caller()))
            }
        }
        Target::Admin(_) | Target::AdminDocument => {
            demand_administrator(&served.partita, verified).await
        }
        _ => Ok(()),
    }
}

/// The path that routes know: a file's name is one part of it, whatever slashes it has.
fn path_of<'p>(parts: &'p [String], name: Option<&'p str>) -> Vec<&'p str> {
    match name {
        Some(name) => vec!["files", name],
        None => parts.iter().map(String::as_str).collect(),
    }
}

async fn handle(State(app): State<Arc<App>>, request: axum::extract::Request) -> Response {
    let id = request_id::of(request.headers(), &*app.entropy);
    let began = app.clock.now_micros();
    let (head, body) = request.into_parts();
    let asked = Asked::default();
    // A panic is a mistake of ours; it must not take the answer to this request with it.
    let answer = AssertUnwindSafe(app.within_bounds(&head, body, &asked))
        .catch_unwind()
        .await;
    let answer = answer.unwrap_or_else(|_| Err(Problem::internal()));
    let response = answer.unwrap_or_else(|problem| encode::problem(&problem, &id));
    let response = compress(&head.headers, response).await;
    let sent = app.intake.until_sent(response).await;
    let mut response = sent.unwrap_or_else(|short| encode::problem(&Problem::unread(short), &id));
    let micros = app.clock.now_micros().saturating_sub(began);
    app.meters.count(&asked, response.status(), micros);
    let (design, operation) = asked.get();
    // Path and query are left out: they may hold what nobody should find in a log, a session's id
    // or the token of a reset.
    info!(
        request = id,
        design,
        operation,
        method = %excerpt::name(head.method.as_str()),
        status = response.status().as_u16(),
        millis = micros / 1000,
    );
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// The trip of a request that the planner carries out.
async fn operate(
    partita: &Partita,
    verified: &Verified,
    request: &Request<'_>,
    verb: Verb,
    found: &Found<'_>,
) -> Result<Response, Problem> {
    let (design, caller) = (partita.design(), verified.caller());
    let mut brought = Brought::of(request)?;
    let wish = Wish::of(request, verb, &mut brought)?;
    if wish.with_keys {
        demand_administrator(partita, verified).await?;
    }
    let operation = decode::operation(design, verb, found, &brought)?;
    let named = operation.identity().to_vec();
    let key = request.idempotency_key()?;
    match partita.perform(caller, operation, key).await {
        Ok(reply) => {
            let outcome = Outcome::of(design, &reply.answer, &named, &wish)?;
            Ok(outcome.into_response(&reply.jobs))
        }
        Err(refusal) => {
            log_trouble(&refusal);
            let conditions = &brought.conditions;
            Err(Problem::of_refusal(refusal, design, verb, conditions))
        }
    }
}

/// Refuses everybody else.
async fn demand_administrator(partita: &Partita, verified: &Verified) -> Result<(), Problem> {
    if is_administrator(partita, verified).await? {
        return Ok(());
    }
    let caller = verified.caller();
    Err(Problem::for_administrators(caller, partita.design()))
}

/// The trip of several writes in one request.
async fn batch(
    served: &Served,
    caller: &Caller,
    request: &Request<'_>,
) -> Result<Response, Problem> {
    let partita = &served.partita;
    let design = partita.design();
    let batch = Batch::of(partita, caller, request, &served.routes)?;
    let batch = batch.demand_understood(partita, caller).await?;
    let wish = Wish::of_write(request);
    let key = request.idempotency_key()?;
    match partita.perform_all(caller, batch.operations(), key).await {
        Ok(reply) => {
            let results = batch.results(design, &reply.answer, &wish)?;
            Ok(results.into_response(&reply.jobs))
        }
        Err(refusal) => {
            log_trouble(&refusal);
            Err(batch.refused(design, refusal))
        }
    }
}

/// What the caller cannot mend is for whoever reads the log.
fn log_trouble(refusal: &PlanError) {
    if let PlanError::Hot(hot) = refusal {
        let (key, declared) = (&hot.key, &hot.declared);
        let (cause, line) = (hot.cause.word(), hot.line);
        let index = hot.index.as_deref();
        warn!(
            key,
            declared, line, index, cause, "too much is asked of one key"
        );
    }
    if let PlanError::Store(cause) = refusal
        && cause.kind() != ErrorKind::FixRequest
        // The store says it once; a line for each request would take what is left of the disk.
        // And who moves the data or imports it knows that.
        && !matches!(
            cause,
            StoreError::DiskFull { .. }
                | StoreError::ReadOnly { .. }
                | StoreError::NoLease { .. }
                | StoreError::Closed { .. }
        )
    {
        error!(%cause, "the store does not answer as it should");
    }
}
