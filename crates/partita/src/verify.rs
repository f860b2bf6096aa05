//! `partita verify` and `partita repair`.
//!
//! Drifts are printed as they are found: there may be more of them than memory holds. A repair
//! goes over the tables until a pass finds nothing to mend, so that what it could not mend is
//! known only with its last pass; of those some are kept to be shown.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use partita_engine::{EngineStore, Options};
use partita_store::Store;
use partita_store::surroundings::SystemClock;
use partita_verify::{Drift, Outcome, Progress, Report, Watch};
use serde_json::{Value as Json, json};

use crate::cli::{CheckFormat, StoreKind, VerifyFlags};
use crate::serve::connect;
use crate::source::Source;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Verify,
    Repair,
}

/// What a repair keeps of one pass to show at its end.
const KEPT_MAX: usize = 1_000;

/// Verifies or repairs the tables of a design.
pub(crate) fn run(flags: &VerifyFlags, task: Task) -> Result<ExitCode> {
    let design = Source::find(&flags.design)?.compile(&flags.variables)?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let mut console = Console::new(flags.format, task);
    let report = runtime.block_on(async {
        let store = open(flags).await?;
        let report = match task {
            Task::Verify => {
                partita_verify::verify(&design, &*store, &SystemClock, &mut console).await
            }
            Task::Repair => {
                partita_verify::repair(&design, &*store, &SystemClock, &mut console).await
            }
        };
        report.with_context(|| format!("cannot go through the tables of `{}`", design.name))
    })?;
    console.end(&report, &flags.design)?;
    Ok(match report.is_clean() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// The store, as `serve` would open it; one that is not there is not made.
async fn open(flags: &VerifyFlags) -> Result<Arc<dyn Store>> {
    if flags.place.store == StoreKind::Dynamodb {
        return connect(&flags.place).await;
    }
    let directory = flags.data.join("store");
    if !directory.exists() {
        bail!("there is no store in {}", flags.data.display());
    }
    let options = Options::new(Arc::new(SystemClock));
    let store = EngineStore::open(&directory, options)
        .with_context(|| format!("cannot open the store in {}", directory.display()))?;
    Ok(Arc::new(store))
}

/// Prints what is found, and shows how far it is where somebody watches.
struct Console {
    format: CheckFormat,
    task: Task,
    bar: ProgressBar,
    /// Whether a drift was printed, and the next one follows it.
    has_printed: bool,
    kept: Vec<(Drift, Outcome)>,
    /// The first failure of standard output.
    failure: Option<io::Error>,
}

impl Console {
    fn new(format: CheckFormat, task: Task) -> Console {
        // It draws to standard error, and only if that is a terminal.
        let bar = ProgressBar::no_length();
        let style = "{msg} {wide_bar} {pos}/{len} items, {elapsed}";
        bar.set_style(
            ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        Console {
            format,
            task,
            bar,
            has_printed: false,
            kept: Vec::new(),
            failure: None,
        }
    }

    fn print(&mut self, drift: &Drift, outcome: &Outcome) {
        let text = match self.format {
            CheckFormat::Text => line(drift, outcome),
            CheckFormat::Json => {
                let start = match self.has_printed {
                    true => ",\n  ",
                    false => "{\"drifts\": [\n  ",
                };
                format!("{start}{}", object(drift, outcome))
            }
        };
        self.has_printed = true;
        let written = self.bar.suspend(|| write(&text));
        self.failure = self.failure.take().or(written.err());
    }

    /// Prints what is left, and how it stands.
    fn end(mut self, report: &Report, design: &str) -> Result<()> {
        self.bar.finish_and_clear();
        for (drift, outcome) in std::mem::take(&mut self.kept) {
            self.print(&drift, &outcome);
        }
        let text = match self.format {
            CheckFormat::Text => summary(report, self.task, design),
            CheckFormat::Json => {
                let start = match self.has_printed {
                    true => "\n",
                    false => "{\"drifts\": [",
                };
                format!("{start}], \"report\": {}}}\n", numbers(report))
            }
        };
        write(&text)?;
        match self.failure {
            Some(failure) => Err(failure.into()),
            None => Ok(()),
        }
    }
}

impl Watch for Console {
    fn begins(&mut self, pass: u32) {
        self.kept.clear();
        self.bar.set_position(0);
        self.bar.set_message(match self.task {
            Task::Verify => "verifying".to_owned(),
            Task::Repair => format!("repairing, pass {pass}"),
        });
    }

    fn moves(&mut self, progress: Progress) {
        self.bar.set_length(progress.total.max(progress.items));
        self.bar.set_position(progress.items);
    }

    fn finds(&mut self, drift: &Drift, outcome: &Outcome) {
        match (self.task, outcome) {
            (Task::Verify, _) | (_, Outcome::Mended) => self.print(drift, outcome),
            (Task::Repair, _) if self.kept.len() < KEPT_MAX => {
                self.kept.push((drift.clone(), outcome.clone()));
            }
            (Task::Repair, _) => {}
        }
    }
}

fn write(text: &str) -> io::Result<()> {
    io::stdout().write_all(text.as_bytes())
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Mended => "mended",
        Outcome::Left => "left",
        Outcome::Awaited { .. } => "awaited",
        Outcome::Moving => "moving",
        _ => "drift",
    }
}

fn line(drift: &Drift, outcome: &Outcome) -> String {
    let rest = match outcome {
        Outcome::Awaited { job } => format!("; job {job} will settle it"),
        Outcome::Moving => "; it kept changing meanwhile".to_owned(),
        Outcome::Left => "; only somebody who knows the data can mend it".to_owned(),
        _ => String::new(),
    };
    format!("{:<8} {drift}{rest}\n", word(outcome))
}

fn object(drift: &Drift, outcome: &Outcome) -> Json {
    let mut object = drift.to_json();
    object["outcome"] = json!(word(outcome));
    if let Outcome::Awaited { job } = outcome {
        object["job"] = json!(job);
    }
    object
}

fn numbers(report: &Report) -> Json {
    json!({
        "items": report.items,
        "strangers": report.strangers,
        "drifts": report.drifts,
        "tallies": report.tallies,
        "awaited": report.awaited,
        "moving": report.moving,
        "mended": report.mended,
        "jobs": report.jobs,
        "passes": report.passes,
    })
}

fn summary(report: &Report, task: Task, design: &str) -> String {
    let many = |number: u64, what: &str| match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    };
    let mut lines = vec![match (task, report.drifts, report.mended) {
        (_, 0, 0) => format!("{}: nothing drifted", many(report.items, "item")),
        (Task::Verify, drifts, _) => format!(
            "{}: {}; `partita repair {design}` mends what can be mended",
            many(report.items, "item"),
            many(drifts, "drift")
        ),
        (Task::Repair, left, mended) => format!(
            "{}: {} mended, {left} left",
            many(report.items, "item"),
            many(mended, "drift")
        ),
    }];
    let tallies = "of them sums over tallies, which lost answers can leave inexact";
    let settled = format!(
        "waiting for {} (`partita jobs {design}`)",
        many(report.jobs, "unfinished job")
    );
    let notes = [
        (report.tallies, tallies),
        (report.awaited, settled.as_str()),
        (report.moving, "kept changing; ask again"),
        (report.strangers, "items that the design does not speak of"),
    ];
    let notes = notes.into_iter().filter(|(number, _)| *number > 0);
    lines.extend(notes.map(|(number, what)| format!("{number:>8} {what}")));
    lines.join("\n") + "\n"
}
