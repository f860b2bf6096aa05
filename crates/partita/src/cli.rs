//! The command line.
//!
//! | module | the flags of |
//! |---|---|
//! | `serve` | `serve` |
//! | `designs` | `check`, `keys`, `describe`, `docs`, `access`, `client` and `new` |
//! | `backup` | `backup`, `restore`, `resume`, and the backup behind `serve` |
//! | `asking` | `token`, `admin grant`, `can` and `plan` |
//! | `data` | `adopt`, `demo`, `diff`, `history`, `jobs`, `outbox`, `verify` and `repair` |
//! | `limits` | `serve`: how much clients are granted |
//! | `outbox` | `serve`: mail, and who is sent events |
//! | `provider` | `serve`: where people sign in |
//! | `store` | several: where data is |

mod asking;
mod backup;
mod copy;
mod data;
mod designs;
mod export;
mod files;
mod issuer;
mod limits;
mod outbox;
mod provider;
mod secret;
mod serve;
mod store;

use std::io::{self, IsTerminal as _, Write};

use clap::{Parser, Subcommand, ValueEnum};
use partita_core::printable;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{fmt, registry};

pub(crate) use asking::{AskFlags, ConsoleFlags, GrantFlags, TokenFlags};
pub(crate) use backup::{
    BackupCheckFlags, BackupCommand, BackupFlags, BackupListFlags, BackupStatusFlags,
    ContinuousFlags, MomentFlags, RestoreFlags, ResumeFlags, TargetFlags, TargetS3Flags,
};
pub(crate) use copy::CopyFlags;
pub(crate) use data::{
    AdoptFlags, DemoFlags, DiffFlags, HistoryFlags, JobsFlags, JobsWish, MigrateFlags,
    OutboxCommandFlags, OutboxWish, RepairFlags, VerifyFlags,
};
pub(crate) use designs::{
    CheckFlags, CheckFormat, ClientFlags, CostFlags, DesignFlags, DocsFlags, KeysFlags, NewFlags,
    OpenapiFlags,
};
pub(crate) use export::{CloudformationFlags, ExportCommand, ExportItemsFlags, ImportFlags};
pub(crate) use files::{FileFlags, FilesKind};
pub(crate) use issuer::IssuerFlags;
pub(crate) use limits::LimitFlags;
pub(crate) use outbox::{MailKind, OutboxFlags, SmtpTls};
pub(crate) use provider::ProviderFlags;
pub(crate) use secret::SecretCommand;
pub(crate) use serve::{DurabilityKind, ServeFlags};
pub(crate) use store::{DATA_DEFAULT, SecretFlags, VariableFlags};

pub(crate) use crate::door::DoorFlags;
pub(crate) use crate::store::StoreFlags;

/// What the storage crates log at `info` is for their developers.
const LOG_DEFAULT: &str = "info,fjall=warn,lsm_tree=warn";

