//! A store's commits and bases on their way to a target.
//!
//! [`Shipper::step`] does the next small thing: ships the commits that are new, a part of a file, or
//! the next piece of a base. Whoever calls it decides how often, and whether it ends with the first base (`partita
//! backup`) or never (`partita serve --backup`). Nothing here is waited for by a writer: what is not
//! shipped yet stays in the store's journals, and when those were given up, the rest begins another
//! chain that says what was lost.

mod base;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use partita_engine::{CommitId, CommitLog, EngineStore, LogError};
use partita_store::{Clock, Entropy};

use self::base::Base;
use crate::catalog::{Catalog, Chain, Plain};
use crate::error::BackupError;
use crate::files::{FileSource, ShippedFiles, Way};
use crate::names::ChainName;
use crate::records::{ChainHead, FORMAT, Segment};
use crate::sealing::{BackupKey, Seal, hex};
use crate::target::{Target, put_once};

/// Bytes of commits that one segment has at most, unless a single commit has more.
const SEGMENT_BYTES_MAX: usize = 8 * 1_048_576;

/// Chains that are tried to begin, should others begin chains in the same target at that moment.
const ATTEMPTS: u32 = 16;

/// What is shipped, where to, and with what.
#[derive(Clone)]
pub struct Shipping {
    /// The store.
    pub source: Arc<EngineStore>,
    /// Its id, random and for good. A target belongs to one store.
    pub store: String,
    /// Where objects are put.
    pub target: Arc<dyn Target>,
    /// Seals them, if given.
    pub key: Option<Arc<BackupKey>>,
    /// The secret of the server. It is shipped only where it is sealed.
    pub secret: Option<Vec<u8>>,
    /// The files of buckets, if they are in a directory.
    pub files: Option<FileSource>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
}

/// Ships a store to a chain.
pub struct Shipper {
    shipping: Shipping,
    chain: Chain,
    log: CommitLog,
    /// The last commit that is in the target.
    shipped: CommitId,
    pending: Option<Pending>,
    files: ShippedFiles,
    /// The last commit that is in the target and may name files that came or went with it.
    names_files: u64,
    base: Option<Base>,
    piece_bytes: usize,
    /// The bytes of the last base, and of the segments since it; none before the first base.
    sizes: Option<BaseSizes>,
}

/// A segment that is on its way.
struct Pending {
    name: String,
    bytes: Bytes,
    last: CommitId,
    /// Whether files may have come or gone with its commits.
    names_files: bool,
}

/// How much was shipped since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseSizes {
    /// The commit that the last base comes to.
    pub last: CommitId,
    /// When it was whole, in milliseconds since 1970.
    pub whole_millis: i64,
    /// Its bytes.
    pub base_bytes: u64,
    /// The bytes of the segments since.
    pub since_bytes: u64,
}

/// What a step has done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// All commits that are on disk are in the target, and no base is under way.
    Rested,
    /// Commits were shipped, up to this one.
    Commits {
        /// The last.
        last: CommitId,
        /// The bytes of their segment.
        bytes: u64,
    },
    /// Something was done for the files of buckets.
    Files {
        /// The bytes that were shipped.
        bytes: u64,
    },
    /// A piece of a base was shipped.
    Piece {
        /// The rows so far.
        rows: u64,
        /// The bytes so far.
        bytes: u64,
    },
    /// A base is whole.
    Base {
        /// The commit that it comes to.
        last: CommitId,
        /// Its rows.
        rows: u64,
        /// Its bytes.
        bytes: u64,
    },
}

impl Shipper {
    /// Begins a chain, with a base to come.
    pub async fn begin(shipping: Shipping, reason: &str) -> Result<Shipper, BackupError> {
        let after = shipping.source.last_commit();
        let log = shipping.source.commits_after(after)?;
        let chain = begin_chain(&shipping, reason).await?;
        Ok(Shipper {
            chain,
            log,
            shipped: after,
            pending: None,
            files: ShippedFiles::default(),
            names_files: 0,
            base: Some(Base::default()),
            piece_bytes: base::PIECE_BYTES,
            sizes: None,
            shipping,
        })
    }

