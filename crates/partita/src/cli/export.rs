//! The flags of `export` and `import`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::backup::DataFlags;
use super::{CheckFormat, StoreFlags, VariableFlags};

#[derive(Debug, Subcommand)]
pub(crate) enum ExportCommand {
    /// Write the items of a design's tables to files, in the form of DynamoDB's exports to S3
    Items(ExportItemsFlags),
    /// Print a template of CloudFormation with the tables of a design
    Cloudformation(CloudformationFlags),
}

#[derive(Debug, Args)]
pub(crate) struct ExportItemsFlags {
    /// A file or the name of a shipped design; only its tables matter
    pub(crate) design: String,

    /// The folder that gets the exports, each under an id of its own; what is there stays
    #[arg(long, value_name = "DIR")]
    pub(crate) to: PathBuf,

    /// The form of the answer
    #[arg(long, default_value = "text")]
    pub(crate) format: CheckFormat,

    #[command(flatten)]
    pub(crate) place: StoreFlags,

    #[command(flatten)]
    pub(crate) from: DataFlags,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

#[derive(Debug, Args)]
pub(crate) struct CloudformationFlags {
    /// A file or the name of a shipped design
    pub(crate) design: String,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

#[derive(Debug, Args)]
pub(crate) struct ImportFlags {
    /// A file or the name of a shipped design
    pub(crate) design: String,

    /// The folder of an export, or one with several; each belongs to the table that it names
    pub(crate) from: PathBuf,

    /// The table of the design that gets the items, whatever table the export names
    #[arg(long, value_name = "NAME")]
    pub(crate) table: Option<String>,

    /// An export in the folder, by its name or how that begins, where there are several; it may be
    /// given more than once
    #[arg(long, value_name = "NAME")]
    pub(crate) export: Vec<String>,

    /// Import into tables that have items, and write over those with the same keys
    #[arg(long)]
    pub(crate) overwrite: bool,

    /// The form of the answer
    #[arg(long, default_value = "text")]
    pub(crate) format: CheckFormat,

    #[command(flatten)]
    pub(crate) place: StoreFlags,

    #[command(flatten)]
    pub(crate) into: DataFlags,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}
