//! The server: store, designs, listener, signals.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use axum::body::Body;
use futures::FutureExt as _;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper::{Request, Response};
use partita_api::admin::{ALIVE_EVERY, Currents, Installation, Running, Scans};
use partita_api::console::Door;
use partita_api::feed::FeedLimits;
use partita_api::{App, FileLimits, Files, Intake, Limits, Origins, PublicUrl, Tokens, server};
use partita_backup::files::RemovedFiles;
use partita_design::{Design, shipped, sidecar};
use partita_engine::EngineStore;
use partita_plan::{
    Current, DesignError, KeyRing, Partita, Patience, PlanError, Surroundings, recorded_designs,
    running_migration,
};
use partita_store::Store;
use partita_store::surroundings::{SystemClock, SystemEntropy};
use partita_store::table::TableName;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{oneshot, watch};
use tracing::warn;

use crate::announce;
use crate::backup::continuous;
use crate::backup::place::removed_files;
use crate::backup::restored::Pause;
use crate::cli::{FilesKind, ServeFlags};
use crate::demo::Stages;
use crate::endpoint;
use crate::files;
use crate::issuer;
use crate::jobs;
use crate::lease;
use crate::memory;
use crate::migrate;
use crate::monitoring::{self, Told, Watched};
use crate::open_files::{self, Wanted};
use crate::outbox;
use crate::private;
use crate::provider;
use crate::secret_file::{self, Followed};
#[cfg(unix)]
use crate::socket;
use crate::source::Source;
use crate::store::{self, ServedStore};
use crate::watch as watching;

/// Connections that wait to be accepted. The usual 128 are fewer than come at once in a burst.
const BACKLOG: u32 = 1_024;

/// Connections to the address for operators, if there is one.
const OPERATORS_MAX: usize = 32;

/// How long work is waited for that goes on when all requests have ended or were given up.
const STOP_TIME_MAX: Duration = Duration::from_secs(1);

/// Serves until it is told to stop.
pub(crate) fn run(flags: ServeFlags) -> Result<ExitCode> {
    check_safety(&flags)?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let served = runtime.block_on(serve(flags));
    // A thread that the system keeps waiting, by a file that does not answer, holds up nobody else.
    runtime.shutdown_timeout(STOP_TIME_MAX);
    served.map(|()| ExitCode::SUCCESS)
}

