//! The flags of `bench`.

use std::path::PathBuf;

use clap::{Args, ValueEnum as _};

use crate::{Beside, DesignName, Workload};

/// What the command line says.
#[derive(Clone, Debug, Args)]
pub struct BenchFlags {
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

    /// With --start: the second start of a server with the shipped designs
    #[arg(long, requires = "start")]
    pub(crate) designs: bool,

    /// Measure instead a storyhub in use: reads and writes over HTTP, its memory over time, and a
    /// vote beside one through the library; then verify it
    #[arg(long, conflicts_with_all = ["endpoint", "compare", "workloads", "echo", "grow", "start", "design"])]
    pub(crate) mixed: bool,

    /// Measure instead a storyhub in use, in turn alone and beside this command of its server
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["endpoint", "compare", "workloads", "echo", "grow", "start", "design", "mixed"])]
    pub(crate) beside: Option<Beside>,

    /// Measure instead what sessions and sign-ins cost, and whether the times of answers tell who
    /// has an account
    #[arg(long, conflicts_with_all = ["endpoint", "compare", "workloads", "echo", "grow", "start", "design", "mixed", "beside"])]
    pub(crate) accounts: bool,

    /// Requests a second of all clients of a storyhub in use; as many as it answers if none is given
    #[arg(long, value_name = "REQUESTS")]
    pub(crate) rate: Option<u32>,

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
        if !self.workloads.is_empty() {
            self.workloads.clone()
        } else if self.grow.is_some() {
            vec![Workload::Get, Workload::Query]
        } else {
            Workload::value_variants().to_vec()
        }
    }
}
