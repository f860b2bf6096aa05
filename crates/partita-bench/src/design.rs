//! `partita bench --design`: what a design costs through the library, on the embedded store.
//!
//! | module | what it holds |
//! |---|---|
//! | `population` | what both designs need to be filled and asked |
//! | `storyhub` | chapters and votes, and the votes as bare transactions |
//! | `mediahub` | likes and changes of visibility |
//!
//! Clients call the library in this process, each with one operation at a time: what is measured
//! is planning, reading and committing, without HTTP.

mod mediahub;
mod population;
mod storyhub;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use futures::future::try_join_all;
use hdrhistogram::Histogram;
use partita_design::{Design, shipped};
use partita_engine::{EngineStore, Options};
use partita_plan::{Caller, Operation, Partita, PlanError};
use partita_store::Store;
use partita_store::request::TransactWriteItems;
use partita_store::surroundings::SystemClock;
use tracing::info;

use super::measure::{Figures, Stopwatch, histogram, now};
use super::report::BenchReport;
use crate::flags::BenchFlags;
use population::Population;

/// Transactions that are planned ahead at once, before they are sent bare.
const PLANNED_AHEAD: usize = 2_000;

/// A design that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DesignName {
    /// Chapters and votes
    Storyhub,
    /// Likes and visibility
    Mediahub,
}

/// A design with its items, ready to be asked.
pub(super) struct Stage {
    partita: Arc<Partita>,
    store: Arc<dyn Store>,
    workloads: Vec<Workload>,
}

/// Makes the next operation of a client.
pub(super) type Next = dyn Fn(&mut fastrand::Rng) -> (Caller, Operation) + Send + Sync;

/// One kind of operation.
#[derive(Clone)]
pub(super) struct Workload {
    pub(super) name: String,
    pub(super) next: Arc<Next>,
    /// Whether the transactions that it becomes are measured too, sent bare.
    is_bare_too: bool,
}

impl Workload {
    fn new(
        name: impl Into<String>,
        next: impl Fn(&mut fastrand::Rng) -> (Caller, Operation) + Send + Sync + 'static,
    ) -> Workload {
        Workload {
            name: name.into(),
            next: Arc::new(next),
            is_bare_too: false,
        }
    }
}

/// Fills a store with a design's items and measures its writes and its patterns.
pub(super) async fn run(design: DesignName, flags: &BenchFlags) -> Result<BenchReport> {
    let directory = tempfile::tempdir().context("cannot create a directory for the data")?;
    let stage = Stage::open(design, directory.path(), flags).await?;
    let is_wanted = |name: &String| flags.only.is_empty() || flags.only.contains(name);
    let name = design.name().to_owned();
    let mut report = BenchReport::new(vec![name, "bare transaction".to_owned()]);
    let mut is_done = false;
    for workload in &stage.workloads {
        if !is_wanted(&workload.name) {
            continue;
        }
        is_done = true;
        for round in 0..flags.rounds {
            let figures = stage.measure(workload, flags, round).await?;
            info!(
                workload = workload.name,
                round,
                ops = figures.per_second.round()
            );
            report.add(&workload.name, 0, figures);
            if workload.is_bare_too {
                let figures = stage.measure_bare(workload, flags, round).await?;
                info!(
                    workload = workload.name,
                    round,
                    bare = figures.per_second.round()
                );
                report.add(&workload.name, 1, figures);
            }
        }
    }
    if !is_done {
        let names: Vec<_> = stage
            .workloads
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        bail!(
            "there is nothing of that name; there are: {}",
            names.join(", ")
        );
    }
    Ok(report)
}

/// A shipped design that can be measured.
pub(super) fn compiled(design: DesignName) -> Result<Design> {
    let name = design.name();
    let source = shipped::find(name).context("the design is not shipped")?;
    let (compiled, _) = partita_design::check(source.source, &|_| None);
    compiled.with_context(|| format!("{name} does not check"))
}

impl DesignName {
    fn name(self) -> &'static str {
        match self {
            DesignName::Storyhub => "storyhub",
            DesignName::Mediahub => "mediahub",
        }
    }
}

