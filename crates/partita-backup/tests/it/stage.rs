//! What the tests share: a store that is written, what it was after each commit, and its backup.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use fastrand::Rng;
use partita_backup::restoring::{Moment, Plan};
use partita_backup::shipping::Step;
use partita_backup::target::Listed;
use partita_backup::{
    BackupError, BackupKey, DirectoryTarget, Restored, Shipper, Shipping, Target, Wanted,
};
use partita_core::{Item, Value};
use partita_engine::{CommitId, Durability, EngineStore, Options, Rows, Upkeep};
use partita_store::Store as _;
use partita_store::request::{CreateTable, PutItem, ReturnValues};
use partita_store::surroundings::{ManualClock, SystemEntropy};
use partita_store::table::{KeySchema, TableName};
use tempfile::TempDir;

pub(crate) type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// Words that are in every item, to be looked for where they must not be.
pub(crate) const WORDS: &str = "the quick brown fox";

/// The id of the store.
pub(crate) const STORE: &str = "5107e";

pub(crate) struct Stage {
    pub(crate) folder: TempDir,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) store: Arc<EngineStore>,
    pub(crate) random: Rng,
    /// The store after each commit.
    pub(crate) states: BTreeMap<u64, (CommitId, Contents)>,
}

pub(crate) fn table() -> TableName {
    "notes".parse().unwrap()
}

pub(crate) fn open(directory: &Path, clock: &Arc<ManualClock>) -> Arc<EngineStore> {
    let options = Options::new(clock.clone())
        .durability(Durability::Sync)
        .upkeep(Upkeep::OnRequest)
        .keeps_commits(true);
    Arc::new(EngineStore::open(directory, options).unwrap())
}

pub(crate) async fn contents(store: &EngineStore) -> (CommitId, Contents) {
    let Rows { commit, rows, .. } = store.rows_after(None, usize::MAX).await.unwrap();
    let rows = rows.into_iter().map(|(key, value)| (key, value.to_vec()));
    (commit, rows.collect())
}

impl Stage {
    pub(crate) async fn new(seed: u64) -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(1_800_000_000_000));
        let store = open(&folder.path().join("store"), &clock);
        let request = CreateTable::new(table(), KeySchema::strings("PK", "SK"));
        store.create_table(request).await.unwrap();
        let mut stage = Stage {
            folder,
            clock,
            store,
            random: Rng::with_seed(seed),
            states: BTreeMap::new(),
        };
        stage.note().await;
        stage
    }

    async fn note(&mut self) {
        let (id, state) = contents(&self.store).await;
        self.states.insert(id.number, (id, state));
    }

    /// Commits so many writes, each alone and a second after the one before.
    pub(crate) async fn write(&mut self, count: usize) {
        for _ in 0..count {
            self.clock.advance(1_000);
            let number = self.random.u8(..30);
            let item = Item::from([
                ("PK".to_owned(), Value::from("a")),
                ("SK".to_owned(), Value::from(format!("{number}"))),
                (
                    "text".to_owned(),
                    Value::from(format!("{WORDS} {}", self.random.u64(..))),
                ),
            ]);
            let request = PutItem::new(table(), item);
            self.store
                .put_item(request, ReturnValues::None)
                .await
                .unwrap();
            self.note().await;
        }
    }

    /// Closes the store and opens it again.
    pub(crate) async fn reopen(&mut self) {
        self.store.close().await;
        self.note().await;
        let place = self.folder.path().join("store");
        let empty = tempfile::tempdir().unwrap();
        // The directory is locked until the store is gone.
        self.store = open(&empty.path().join("store"), &self.clock);
        self.store = open(&place, &self.clock);
    }

    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn target(&self) -> Arc<dyn Target> {
        Arc::new(DirectoryTarget::new(self.place("target")))
    }

    pub(crate) fn shipping(&self, target: Arc<dyn Target>, key: Option<u8>) -> Shipping {
        Shipping {
            source: self.store.clone(),
            store: STORE.to_owned(),
            target,
            key: key.map(key_of),
            secret: Some(b"the secret of the server".to_vec()),
            files: None,
            clock: self.clock.clone(),
            entropy: Arc::new(SystemEntropy),
        }
    }

    /// Holds a restored store against what the store was.
    pub(crate) async fn compare(&self, directory: &Path, commit: CommitId) {
        let (id, state) = &self.states[&commit.number];
        assert_eq!(*id, commit);
        let restored = open(directory, &Arc::new(ManualClock::at(1_800_000_000_000)));
        let (found, rows) = contents(&restored).await;
        assert!(found == *id && rows == *state, "commit {}", id.number);
        assert_eq!(restored.verify().await.unwrap(), Vec::<String>::new());
    }
}

