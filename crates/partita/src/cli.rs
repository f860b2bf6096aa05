//! The command line.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use partita_design::template::part_text;
use partita_engine::Durability;
use tracing_subscriber::EnvFilter;

use crate::bench::{DesignName, Workload};

/// Where data is kept unless another directory is named.
pub(crate) const DATA_DEFAULT: &str = "partita-data";

/// Write a single-table design once. Partita runs it.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// What is logged to standard error: a level, or a filter such as `partita_api=debug`
    #[arg(long, global = true, env = "PARTITA_LOG", default_value = "info", value_parser = filter)]
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
    Serve(ServeFlags),
    /// Show every mistake and risk in a design; exit 1 on errors
    Check(CheckFlags),
    /// Print the keys of an item, given its attributes as JSON on standard input
    Keys(KeysFlags),
    /// Print a compiled design as JSON: entities, keys, patterns, rules
    Describe(DesignFlags),
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
    Plan(AskFlags),
    /// List the jobs of a design: what follows writes that are larger than a transaction
    Jobs(JobsFlags),
    /// Recompute everything that is derived in a design's tables, and tell what drifted; exit 1 if
    /// something did
    Verify(VerifyFlags),
    /// Mend what `verify` would tell; exit 1 if something is left
    Repair(VerifyFlags),
    /// Measure a DynamoDB endpoint, alone or side by side with others, or a shipped design
    Bench(BenchFlags),
}

#[derive(Debug, Args)]
pub(crate) struct ServeFlags {
    /// Files or names of shipped designs; all shipped ones if none is given
    #[arg(value_name = "DESIGN")]
    pub(crate) designs: Vec<String>,

    /// The address to listen on; one that others can reach needs a secret of your own
    #[arg(long, env = "PARTITA_LISTEN", default_value = "127.0.0.1:8000")]
    pub(crate) listen: SocketAddr,

    #[command(flatten)]
    pub(crate) secret: SecretFlags,

    /// Serve DynamoDB's own API instead of designs: tables for any AWS SDK
    #[arg(long, conflicts_with = "designs")]
    pub(crate) endpoint_only: bool,

    /// A file with two lines, an access key id and a secret access key, that DynamoDB's clients
    /// must sign with; without it any signature is taken
    #[arg(long, env = "PARTITA_CREDENTIALS_FILE", value_name = "FILE")]
    pub(crate) credentials_file: Option<PathBuf>,

    /// Another address, for `GET /metrics` (Prometheus) and `GET /healthz` of the endpoint; on
    /// loopback the endpoint answers both itself
    #[arg(
        long,
        env = "PARTITA_METRICS_LISTEN",
        value_name = "ADDRESS",
        requires = "endpoint_only"
    )]
    pub(crate) metrics_listen: Option<SocketAddr>,

    #[command(flatten)]
    pub(crate) place: StoreFlags,

    /// Keep items in memory; everything is gone when the server stops
    #[arg(long)]
    pub(crate) memory: bool,

    /// When the embedded store answers a write
    #[arg(long, env = "PARTITA_DURABILITY", default_value = "sync")]
    pub(crate) durability: DurabilityKind,

    /// Megabytes of what was read lately that the embedded store keeps in memory, once it is
    /// read; an eighth of the memory unless given
    #[arg(long, env = "PARTITA_CACHE_MB", value_name = "MB")]
    pub(crate) cache_mb: Option<u32>,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

/// Where items are kept.
#[derive(Debug, Args)]
pub(crate) struct StoreFlags {
    /// Where items are kept
    #[arg(long, env = "PARTITA_STORE", default_value = "embedded")]
    pub(crate) store: StoreKind,

    /// The endpoint of DynamoDB, if it is not Amazon's
    #[arg(long, env = "PARTITA_ENDPOINT", value_name = "URL")]
    pub(crate) endpoint: Option<String>,