async fn serve(flags: ServeFlags) -> Result<()> {
    // Whatever can be refused is refused before anything is written.
    let designs = if flags.endpoint_only {
        Vec::new()
    } else {
        compile_designs(&flags)?
    };
    let limits = limits(&flags)?;
    let listener = bind(flags.listen)?;
    let aside = match flags.metrics_listen {
        Some(address) => Some(bind(address)?),
        None => None,
    };
    private::demand_own(&flags.secret.data)?;
    private::keep(&flags.secret.data);
    let ServedStore { store, engine } = open_store(&flags, limits.storage_files).await?;
    if flags.raw_writes && !flags.place.is_shared() {
        refuse_raw_writes(&store).await?;
    }
    let opened = if flags.endpoint_only {
        None
    } else {
        Some(open_designs(&flags, designs, &store).await?)
    };
    let first = match &opened {
        Some(opened) => first_administrators(opened).await?,
        None => Vec::new(),
    };
    // A design that is given need not be the one that is served.
    let designs = opened.as_ref().map_or_else(Vec::new, Opened::served);
    check_apart(&designs)?;
    let offered = endpoint::open(&flags, &designs, store.clone()).await?;
    let endpoint = offered.as_ref().ok().cloned();
    let (stopping, stopped) = watch::channel(false);
    let address = listener.local_addr()?;
    let pause = Pause::of(&flags.secret.data)?;
    let place = (address, store.clone());
    let installation = installation(&flags, &opened, place, stopped.clone(), &pause);
    let installation = installation.await?;
    let secrets = opened.as_ref().map(|opened| opened.secrets.clone());
    if let Some(secrets) = &secrets {
        secrets.clone().start_following();
    }
    let app = match opened {
        None => None,
        Some(opened) => {
            let place = (address, pause);
            let app = open_app(&flags, place, opened, &designs, &limits, &installation).await?;
            Some(app)
        }
    };
    let probe = probe(&flags, &designs);
    let api = app.as_ref().map(App::meters);
    let has_backup = flags.backup.backup.is_some();
    let removed = engine
        .as_ref()
        .map(|_| removed_files(&flags.secret.data, has_backup))
        .transpose()?;
    let backup = continuous::start(&flags, engine.clone(), removed.clone()).await?;
    let seen = backup.as_ref().map(|running| running.backup.clone());
    if let (Some(endpoint), Some(backup)) = (&endpoint, &seen) {
        endpoint.tell_of(Arc::new(backup.clone()));
    }
    let watched = Watched::new(store, probe, endpoint.clone(), api, &installation);
    let watched = watched.with_backup(seen.clone());
    let routes = monitoring::router(watched.clone(), told(&flags));
    let routes = match (app, &endpoint) {
        (Some(app), _) => routes.fallback_service(app.router()),
        (None, Some(endpoint)) => endpoint::behind(routes, endpoint.clone(), limits.intake.clone()),
        (None, None) => routes,
    };
    let service = endpoint::service(endpoint, routes, limits.intake.clone());
    // Listened for before anybody is told that there is a server to stop.
    let stop = stop_signal()?.inspect({
        let watched = watched.clone();
        move |()| {
            watched.stop();
            stopping.send_replace(true);
        }
    });
    // Bound before anybody is told that there is a server to ask.
    let link = announce::console_link(&installation);
    let kept = engine.zip(removed).map(|(engine, removed)| KeptStore {
        engine,
        removed,
        data: flags.secret.data.clone(),
        backup: seen,
        secrets,
    });
    let shared = installation.served.clone();
    let commands = listen_for_commands(&flags, installation, kept, stopped);
    let told = announce::Told {
        flags: &flags,
        address,
        metrics: aside.as_ref().map(TcpListener::local_addr).transpose()?,
        designs: &designs,
        endpoint: offered.map(drop),
        public_url: public_url(&flags, address)?,
        console: link,
        first_administrators: &first,
    };
    announce::say(&told);
    let served = listen((listener, service), (aside, watched), limits.server, stop);
    tokio::try_join!(served, commands)?;
    lease::give_back(&shared).await;
    if let Some(backup) = backup {
        backup.finish().await;
    }
    Ok(())
}

/// Who is told on the server's own address what it has counted: nobody where metrics have another,
/// where others reach it, or where a public address says that there is a proxy.
fn told(flags: &ServeFlags) -> Told {
    let is_alone = flags.listen.ip().is_loopback() && flags.public_url.is_none();
    match flags.metrics_listen {
        None if is_alone => Told::Local,
        _ => Told::Nobody,
    }
}

/// The designs whose first administrator is still to be made, each with the secret of the link.
async fn first_administrators(opened: &Opened) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for Opening {
        design: partita, ..
    } in &opened.designs
    {
        let secret = partita.first_administrator().await?;
        found.extend(secret.map(|secret| (partita.design().name.clone(), secret)));
    }
    Ok(found)
}

/// The operator's way into the console: by a link, where only this machine reaches the server.
fn console(address: SocketAddr, clock: Arc<SystemClock>) -> Door {
    let url = address
        .ip()
        .is_loopback()
        .then(|| format!("http://{address}"));
    Door::new(url, clock, Arc::new(SystemEntropy))
}

/// What commands for administrators work on in a server.
async fn installation(
    flags: &ServeFlags,
    opened: &Option<Opened>,
    (address, store): (SocketAddr, Arc<dyn Store>),
    stopping: watch::Receiver<bool>,
    pause: &Pause,
) -> Result<Installation> {
    let clock = Arc::new(SystemClock);
    let tokens = match opened {
        None => None,
        Some(opened) => {
            let tokens = Tokens::new(&opened.secrets.secrets, clock.clone());
            Some(Arc::new(issuer::attach(tokens, &flags.issuer).await?))
        }
    };
    let console = Arc::new(console(address, clock.clone()));
    Ok(Installation {
        store,
        clock,
        console: opened.as_ref().map(|_| console),
        tokens,
        demos: Arc::new(Stages),
        served: Currents::default(),
        has_raw_writes: flags.raw_writes,
        is_paused: pause.flag(),
        scans: Scans::default(),
        running: Running::default(),
        stopping,
        alive_every: ALIVE_EVERY,
        has_traffic: true,
    })
}

