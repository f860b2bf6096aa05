//! What `verify` and `repair` print.
//!
//! Drifts are printed as they are found: there may be more of them than memory holds. A repair
//! goes over the tables until a pass finds nothing to mend, so that what it could not mend is
//! known only with its last pass; of those some are kept to be shown.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use partita_core::plain;
use partita_verify::{Drift, Intent, Outcome, Progress, Report, Unrecognised, Watch};
use serde_json::{Value as Json, json};

use super::Task;
use crate::cli::CheckFormat;

/// What a repair keeps of one pass to show at its end.
const KEPT_MAX: usize = 1_000;
/// Examples of what the design does not recognise.
const EXAMPLES_MAX: usize = 5;

/// Prints what is found, and shows how far it is where somebody watches.
pub(super) struct Console {
    format: CheckFormat,
    task: Task,
    bar: ProgressBar,
    /// Whether a drift was printed, and the next one follows it.
    has_printed: bool,
    kept: Vec<(Drift, Outcome)>,
    examples: Vec<Unrecognised>,
    /// The first failure of standard output.
    failure: Option<io::Error>,
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
            failure: None,
        }
    }

    /// The bar that is out of the way while somebody is asked.
    pub(super) fn bar(&self) -> ProgressBar {
        self.bar.clone()
    }

    fn print(&mut self, drift: &Drift, outcome: &Outcome) {
        let text = match self.format {
            CheckFormat::Text => line(drift, outcome),
            CheckFormat::Json => {
                let start = if self.has_printed {
                    ",\n  "
                } else {
                    "{\"drifts\": [\n  "
                };
                format!("{start}{}", object(drift, outcome))
            }
        };
        self.has_printed = true;
        let written = self.bar.suspend(|| write(&text));
        self.failure = self.failure.take().or(written.err());
    }

    /// Prints what is left, what would be written, and how it stands.
    pub(super) fn end(
        mut self,
        report: &Report,
        refused: Option<&Intent>,
        design: &str,
    ) -> Result<()> {
        self.bar.finish_and_clear();
        for (drift, outcome) in std::mem::take(&mut self.kept) {
            self.print(&drift, &outcome);
        }
        let text = match self.format {
            CheckFormat::Text => {
                let would = refused.map(told).unwrap_or_default();
                would + &summary(report, self.task, design) + &examples(&self.examples)
            }
            CheckFormat::Json => {
                let start = if self.has_printed {
                    "\n"
                } else {
                    "{\"drifts\": ["
                };
                let examples = self.examples.iter().map(unrecognised);
                let examples = Json::Array(examples.collect());
                let would = refused.map(|intent| format!(", \"would\": {}", planned(intent)));
                format!(
                    "{start}], \"unrecognised\": {examples}{}, \"report\": {}}}\n",
                    would.unwrap_or_default(),
                    numbers(report)
                )
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
        self.examples.clear();
        self.bar.set_position(0);
        self.bar.set_message(match self.task {
            Task::Verify | Task::DryRun => "verifying".to_owned(),
            Task::Repair => format!("repairing, pass {pass}"),
        });
    }

    fn moves(&mut self, progress: Progress) {
        self.bar.set_length(progress.total.max(progress.items));
        self.bar.set_position(progress.items);
    }

    fn finds(&mut self, drift: &Drift, outcome: &Outcome) {
        match (self.task, outcome) {
            (Task::Verify | Task::DryRun, _) | (_, Outcome::Mended) => self.print(drift, outcome),
            (Task::Repair, _) if self.kept.len() < KEPT_MAX => {
                self.kept.push((drift.clone(), outcome.clone()));
            }
            (Task::Repair, _) => {}
        }
    }

    fn meets(&mut self, unrecognised: &Unrecognised) {
        if self.examples.len() < EXAMPLES_MAX {
            self.examples.push(unrecognised.clone());
        }
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
            let _ = writeln!(text, "{what} {count} {name}");
        }
    }
    text
}

fn write(text: &str) -> io::Result<()> {
    io::stdout().write_all(text.as_bytes())
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Mendable => "would",
        Outcome::Mended => "mended",
        Outcome::Left { .. } => "left",
        Outcome::Held => "held",
        Outcome::Awaited { .. } => "awaited",
        Outcome::Moving => "moving",
        _ => "drift",
    }
}

fn line(drift: &Drift, outcome: &Outcome) -> String {
    let rest = match outcome {
        Outcome::Awaited { job } => format!("; job {job} will settle it"),
        Outcome::Moving => "; it kept changing meanwhile".to_owned(),
        Outcome::Left { removable: false } => {
            "; only somebody who knows the data can mend it".to_owned()
        }
        Outcome::Left { removable: true } => {
            format!(
                "; it is no derived data: `--remove {}` removes it",
                drift.says
            )
        }
        Outcome::Held => "; it stays while there are unrecognised items".to_owned(),
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

fn unrecognised(one: &Unrecognised) -> Json {
    let attribute = one.attribute.as_ref();
    json!({
        "table": one.table,
        "key": plain::map_to_json(&one.key),
        "record": attribute.map(|(record, _)| record),
        "attribute": attribute.map(|(_, name)| name),
    })
}

fn planned(intent: &Intent) -> Json {
    json!({
        "remove": intent.removed,
        "clear": intent.cleared,
        "write": intent.written,
    })
}

fn numbers(report: &Report) -> Json {
    json!({
        "items": report.items,
        "unrecognised": report.unrecognised,
        "unrecognisedAttributes": report.unrecognised_attributes,
        "keptReferences": report.kept_references,
        "drifts": report.drifts,
        "tallies": report.tallies,
        "held": report.held,
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
    let items = many(report.items, "item");
    let drifts = many(report.drifts, "drift");
    let mut lines = vec![match (task, report.drifts, report.mended) {
        (_, 0, 0) => format!("{items}: nothing drifted"),
        (Task::Verify, ..) => {
            format!("{items}: {drifts}; `partita repair {design}` mends what is derived")
        }
        (Task::DryRun, ..) => format!("{items}: {drifts}; nothing was written"),
        (Task::Repair, left, mended) => {
            format!("{items}: {} mended, {left} left", many(mended, "drift"))
        }
    }];
    let tallies = "of them sums over tallies, which lost answers can leave inexact";
    let settled = format!(
        "waiting for {} (`partita jobs {design}`)",
        many(report.jobs, "unfinished job")
    );
    let notes = [
        (report.tallies, tallies),
        (report.held, "of them kept because of unrecognised items"),
        (report.awaited, settled.as_str()),
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

/// Some of what the design does not recognise, one a line.
fn examples(examples: &[Unrecognised]) -> String {
    let mut text = String::new();
    for one in examples {
        let values = one.key.values().filter_map(|value| value.as_str());
        let key = values.collect::<Vec<_>>().join(" ");
        // Writing to a string does not fail.
        let _ = match &one.attribute {
            Some((record, name)) => writeln!(text, "unrecognised {record} {key}: {name}"),
            None => writeln!(text, "unrecognised {key}"),
        };
    }
    text
}