pub(crate) fn key_of(byte: u8) -> Arc<BackupKey> {
    Arc::new(BackupKey::new(&[byte; 32]).unwrap())
}

/// Steps until all is shipped.
pub(crate) async fn rest(shipper: &mut Shipper) -> Result<(), BackupError> {
    while shipper.step().await? != Step::Rested {}
    Ok(())
}

pub(crate) async fn restore(
    target: &dyn Target,
    moment: Moment,
    directory: &Path,
    key: Option<u8>,
) -> Result<Restored, BackupError> {
    let keys: Vec<Arc<BackupKey>> = key.map(key_of).into_iter().collect();
    let wanted = Wanted {
        moment,
        ..Wanted::default()
    };
    let plan = Plan::make(target, &keys, wanted).await?;
    plan.carry_out(target, directory, &mut |_| {}).await
}

/// A target that notes which objects are put and read.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) inner: Arc<dyn Target>,
    pub(crate) puts: Mutex<Vec<String>>,
    pub(crate) gets: Mutex<Vec<String>>,
}

impl Watched {
    pub(crate) fn new(inner: Arc<dyn Target>) -> Arc<Watched> {
        Arc::new(Watched {
            inner,
            puts: Mutex::default(),
            gets: Mutex::default(),
        })
    }

    /// The objects that were put since this was asked the last time.
    pub(crate) fn put_since(&self) -> Vec<String> {
        std::mem::take(&mut self.puts.lock().unwrap())
    }

    /// The objects that were read since this was asked the last time.
    pub(crate) fn read_since(&self) -> Vec<String> {
        std::mem::take(&mut self.gets.lock().unwrap())
    }
}

#[async_trait]
impl Target for Watched {
    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), BackupError> {
        self.puts.lock().unwrap().push(name.to_owned());
        self.inner.put(name, bytes).await
    }

    async fn get(&self, name: &str) -> Result<Bytes, BackupError> {
        self.gets.lock().unwrap().push(name.to_owned());
        self.inner.get(name).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Listed>, BackupError> {
        self.inner.list(prefix).await
    }

    async fn remove(&self, name: &str) -> Result<(), BackupError> {
        self.inner.remove(name).await
    }
}

/// A target that does the first so many puts, and then fails.
#[derive(Debug)]
pub(crate) struct Failing {
    pub(crate) inner: Arc<dyn Target>,
    pub(crate) left: AtomicI64,
    /// Whether what it refuses is there all the same.
    pub(crate) lies: bool,
}

#[async_trait]
impl Target for Failing {
    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), BackupError> {
        let left = self.left.fetch_sub(1, Ordering::Relaxed);
        if left > 0 || self.lies {
            self.inner.put(name, bytes).await?;
        }
        if left > 0 {
            return Ok(());
        }
        Err(BackupError::Target {
            name: name.to_owned(),
            reason: "no space left on device".to_owned(),
        })
    }

    async fn get(&self, name: &str) -> Result<Bytes, BackupError> {
        self.inner.get(name).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Listed>, BackupError> {
        self.inner.list(prefix).await
    }

    async fn remove(&self, name: &str) -> Result<(), BackupError> {
        self.inner.remove(name).await
    }
}
