//! What a target has.

use std::sync::Arc;

use std::collections::BTreeMap;

use partita_engine::CommitId;

use crate::error::BackupError;
use crate::names::{self, ChainName, Kind};
use crate::records::{ChainHead, FORMAT, Manifest, Segment};
use crate::restoring::Reach;
use crate::sealing::{BackupKey, Seal};
use crate::target::Target;

/// What a target has, by the names of its objects.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    pub(crate) chains: BTreeMap<u32, ChainObjects>,
}

/// The objects of a chain.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChainObjects {
    pub(crate) has_head: bool,
    /// The first commits of its segments.
    pub(crate) segments: Vec<u64>,
    pub(crate) segment_bytes: u64,
    /// The numbers of its placings of files, and whether they are whole.
    pub(crate) placings: Vec<(u64, bool)>,
    /// Its bases that are whole: their names by their first commits.
    pub(crate) bases: Vec<(u64, String)>,
    /// All objects.
    pub(crate) names: Vec<String>,
    pub(crate) bytes: u64,
}

/// A chain, as `backup list` tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChainSummary {
    /// Its number.
    pub number: u32,
    /// When it began, in milliseconds since 1970; none if its head is damaged.
    pub began_millis: Option<i64>,
    /// Why it began.
    pub reason: String,
    /// The id of the key that seals it.
    pub key: Option<String>,
    /// The first commit that it can be restored to, and the last; none if it has no whole base.
    pub moments: Option<(CommitId, CommitId)>,
    /// What is damaged or missing, of what was looked at: its head, its bases and placings by their
    /// names, its last segment, and its last placing.
    pub damage: Option<String>,
    /// How many bases it has.
    pub bases: usize,
    /// How many segments.
    pub segments: usize,
    /// How large its objects are together.
    pub bytes: u64,
}

impl ChainSummary {
    async fn look(
        &mut self,
        target: &dyn Target,
        keys: &[Arc<BackupKey>],
        objects: &ChainObjects,
    ) -> Result<(), BackupError> {
        let head = head(target, self.number).await?;
        self.began_millis = Some(head.began_millis);
        self.reason = head.reason;
        self.key = head.key;
        let chain = Chain::open(target, self.number, keys, Plain::Taken).await?;
        let reach = Reach::of(&chain, target, objects).await?;
        for base in &reach.bases {
            objects.demand_pieces(base)?;
        }
        objects.demand_placings(&chain, target).await?;
        self.moments = (!reach.bases.is_empty()).then(|| (reach.first(), reach.last));
        Ok(())
    }
}

impl ChainObjects {
    /// Refuses a base of which a piece is missing. Names are in their order.
    fn demand_pieces(&self, base: &BaseInfo) -> Result<(), BackupError> {
        let names = (0..base.pieces).map(|number| names::piece(&base.name, number));
        for name in names {
            if self.names.binary_search(&name).is_err() {
                return Err(BackupError::Missing { name });
            }
        }
        Ok(())
    }

    /// How large a segment is, about.
    pub(crate) fn mean_segment_bytes(&self) -> u64 {
        self.segment_bytes / (self.segments.len() as u64).max(1)
    }
}

impl Catalog {
    /// Lists the objects of a target.
    pub async fn read(target: &dyn Target) -> Result<Catalog, BackupError> {
        let mut catalog = Catalog::default();
        for listed in target.list(names::ALL).await? {
            let Some((ChainName(number), kind)) = names::parse(&listed.name) else {
                continue;
            };
            let chain = catalog.chains.entry(number).or_default();
            chain.bytes += listed.bytes;
            match kind {
                Kind::Head => chain.has_head = true,
                Kind::Segment { first } => {
                    chain.segments.push(first);
                    chain.segment_bytes += listed.bytes;
                }
                Kind::Manifest { base, first } => chain.bases.push((first, base)),
                Kind::Placing { number, is_whole } => chain.placings.push((number, is_whole)),
                Kind::Secret | Kind::Part { .. } | Kind::Piece { .. } => {}
            }
            chain.names.push(listed.name);
        }
        // A chain that was never begun may have left its secret.
        catalog.chains.retain(|_, chain| {
            chain.has_head || !chain.bases.is_empty() || !chain.segments.is_empty()
        });
        Ok(catalog)
    }

    /// Whether there is no chain.
    pub fn is_empty(&self) -> bool {
        self.chains.is_empty()
    }

    /// Refuses a target that has a chain of another store.
    pub async fn demand_store(&self, target: &dyn Target, store: &str) -> Result<(), BackupError> {
        for number in self.chains.keys() {
            match head(target, *number).await {
                Ok(head) if head.store.as_deref().is_some_and(|other| other != store) => {
                    return Err(BackupError::OtherStore { chain: *number });
                }
                Err(error @ BackupError::Target { .. }) => return Err(error),
                // A head that is damaged is told where the chain is needed.
                _ => {}
            }
        }
        Ok(())
    }

