//! `partita bench`: the same work on one or several DynamoDB endpoints, side by side.
//!
//! | module | what it holds |
//! |---|---|
//! | `connection` | one HTTP connection that sends one request after the other |
//! | `target` | an endpoint: given, or a server of our own that lives as long as the run |
//! | `workload` | the requests: put, get, query, update, transaction |
//! | `measure` | connections at work for some seconds, and what they saw |
//! | `report` | the figures as a table and as JSON |

mod connection;
mod measure;
mod report;
mod target;
mod workload;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use tracing::info;

use crate::cli::BenchFlags;
use measure::Figures;
use report::Report;
use target::Target;
pub(crate) use workload::Workload;

/// Runs the workloads on every target in turn, round after round, and prints the figures.
pub(crate) fn run(flags: &BenchFlags) -> Result<ExitCode> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let report = runtime.block_on(bench(flags))?;
    report.print(flags.json)?;
    Ok(ExitCode::SUCCESS)
}

async fn bench(flags: &BenchFlags) -> Result<Report> {
    let mut targets = vec![Target::first(flags.endpoint.as_deref()).await?];
    for url in &flags.compare {
        targets.push(Target::given(url)?);
    }
    for target in &targets {
        info!(target = %target.name, items = flags.items, "filling the table");
        target.prepare(flags.items, flags.connections).await?;
    }
    let mut report = Report::new(targets.iter().map(|target| target.name.clone()).collect());
    for workload in flags.workloads() {
        // Targets take turns, so that whatever else the machine does meets all of them.
        for round in 0..flags.rounds {
            for (index, target) in targets.iter().enumerate() {
                let figures = one_run(target, workload, flags, round).await?;
                info!(target = %target.name, ?workload, round, ops = figures.per_second.round());
                report.add(workload, index, figures);
            }
        }
    }
    for target in &targets {
        target.clean_up().await?;
    }
    Ok(report)
}

async fn one_run(
    target: &Target,
    workload: Workload,
    flags: &BenchFlags,
    round: u32,
) -> Result<Figures> {
    measure::run(target, workload, flags, round)
        .await
        .with_context(|| format!("{workload:?} on {}", target.name))
}
