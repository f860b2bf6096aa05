//! The command line.
//!
//! | module | the flags of |
//! |---|---|
//! | `serve` | `serve` |
//! | `designs` | `check`, `keys`, `describe`, `docs` and `new` |
//! | `asking` | `token`, `can` and `plan` |
//! | `data` | `demo`, `history`, `jobs`, `verify` and `repair` |
//! | `limits` | `serve`: how much clients are granted |
//! | `store` | several: where data is |

mod asking;
mod data;
mod designs;
mod files;
mod issuer;
mod limits;
mod serve;
mod store;

use std::io::{self, IsTerminal as _, Write};

use clap::{Parser, Subcommand, ValueEnum};
use partita_core::printable;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{Writer, debug_fn};

pub(crate) use asking::{AskFlags, TokenFlags};
pub(crate) use data::{DemoFlags, HistoryFlags, JobsFlags, RepairFlags, VerifyFlags};
pub(crate) use designs::{
    CheckFlags, CheckFormat, DesignFlags, DocsFlags, KeysFlags, NewFlags, OpenapiFlags,
};
pub(crate) use files::{FileFlags, FilesKind};
pub(crate) use issuer::IssuerFlags;
pub(crate) use limits::LimitFlags;
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
    #[arg(long, global = true, env = "PARTITA_LOG", default_value = LOG_DEFAULT, value_parser = filter)]
    log: String,

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
    /// Print the OpenAPI document of a design's API
    Openapi(OpenapiFlags),
    /// Print the page of a design in Markdown, with its diagram
    Docs(DocsFlags),
    /// Write a commented design to start from
    New(NewFlags),
    /// Print a bearer token for a user of a design
    Token(TokenFlags),
    /// Say whether a caller may do something, and which rule decides; exit 1 for no, 2 if it
    /// cannot be said
    Can(AskFlags),
    /// Print the transaction that a write would become, and its capacity units, without doing it
    // A read becomes no transaction.
    #[command(
        mut_arg("operation", |arg| arg.help(
            "create, update, upsert, delete, restore, or the name of an action"
        )),
        mut_arg("on", |arg| arg.help(
            "The entity and the parts of its identity; nothing for an action that finds its items \
             itself"
        ))
    )]
    Plan(AskFlags),
    /// Fill a design with a few hundred items that belong together, and print how to look at them
    Demo(DemoFlags),
    /// List the designs that the data of a design follow or followed, or print the text of one
    History(HistoryFlags),
    /// List the jobs of a design: what follows writes that are larger than a transaction
    Jobs(JobsFlags),
    /// Recompute everything that is derived in a design's tables, and report what drifted; exit 1 if
    /// something did, 2 if that is not known
    Verify(VerifyFlags),
    /// Mend the derived data that `verify` reports, never what callers gave; exit 1 if
    /// something is left, 2 if that is not known
    Repair(RepairFlags),
    /// Measure a DynamoDB endpoint, alone or side by side with others, or a shipped design
    Bench(partita_bench::BenchFlags),
}

impl Cli {
    /// Logs go to standard error, because standard output belongs to the commands' answers.
    pub(crate) fn start_log(&self) {
        let filter = EnvFilter::new(&self.log);
        let log = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_ansi(std::io::stderr().is_terminal())
            .with_writer(std::io::stderr);
        match self.log_format {
            LogFormat::Text => log.fmt_fields(one_line()).init(),
            LogFormat::Json => log
                .json()
                .with_writer(|| EscapedJson(std::io::stderr()))
                .init(),
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

fn filter(text: &str) -> Result<String, String> {
    match EnvFilter::try_new(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
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
