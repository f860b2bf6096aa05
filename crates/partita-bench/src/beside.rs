//! What a command that goes through all items costs the traffic beside it.
//!
//! A storyhub is used in turn alone and while the command runs, over and over, at the same rate.
//! The command is `verify`, or `repair --dry-run`, of the running server, as an operator starts it.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::ValueEnum;
use tempfile::TempDir;
use tracing::info;

use super::design::{DesignName, Stage, Workload};
use super::measure::histogram;
use super::report::BenchReport;
use super::server::{self, Server};
use super::traffic::{self, DESIGN};
use crate::flags::BenchFlags;

/// A command that goes through all items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Beside {
    /// Everything that is derived, recomputed
    Verify,
    /// The same with what a repair would write
    Repair,
}

impl Beside {
    fn words(self) -> &'static [&'static str] {
        match self {
            Beside::Verify => &["verify", DESIGN],
            Beside::Repair => &["repair", DESIGN, "--dry-run"],
        }
    }

    fn title(self) -> &'static str {
        match self {
            Beside::Verify => "beside verify",
            Beside::Repair => "beside repair",
        }
    }
}

/// Uses a storyhub alone and beside a command, in turn.
pub(super) async fn run(beside: Beside, flags: &BenchFlags) -> Result<BenchReport> {
    let directory = tempfile::tempdir().context("cannot create a directory for the data")?;
    let workloads = prepare(&directory, flags).await?;
    let path = directory.path().to_owned();
    let server = Server::designs(directory, &[DESIGN], &flags.server_arguments)?;
    let tokens = traffic::tokens(&path)?;
    let mut report = BenchReport::new(vec!["alone".to_owned(), beside.title().to_owned()]);
    for round in 0..flags.rounds {
        for (target, is_beside) in [false, true].into_iter().enumerate() {
            let command = is_beside.then(|| Repeated::start(beside, &path));
            let (seen, watch) = traffic::run(&server.host, &workloads, &tokens, flags).await?;
            let passes = command.map(Repeated::stop).transpose()?;
            let mut all = histogram()?;
            for (name, times) in seen {
                all.add(&times)?;
                report.add(&name, target, watch.figures(&times));
            }
            let figures = watch.figures(&all);
            info!(round, is_beside, passes, p99 = figures.p99);
            report.add("all", target, figures);
        }
    }
    server.stop()?;
    Ok(report)
}

async fn prepare(directory: &TempDir, flags: &BenchFlags) -> Result<Vec<Workload>> {
    let store = directory.path().join("store");
    let stage = Stage::open(DesignName::Storyhub, &store, flags).await?;
    traffic::mix(&stage)
}

/// A command that is started again whenever it has ended.
struct Repeated {
    thread: JoinHandle<Result<u32>>,
    is_over: Arc<AtomicBool>,
}

impl Repeated {
    fn start(beside: Beside, data: &Path) -> Repeated {
        let is_over = Arc::new(AtomicBool::new(false));
        let (data, until) = (data.to_owned(), is_over.clone());
        let thread = std::thread::spawn(move || {
            let mut passes = 0;
            while run_once(beside, &data, &until)? {
                passes += 1;
            }
            Ok(passes)
        });
        Repeated { thread, is_over }
    }

    /// Ends it, and tells how often it came to its end by itself.
    fn stop(self) -> Result<u32> {
        self.is_over.store(true, Ordering::Relaxed);
        let ended = self.thread.join();
        ended.map_err(|_| anyhow!("the command cannot be repeated"))?
    }
}

/// Runs the command; false if it was ended before it was done.
fn run_once(beside: Beside, data: &Path, is_over: &AtomicBool) -> Result<bool> {
    let mut command = server::partita(beside.words())?;
    command.arg("--data").arg(data).stdout(Stdio::null());
    let mut child = command.spawn().context("cannot start the command")?;
    loop {
        if let Some(status) = child.try_wait()? {
            if !status.success() {
                bail!("{beside:?} ended with {status}");
            }
            return Ok(true);
        }
        if is_over.load(Ordering::Relaxed) {
            child.kill()?;
            child.wait()?;
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