/// What commands about backups work on.
#[derive(Clone)]
pub(crate) struct KeptStore {
    pub(crate) engine: Arc<EngineStore>,
    pub(crate) data: PathBuf,
    /// Files of buckets that were removed and may be in no backup.
    pub(crate) removed: Arc<RemovedFiles>,
    /// The backup behind the server.
    pub(crate) backup: Option<continuous::Backup>,
    /// The secrets, where designs are served.
    pub(crate) secrets: Option<Followed>,
}

/// Answers commands over the socket in the data directory, where the server has its store open.
#[cfg(unix)]
fn listen_for_commands(
    flags: &ServeFlags,
    installation: Installation,
    kept: Option<KeptStore>,
    mut stopping: watch::Receiver<bool>,
) -> impl Future<Output = Result<()>> + use<> {
    let bound = flags
        .place
        .is_in_directory(flags)
        .then(|| socket::bind(&flags.secret.data));
    async move {
        let bound = match bound {
            None => return Ok(()),
            Some(Ok(bound)) => bound,
            Some(Err(error)) => {
                warn!(
                    "there is no socket, so commands beside this server need --server: {error:#}"
                );
                return Ok(());
            }
        };
        let stop = async move { drop(stopping.wait_for(|is_stopping| *is_stopping).await) };
        Ok(socket::serve(bound, installation, kept, stop).await?)
    }
}

/// Elsewhere commands beside the server need `--server`.
#[cfg(not(unix))]
async fn listen_for_commands(
    _: &ServeFlags,
    _: Installation,
    _: Option<KeptStore>,
    _: watch::Receiver<bool>,
) -> Result<()> {
    Ok(())
}

/// How often a store is tried again that a command has open for a moment.
const ATTEMPTS: u32 = 50;
/// The pause in between.
const PAUSE: Duration = Duration::from_millis(100);

/// Opens the store. A command may have it open for a moment; another server keeps it.
async fn open_store(flags: &ServeFlags, files: usize) -> Result<ServedStore> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        match flags.place.serve(flags, files).await {
            Err(error)
                if store::is_in_use(&error)
                    && attempt < ATTEMPTS
                    && !has_server(&flags.secret.data).await =>
            {
                tokio::time::sleep(PAUSE).await;
            }
            opened => return opened,
        }
    }
}

/// Whether a server answers commands in a data directory.
async fn has_server(data: &Path) -> bool {
    #[cfg(unix)]
    let has_server = matches!(socket::connect(data).await, Ok(Some(_)));
    #[cfg(not(unix))]
    let has_server = data.exists();
    has_server
}

/// What clients are granted.
struct Granted {
    server: Limits,
    intake: Arc<Intake>,
    /// Files that the storage keeps open.
    storage_files: usize,
}

/// What clients are granted: what the flags say, as far as there are files for it.
fn limits(flags: &ServeFlags) -> Result<Granted> {
    let given = &flags.limits;
    let count = |number: NonZeroU32| usize::try_from(number.get()).unwrap_or(usize::MAX);
    let mut server = Limits {
        connections: count(given.connections),
        per_address: count(given.connections_per_address),
        trusted: given.trusted_proxy.clone(),
        ..Limits::default()
    };
    let files = FileLimits::default();
    let open = open_files::claim(Wanted {
        connections: server.connections.saturating_add(server.reserved),
        transfers: files.uploads + files.downloads,
    })?;
    server.connections = open.connections - server.reserved;
    let bodies_mb = given.bodies_mb.unwrap_or_else(memory::bodies_mb);
    let bodies_bytes = u64::from(bodies_mb) * 1_048_576;
    let intake = Intake::new(usize::try_from(bodies_bytes).unwrap_or(usize::MAX));
    Ok(Granted {
        server,
        intake: Arc::new(intake),
        storage_files: open.storage,
    })
}

