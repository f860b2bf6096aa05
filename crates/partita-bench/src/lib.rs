//! `partita bench`: the same work on one or several DynamoDB endpoints, side by side; or what a
//! design does, through the library.
//!
//! | module | what it holds |
//! |---|---|
//! | `flags` | what the command line says |
//! | `connection` | one HTTP connection that sends one request after the other |
//! | `server` | a server of our own, which lives as long as the run |
//! | `echo` | a bare HTTP server that answers the same bytes: what reads are held against |
//! | `target` | an endpoint, given or our own, with a table of the bench's |
//! | `workload` | the requests: put, get, query, update, transaction |
//! | `measure` | connections at work for some seconds, and what they saw |
//! | `start` | how soon an empty server answers, and what it takes when idle |
//! | `design` | a design's writes and patterns on the embedded store, without a server |
//! | `mixed` | a storyhub in use: reads and writes over HTTP, its memory, and a check at the end |
//! | `traffic` | the clients of a storyhub in use |
//! | `accounts` | what sessions and sign-ins cost, and whether answers tell who has an account |
//! | `beside` | what `verify` and `repair` cost the traffic beside them |
//! | `report` | the figures as a table and as JSON |

mod accounts;
mod beside;
mod connection;
mod design;
mod echo;
mod flags;
mod measure;
mod mixed;
mod report;
mod server;
mod start;
mod target;
mod traffic;
mod workload;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use tracing::info;

pub use beside::Beside;
pub use design::DesignName;
pub use flags::BenchFlags;
use measure::Figures;
use report::BenchReport;
use target::BenchTarget;
pub use workload::Workload;

/// Runs the workloads on every target in turn, round after round, and prints the figures.
pub fn run(flags: &BenchFlags) -> Result<ExitCode> {
    if let Some(directory) = &flags.serve_echo {
        return echo::serve(directory);
    }
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let text = if flags.start {
        runtime.block_on(start::run(flags))?
    } else if flags.mixed {
        runtime.block_on(mixed::run(flags))?
    } else if flags.accounts {
        runtime.block_on(accounts::run(flags))?
    } else if let Some(command) = flags.beside {
        let report = runtime.block_on(beside::run(command, flags))?;
        report.text(flags.json)
    } else if let Some(name) = flags.design {
        runtime.block_on(design::run(name, flags))?.text(flags.json)
    } else {
        runtime.block_on(bench(flags))?.text(flags.json)
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

async fn bench(flags: &BenchFlags) -> Result<BenchReport> {
    let targets = targets(flags).await?;
    let mut report = BenchReport::new(targets.iter().map(|target| target.name.clone()).collect());
    for workload in flags.workloads() {
        // Targets take turns, so that whatever else the machine does meets all of them.
        for round in 0..flags.rounds {
            for (index, target) in targets.iter().enumerate() {
                if target.answers(workload) {
                    let figures = one_run(target, workload, flags, round).await?;
                    info!(target = %target.name, ?workload, round, ops = figures.per_second.round());
                    report.add(&workload.name(), index, figures);
                }
            }
        }
    }
    for target in &targets {
        target.clean_up().await?;
    }
    Ok(report)
}

/// The endpoints with their tables filled: the first, its peers, itself grown, and the echo.
async fn targets(flags: &BenchFlags) -> Result<Vec<BenchTarget>> {
    let arguments = &flags.server_arguments;
    let mut targets = vec![match &flags.endpoint {
        Some(url) => BenchTarget::given(url, flags.items)?,
        None => BenchTarget::own("partita", arguments, flags.items)?,
    }];
    for url in &flags.compare {
        targets.push(BenchTarget::given(url, flags.items)?);
    }
    if let Some(items) = flags.grow {
        let name = format!("partita, {items} items");
        targets.push(BenchTarget::own(&name, arguments, items)?);
    }
    for target in &targets {
        info!(target = %target.name, items = target.items, "filling the table");
        target.prepare(flags).await?;
    }
    if flags.echo {
        let echo = BenchTarget::echo(&targets[0], flags).await?;
        targets.push(echo);
    }
    Ok(targets)
}

async fn one_run(
    target: &BenchTarget,
    workload: Workload,
    flags: &BenchFlags,
    round: u32,
) -> Result<Figures> {
    measure::run(target, workload, flags, round)
        .await
        .with_context(|| format!("{workload:?} on {}", target.name))
}
