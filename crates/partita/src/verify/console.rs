//! What `verify` and `repair` print.
//!
//! Drifts are printed as they are found: there may be more of them than memory holds. A repair
//! goes over the tables until a pass finds nothing to mend, so that what it could not mend is
//! known only with its last pass; of those some are kept to be shown.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use partita_api::admin::verify::{Found, FoundDrift, FoundUnrecognised, MENDED};
use partita_core::printable;
use partita_verify::{DriftKind, Intent, Report};
use serde_json::{Value as Json, json};
use tokio::sync::Notify;

use super::Task;
use crate::cli::CheckFormat;
use crate::output::print;

/// What a repair keeps of one pass to show at its end.
const KEPT_MAX: usize = 1_000;
/// Examples of what the design does not recognise.
const EXAMPLES_MAX: usize = 5;

/// Prints what is found, and shows the progress on a terminal.
pub(super) struct Console {
    format: CheckFormat,
    task: Task,
    bar: ProgressBar,
    /// Whether a drift was printed, and the next one follows it.
    has_printed: bool,
    kept: Vec<FoundDrift>,
    examples: Vec<FoundUnrecognised>,
    /// How many values each record has that the design does not allow, in the last pass.
    values: BTreeMap<String, u64>,
    /// The first failure of standard output.
    failure: Option<anyhow::Error>,
    /// Told of that failure.
    stopped: Arc<Notify>,
}

impl Console {
    pub(super) fn new(format: CheckFormat, task: Task) -> Console {
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
            examples: Vec::new(),
            values: BTreeMap::new(),
            failure: None,
            stopped: Arc::default(),
        }
    }

    /// Completes when nothing can be printed any more.
    pub(super) fn stopped(&self) -> impl Future<Output = ()> + use<> {
        let stopped = self.stopped.clone();
        async move { stopped.notified().await }
    }

    /// Does something while the bar is out of the way.
    pub(super) fn suspend<R>(&self, work: impl FnOnce() -> R) -> R {
        self.bar.suspend(work)
    }

    /// Shows what comes while a command works.
    pub(super) fn show(&mut self, found: Found) {
        if let Found::Drift(drift) = &found
            && drift.drift["kind"] == DriftKind::Value.word()
        {
            let record = drift.drift["record"].as_str().unwrap_or_default();
            *self.values.entry(record.to_owned()).or_default() += 1;
        }
        match found {
            Found::Pass(pass) => self.begin(pass),
            Found::Progress(progress) => {
                self.bar.set_length(progress.total.max(progress.items));
                self.bar.set_position(progress.items);
            }
            Found::Drift(drift) if self.task != Task::Repair || drift.outcome == MENDED => {
                self.print(&drift);
            }
            Found::Drift(drift) if self.kept.len() < KEPT_MAX => self.kept.push(drift),
            Found::Unrecognised(one) if self.examples.len() < EXAMPLES_MAX => {
                self.examples.push(one);
            }
            Found::Drift(_) | Found::Unrecognised(_) => {}
        }
    }

    /// What a pass before left may be mended by this one.
    fn begin(&mut self, pass: u32) {
        self.kept.clear();
        self.examples.clear();
        self.values.clear();
        self.bar.set_position(0);
        self.bar.set_message(match self.task {
            Task::Verify | Task::DryRun => "verifying".to_owned(),
            Task::Repair => format!("repairing, pass {pass}"),
        });
    }

    fn print(&mut self, drift: &FoundDrift) {
        let text = match self.format {
            CheckFormat::Text => {
                format!("{:<8} {}\n", drift.outcome, printable::line(&drift.text))
            }
            CheckFormat::Json => {
                let start = if self.has_printed {
                    ",\n  "
                } else {
                    "{\"drifts\": [\n  "
                };
                format!("{start}{}", printable::json(&drift.drift.to_string()))
            }
        };
        self.has_printed = true;
        let written = self.bar.suspend(|| print(&text));
        if let Err(failure) = written
            && self.failure.is_none()
        {
            self.failure = Some(failure);
            self.stopped.notify_one();
        }
    }

    /// Prints what is left, what would be written, and the summary.
    pub(super) fn end(
        mut self,
        report: &Report,
        refused: Option<&Intent>,
        design: &str,
    ) -> Result<()> {
        self.bar.finish_and_clear();
        for drift in std::mem::take(&mut self.kept) {
            self.print(&drift);
        }
        let text = match self.format {
            CheckFormat::Text => {
                let would = refused.map(told).unwrap_or_default();
                let examples = self.examples.iter();
                let examples = examples.map(|one| format!("{}\n", printable::line(&one.text)));
                let examples: String = examples.collect();
                let values = self.values.iter().map(|(record, count)| {
                    let record = printable::line(record);
                    format!("{count:>8} of {record} that the design does not allow, which nothing mends\n")
                });
                let values: String = values.collect();
                would + &summary(report, self.task, design) + &values + &examples
            }
            CheckFormat::Json => {
                let start = if self.has_printed {
                    "\n"
                } else {
                    "{\"drifts\": ["
                };
                let examples = self.examples.iter().map(|one| one.item.clone());
                let examples = Json::Array(examples.collect());
                let would = refused.map(|intent| format!(", \"would\": {}", planned(intent)));
                let text = format!(
                    "{start}], \"unrecognised\": {examples}, \"values\": {}{}, \"report\": {}}}\n",
                    serde_json::to_value(&self.values)?,
                    would.unwrap_or_default(),
                    serde_json::to_value(report)?
                );
                printable::json(&text).into_owned()
            }
        };
        print(&text)?;
        self.failure.map_or(Ok(()), Err)
    }
}