/// What feeds are granted.
fn feed_limits(flags: &ServeFlags) -> FeedLimits {
    let given = &flags.limits;
    let count = |number: NonZeroU32| usize::try_from(number.get()).unwrap_or(usize::MAX);
    FeedLimits {
        all: count(given.feeds),
        per_caller: count(given.feeds_per_caller),
        buffer_bytes: count(given.feed_buffer_kb).saturating_mul(1024),
        ..FeedLimits::default()
    }
}

/// A table that must be there while the store can be reached, where the store is elsewhere.
fn probe(flags: &ServeFlags, designs: &[(String, Design)]) -> Option<TableName> {
    let is_remote = flags.place.is_shared();
    let mut tables = designs.iter().flat_map(|(_, design)| design.tables.iter());
    tables.next().filter(|_| is_remote)?.name.parse().ok()
}

/// Answers on the server's own address, and on the one for operators if there is one.
async fn listen<S>(
    (listener, service): (TcpListener, S),
    (aside, watched): (Option<TcpListener>, Watched),
    limits: Limits,
    stop: impl Future<Output = ()>,
) -> Result<()>
where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static,
{
    let (draining, drained) = oneshot::channel::<()>();
    let main = async {
        let served = partita_api::serve(listener, service, limits, stop).await;
        drop(draining);
        served
    };
    let watch = server::service(monitoring::router(watched, Told::Everybody));
    let aside = async {
        match aside {
            // Whoever watches is told that the server stops until the last request has ended.
            Some(listener) => {
                let stop = drained.map(drop);
                partita_api::serve(listener, watch, limits_of_operators(), stop).await
            }
            None => Ok(()),
        }
    };
    tokio::try_join!(main, aside)?;
    Ok(())
}

/// Operators are few, whoever else finds their address.
fn limits_of_operators() -> Limits {
    Limits {
        connections: OPERATORS_MAX,
        reserved: 0,
        ..Limits::default()
    }
}

fn bind(address: SocketAddr) -> Result<TcpListener> {
    let listener = listener(address);
    listener.with_context(|| format!("cannot listen on {address}"))
}