impl Stage {
    /// Fills a directory with a design's items.
    pub(super) async fn open(
        design: DesignName,
        directory: &Path,
        flags: &BenchFlags,
    ) -> Result<Stage> {
        let options = Options::new(Arc::new(SystemClock));
        let store: Arc<dyn Store> = Arc::new(EngineStore::open(directory, options)?);
        let compiled = compiled(design)?;
        let partita = Partita::open(compiled, store.clone()).await?;
        let population = Population::new(Arc::new(partita), flags.connections);
        info!(design = design.name(), "filling the table");
        let workloads = match design {
            DesignName::Storyhub => storyhub::fill(&population).await?,
            DesignName::Mediahub => mediahub::fill(&population).await?,
        };
        Ok(Stage {
            partita: population.partita,
            store,
            workloads,
        })
    }

    /// The workload of that name.
    pub(super) fn workload(&self, name: &str) -> Result<Workload> {
        let found = self.workloads.iter().find(|one| one.name == name);
        found
            .cloned()
            .with_context(|| format!("there is no workload `{name}`"))
    }

    /// Lets all clients carry one operation out after the other until the time is over.
    pub(super) async fn measure(
        &self,
        workload: &Workload,
        flags: &BenchFlags,
        round: u32,
    ) -> Result<Figures> {
        let mut watch = Stopwatch::start();
        let until = now() + Duration::from_secs(flags.seconds);
        let clients = (0..flags.connections).map(|number| {
            let (partita, next) = (self.partita.clone(), workload.next.clone());
            let mut random = seeded(round, number);
            tokio::spawn(async move {
                let mut times = histogram()?;
                while now() < until {
                    let (caller, operation) = next(&mut random);
                    let sent = now();
                    accept(partita.run(&caller, operation).await)?;
                    times.saturating_record(sent.elapsed().as_micros() as u64);
                }
                anyhow::Ok(times)
            })
        });
        let mut all = histogram()?;
        for client in clients.collect::<Vec<_>>() {
            all.add(client.await?.with_context(|| workload.name.clone())?)?;
        }
        watch.pause();
        Ok(watch.figures(&all))
    }

    /// The same operations as the transactions that they become, planned before the clock runs and
    /// sent to the store as they are.
    async fn measure_bare(
        &self,
        workload: &Workload,
        flags: &BenchFlags,
        round: u32,
    ) -> Result<Figures> {
        let mut random = seeded(round, usize::MAX);
        let mut all = histogram()?;
        let mut watch = Stopwatch::start();
        watch.pause();
        while watch.elapsed() < Duration::from_secs(flags.seconds) {
            let planned = self.plan_ahead(workload, flags, &mut random).await?;
            let planned = Arc::new(Mutex::new(planned));
            watch.resume();
            let clients = (0..flags.connections)
                .map(|_| tokio::spawn(send_bare(self.store.clone(), planned.clone())));
            for client in clients.collect::<Vec<_>>() {
                all.add(client.await??)?;
            }
            watch.pause();
        }
        Ok(watch.figures(&all))
    }

    /// The transactions of the next operations.
    async fn plan_ahead(
        &self,
        workload: &Workload,
        flags: &BenchFlags,
        random: &mut fastrand::Rng,
    ) -> Result<Vec<TransactWriteItems>> {
        let mut planned = Vec::with_capacity(PLANNED_AHEAD);
        while planned.len() < PLANNED_AHEAD {
            let asked: Vec<_> = (0..flags.connections)
                .map(|_| (workload.next)(random))
                .collect();
            let previews = asked
                .iter()
                .map(|(caller, operation)| self.partita.preview(caller, operation.clone()));
            let previews = try_join_all(previews).await?;
            planned.extend(previews.into_iter().map(|preview| TransactWriteItems {
                actions: preview.actions,
                // One of its own, as the library sends one.
                token: Some(format!("{:032x}", random.u128(..))),
            }));
        }
        Ok(planned)
    }
}

/// Sends transactions until none is left.
async fn send_bare(
    store: Arc<dyn Store>,
    planned: Arc<Mutex<Vec<TransactWriteItems>>>,
) -> Result<Histogram<u64>> {
    let mut times = histogram()?;
    loop {
        let next = planned.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(request) = next else {
            return Ok(times);
        };
        let sent = now();
        store.transact_write_items(request).await?;
        times.saturating_record(sent.elapsed().as_micros() as u64);
    }
}

/// Nothing found is an answer too.
fn accept<T>(answer: Result<T, PlanError>) -> Result<()> {
    match answer {
        Ok(_) | Err(PlanError::NotFound { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn seeded(round: u32, client: usize) -> fastrand::Rng {
    fastrand::Rng::with_seed(u64::from(round) << 32 | client as u64 & 0xffff_ffff)
}