    /// What there is to say of each chain, the oldest first. A chain whose key is not among these is
    /// told without its moments.
    pub async fn summaries(
        &self,
        target: &dyn Target,
        keys: &[Arc<BackupKey>],
    ) -> Result<Vec<ChainSummary>, BackupError> {
        let mut summaries = Vec::new();
        for (number, objects) in &self.chains {
            let mut summary = ChainSummary {
                number: *number,
                began_millis: None,
                reason: String::new(),
                key: None,
                moments: None,
                damage: None,
                bases: objects.bases.len(),
                segments: objects.segments.len(),
                bytes: objects.bytes,
            };
            match summary.look(target, keys, objects).await {
                Ok(()) | Err(BackupError::Key(_)) => {}
                Err(error @ BackupError::Target { .. }) => return Err(error),
                Err(error) => summary.damage = Some(error.to_string()),
            }
            summaries.push(summary);
        }
        Ok(summaries)
    }
}

/// Whether a chain that is not encrypted is taken where keys are given. Nothing vouches for one:
/// whoever can write to a target can put one there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    Taken,
    Refused,
}

/// A chain whose objects can be read.
#[derive(Clone)]
pub(crate) struct Chain {
    pub(crate) name: ChainName,
    pub(crate) head: ChainHead,
    pub(crate) seal: Seal,
}

async fn head(target: &dyn Target, number: u32) -> Result<ChainHead, BackupError> {
    let name = ChainName(number).head();
    let bytes = target.get(&name).await?;
    let damaged = |reason: String| BackupError::damaged(&name, reason);
    let format: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    let found = format["format"]
        .as_u64()
        .and_then(|found| u32::try_from(found).ok());
    if let Some(found) = found
        && found > FORMAT
    {
        return Err(BackupError::Newer {
            chain: ChainName(number).to_string(),
            found,
            known: FORMAT,
        });
    }
    let head: ChainHead =
        serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    if head.chain != number {
        return Err(damaged(format!("it is of chain {}", head.chain)));
    }
    Ok(head)
}

impl Chain {
    /// Opens a chain with the key that it needs.
    pub(crate) async fn open(
        target: &dyn Target,
        number: u32,
        keys: &[Arc<BackupKey>],
        plain: Plain,
    ) -> Result<Chain, BackupError> {
        let head = head(target, number).await?;
        let name = ChainName(number);
        let key = match &head.key {
            None if plain == Plain::Refused && !keys.is_empty() => {
                return Err(BackupError::Key(format!(
                    "{name} is not encrypted, and a key was given: whoever can write to the target \
                     can have put it there; take it with --plain-too if it is yours"
                )));
            }
            None => None,
            Some(id) => match keys.iter().find(|key| key.id() == *id) {
                Some(key) => Some(&**key),
                None if keys.is_empty() => {
                    return Err(BackupError::Key(format!(
                        "{name} is encrypted: give the key with --key"
                    )));
                }
                None => {
                    return Err(BackupError::Key(format!(
                        "{name} is encrypted with the key {id}, and that was not given"
                    )));
                }
            },
        };
        let seal = Seal::new(&head.id, key);
        Ok(Chain { name, head, seal })
    }

    pub(crate) async fn segment(
        &self,
        target: &dyn Target,
        first: u64,
    ) -> Result<Segment, BackupError> {
        let name = self.name.segment(first);
        let content = self.seal.open(&name, &target.get(&name).await?)?;
        let segment = Segment::read(&content)
            .ok_or_else(|| BackupError::damaged(&name, "its commits cannot be read"))?;
        if segment.before.number + 1 != first || segment.commits.is_empty() {
            return Err(BackupError::damaged(&name, "it has other commits"));
        }
        Ok(segment)
    }

    pub(crate) async fn manifest(
        &self,
        target: &dyn Target,
        base: &str,
    ) -> Result<BaseInfo, BackupError> {
        let name = names::manifest(base);
        let content = self.seal.open(&name, &target.get(&name).await?)?;
        let manifest: Manifest = serde_json::from_slice(&content)
            .map_err(|error| BackupError::damaged(&name, error.to_string()))?;
        let ids = manifest.first.id().zip(manifest.last.id());
        let (first, last) = ids.ok_or_else(|| BackupError::damaged(&name, "it has no commits"))?;
        Ok(BaseInfo {
            name: base.to_owned(),
            first,
            last,
            pieces: manifest.pieces,
            bytes: manifest.bytes,
        })
    }

    /// The last commit of the chain; none if it has none yet.
    pub(crate) async fn last(
        &self,
        target: &dyn Target,
        objects: &ChainObjects,
    ) -> Result<Option<CommitId>, BackupError> {
        let segment = match objects.segments.last() {
            Some(first) => Some(self.segment(target, *first).await?.last()),
            None => None,
        };
        let base = match objects.bases.last() {
            Some((_, base)) => Some(self.manifest(target, base).await?.first),
            None => None,
        };
        Ok(segment.into_iter().chain(base).max_by_key(|id| id.number))
    }
}

/// A base that is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BaseInfo {
    pub(crate) name: String,
    pub(crate) first: CommitId,
    pub(crate) last: CommitId,
    pub(crate) pieces: usize,
    pub(crate) bytes: u64,
}
