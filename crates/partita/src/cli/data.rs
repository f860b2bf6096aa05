//! The flags of commands that work on a design's tables: `adopt`, `demo`, `diff`, `history`, `jobs`,
//! `migrate`, `outbox`, `verify`, `repair`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use partita_api::admin::migrate::MigrateStep;

use super::{CheckFormat, DoorFlags, StoreFlags, VariableFlags};

#[derive(Debug, Args)]
pub(crate) struct DemoFlags {
    /// A file or the name of a shipped design; its tables must be empty
    pub(crate) design: String,

    /// What to fill it with, instead of the demo that ships with it or is beside its file
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,

    /// Another number draws other names, times and votes
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,

    /// The form of the output
    #[arg(long, default_value = "text")]
    pub(crate) format: CheckFormat,

    #[command(flatten)]
    pub(crate) place: StoreFlags,

    #[command(flatten)]
    pub(crate) door: DoorFlags,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

#[derive(Debug, Args)]
pub(crate) struct AdoptFlags {
    /// A file or the name of a shipped design
    pub(crate) design: String,

    /// Take the tables over, instead of reporting what that would mean
    #[arg(long)]
    pub(crate) start: bool,

    /// The form of the report
    #[arg(long, default_value = "text")]
    pub(crate) format: CheckFormat,

    #[command(flatten)]
    pub(crate) place: StoreFlags,

    #[command(flatten)]
    pub(crate) door: DoorFlags,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

#[derive(Debug, Args)]
pub(crate) struct DiffFlags {
    /// The old design: a file or the name of a shipped one; alone it is the new one, and is compared
    /// with the design that the data in its tables follow
    pub(crate) design: String,

    /// The new design
    pub(crate) new: Option<String>,

    /// The form of the answer
    #[arg(long, default_value = "text")]
    pub(crate) format: CheckFormat,

    #[command(flatten)]
    pub(crate) place: StoreFlags,

    #[command(flatten)]
    pub(crate) door: DoorFlags,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

#[derive(Debug, Args)]
pub(crate) struct MigrateFlags {
    /// What to do
    #[arg(value_parser = migrate_step())]
    pub(crate) step: MigrateStep,

    /// The new design: a file or the name of a shipped one
    pub(crate) design: String,

    /// An entity or an attribute that goes though callers gave it, as `partita diff` names it; with
    /// `plan` and `start`
    #[arg(long, value_name = "PATH")]
    pub(crate) drop: Vec<String>,

    /// The form of the answer
    #[arg(long, default_value = "text")]
    pub(crate) format: CheckFormat,

    #[command(flatten)]
    pub(crate) place: StoreFlags,

    #[command(flatten)]
    pub(crate) door: DoorFlags,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

fn migrate_step() -> impl TypedValueParser<Value = MigrateStep> {
    let steps = MigrateStep::WORDS.map(|(_, word, about)| PossibleValue::new(word).help(about));
    PossibleValuesParser::new(steps)
        .try_map(|word| MigrateStep::find(&word).ok_or("no such step of a migration"))
}

#[derive(Debug, Args)]
pub(crate) struct HistoryFlags {
    /// A file or the name of a shipped design; only its tables matter
    pub(crate) design: String,

    /// Print the text of the live design, or of the one with this number
    #[arg(long, value_name = "NUMBER", num_args = 0..=1, default_missing_value = "0", hide_default_value = true)]
    pub(crate) show: Option<u64>,

    /// The form of the list
    #[arg(long, default_value = "text")]
    pub(crate) format: CheckFormat,

    #[command(flatten)]
    pub(crate) door: DoorFlags,

    #[command(flatten)]
    pub(crate) place: StoreFlags,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

#[derive(Debug, Args)]
pub(crate) struct JobsFlags {
    /// A file or the name of a shipped design
    pub(crate) design: String,

    /// What to do
    #[arg(default_value = "list")]
    pub(crate) wish: JobsWish,

    /// The job that is dropped
    #[arg(required_if_eq("wish", "drop"))]
    pub(crate) id: Option<String>,

    /// List also the jobs that were done in the last seven days
    #[arg(long)]
    pub(crate) all: bool,

    /// Drop without asking
    #[arg(long)]
    pub(crate) yes: bool,

    /// The form of the list
    #[arg(long, default_value = "text")]
    pub(crate) format: CheckFormat,

    #[command(flatten)]
    pub(crate) place: StoreFlags,

    #[command(flatten)]
    pub(crate) door: DoorFlags,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

/// What is done with jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum JobsWish {
    /// Show what is not done
    List,
    /// Give up a job that is stalled, after it has been shown what that leaves undone
    Drop,
}

#[derive(Debug, Args)]
pub(crate) struct OutboxCommandFlags {
    /// A file or the name of a shipped design
    pub(crate) design: String,

    /// What to do
    #[arg(default_value = "list")]
    pub(crate) wish: OutboxWish,

    /// The message that is retried or dropped
    #[arg(required_if_eq_any([("wish", "retry"), ("wish", "drop")]))]
    pub(crate) id: Option<String>,

    /// The form of the list
    #[arg(long, default_value = "text")]
    pub(crate) format: CheckFormat,

    #[command(flatten)]
    pub(crate) place: StoreFlags,

    #[command(flatten)]
    pub(crate) door: DoorFlags,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

/// What is done with the outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutboxWish {
    /// Show what is parked and what waits
    List,
    /// Try a message again now, parked or not
    Retry,
    /// Remove a message without delivering it
    Drop,
    /// Let the mails, events and schedules of a copy go on, which wait beside the other store
    Resume,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyFlags {
    /// A file or the name of a shipped design
    pub(crate) design: String,

    /// Only this entity, with its views and unique values; may be given more than once
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) entity: Vec<String>,

    /// The form of what is found
    #[arg(long, default_value = "text")]
    pub(crate) format: CheckFormat,

    #[command(flatten)]
    pub(crate) door: DoorFlags,

    #[command(flatten)]
    pub(crate) place: StoreFlags,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

#[derive(Debug, Args)]
pub(crate) struct RepairFlags {
    #[command(flatten)]
    pub(crate) on: VerifyFlags,

    /// Show what would be written and removed, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Do not ask before anything is written or removed
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,

    /// Also remove what is left behind here, though it is no derived data: `view.NAME` of a history,
    /// `entity.NAME.refs.REF` of what should have gone or been cleared with its target; not while
    /// there are unrecognised items
    #[arg(long, value_name = "PLACE")]
    pub(crate) remove: Vec<String>,
}
