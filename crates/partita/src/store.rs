//! The kinds of stores: their flags, and how each is opened. Nothing else in the binary knows which
//! kinds there are.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use partita_engine::{EngineError, EngineStore, Options, Upkeep};
use partita_store::surroundings::SystemClock;
use partita_store::{ModelStore, Store};

use crate::backup::restored;
use crate::cli::{ContinuousFlags, DATA_DEFAULT, DurabilityKind, ServeFlags};
use crate::invocation;
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
    /// The flags as they are written, where they are not the usual ones.
    pub(crate) fn spelled(&self) -> String {
        if !self.is_shared() {
            return String::new();
        }
        let flag = |name: &str, value: &Option<String>| {
            let value = value.as_deref().map(invocation::quoted);
            value.map_or_else(String::new, |value| format!(" --{name} {value}"))
        };
        let (endpoint, region) = (&self.endpoint, &self.region);
        format!(
            " --store dynamodb{}{}",
            flag("endpoint", endpoint),
            flag("region", region)
        )
    }

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
        let ContinuousFlags {
            backup,
            backup_key,
            backup_keep,
            ..
        } = &flags.backup;
        if backup.is_none() && (backup_key.is_some() || backup_keep.is_some()) {
            bail!("--backup-key and --backup-keep are for --backup");
        }
        if !self.is_in_directory(flags) && backup.is_some() {
            bail!("--backup is for the embedded store");
        }
        if !self.is_in_directory(flags) && flags.durability != DurabilityKind::Sync {
            bail!("--durability is for the embedded store");
        }
        Ok(())
    }

    /// Opens the store for a server, which may keep so many files of it open. A store that does not
    /// exist is created.
    pub(crate) async fn serve(&self, flags: &ServeFlags, files: usize) -> Result<ServedStore> {
        if flags.memory {
            return Ok(in_memory().into());
        }
        match self.store {
            StoreKind::Dynamodb => Ok(self.connect().await?.into()),
            StoreKind::Embedded => {
                let cache_mb = flags.cache_mb.unwrap_or_else(memory::cache_mb);
                let options = Options::new(Arc::new(SystemClock))
                    .durability(flags.durability.into())
                    .trusts_clock(flags.trust_clock)
                    .cache_bytes(u64::from(cache_mb) * 1_048_576)
                    .files(files)
                    .keeps_commits(flags.backup.backup.is_some());
                let engine = embedded(&flags.secret.data, options)?;
                Ok(ServedStore {
                    store: engine.clone(),
                    engine: Some(engine),
                })
            }
        }
    }

    /// Opens the store for a command that fills it. A store that does not exist is created.
    pub(crate) async fn fill(&self, data: &Path) -> Result<Arc<dyn Store>> {
        match self.store {
            StoreKind::Dynamodb => self.connect().await,
            StoreKind::Embedded => Ok(fill_embedded(data)?),
        }
    }

    /// Opens the store for a command that looks at it or repairs it, and leaves expired items and
    /// unfinished index builds to the server. A store that does not exist is not created.
    pub(crate) async fn look(&self, data: &Path) -> Result<Arc<dyn Store>> {
        match self.store {
            StoreKind::Dynamodb => self.connect().await,
            StoreKind::Embedded => Ok(look_embedded(data)?),
        }
    }

    /// Opens the store for a command that changes its tables. It does what a server's does by itself.
    pub(crate) async fn change(&self, data: &Path) -> Result<Arc<dyn Store>> {
        match self.store {
            StoreKind::Dynamodb => self.connect().await,
            StoreKind::Embedded => Ok(existing(data, Upkeep::Background)?),
        }
    }

    /// Whether a data directory, one that can be meant, has no store yet.
    pub(crate) fn is_new(&self, data: &Path) -> bool {
        // A directory that cannot be read may have one.
        let is_read = std::fs::read_dir(data).is_ok();
        let is_meant = is_read || data.as_os_str() == DATA_DEFAULT && !data.exists();
        let is_there = EngineStore::is_at(&data.join(STORE)) || restored::is_under_way(data);
        self.store == StoreKind::Embedded && is_meant && !is_there
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

    async fn connect(&self) -> Result<Arc<dyn Store>> {
        let delay = Duration::from_secs(self.index_delay);
        connect(self.endpoint.clone(), self.region.clone(), delay).await
    }
}

