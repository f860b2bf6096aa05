//! The flags of `serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use partita_engine::Durability;

use super::{
    ContinuousFlags, FileFlags, IssuerFlags, LimitFlags, OutboxFlags, ProviderFlags, SecretFlags,
    StoreFlags, VariableFlags,
};

#[derive(Debug, Args)]
pub(crate) struct ServeFlags {
    /// Files or names of shipped designs; all shipped ones if none is given
    #[arg(value_name = "DESIGN", env = "PARTITA_DESIGNS", value_delimiter = ',')]
    pub(crate) designs: Vec<String>,

    /// A file with settings: the long names of these flags, and `designs`; `partita.toml` if there
    /// is one. Flags and the environment go before it
    #[arg(long, env = "PARTITA_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Print the settings that are in force, as such a file, and where each comes from
    #[arg(long)]
    pub(crate) print_config: bool,

    /// The address to listen on; one that others can reach needs a secret of your own
    #[arg(long, env = "PARTITA_LISTEN", default_value = "127.0.0.1:8000", value_parser = address)]
    pub(crate) listen: SocketAddr,

    #[command(flatten)]
    pub(crate) secret: SecretFlags,

    /// Serve DynamoDB's own API alone: tables for any AWS SDK, and no designs
    #[arg(long, env = "PARTITA_ENDPOINT_ONLY", conflicts_with = "designs")]
    pub(crate) endpoint_only: bool,

    /// Take the data to the given designs, where they follow others: fill in what is new, switch, and
    /// remove what is not derived any more, while the server goes on
    #[arg(long, env = "PARTITA_MIGRATE", conflicts_with_all = ["endpoint_only", "raw_writes"])]
    pub(crate) migrate: bool,

    /// Read the files of designs again when they are saved: mistakes are shown, changes that stored
    /// data need not follow are live at once, and others are named with the command to run
    #[arg(long, env = "PARTITA_WATCH", conflicts_with_all = ["endpoint_only", "raw_writes"])]
    pub(crate) watch: bool,

    /// Serve designs alone, without DynamoDB's API beside them
    #[arg(long, env = "PARTITA_NO_ENDPOINT", conflicts_with_all = ["endpoint_only", "raw_writes"])]
    pub(crate) no_endpoint: bool,

    /// Let DynamoDB's clients write the tables of designs too, past rules, counts and views
    #[arg(long, env = "PARTITA_RAW_WRITES")]
    pub(crate) raw_writes: bool,

    /// Say for so many seconds that a new, changed or deleted table is CREATING, UPDATING or
    /// DELETING, to try programs that wait for it; DynamoDB's API only
    #[arg(
        long,
        env = "PARTITA_TABLE_STATE_DELAY",
        value_name = "SECONDS",
        default_value_t = 0
    )]
    pub(crate) table_state_delay: u32,

    /// A file with two lines, an access key id and a secret access key, that DynamoDB's clients
    /// must sign with; without it any signature is taken, from this machine alone
    #[arg(long, env = "PARTITA_CREDENTIALS_FILE", value_name = "FILE")]
    pub(crate) credentials_file: Option<PathBuf>,

    /// Another address, for `GET /metrics` (Prometheus), `GET /healthz` and `GET /readyz`; without
    /// it the server answers them itself, metrics on loopback alone
    #[arg(long, env = "PARTITA_METRICS_LISTEN", value_name = "ADDRESS", value_parser = address)]
    pub(crate) metrics_listen: Option<SocketAddr>,

    #[command(flatten)]
    pub(crate) place: StoreFlags,

    /// Keep items in memory; everything is gone when the server stops
    #[arg(long, env = "PARTITA_MEMORY")]
    pub(crate) memory: bool,

    /// When the embedded store answers a write
    #[arg(long, env = "PARTITA_DURABILITY", default_value = "sync")]
    pub(crate) durability: DurabilityKind,

    /// Megabytes of what was read lately that the embedded store keeps in memory, once it is
    /// read; an eighth of the memory unless given
    #[arg(long, env = "PARTITA_CACHE_MB", value_name = "MB")]
    pub(crate) cache_mb: Option<u32>,

    /// Remove what has expired even if the clock is more than a day ahead of the last write;
    /// without it the embedded store keeps it for another day, in case the clock is wrong
    #[arg(long, env = "PARTITA_TRUST_CLOCK")]
    pub(crate) trust_clock: bool,

    /// The address at which browsers reach the server, for links in mails and for cookies; that of
    /// --listen unless given
    #[arg(long, env = "PARTITA_PUBLIC_URL", value_name = "URL")]
    pub(crate) public_url: Option<String>,

    /// An origin whose pages may call the API from a browser, or `*` for every one; may be given
    /// more than once
    #[arg(
        long,
        env = "PARTITA_CORS_ORIGIN",
        value_name = "ORIGIN",
        value_delimiter = ',',
        conflicts_with = "endpoint_only"
    )]
    pub(crate) cors_origin: Vec<String>,

    #[command(flatten)]
    pub(crate) backup: ContinuousFlags,

    #[command(flatten)]
    pub(crate) limits: LimitFlags,

    #[command(flatten)]
    pub(crate) issuer: IssuerFlags,

    #[command(flatten)]
    pub(crate) provider: ProviderFlags,

    #[command(flatten)]
    pub(crate) files: FileFlags,

    #[command(flatten)]
    pub(crate) outbox: OutboxFlags,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
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

/// An address to listen on. `localhost` is 127.0.0.1, as it is for our commands: whatever else the
/// machine takes it for, somebody else may listen there.
fn address(text: &str) -> Result<SocketAddr, String> {
    let spelled = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    spelled.parse().map_err(|_| {
        "give an address and a port, such as 127.0.0.1:9000, localhost:9000 or [::]:9000".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        assert_eq!(address("localhost:9000"), Ok(([127, 0, 0, 1], 9000).into()));
        assert_eq!(address("0.0.0.0:80"), Ok(([0, 0, 0, 0], 80).into()));
        for wrong in [
            "localhost",
            "9000",
            "localhost:",
            "localhost:70000",
            "example.org:80",
        ] {
            assert!(
                address(wrong).unwrap_err().contains("localhost:9000"),
                "{wrong}"
            );
        }
    }
}