    /// The region of DynamoDB, if the environment does not name it
    #[arg(long, env = "PARTITA_REGION")]
    pub(crate) region: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StoreKind {
    /// In the data directory
    Embedded,
    /// In Amazon DynamoDB, or at an endpoint that speaks its API
    Dynamodb,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DurabilityKind {
    /// When it is on disk: nothing that was answered is ever lost
    Sync,
    /// When the operating system has it: a power cut may lose the last moments, about a tenth
    /// of a second, and leaves a state that the store once had
    Buffered,
}

impl From<DurabilityKind> for Durability {
    fn from(kind: DurabilityKind) -> Self {
        match kind {
            DurabilityKind::Sync => Durability::Sync,
            DurabilityKind::Buffered => Durability::Buffered,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct SecretFlags {
    /// The data directory: items, and the secret that tokens and cursors rest on
    #[arg(
        long,
        env = "PARTITA_DATA",
        value_name = "DIR",
        default_value = DATA_DEFAULT
    )]
    pub(crate) data: PathBuf,

    /// A file with a secret of at least 32 bytes, instead of the one in the data directory
    #[arg(long, env = "PARTITA_SECRET_FILE", value_name = "FILE")]
    pub(crate) secret_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct VariableFlags {
    /// The value of a variable in a design; without it the environment is asked
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) set: Vec<(String, String)>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckFlags {
    /// A file or the name of a shipped design
    pub(crate) design: String,

    /// The form of what is found
    #[arg(long, default_value = "text")]
    pub(crate) format: CheckFormat,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

/// How a list is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// For people, with the lines of the file
    Text,
    /// A list of objects, for other tools
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct DesignFlags {
    /// A file or the name of a shipped design
    pub(crate) design: String,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

#[derive(Debug, Args)]
pub(crate) struct DocsFlags {
    /// A file or the name of a shipped design
    pub(crate) design: String,

    /// Compare with this page instead of printing; exit 1 if it is stale
    #[arg(long, value_name = "PAGE")]
    pub(crate) check: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

#[derive(Debug, Args)]
pub(crate) struct NewFlags {
    /// The name of the design; it is written to NAME.toml
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct KeysFlags {
    /// A file or the name of a shipped design
    pub(crate) design: String,

    /// An entity or a view of the design
    #[arg(value_name = "ENTITY")]
    pub(crate) record: String,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

#[derive(Debug, Args)]
pub(crate) struct TokenFlags {
    /// A file or the name of a shipped design
    pub(crate) design: String,

    /// The id of the user
    #[arg(long, value_parser = user)]
    pub(crate) user: String,

    /// The role of the user
    #[arg(long)]
    pub(crate) role: Option<String>,

    /// A group that the user is in; may be given more than once
    #[arg(long)]
    pub(crate) group: Vec<String>,

    /// How long the token is good for
    #[arg(long, value_name = "SECONDS", default_value_t = 86_400, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) lifetime: u32,

    #[command(flatten)]
    pub(crate) secret: SecretFlags,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

#[derive(Debug, Args)]
pub(crate) struct JobsFlags {
    /// A file or the name of a shipped design
    pub(crate) design: String,

    /// Ask this server, which has the store open: http://127.0.0.1:8000
    #[arg(long, env = "PARTITA_SERVER", value_name = "URL")]
    pub(crate) server: Option<String>,

    /// The form of the list
    #[arg(long, default_value = "text")]
    pub(crate) format: CheckFormat,

    #[command(flatten)]
    pub(crate) place: StoreFlags,

    #[command(flatten)]
    pub(crate) secret: SecretFlags,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyFlags {
    /// A file or the name of a shipped design
    pub(crate) design: String,

    /// The form of what is found
    #[arg(long, default_value = "text")]
    pub(crate) format: CheckFormat,

    /// The data directory, which no server may have open
    #[arg(long, env = "PARTITA_DATA", value_name = "DIR", default_value = DATA_DEFAULT)]
    pub(crate) data: PathBuf,

    #[command(flatten)]
    pub(crate) place: StoreFlags,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

/// An operation on a design, as a caller would ask for it.
#[derive(Debug, Args)]
pub(crate) struct AskFlags {
    /// A file or the name of a shipped design
    pub(crate) design: String,

    /// create, read, update, delete, restore, query, or the name of an action
    pub(crate) operation: String,

    /// The entity and the parts of its identity, or the pattern of a query and its parameters as
    /// NAME=VALUE; nothing for an action that finds its items itself
    #[arg(value_name = "ENTITY KEY")]
    pub(crate) on: Vec<String>,

    /// Attributes of a create or an update, or what an action takes, as a JSON object; - reads it
    /// from standard input
    #[arg(long, value_name = "JSON")]
    pub(crate) with: Option<String>,

    /// The id of the caller; somebody without a token if there is none
    #[arg(long, value_name = "ID", value_parser = user)]
    pub(crate) caller: Option<String>,

    /// The role of the caller
    #[arg(long, requires = "caller")]
    pub(crate) role: Option<String>,

    /// A group that the caller is in; may be given more than once
    #[arg(long, requires = "caller")]
    pub(crate) group: Vec<String>,

    /// The form of the answer
    #[arg(long, default_value = "text")]
    pub(crate) format: CheckFormat,

    /// The data directory; where there is none, the tables are taken to be empty
    #[arg(long, env = "PARTITA_DATA", value_name = "DIR", default_value = DATA_DEFAULT)]
    pub(crate) data: PathBuf,

    #[command(flatten)]
    pub(crate) place: StoreFlags,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct BenchFlags {
    /// Measure a design instead, through the library on the embedded store: storyhub or mediahub
    #[arg(long, conflicts_with_all = ["endpoint", "compare", "workloads", "echo", "grow", "start"])]
    pub(crate) design: Option<DesignName>,

    /// Of a design, only what is called so: vote, create-chapter, the name of a pattern
    #[arg(long, value_name = "NAME", requires = "design")]
    pub(crate) only: Vec<String>,

    /// The endpoint to measure; without one, a server is started for it
    #[arg(long, value_name = "URL")]
    pub(crate) endpoint: Option<String>,

    /// Further endpoints, measured in turn with the first; ratios are the first's to theirs
    #[arg(long, value_name = "URL", num_args = 1..)]
    pub(crate) compare: Vec<String>,

    /// What to measure; everything if none is named
    #[arg(long = "workload", value_enum)]
    workloads: Vec<Workload>,

    /// Connections, each with one request at a time; of a design, clients
    #[arg(long, default_value_t = 16)]
    pub(crate) connections: usize,

    /// Seconds of one run
    #[arg(long, default_value_t = 20)]
    pub(crate) seconds: u64,

    /// Runs of every workload on every endpoint; the figures are their medians
    #[arg(long, default_value_t = 5)]
    pub(crate) rounds: u32,

    /// Items in the table before the first run
    #[arg(long, default_value_t = 10_000)]
    pub(crate) items: u64,

    /// Bytes of an item, about
    #[arg(long, value_name = "BYTES", default_value_t = 1_000)]
    pub(crate) item_bytes: usize,

    /// Measure reads against a bare HTTP server too, which answers the same bytes
    #[arg(long)]
    pub(crate) echo: bool,

    /// Measure another server with so many items too; gets and queries if nothing is named
    #[arg(long, value_name = "ITEMS")]
    pub(crate) grow: Option<u64>,

    /// Measure instead how soon an empty server answers, and what it takes when it is idle
    #[arg(long, conflicts_with_all = ["endpoint", "compare", "workloads", "echo", "grow"])]
    pub(crate) start: bool,

    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,

    /// Further arguments of the server that is started, behind `--`
    #[arg(last = true, value_name = "ARGUMENT")]
    pub(crate) server_arguments: Vec<String>,

    /// What `--echo` starts
    #[arg(long, hide = true, value_name = "DIR")]
    pub(crate) serve_echo: Option<PathBuf>,
}

impl BenchFlags {
    pub(crate) fn workloads(&self) -> Vec<Workload> {
        match self.workloads.is_empty() {
            true if self.grow.is_some() => vec![Workload::Get, Workload::Query],
            true => Workload::value_variants().to_vec(),
            false => self.workloads.clone(),
        }
    }
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
            LogFormat::Text => log.init(),
            LogFormat::Json => log.json().init(),
        }
    }
}

fn filter(text: &str) -> Result<String, String> {
    match EnvFilter::try_new(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// A user whose id no key can hold could do nothing.
fn user(text: &str) -> Result<String, String> {
    match part_text("user", &text.into()) {
        Ok(text) => Ok(text),
        Err(error) => Err(error.problem.to_string()),
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}