/// DynamoDB as a store.
#[cfg(feature = "dynamodb")]
pub(crate) async fn connect(
    endpoint: Option<String>,
    region: Option<String>,
    index_delay: Duration,
) -> Result<Arc<dyn Store>> {
    let config = partita_remote::RemoteConfig {
        endpoint,
        region,
        index_delay,
    };
    Ok(Arc::new(
        partita_remote::RemoteStore::connect(config).await?,
    ))
}

/// DynamoDB as a store, in a build that has no client for it.
#[cfg(not(feature = "dynamodb"))]
#[expect(
    clippy::unused_async,
    reason = "with the feature there is something to wait for"
)]
pub(crate) async fn connect(
    _: Option<String>,
    _: Option<String>,
    _: Duration,
) -> Result<Arc<dyn Store>> {
    bail!(
        "this build has no DynamoDB client; build it with `cargo build --release --features dynamodb`"
    )
}

/// The store of a server.
#[derive(Clone)]
pub(crate) struct ServedStore {
    pub(crate) store: Arc<dyn Store>,
    /// The embedded one, if it is that.
    pub(crate) engine: Option<Arc<EngineStore>>,
}

impl From<Arc<dyn Store>> for ServedStore {
    fn from(store: Arc<dyn Store>) -> Self {
        ServedStore {
            store,
            engine: None,
        }
    }
}

/// The directory of the embedded store in a data directory.
const STORE: &str = "store";

/// Whether a data directory has a store.
pub(crate) fn is_at(data: &Path) -> bool {
    EngineStore::is_at(&place(data))
}

/// Where the embedded store of a data directory is.
pub(crate) fn place(data: &Path) -> PathBuf {
    data.join(STORE)
}

/// Opens the embedded store of a directory whose restore is not finished.
pub(crate) fn open_restored(data: &Path) -> Result<Arc<EngineStore>> {
    let options = Options::new(Arc::new(SystemClock)).upkeep(Upkeep::OnRequest);
    Ok(Arc::new(EngineStore::open(&place(data), options)?))
}

/// Opens an embedded store, or creates it, for a command that fills it.
pub(crate) fn fill_embedded(data: &Path) -> Result<Arc<EngineStore>> {
    private::demand_own(data)?;
    private::keep(data);
    embedded(data, Options::new(Arc::new(SystemClock)))
}

/// Opens an embedded store that exists, for a command that looks at it.
pub(crate) fn look_embedded(data: &Path) -> Result<Arc<EngineStore>> {
    existing(data, Upkeep::OnRequest)
}

fn existing(data: &Path, upkeep: Upkeep) -> Result<Arc<EngineStore>> {
    demand_store(data)?;
    private::demand_own(data)?;
    private::keep(data);
    embedded(data, Options::new(Arc::new(SystemClock)).upkeep(upkeep))
}

fn demand_store(data: &Path) -> Result<()> {
    restored::demand_finished(data)?;
    if !data.is_dir() {
        bail!(
            "there is no data directory {}: check the path, or start `partita serve` there first",
            data.display()
        );
    }
    std::fs::read_dir(data).with_context(|| format!("cannot read {}", data.display()))?;
    if !EngineStore::is_at(&data.join(STORE)) {
        bail!("there is no store in {}", data.display());
    }
    Ok(())
}

/// Opens the embedded store in a data directory.
fn embedded(data: &Path, options: Options) -> Result<Arc<EngineStore>> {
    restored::demand_finished(data)?;
    private::demand_owner(&data.join(STORE))?;
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
