//! The flags of files.

use clap::{Args, ValueEnum};

/// Where files are kept.
#[derive(Debug, Args)]
pub(crate) struct FileFlags {
    /// Where the files of designs are kept; several servers need one place that all of them reach
    #[arg(long, env = "PARTITA_FILES", default_value = "directory")]
    pub(crate) files: FilesKind,

    /// The endpoint of S3, if it is not Amazon's
    #[arg(long, env = "PARTITA_FILES_ENDPOINT", value_name = "URL")]
    pub(crate) files_endpoint: Option<String>,

    /// The region of S3, if the environment does not name it
    #[arg(long, env = "PARTITA_FILES_REGION", value_name = "REGION")]
    pub(crate) files_region: Option<String>,

    /// Megabytes of the largest file that is taken; a design may take less
    #[arg(
        long,
        env = "PARTITA_UPLOAD_MB",
        value_name = "MB",
        default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) upload_mb: u32,

    /// How many uploads a caller may have that no item has taken over yet
    #[arg(
        long,
        env = "PARTITA_UPLOADS_PER_CALLER",
        value_name = "COUNT",
        default_value_t = 100,
        value_parser = clap::value_parser!(u16).range(1..=1000)
    )]
    pub(crate) uploads_per_caller: u16,

    /// Take a signed URL only with a token of the caller that it was made for
    #[arg(long, env = "PARTITA_BIND_URLS")]
    pub(crate) bind_urls: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FilesKind {
    /// In the data directory, each bucket in `files` under its name
    Directory,
    /// In Amazon S3, or at an endpoint that speaks its API
    S3,
}