    /// Goes on with the newest chain that is of this store and this key, if its journals still have
    /// all commits since; otherwise begins another one that says what was lost.
    pub async fn resume(shipping: Shipping) -> Result<Shipper, BackupError> {
        let catalog = Catalog::read(&*shipping.target).await?;
        catalog
            .demand_store(&*shipping.target, &shipping.store)
            .await?;
        // Why the newest chain does not go on.
        let mut reason: Option<String> = None;
        for (number, objects) in catalog.chains.iter().rev() {
            let keys = shipping.key.as_slice();
            let chain = match Chain::open(&*shipping.target, *number, keys, Plain::Taken).await {
                Ok(chain) => chain,
                Err(BackupError::Key(_)) => {
                    let name = ChainName(*number);
                    reason.get_or_insert_with(|| format!("{name} has another key"));
                    continue;
                }
                Err(error @ (BackupError::Missing { .. } | BackupError::Damaged { .. })) => {
                    reason.get_or_insert_with(|| error.to_string());
                    continue;
                }
                Err(error) => return Err(error),
            };
            if chain.head.key != shipping.key.as_deref().map(BackupKey::id) {
                reason.get_or_insert_with(|| format!("{} has another key", chain.name));
                continue;
            }
            match has_secret_of(&shipping, &chain).await {
                Ok(true) => {}
                Ok(false) => {
                    reason.get_or_insert_with(|| format!("{} has another secret", chain.name));
                    continue;
                }
                Err(error @ (BackupError::Missing { .. } | BackupError::Damaged { .. })) => {
                    reason.get_or_insert_with(|| error.to_string());
                    continue;
                }
                Err(error) => return Err(error),
            }
            let last = match chain.last(&*shipping.target, objects).await {
                Ok(Some(last)) => last,
                Ok(None) => {
                    reason.get_or_insert_with(|| format!("{} has no commit", chain.name));
                    continue;
                }
                Err(error @ (BackupError::Missing { .. } | BackupError::Damaged { .. })) => {
                    reason.get_or_insert_with(|| error.to_string());
                    continue;
                }
                Err(error) => return Err(error),
            };
            let mut log = shipping.source.commits_after(last)?;
            let ahead = match log.read(SEGMENT_BYTES_MAX) {
                Ok(ahead) => ahead,
                Err(error) => {
                    reason.get_or_insert_with(|| {
                        format!("{} ends with commit {}: {error}", chain.name, last.number)
                    });
                    continue;
                }
            };
            let target = &*shipping.target;
            // Before the first base is whole, commits have not waited for their files.
            let covered = if objects.bases.is_empty() {
                0
            } else {
                last.number
            };
            let files = match ShippedFiles::of(&chain, target, objects, covered).await {
                Ok(files) => files,
                Err(error @ (BackupError::Missing { .. } | BackupError::Damaged { .. })) => {
                    reason.get_or_insert_with(|| error.to_string());
                    continue;
                }
                Err(error) => return Err(error),
            };
            let sizes = match objects.bases.last() {
                None => None,
                Some((_, base)) => {
                    let info = chain.manifest(target, base).await?;
                    let since = objects
                        .segments
                        .iter()
                        .filter(|first| **first > info.first.number);
                    Some(BaseSizes {
                        last: info.last,
                        whole_millis: info.last.time_millis,
                        base_bytes: info.bytes,
                        // About as large as segments are on average.
                        since_bytes: since.count() as u64 * objects.mean_segment_bytes(),
                    })
                }
            };
            let mut shipper = Shipper {
                files,
                names_files: last.number,
                base: sizes.is_none().then(Base::default),
                piece_bytes: base::PIECE_BYTES,
                chain,
                log,
                shipped: last,
                pending: None,
                sizes,
                shipping,
            };
            shipper.pack(last, ahead);
            return Ok(shipper);
        }
        let reason = reason.as_deref().unwrap_or("the first backup");
        Shipper::begin(shipping, reason).await
    }

    /// Does the next small thing. After an error it may be called again.
    pub async fn step(&mut self) -> Result<Step, BackupError> {
        if let Some(shipped) = self.ship().await? {
            return Ok(shipped);
        }
        if self.files.is_placing() {
            return self.ship_files().await;
        }
        let needed = self.names_files;
        match &mut self.base {
            None => Ok(Step::Rested),
            Some(base) if !base.is_read() => {
                base.ship_piece(&self.shipping, &self.chain, self.piece_bytes)
                    .await
            }
            Some(base) => {
                // INVARIANT: a base is whole only when the commits that it needs are shipped, and the
                // files that they name.
                let last = base.last().map_or(0, |last| last.number);
                if last > self.shipped.number {
                    return Ok(Step::Rested);
                }
                let has_files = self.sizes.is_some()
                    || self.shipping.files.is_none()
                    || self.files.covered() >= last.max(needed);
                if !has_files {
                    return self.ship_files().await;
                }
                let (step, info) = base.complete(&self.shipping, &self.chain).await?;
                self.base = None;
                self.sizes = Some(BaseSizes {
                    last: info.last,
                    whole_millis: self.shipping.clock.now_millis(),
                    base_bytes: info.bytes,
                    since_bytes: 0,
                });
                Ok(step)
            }
        }
    }

