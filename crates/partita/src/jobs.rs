//! `partita jobs`, and the work on jobs behind the server.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use partita_api::{Tokens, encode};
use partita_design::Design;
use partita_plan::{Partita, Surroundings};
use partita_store::surroundings::SystemClock;
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tracing::warn;

use crate::cli::{CheckFormat, JobsFlags};
use crate::secret_file;
use crate::source::Source;

/// Works on the jobs of a design for as long as the server lives.
pub(crate) fn start_working(design: Arc<Partita>, is_alone: bool) {
    tokio::spawn(async move {
        let name = design.design().name.clone();
        if is_alone && let Err(error) = design.take_over_jobs().await {
            warn!(design = name, "jobs wait until their leases end: {error}");
        }
        let failed = |error| warn!(design = name, "a job does not go on: {error}");
        design.keep_working(failed).await;
    });
}

/// Lists the jobs of a design.
pub(crate) fn run(flags: &JobsFlags) -> Result<ExitCode> {
    let design = Source::find(&flags.design)?.compile(&flags.variables)?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let jobs = runtime.block_on(async {
        match &flags.server {
            Some(server) => ask(flags, server, &design.name).await,
            None => look(flags, design).await,
        }
    })?;
    let text = match flags.format {
        CheckFormat::Json => format!("{jobs:#}\n"),
        CheckFormat::Text => table(&jobs),
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Looks into the store.
async fn look(flags: &JobsFlags, design: Design) -> Result<Json> {
    let store =
        flags.place.look(&flags.secret.data).await.context(
            "cannot look into the store; a server that has it open is asked with --server",
        )?;
    let partita = Partita::inspect(design, store, Surroundings::default()).await?;
    let jobs = partita.jobs().await?;
    Ok(jobs.iter().map(encode::job).collect())
}

/// Asks a server, with a token that the installation's secret makes good.
async fn ask(flags: &JobsFlags, server: &str, design: &str) -> Result<Json> {
    let host = server.strip_prefix("http://").unwrap_or(server);
    let host = host.trim_end_matches('/');
    let secret = secret_file::find(&flags.secret)?;
    let tokens = Tokens::new(&secret, Arc::new(SystemClock));
    let token = tokens.make_for_operator(design, 60);
    let request = format!(
        "GET /{design}/jobs HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
    );
    let mut stream = TcpStream::connect(host)
        .await
        .with_context(|| format!("cannot connect to {host}"))?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .context("the answer is not HTTP")?;
    let body: Json = serde_json::from_str(body).context("the answer is not JSON")?;
    match head.split(' ').nth(1) {
        Some("200") => Ok(body["jobs"].clone()),
        status => bail!(
            "{host} answers {}: {}",
            status.unwrap_or_default(),
            body["detail"].as_str().unwrap_or_default()
        ),
    }
}

/// A line for each job, those that are not done first.
fn table(jobs: &Json) -> String {
    let jobs = jobs.as_array().map(Vec::as_slice).unwrap_or_default();
    if jobs.is_empty() {
        return "no jobs\n".to_owned();
    }
    let mut lines = vec![format!(
        "{:<26}  {:<8}  {:<24}  {}",
        "job", "state", "done", "of"
    )];
    for job in jobs {
        let text = |name: &str| job[name].as_str().unwrap_or_default();
        let tasks = job["tasks"].as_array().into_iter().flatten();
        let tasks: Vec<_> = tasks.filter_map(Json::as_str).collect();
        let done = match job["expected"].as_u64() {
            Some(expected) => format!("{} of at least {expected}", job["done"]),
            None => job["done"].to_string(),
        };
        let (id, state, of) = (text("id"), text("state"), text("of"));
        let tasks = tasks.join(", ");
        lines.push(format!("{id}  {state:<8}  {done:<24}  {of}: {tasks}"));
        if job["refused"] != json!(0) {
            let refused = &job["refused"];
            lines.push(format!("{:28}{refused} could not be done yet", ""));
        }
        if let Some(error) = job["lastError"].as_str() {
            lines.push(format!("{:28}{error}", ""));
        }
    }
    lines.join("\n") + "\n"
}
