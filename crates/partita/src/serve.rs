//! The server: store, designs, listener, signals.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use axum::Router;
use partita_api::{App, Limits, Secret, Tokens};
use partita_design::{Design, shipped};
use partita_engine::EngineStore;
use partita_plan::{Partita, Patience, Surroundings, support};
use partita_store::surroundings::{SystemClock, SystemEntropy};
use partita_store::{ModelStore, Store};
use tokio::net::TcpListener;
use tracing::warn;

use crate::cli::{DATA_DEFAULT, ServeFlags, StoreKind};
use crate::endpoint;
use crate::secret_file;
use crate::source::Source;

/// Serves until it is told to stop.
pub(crate) fn run(flags: ServeFlags) -> Result<ExitCode> {
    check_safety(&flags)?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(serve(flags))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(flags: ServeFlags) -> Result<()> {
    // Whatever can be refused is refused before anything is written.
    let designs = match flags.endpoint_only {
        true => Vec::new(),
        false => compile_designs(&flags)?,
    };
    let listener = TcpListener::bind(flags.listen)
        .await
        .with_context(|| format!("cannot listen on {}", flags.listen))?;
    let router = match flags.endpoint_only {
        true => endpoint::router(&flags, open_store(&flags).await?)?,
        false => api_router(&flags, &designs).await?,
    };
    // Whoever reads the announcement may ask the server to stop at once.
    let stop = stop_signal()?;
    announce(&flags, listener.local_addr()?, &designs);
    partita_api::serve(listener, router, Limits::default(), stop).await?;
    Ok(())
}

async fn api_router(flags: &ServeFlags, designs: &[(String, Design)]) -> Result<Router> {
    let secret = secret_file::load(&flags.secret)?;
    let store = open_store(flags).await?;
    let mut open = Vec::new();
    for (_, design) in designs {
        open.push(open_design(design.clone(), &secret, &store).await?);
    }
    let tokens = Tokens::new(&secret, Arc::new(SystemClock));
    let app = App::new(open, tokens, Arc::new(SystemClock), Arc::new(SystemEntropy));
    Ok(app.router())
}

/// Flags that contradict each other are refused; what others can reach needs a secret that
/// somebody chose to share.
fn check_safety(flags: &ServeFlags) -> Result<()> {
    // The endpoint's clients sign with credentials, the API's bring tokens made from a secret.
    let (given, what) = match flags.endpoint_only {
        true => (
            &flags.credentials_file,
            "credentials with --credentials-file",
        ),
        false => (&flags.secret.secret_file, "a secret with --secret-file"),
    };
    let has_secret = given.is_some();
    if !flags.listen.ip().is_loopback() && !has_secret {
        bail!(
            "{} can be reached from other machines: give {what}, or listen on 127.0.0.1",
            flags.listen
        );
    }
    if flags.credentials_file.is_some() && !flags.endpoint_only {
        bail!("--credentials-file is for --endpoint-only");
    }
    let is_remote = flags.store == StoreKind::Dynamodb;
    if is_remote && flags.memory {
        bail!("items are kept in memory or in DynamoDB: leave out --memory or --store");
    }
    if !is_remote && (flags.endpoint.is_some() || flags.region.is_some()) {
        bail!("--endpoint and --region are for --store dynamodb");
    }
    if is_remote && !has_secret && !flags.endpoint_only {
        bail!(
            "several servers may share a DynamoDB table, so they must share a secret: give one with --secret-file"
        );
    }
    Ok(())
}

async fn open_store(flags: &ServeFlags) -> Result<Arc<dyn Store>> {
    if flags.memory {
        return Ok(Arc::new(ModelStore::default()));
    }
    match flags.store {
        StoreKind::Embedded => {
            let directory = flags.secret.data.join("store");
            let store = EngineStore::open(&directory, Arc::new(SystemClock))
                .with_context(|| format!("cannot open the store in {}", directory.display()))?;
            Ok(Arc::new(store))
        }
        StoreKind::Dynamodb => connect(flags).await,
    }
}

#[cfg(feature = "dynamodb")]
async fn connect(flags: &ServeFlags) -> Result<Arc<dyn Store>> {
    let config = partita_remote::RemoteConfig {
        endpoint: flags.endpoint.clone(),
        region: flags.region.clone(),
    };
    Ok(Arc::new(
        partita_remote::RemoteStore::connect(config).await?,
    ))
}

#[cfg(not(feature = "dynamodb"))]
async fn connect(_: &ServeFlags) -> Result<Arc<dyn Store>> {
    bail!(
        "this build has no DynamoDB client; build it with `cargo build --release --features dynamodb`"
    )
}

/// The designs that are served, each with what it was called on the command line.
fn compile_designs(flags: &ServeFlags) -> Result<Vec<(String, Design)>> {
    let shipped = shipped::all().iter().map(|shipped| shipped.name.to_owned());
    let wanted: Vec<String> = match flags.designs.is_empty() {
        true => shipped.collect(),
        false => flags.designs.clone(),
    };
    let mut designs: Vec<(String, Design)> = Vec::new();
    for wanted in wanted {
        let design = Source::find(&wanted)?.compile(&flags.variables)?;
        // Whoever names a design wants it; without names, those that run are served.
        match support::check(&design) {
            Err(error) if flags.designs.is_empty() => {
                tracing::info!(design = wanted, "not served: {error}");
                continue;
            }
            checked => checked?,
        }
        for (_, other) in &designs {
            if other.name == design.name {
                bail!("two of the designs are called `{}`", design.name);
            }
            // Each would read and write the other's items, past the other's rules.
            if other.table.name == design.table.name {
                bail!(
                    "the designs `{}` and `{}` have the same table `{}`",
                    other.name,
                    design.name,
                    design.table.name
                );
            }
        }
        designs.push((wanted, design));
    }
    Ok(designs)
}

async fn open_design(design: Design, secret: &Secret, store: &Arc<dyn Store>) -> Result<Partita> {
    let name = design.name.clone();
    let surroundings = Surroundings {
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        cursor_key: secret.cursor_key(),
        patience: Patience::default(),
    };
    Partita::open(design, store.clone(), surroundings)
        .await
        .with_context(|| format!("cannot open the design `{name}`"))
}

/// Says where everything is. This is the answer of the command, so it goes to standard output;
/// a server whose output nobody reads serves all the same.
fn announce(flags: &ServeFlags, address: SocketAddr, designs: &[(String, Design)]) {
    let place = match flags.store {
        _ if flags.memory => "in memory only".to_owned(),
        StoreKind::Embedded => flags.secret.data.display().to_string(),
        StoreKind::Dynamodb => match &flags.endpoint {
            Some(endpoint) => format!("DynamoDB at {endpoint}"),
            None => "Amazon DynamoDB".to_owned(),
        },
    };
    let mut lines = Vec::new();
    if flags.endpoint_only {
        lines.push(format!("endpoint http://{address}"));
    }
    let secret = secret_argument(flags);
    for (argument, design) in designs {
        let name = &design.name;
        lines.push(format!("{name:<8} http://{address}/{name}"));
        lines.push(format!(
            "         partita token {argument} --user NAME{secret}"
        ));
    }
    lines.push(format!("data     {place}\n"));
    let mut out = std::io::stdout();
    if let Err(error) = out
        .write_all(lines.join("\n").as_bytes())
        .and_then(|()| out.flush())
    {
        warn!(%error, "nobody can be told where the server is");
    }
}

/// What `partita token` must be told to use the secret of this server.
fn secret_argument(flags: &ServeFlags) -> String {
    match &flags.secret.secret_file {
        Some(file) => format!(" --secret-file {}", file.display()),
        None if flags.secret.data.as_os_str() == DATA_DEFAULT => String::new(),
        None => format!(" --data {}", flags.secret.data.display()),
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