/// Write a single-table design once. Partita runs it.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// What is logged to standard error: a level, or a filter such as `partita_api=debug`
    #[arg(long, global = true, env = "PARTITA_LOG", default_value = LOG_DEFAULT)]
    log: Targets,

    /// The form of the log
    #[arg(
        long,
        global = true,
        env = "PARTITA_LOG_FORMAT",
        default_value = "text"
    )]
    log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve designs as a REST API, or tables as DynamoDB does
    Serve(Box<ServeFlags>),
    /// Show every mistake and risk in a design; exit 1 on errors
    Check(CheckFlags),
    /// Print the keys of an item, given its attributes as JSON on standard input
    Keys(KeysFlags),
    /// Print a compiled design as JSON: entities, keys, patterns, rules
    Describe(DesignFlags),
    /// Print what the operations of a design take on DynamoDB, and what a month of them costs
    Cost(CostFlags),
    /// Print the OpenAPI document of a design's API
    Openapi(OpenapiFlags),
    /// Print the page of a design in Markdown, with its diagram
    Docs(DocsFlags),
    /// Print who may do what in a design, in Markdown: each request, and what six callers are told
    Access(DocsFlags),
    /// Print a client of a design's API, in one file that needs nothing else
    #[command(subcommand)]
    Client(ClientCommand),
    /// Write a commented design to start from
    New(NewFlags),
    /// Print a bearer token for a user of a design
    Token(TokenFlags),
    /// List the secrets that tokens, cursors and signed URLs rest on, and rotate them
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Print a link that opens the console of a running server once, as the operator
    Console(ConsoleFlags),
    /// What the operator does past the rules of a design
    #[command(subcommand)]
    Admin(AdminCommand),
    /// Say whether a caller may do something, and which rule decides; exit 1 for no, 2 if it
    /// cannot be said
    Can(AskFlags),
    /// Print the transaction that a write would become without doing it, or what a read takes, with
    /// capacity units
    Plan(AskFlags),
    /// Fill a design with a few hundred items that belong together, and print how to look at them
    Demo(DemoFlags),
    /// Report how far tables that other code filled follow a design: keys, indexes, items, derived
    /// data, values; exit 1 if something is not as the design needs it, 2 if that is not known
    Adopt(AdoptFlags),
    /// Show what changes from one design to another, and what that does to stored data; exit 1 if a
    /// migration is needed, 2 if something has to be stated first or they cannot be compared
    Diff(DiffFlags),
    /// List the designs that the data of a design follow or followed, or print the text of one
    History(HistoryFlags),
    /// Take the data of a design to another one: plan, start, switch, complete, or roll back
    Migrate(MigrateFlags),
    /// List the jobs of a design: what follows writes that are larger than a transaction
    Jobs(JobsFlags),
    /// List the mails and events of a design that are not delivered, have one tried again, or drop it
    Outbox(OutboxCommandFlags),
    /// Recompute everything that is derived in a design's tables, and report what drifted; exit 1 if
    /// something did, 2 if that is not known
    Verify(VerifyFlags),
    /// Mend the derived data that `verify` reports, never what callers gave; exit 1 if
    /// something is left, 2 if that is not known
    Repair(RepairFlags),
    /// Back up the embedded store, also while a server writes to it; or look at backups
    Backup(Box<BackupFlags>),
    /// Make a data directory as it was at a commit or a time
    Restore(RestoreFlags),
    /// Let the mails, events and schedules of a restored data directory go on
    Resume(ResumeFlags),
    /// Copy the data of a design from one store to another, also while a server writes to the
    /// embedded one, compare both, and switch
    Copy(CopyFlags),
    /// Write the items of a design to files as DynamoDB exports them, or its tables as a template of
    /// CloudFormation
    #[command(subcommand)]
    Export(ExportCommand),
    /// Fill the tables of a design from an export, of `partita export items` or of DynamoDB itself
    Import(ImportFlags),
    /// Measure a DynamoDB endpoint, alone or side by side with others, or a shipped design
    #[cfg(feature = "bench")]
    Bench(partita_bench::BenchFlags),
    /// Measure an endpoint or a design; absent from this build
    #[cfg(not(feature = "bench"))]
    #[command(hide = true, disable_help_flag = true)]
    Bench {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        _flags: Vec<std::ffi::OsString>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClientCommand {
    /// A client in TypeScript, for browsers and Node.js: types, patterns, actions, feeds, accounts
    Typescript(ClientFlags),
}

#[derive(Debug, Subcommand)]
pub(crate) enum AdminCommand {
    /// Give a user a role, or put the user into a group: the first administrator, say
    Grant(GrantFlags),
}

impl Cli {
    /// What is logged. A command that does its work itself says what it says beside a server, whose
    /// log has the rest.
    fn filter(&self) -> Targets {
        let is_default = LOG_DEFAULT
            .parse()
            .is_ok_and(|all: Targets| all == self.log);
        if is_default && !matches!(self.command, Command::Serve(_)) {
            return Targets::new().with_default(LevelFilter::WARN);
        }
        self.log.clone()
    }

    /// Logs go to standard error, because standard output belongs to the commands' answers.
    pub(crate) fn start_log(&self) {
        let filtered = registry().with(self.filter());
        let lines = fmt::layer().with_ansi(io::stderr().is_terminal());
        match self.log_format {
            LogFormat::Text => {
                let lines = lines.fmt_fields(one_line()).with_writer(io::stderr);
                filtered.with(lines).init();
            }
            LogFormat::Json => {
                let lines = lines.json().with_writer(|| EscapedJson(io::stderr()));
                filtered.with(lines).init();
            }
        }
    }
}

/// Lines of JSON in which characters that act on a terminal are escapes. The log writes whole lines.
struct EscapedJson<W>(W);

impl<W: Write> Write for EscapedJson<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.0.write_all(printable::json(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Fields of a line of the log. What they hold is in part callers' text, which may not break the
/// line or reach a terminal as it is.
fn one_line() -> impl for<'w> FormatFields<'w> + Send + Sync + 'static {
    let fields = debug_fn(|out: &mut Writer<'_>, field, value| {
        let text = format!("{value:?}");
        let text = printable::line(&text);
        match field.name() {
            "message" => write!(out, "{text}"),
            name => write!(out, "{name}={text}"),
        }
    });
    fields.delimited(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_json_in_the_log_has_escapes() {
        let mut log = Vec::new();
        let line = "{\"key\":\"a\u{202e}\u{9b}\"}\n";
        EscapedJson(&mut log).write_all(line.as_bytes()).unwrap();
        let expected = "{\"key\":\"a\\u202e\\u009b\"}\n";
        assert_eq!(String::from_utf8(log).unwrap(), expected);
    }
}
