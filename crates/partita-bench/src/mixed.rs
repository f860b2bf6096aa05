//! A storyhub that is used: reads and writes of many clients over HTTP, for a while.
//!
//! It is filled through the library, which is also where a vote is measured that the votes over
//! HTTP are held against. Then a server is started on the same directory, and every client sends
//! one request after the other. At the end everything that is derived is held against its sources.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use partita_engine::{EngineStore, Options};
use partita_store::surroundings::SystemClock;
use partita_verify::Collected;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::design::{DesignName, Stage, Workload};
use super::measure::Figures;
use super::report::BenchReport;
use super::server::Server;
use super::traffic::{self, DESIGN};
use crate::flags::BenchFlags;

/// What came of it.
struct Mixed {
    report: BenchReport,
    /// What the server had in memory after a third of the time, and at the end.
    megabytes: [Option<f64>; 2],
    /// A vote over HTTP to one through the library, by their medians.
    vote_ratio: f64,
    items: u64,
    drifts: u64,
}

/// Runs the mixed load on storyhub and reports its latencies.
pub(super) async fn run(flags: &BenchFlags) -> Result<String> {
    let directory = tempfile::tempdir().context("cannot create a directory for the data")?;
    let (workloads, library) = prepare(&directory, flags).await?;
    let path = directory.path().to_owned();
    let server = Server::designs(directory, &[DESIGN], &flags.server_arguments)?;
    let tokens = traffic::tokens(&path)?;
    let traffic = traffic::run(&server.host, &workloads, &tokens, flags);
    let (seen, megabytes) = tokio::join!(traffic, memory(&server, flags));
    let (seen, watch) = seen?;
    let directory = server.stop()?;

    let mut report = BenchReport::new(vec!["over HTTP".to_owned(), "library".to_owned()]);
    let mut vote = library.p50;
    for (name, times) in seen {
        let figures = watch.figures(&times);
        if name == "vote" {
            vote = figures.p50;
        }
        report.add(&name, 0, figures);
    }
    report.add("vote", 1, library);
    let (items, drifts) = verify(&directory).await?;
    let mixed = Mixed {
        report,
        megabytes,
        vote_ratio: vote / library.p50,
        items,
        drifts,
    };
    if drifts > 0 {
        bail!("{}", mixed.to_text());
    }
    Ok(if flags.json {
        format!("{:#}\n", mixed.to_json())
    } else {
        mixed.to_text()
    })
}

/// Fills the directory, and measures a vote through the library while it has the store open.
async fn prepare(directory: &TempDir, flags: &BenchFlags) -> Result<(Vec<Workload>, Figures)> {
    let store = directory.path().join("store");
    let stage = Stage::open(DesignName::Storyhub, &store, flags).await?;
    let vote = stage.workload("vote")?;
    let library = stage.measure(&vote, flags, 0).await?;
    Ok((traffic::mix(&stage)?, library))
}

/// What the server has in memory after a third of the time, and at the end.
async fn memory(server: &Server, flags: &BenchFlags) -> [Option<f64>; 2] {
    let seconds = Duration::from_secs(flags.seconds);
    tokio::time::sleep(seconds / 3).await;
    let early = server.resident_megabytes();
    tokio::time::sleep(seconds - seconds / 3).await;
    [early, server.resident_megabytes()]
}

/// How many items there are, and how many drifted.
async fn verify(directory: &TempDir) -> Result<(u64, u64)> {
    let design = super::design::compiled(DesignName::Storyhub)?;
    let options = Options::new(Arc::new(SystemClock));
    let store = EngineStore::open(&directory.path().join("store"), options)?;
    let mut found = Collected::default();
    let report = partita_verify::verify(&design, &store, &SystemClock, &mut found).await?;
    Ok((report.items, report.drifts))
}

impl Mixed {
    fn growth(&self) -> Option<f64> {
        let [early, late] = self.megabytes;
        Some(late? / early?)
    }

    fn to_json(&self) -> Json {
        json!({
            "operations": self.report.to_json(),
            "megabytes": {"third": self.megabytes[0], "end": self.megabytes[1], "growth": self.growth()},
            "vote_ratio": self.vote_ratio,
            "verified": {"items": self.items, "drifts": self.drifts},
        })
    }

    fn to_text(&self) -> String {
        let shown = |figure: Option<f64>| figure.map_or("-".to_owned(), |it| format!("{it:.1}"));
        let [early, late] = self.megabytes.map(shown);
        let growth = self
            .growth()
            .map_or("-".to_owned(), |it| format!("{it:.2}"));
        format!(
            "{}\nmemory: {early} MB after a third of the time, {late} MB at the end ({growth}x)\na vote over HTTP takes {:.2} times one through the library\nverified: {} items, {} drifts\n",
            self.report.text(false),
            self.vote_ratio,
            self.items,
            self.drifts
        )
    }
}
