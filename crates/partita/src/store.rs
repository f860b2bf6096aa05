//! The kinds of stores: their flags, and how each is opened. Nothing else in the binary knows which
//! kinds there are.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use partita_engine::{EngineError, EngineStore, Options, Upkeep};
use partita_store::surroundings::SystemClock;
use partita_store::{ModelStore, Store};

use crate::cli::{DATA_DEFAULT, DurabilityKind, ServeFlags};
use crate::memory;
use crate::private;

/// Where items are kept.
#[derive(Debug, Args)]
pub(crate) struct StoreFlags {
    /// Where items are kept
    #[arg(long, env = "PARTITA_STORE", default_value = "embedded")]
    store: StoreKind,

    /// The endpoint of DynamoDB, if it is not Amazon's
    #[arg(long, env = "PARTITA_ENDPOINT", value_name = "URL")]
    endpoint: Option<String>,

    /// The region of DynamoDB, if the environment does not name it
    #[arg(long, env = "PARTITA_REGION")]
    region: Option<String>,

    /// How far behind its table an index of DynamoDB may be: jobs look for items that refer to
    /// another after so long, and once more later
    #[arg(
        long,
        env = "PARTITA_INDEX_DELAY",
        value_name = "SECONDS",
        default_value_t = 60
    )]
    index_delay: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StoreKind {
    /// In the data directory
    Embedded,
    /// In Amazon DynamoDB, or at an endpoint that speaks its API
    Dynamodb,
}

impl StoreFlags {
    /// Whether several processes can have the store open at a time.
    pub(crate) fn is_shared(&self) -> bool {
        self.store == StoreKind::Dynamodb
    }

    /// Whether the server has the store of its data directory open, and takes commands there.
    pub(crate) fn is_in_directory(&self, flags: &ServeFlags) -> bool {
        self.store == StoreKind::Embedded && !flags.memory
    }

    /// Refuses flags of `serve` that contradict each other.
    pub(crate) fn check(&self, flags: &ServeFlags) -> Result<()> {
        if self.is_shared() && flags.memory {
            bail!("items are kept in memory or in DynamoDB: leave out --memory or --store");
        }
        if !self.is_shared() && (self.endpoint.is_some() || self.region.is_some()) {
            bail!("--endpoint and --region are for --store dynamodb");
        }
        if !self.is_in_directory(flags) && flags.durability != DurabilityKind::Sync {
            bail!("--durability is for the embedded store");
        }
        Ok(())
    }

    /// Opens the store for a server, which may keep so many files of it open. A store that does not
    /// exist is created.
    pub(crate) async fn serve(&self, flags: &ServeFlags, files: usize) -> Result<Arc<dyn Store>> {
        if flags.memory {
            return Ok(in_memory());
        }
        match self.store {
            StoreKind::Dynamodb => self.connect().await,
            StoreKind::Embedded => {
                let cache_mb = flags.cache_mb.unwrap_or_else(memory::cache_mb);
                let options = Options::new(Arc::new(SystemClock))
                    .durability(flags.durability.into())
                    .trusts_clock(flags.trust_clock)
                    .cache_bytes(u64::from(cache_mb) * 1_048_576)
                    .files(files);
                Ok(embedded(&flags.secret.data, options)?)
            }
        }
    }

    /// Opens the store for a command that fills it. A store that does not exist is created.
    pub(crate) async fn fill(&self, data: &Path) -> Result<Arc<dyn Store>> {
        match self.store {
            StoreKind::Dynamodb => self.connect().await,
            StoreKind::Embedded => {
                private::demand_own(data)?;
                private::keep(data);
                Ok(embedded(data, Options::new(Arc::new(SystemClock)))?)
            }
        }
    }

    /// Opens the store for a command that looks at it or repairs it, and leaves expired items and
    /// unfinished index builds to the server. A store that does not exist is not created.
    pub(crate) async fn look(&self, data: &Path) -> Result<Arc<dyn Store>> {
        match self.store {
            StoreKind::Dynamodb => self.connect().await,
            StoreKind::Embedded => {
                demand_store(data)?;
                private::demand_own(data)?;
                private::keep(data);
                let options = Options::new(Arc::new(SystemClock)).upkeep(Upkeep::OnRequest);
                Ok(embedded(data, options)?)
            }
        }
    }

    /// Whether a data directory, one that can be meant, has no store yet.
    pub(crate) fn is_new(&self, data: &Path) -> bool {
        let is_meant = data.as_os_str() == DATA_DEFAULT || data.is_dir();
        self.store == StoreKind::Embedded && is_meant && !EngineStore::is_at(&data.join(STORE))
    }

    /// A store to ask what a write would become before the first start.
    pub(crate) fn empty() -> Arc<dyn Store> {
        Arc::new(ModelStore::default())
    }

    /// What the server says of where its data is.
    pub(crate) fn place(&self, flags: &ServeFlags) -> String {
        match (self.store, &self.endpoint) {
            _ if flags.memory => "in memory only".to_owned(),
            (StoreKind::Embedded, _) => flags.secret.data.display().to_string(),
            (StoreKind::Dynamodb, Some(endpoint)) => format!("DynamoDB at {endpoint}"),
            (StoreKind::Dynamodb, None) => "Amazon DynamoDB".to_owned(),
        }
    }

    #[cfg(feature = "dynamodb")]
    async fn connect(&self) -> Result<Arc<dyn Store>> {
        let config = partita_remote::RemoteConfig {
            endpoint: self.endpoint.clone(),
            region: self.region.clone(),
            index_delay: std::time::Duration::from_secs(self.index_delay),
        };
        Ok(Arc::new(
            partita_remote::RemoteStore::connect(config).await?,
        ))
    }

    #[cfg(not(feature = "dynamodb"))]
    #[expect(
        clippy::unused_async,
        reason = "with the feature there is something to wait for"
    )]
    async fn connect(&self) -> Result<Arc<dyn Store>> {
        bail!(
            "this build has no DynamoDB client; build it with `cargo build --release --features dynamodb`"
        )
    }
}

/// The directory of the embedded store in a data directory.
const STORE: &str = "store";

fn demand_store(data: &Path) -> Result<()> {
    if !data.is_dir() {
        bail!(
            "there is no data directory {}: check the path, or start `partita serve` there first",
            data.display()
        );
    }
    if !EngineStore::is_at(&data.join(STORE)) {
        bail!("there is no store in {}", data.display());
    }
    Ok(())
}

/// Opens the embedded store in a data directory.
fn embedded(data: &Path, options: Options) -> Result<Arc<EngineStore>> {
    match EngineStore::open(&data.join(STORE), options) {
        Ok(opened) => Ok(Arc::new(opened)),
        Err(error) => {
            let what = format!("cannot open the store in {}", data.display());
            Err(anyhow::Error::new(error).context(what))
        }
    }
}

/// Whether a store could not be opened because another process has it open.
pub(crate) fn is_in_use(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<EngineError>();
    error.is_some_and(|error| matches!(error, EngineError::InUse { .. }))
}

/// How often the store in memory removes what has expired.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// A store that lives as long as the server, and is swept as long as it lives.
fn in_memory() -> Arc<dyn Store> {
    let store = Arc::new(ModelStore::default());
    let swept = Arc::downgrade(&store);
    tokio::spawn(async move {
        while let Some(store) = swept.upgrade() {
            store.sweep();
            drop(store);
            tokio::time::sleep(SWEEP_EVERY).await;
        }
    });
    store
}