    /// Begins a base, unless one is under way.
    pub fn begin_base(&mut self) {
        if self.base.is_some() {
            return;
        }
        self.base = Some(Base::default());
        if let Some(way) = way(&self.shipping, &self.chain) {
            self.files.place_whole(&way, self.shipped.number);
        }
    }

    /// The same, with bases in pieces of about so many bytes.
    #[must_use]
    pub fn with_pieces_of(self, piece_bytes: usize) -> Shipper {
        Shipper {
            piece_bytes,
            ..self
        }
    }

    /// Why another chain must begin after an error that ends this one.
    pub fn reason(&self, error: &dyn fmt::Display) -> String {
        let number = self.shipped.number;
        format!("{} ends with commit {number}: {error}", self.chain.name)
    }

    /// Gives up the removed files that are shipped. [`BackupError::FilesLost`] if the others are more
    /// than is kept of them; the chain cannot go on then.
    pub fn release_removed(&self) -> Result<(), BackupError> {
        let source = self.shipping.files.as_ref();
        let Some(removed) = source.and_then(|source| source.removed.as_ref()) else {
            return Ok(());
        };
        removed.demand_few(self.files.release(removed))
    }

    /// The last commit that is in the target.
    pub fn shipped(&self) -> CommitId {
        self.shipped
    }

    /// The chain that is written.
    pub fn chain(&self) -> u32 {
        self.chain.name.0
    }

    /// How much was shipped since the last base; none before the first.
    pub fn sizes(&self) -> Option<BaseSizes> {
        self.sizes
    }

    /// What is shipped, and where to.
    pub fn shipping(&self) -> &Shipping {
        &self.shipping
    }

    /// Ships a segment of the commits that are new; none if there are none.
    async fn ship(&mut self) -> Result<Option<Step>, BackupError> {
        if self.pending.is_none() {
            let before = self.log.last();
            let commits = self.log.read(SEGMENT_BYTES_MAX)?;
            self.pack(before, commits);
        }
        let Some(pending) = &self.pending else {
            return Ok(None);
        };
        let is_held =
            pending.names_files && self.holds_commits() && !self.has_files(pending.last.number);
        if is_held {
            return self.ship_files().await.map(Some);
        }
        put_once(&*self.shipping.target, &pending.name, &pending.bytes).await?;
        let (last, bytes) = (pending.last, pending.bytes.len() as u64);
        if pending.names_files {
            self.names_files = last.number;
        }
        self.pending = None;
        self.shipped = last;
        self.log.release();
        if let Some(sizes) = &mut self.sizes {
            sizes.since_bytes += bytes;
        }
        Ok(Some(Step::Commits { last, bytes }))
    }

    /// Whether commits wait for the files that they name.
    ///
    /// INVARIANT: they do once there is a moment that they can be restored to. Before the first base is
    /// whole there is none; the files that there are at the beginning may take days, and the journals
    /// of that time would not be kept.
    fn holds_commits(&self) -> bool {
        let last = self.base.as_ref().and_then(Base::last);
        let is_nearly_whole = |base: &Base| {
            base.is_read() && last.is_some_and(|last| self.files.covered() >= last.number)
        };
        self.sizes.is_some() || self.base.as_ref().is_some_and(is_nearly_whole)
    }

    /// Whether all files are shipped that commits up to one name.
    fn has_files(&self, commit: u64) -> bool {
        self.shipping.files.is_none() || self.files.covered() >= commit
    }

    /// Does the next small thing for files.
    async fn ship_files(&mut self) -> Result<Step, BackupError> {
        // Before the first base is whole, commits do not wait for the files that they name.
        let from = self.sizes.map_or(0, |_| self.shipped.number + 1);
        let source = &self.shipping.source;
        let shipped = match way(&self.shipping, &self.chain) {
            Some(way) => {
                let last = || source.last_commit().number;
                self.files.step(&way, from, last).await?
            }
            None => None,
        };
        let bytes = shipped.unwrap_or(0);
        Ok(Step::Files { bytes })
    }

