//! The flags of commands that look at a design: `check`, `keys`, `describe`, `cost`, `docs`,
//! `access`, `client`, `new`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::VariableFlags;

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
pub(crate) struct CostFlags {
    /// A file or the name of a shipped design
    pub(crate) design: String,

    /// How often what is done, and what was measured, as a file; docs/commands.md has its form
    #[arg(long, value_name = "FILE")]
    pub(crate) rates: Option<PathBuf>,

    /// What a million units cost, as a file
    #[arg(long, value_name = "FILE", requires = "rates")]
    pub(crate) prices: Option<PathBuf>,

    /// The form of the answer
    #[arg(long, default_value = "text")]
    pub(crate) format: CheckFormat,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

#[derive(Debug, Args)]
pub(crate) struct OpenapiFlags {
    #[command(flatten)]
    pub(crate) of: DesignFlags,

    /// The document of the commands for administrators
    #[arg(long)]
    pub(crate) admin: bool,
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
pub(crate) struct ClientFlags {
    /// A file or the name of a shipped design
    pub(crate) design: String,

    /// Compare with this file instead of printing; exit 1 if it is stale
    #[arg(long, value_name = "FILE")]
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

    /// An entity of the design, or a view, of which its own attributes or its source's are given
    #[arg(value_name = "ENTITY")]
    pub(crate) record: String,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}