fn listener(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // On Windows this would let two servers have one address.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// The designs on their store, each with what it was called on the command line.
struct Opened {
    secrets: Followed,
    designs: Vec<Opening>,
}

/// A design that was opened.
struct Opening {
    /// What it was called on the command line.
    argument: String,
    design: Partita,
    /// The design that its data are taken to.
    to: Option<Design>,
}

impl Opened {
    fn served(&self) -> Vec<(String, Design)> {
        let designs = self.designs.iter();
        designs
            .map(|one| (one.argument.clone(), one.design.design().clone()))
            .collect()
    }
}

async fn open_designs(
    flags: &ServeFlags,
    given: Vec<(String, Design)>,
    store: &Arc<dyn Store>,
) -> Result<Opened> {
    let secrets = secret_file::find_or_make(&flags.secret)?;
    let sealing_keys = secrets.secrets.cursor_keys();
    let mut designs = Vec::new();
    for (argument, design) in given {
        let (design, to) = open_design(design, &sealing_keys, store, flags.migrate).await?;
        if flags.place.is_shared() {
            report_tables(design.design(), &**store).await;
        }
        designs.push(Opening {
            argument,
            design,
            to,
        });
    }
    Ok(Opened { secrets, designs })
}

async fn open_app(
    flags: &ServeFlags,
    (address, pause): (SocketAddr, Pause),
    Opened { secrets, designs }: Opened,
    served: &[(String, Design)],
    granted: &Granted,
    installation: &Installation,
) -> Result<App> {
    let origins = Origins::new(&flags.cors_origin)?;
    let buckets = files::open(flags, served)?;
    let outcome_bytes = u64::from(flags.limits.idempotency_mb.get()) * 1_048_576;
    outbox::check_streams(flags, served)?;
    let post = outbox::post(flags)?;
    let providers = provider::open(&flags.provider, served)?;
    let mut open = Vec::new();
    for Opening {
        argument,
        design,
        to,
    } in designs
    {
        let objects = buckets.of_design(&design.design().name);
        let design = design.with_outcome_bytes_per_hour(outcome_bytes);
        let design = design.in_era(pause.era()).pausing_with(pause.flag());
        let design = design.with_objects(objects);
        let current = if flags.place.is_shared() {
            lease::start_keeping(design, address).await
        } else {
            Current::new(design)
        };
        installation.served.add(current.clone());
        files::start_sweeping(&current);
        // Leases in a store that one process has open at a time are of processes that are gone.
        let is_alone = !flags.place.is_shared();
        jobs::start_working(current.clone(), is_alone);
        let (post, pause) = (post.clone(), pause.clone());
        outbox::start_delivering(current.clone(), post, flags, is_alone, pause);
        migrate::start_driving(current.clone(), to);
        if flags.watch && shipped::find(&argument).is_none() {
            watching::start_following(current.clone(), argument, flags.variables.clone());
        }
        open.push(current);
    }
    let tokens = installation.tokens.clone();
    let tokens = tokens.context("designs are served with a secret")?;
    let (clock, entropy) = (Arc::new(SystemClock), Arc::new(SystemEntropy));
    let public_url = public_url(flags, address)?;
    let limits = files::limits(&flags.files);
    let files = Files::new(buckets, &secrets.secrets, limits, clock.clone());
    let app = App::new(open, tokens, clock, entropy);
    let app = app.with_origins(origins).with_files(files);
    let app = app.with_administration(installation.clone());
    let app = app.with_public_url(public_url).with_providers(providers);
    let app = app.with_feed_limits(feed_limits(flags));
    Ok(app.with_intake(granted.intake.clone()))
}

/// Writes past the designs would not keep the derived data of two of them, served or not.
async fn refuse_raw_writes(store: &Arc<dyn Store>) -> Result<()> {
    for design in recorded_designs(store.clone()).await? {
        if let Some(migration) = running_migration(&design, store.clone()).await? {
            bail!(
                "--raw-writes is for times without a migration, and migration {} of the design `{}` \
                 is {}",
                migration.number,
                design.name,
                migration.stage.word()
            );
        }
    }
    Ok(())
}

/// Where browsers reach the server: where it listens, unless the flag says otherwise.
fn public_url(flags: &ServeFlags, address: SocketAddr) -> Result<PublicUrl> {
    match &flags.public_url {
        Some(url) => Ok(PublicUrl::new(url)?),
        None => Ok(PublicUrl::new(&format!("http://{address}"))?),
    }
}

/// Flags that contradict each other are refused; what others can reach needs a secret that
/// somebody chose to share.
fn check_safety(flags: &ServeFlags) -> Result<()> {
    // The endpoint's clients sign with credentials, the API's bring tokens made from a secret.
    let (given, what) = if flags.endpoint_only {
        (
            &flags.credentials_file,
            "credentials with --credentials-file",
        )
    } else {
        (&flags.secret.secret_file, "a secret with --secret-file")
    };
    let has_secret = given.is_some();
    if !flags.listen.ip().is_loopback() && !has_secret {
        bail!(
            "{} can be reached from other machines: give {what}, or listen on 127.0.0.1",
            flags.listen
        );
    }
    flags.place.check(flags)?;
    let is_remote = flags.place.is_shared();
    if flags.credentials_file.is_some() && !flags.endpoint_only && (is_remote || flags.no_endpoint)
    {
        bail!("--credentials-file is for DynamoDB's API, which is not served here");
    }
    let has_s3 = flags.files.files == FilesKind::S3;
    if !has_s3 && (flags.files.files_endpoint.is_some() || flags.files.files_region.is_some()) {
        bail!("--files-endpoint and --files-region are for --files s3");
    }
    if is_remote && !has_secret && !flags.endpoint_only {
        bail!(
            "several servers may share a DynamoDB table, so they must share a secret: give one with --secret-file"
        );
    }
    Ok(())
}

/// The designs that are served, each with what it was called on the command line.
fn compile_designs(flags: &ServeFlags) -> Result<Vec<(String, Design)>> {
    let shipped = shipped::all().iter().map(|shipped| shipped.name.to_owned());
    let wanted: Vec<String> = if flags.designs.is_empty() {
        shipped.collect()
    } else {
        flags.designs.clone()
    };
    let mut designs: Vec<(String, Design)> = Vec::new();
    for wanted in wanted {
        let design = Source::find(&wanted)?.compile(&flags.variables)?;
        designs.push((wanted, design));
    }
    check_apart(&designs)?;
    Ok(designs)
}

/// Finds out that no two designs have a name, a table or a bucket in common.
fn check_apart(designs: &[(String, Design)]) -> Result<()> {
    for (at, (_, design)) in designs.iter().enumerate() {
        for (_, other) in &designs[..at] {
            if other.name == design.name {
                bail!("two of the designs are called `{}`", design.name);
            }
            // Each would read and write the other's items, past the other's rules.
            let taken = tables_of(other);
            if let Some(table) = tables_of(design).iter().find(|name| taken.contains(name)) {
                bail!(
                    "the designs `{}` and `{}` have the same table `{table}`",
                    other.name,
                    design.name,
                );
            }
            let mut buckets = design.buckets.iter().map(|bucket| &bucket.bucket);
            let is_shared = |name: &&String| other.buckets.iter().any(|one| one.bucket == **name);
            if let Some(bucket) = buckets.find(is_shared) {
                bail!(
                    "the designs `{}` and `{}` have the same bucket `{bucket}`",
                    other.name,
                    design.name,
                );
            }
        }
    }
    Ok(())
}

/// The names of a design's tables, and of the one beside them.
fn tables_of(design: &Design) -> Vec<String> {
    let tables = design.tables.iter().map(|table| table.name.clone());
    tables.chain([sidecar::name(design)]).collect()
}

/// Opens a design. One whose data have to be taken to it is opened as they are, where that is asked
/// for, and answered with it.
async fn open_design(
    design: Design,
    sealing_keys: &Arc<KeyRing<[u8; 32]>>,
    store: &Arc<dyn Store>,
    migrates: bool,
) -> Result<(Partita, Option<Design>)> {
    let name = design.name.clone();
    let surroundings = || Surroundings {
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        cursor_key: sealing_keys.keys()[0],
        patience: Patience::default(),
    };
    let opened = Partita::open_with(design.clone(), store.clone(), surroundings()).await;
    let opened = match opened {
        Err(PlanError::Design(DesignError::Differs { .. })) if migrates => {
            let live = Partita::inspect_live(design.clone(), store.clone(), surroundings());
            live.await.map(|live| (live, Some(design)))
        }
        Ok(opened) if migrates => Ok((opened, Some(design))),
        opened => opened.map(|opened| (opened, None)),
    };
    let opened = opened.with_context(|| format!("cannot open the design `{name}`"));
    opened.map(|(design, to)| (design.sealing_with(sealing_keys), to))
}

/// Says what of a design's tables in DynamoDB is not as the design says. It is no reason not to
/// serve them, nor is a policy of AWS that forbids to ask.
async fn report_tables(design: &Design, store: &dyn Store) {
    let name = &design.name;
    match partita_plan::table_differences(design, store).await {
        Err(error) => warn!(design = name, %error, "the settings of the tables are not known"),
        Ok(found) => {
            for one in found {
                let (table, what) = (one.table, one.what);
                warn!(design = name, "the table `{table}` {what}");
            }
        }
    }
}

/// Completes at an interrupt or a request to terminate.
fn stop_signal() -> Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    let mut terminate = {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::terminate())?
    };
    Ok(async move {
        #[cfg(unix)]
        let terminated = terminate.recv();
        #[cfg(not(unix))]
        let terminated = std::future::pending::<Option<()>>();
        tokio::select! {
            _ = terminated => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    })
}