    /// Makes a segment of commits. It stays as it is until it is shipped, however often that fails.
    fn pack(&mut self, before: CommitId, commits: Vec<partita_engine::Commit>) {
        if commits.is_empty() {
            return;
        }
        let name = self.chain.name.segment(before.number + 1);
        let source = self.shipping.files.as_ref();
        let names_files = source.is_some_and(|source| source.concerns(&commits));
        let segment = Segment { before, commits };
        let bytes = self
            .chain
            .seal
            .close(&name, &segment.bytes(), &*self.shipping.entropy);
        self.pending = Some(Pending {
            name,
            bytes: bytes.into(),
            last: segment.last(),
            names_files,
        });
    }
}

/// Whether a chain cannot go on after an error, so that another one must begin.
pub fn ends_chain(error: &BackupError) -> bool {
    matches!(error, BackupError::Exists { .. }) || is_hole(error)
}

/// Whether an error says that something was lost before it was shipped.
pub fn is_hole(error: &BackupError) -> bool {
    match error {
        BackupError::FilesLost { .. } => true,
        BackupError::Log(error) => !matches!(error, LogError::Unreadable(_)),
        _ => false,
    }
}

/// Whether a chain has the secret that the store has now, or none where none is shipped.
async fn has_secret_of(shipping: &Shipping, chain: &Chain) -> Result<bool, BackupError> {
    let secret = shipping.secret.as_ref().filter(|_| shipping.key.is_some());
    let Some(secret) = secret.filter(|_| chain.head.has_secret) else {
        return Ok(secret.is_some() == chain.head.has_secret);
    };
    let name = chain.name.secret();
    let stored = chain.seal.open(&name, &shipping.target.get(&name).await?)?;
    Ok(stored == *secret)
}

/// What files are shipped with, if there are files.
fn way<'a>(shipping: &'a Shipping, chain: &'a Chain) -> Option<Way<'a>> {
    Some(Way {
        source: shipping.files.as_ref()?,
        chain,
        target: &*shipping.target,
        entropy: &*shipping.entropy,
    })
}

/// Begins the next chain of a target.
async fn begin_chain(shipping: &Shipping, reason: &str) -> Result<Chain, BackupError> {
    let target = &*shipping.target;
    let catalog = Catalog::read(target).await?;
    catalog.demand_store(target, &shipping.store).await?;
    let next = catalog.chains.keys().next_back().map_or(1, |last| last + 1);
    let mut refused = None;
    for number in next..next + ATTEMPTS {
        let mut random = [0; 16];
        shipping.entropy.fill(&mut random);
        let head = ChainHead {
            format: FORMAT,
            chain: number,
            id: hex(&random),
            store: Some(shipping.store.clone()),
            began_millis: shipping.clock.now_millis(),
            reason: reason.to_owned(),
            key: shipping.key.as_deref().map(BackupKey::id),
            has_secret: shipping.key.is_some() && shipping.secret.is_some(),
        };
        let name = ChainName(number);
        let seal = Seal::new(&head.id, shipping.key.as_deref());
        match put_head(shipping, name, &head, &seal).await {
            Ok(()) => return Ok(Chain { name, head, seal }),
            Err(error @ BackupError::Exists { .. }) => {
                // Whoever was faster may have another store.
                let catalog = Catalog::read(target).await?;
                catalog.demand_store(target, &shipping.store).await?;
                refused = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    Err(refused.unwrap_or_else(|| BackupError::Exists {
        name: ChainName(next).head(),
    }))
}

/// Puts what a chain begins with. It is there when its head is.
async fn put_head(
    shipping: &Shipping,
    name: ChainName,
    head: &ChainHead,
    seal: &Seal,
) -> Result<(), BackupError> {
    let target = &*shipping.target;
    // INVARIANT: a secret leaves only under a key.
    if let (Some(secret), Some(_)) = (&shipping.secret, &shipping.key) {
        let name = name.secret();
        let bytes = seal.close(&name, secret, &*shipping.entropy);
        target.put(&name, bytes.into()).await?;
    }
    let bytes = format!("{:#}\n", serde_json::json!(head));
    target.put(&name.head(), bytes.into()).await
}
