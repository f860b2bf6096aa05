//! The flags of `backup`, `restore` and `resume`, and of the backup behind `serve`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use partita_design::time;

use super::asking::lifetime;
use super::{CheckFormat, DATA_DEFAULT};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BackupFlags {
    #[command(subcommand)]
    pub(crate) command: Option<BackupCommand>,

    /// Where the backup goes: a directory, or s3://BUCKET/PREFIX
    pub(crate) target: Option<String>,

    /// A file with a key of 32 bytes that encrypts the backup, and lets it have the server's secret
    #[arg(long, env = "PARTITA_BACKUP_KEY", value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) s3: TargetS3Flags,

    #[command(flatten)]
    pub(crate) from: DataFlags,

    /// The form of the output
    #[arg(long, default_value = "text")]
    pub(crate) format: CheckFormat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BackupCommand {
    /// List what a target has: its chains, and the moments that each can be restored to
    List(BackupListFlags),
    /// Restore a backup aside and look for damage and drift in it; exit 1 if there is some
    Check(BackupCheckFlags),
    /// Say how far the backup behind a running server is
    Status(BackupStatusFlags),
}

#[derive(Debug, Args)]
pub(crate) struct BackupListFlags {
    #[command(flatten)]
    pub(crate) target: TargetFlags,

    /// The form of the output
    #[arg(long, default_value = "text")]
    pub(crate) format: CheckFormat,
}

#[derive(Debug, Args)]
pub(crate) struct BackupCheckFlags {
    #[command(flatten)]
    pub(crate) target: TargetFlags,

    #[command(flatten)]
    pub(crate) moment: MomentFlags,

    /// Where the restored store is put and removed again; the system's directory for such things
    /// unless given
    #[arg(long, value_name = "DIR")]
    pub(crate) aside: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BackupStatusFlags {
    #[command(flatten)]
    pub(crate) from: DataFlags,

    /// The form of the output
    #[arg(long, default_value = "text")]
    pub(crate) format: CheckFormat,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreFlags {
    #[command(flatten)]
    pub(crate) target: TargetFlags,

    #[command(flatten)]
    pub(crate) moment: MomentFlags,

    /// The data directory to make; it must not be there, or be empty
    #[arg(long, value_name = "DIR")]
    pub(crate) into: PathBuf,

    /// Leave what was purged after that moment as it was then
    #[arg(long)]
    pub(crate) with_purged: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeFlags {
    #[command(flatten)]
    pub(crate) from: DataFlags,
}

/// A data directory with an embedded store.
#[derive(Debug, Args)]
pub(crate) struct DataFlags {
    /// The data directory
    #[arg(
        long,
        env = "PARTITA_DATA",
        value_name = "DIR",
        default_value = DATA_DEFAULT
    )]
    pub(crate) data: PathBuf,
}

/// Where backups are.
#[derive(Debug, Args)]
pub(crate) struct TargetFlags {
    /// Where backups are: a directory, or s3://BUCKET/PREFIX
    pub(crate) target: String,

    /// A file with the key of 32 bytes that encrypts the backup; to read backups of several keys give
    /// it more than once
    #[arg(
        long,
        env = "PARTITA_BACKUP_KEY",
        value_name = "FILE",
        value_delimiter = ','
    )]
    pub(crate) key: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) s3: TargetS3Flags,
}

/// How S3 is reached.
#[derive(Clone, Debug, Args)]
pub(crate) struct TargetS3Flags {
    /// The endpoint of S3 for s3://, if it is not Amazon's
    #[arg(long, env = "PARTITA_BACKUP_ENDPOINT", value_name = "URL")]
    pub(crate) backup_endpoint: Option<String>,

    /// The region of S3 for s3://, if the environment does not name it
    #[arg(long, env = "PARTITA_BACKUP_REGION", value_name = "REGION")]
    pub(crate) backup_region: Option<String>,
}

/// A moment of a backup; the last one unless given.
#[derive(Debug, Args)]
pub(crate) struct MomentFlags {
    /// As it was at this time: 2026-03-01T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = moment, conflicts_with = "commit")]
    pub(crate) at: Option<i64>,

    /// As it was after this commit
    #[arg(long, value_name = "NUMBER")]
    pub(crate) commit: Option<u64>,

    /// From this chain; the one that has the latest commit unless given
    #[arg(long, value_name = "NUMBER")]
    pub(crate) chain: Option<u32>,

    /// Take chains that are not encrypted beside those of the key; whoever can write to the target
    /// can put one there
    #[arg(long, requires = "key")]
    pub(crate) plain_too: bool,
}

/// The backup behind a server.
#[derive(Debug, Args)]
pub(crate) struct ContinuousFlags {
    /// Back the embedded store up all the time: a directory, or s3://BUCKET/PREFIX; every commit is
    /// there within a second
    #[arg(long, env = "PARTITA_BACKUP", value_name = "TARGET")]
    pub(crate) backup: Option<String>,

    /// A file with a key of 32 bytes that encrypts the backup, and lets it have the server's secret
    #[arg(long, env = "PARTITA_BACKUP_KEY", value_name = "FILE")]
    pub(crate) backup_key: Option<PathBuf>,

    /// Keep every moment of so long, and remove what is older: 35d, 12h; all unless given
    #[arg(long, env = "PARTITA_BACKUP_KEEP", value_name = "TIME", value_parser = lifetime)]
    pub(crate) backup_keep: Option<u32>,

    #[command(flatten)]
    pub(crate) s3: TargetS3Flags,
}

fn moment(text: &str) -> Result<i64, String> {
    time::parse_rfc3339(text)
        .ok_or_else(|| "write it as 2026-03-01T12:00:00Z or 2026-03-01T13:00:00+01:00".to_owned())
}