/// What a repair would write and remove, as lines of text.
pub(super) fn told(intent: &Intent) -> String {
    let kinds = [
        ("would remove", &intent.removed),
        ("would remove the value of", &intent.cleared),
        ("would write", &intent.written),
    ];
    let mut text = String::new();
    for (what, counts) in kinds {
        for (name, count) in counts {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{what} {count} {}", printable::line(name));
        }
    }
    text
}

fn planned(intent: &Intent) -> Json {
    json!({
        "remove": intent.removed,
        "clear": intent.cleared,
        "write": intent.written,
    })
}

fn summary(report: &Report, task: Task, design: &str) -> String {
    let many = |number: u64, what: &str| match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    };
    let items = many(report.items, "item");
    let drifts = many(report.drifts, "drift");
    let mut lines = vec![match (task, report.drifts, report.mended) {
        (_, 0, 0) if report.following == 0 => format!("{items}: nothing drifted"),
        (Task::Verify, ..) => {
            format!("{items}: {drifts}; `partita repair {design}` mends what is derived")
        }
        (Task::DryRun, ..) => format!("{items}: {drifts}; nothing was written"),
        (Task::Repair, left, mended) => {
            format!("{items}: {} mended, {left} left", many(mended, "drift"))
        }
    }];
    let tallies = "of them sums over tallies, which lost answers can leave inexact";
    let following = "more derived from those, judged when they are right";
    let settled = format!(
        "waiting for {} (`partita jobs {design}`)",
        many(report.jobs, "unfinished job")
    );
    let stalled = format!("unfinished jobs do not go on (`partita jobs {design}` says why)");
    let unfinished = format!("unfinished jobs (`partita jobs {design}`)");
    let others = if report.awaited == 0 {
        report.jobs.saturating_sub(report.stalled)
    } else {
        0
    };
    let notes = [
        (report.tallies, tallies),
        (report.held, "of them kept because of unrecognised items"),
        (report.following, following),
        (report.awaited, settled.as_str()),
        (report.stalled, stalled.as_str()),
        (others, unfinished.as_str()),
        (report.moving, "kept changing; ask again"),
        (
            report.kept_references,
            "references to items that are gone, as their `on delete` allows",
        ),
        (report.unrecognised, "unrecognised items, left alone"),
        (
            report.unrecognised_attributes,
            "unrecognised attributes, left alone",
        ),
    ];
    let notes = notes.into_iter().filter(|(number, _)| *number > 0);
    lines.extend(notes.map(|(number, what)| format!("{number:>8} {what}")));
    lines.join("\n") + "\n"
}
