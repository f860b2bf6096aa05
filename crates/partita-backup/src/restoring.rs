//! A store as it was at a commit, put together from a backup.
//!
//! The base is the newest one of the chain that comes to the wanted commit or an earlier one; the
//! segments since its first commit follow, each commit held against the one before. What is missing
//! or altered is told by its name. There is no state in between: the new store is in its place when
//! it is whole.

use std::sync::Arc;

use std::path::Path;

use partita_engine::{CommitId, NewStore};

use crate::catalog::{BaseInfo, Catalog, Chain, ChainObjects, Plain};
use crate::error::BackupError;
use crate::files::KeptFiles;
use crate::names;
use crate::records::Piece;
use crate::sealing::BackupKey;
use crate::target::Target;

/// The moment that is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Which chain; unless given the one with the latest commit that is meant.
    pub chain: Option<u32>,
    /// When.
    pub moment: Moment,
    /// Whether a chain that is not encrypted is taken although keys are given.
    pub plain_too: bool,
}

/// A moment of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moment {
    /// After the last commit that there is.
    #[default]
    Last,
    /// After this commit.
    Commit(u64),
    /// After the last commit that was made at this time or before, in milliseconds since 1970.
    At(i64),
}

/// A store that was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restored {
    /// The chain that it is from.
    pub chain: u32,
    /// Its last commit.
    pub commit: CommitId,
    /// The secret of the server, if the backup has it.
    pub secret: Option<Vec<u8>>,
    /// The id of the store that it was, if the backup has it.
    pub store: Option<String>,
}

/// How far a restore is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestoreProgress {
    /// The steps there are: pieces and segments.
    pub steps: u64,
    /// Those that are done.
    pub done: u64,
    /// The commit that is reached.
    pub commit: u64,
}

/// What a restore reads, decided before anything is written.
pub struct Plan {
    pub(crate) chain: Chain,
    pub(crate) base: BaseInfo,
    /// The first commits of the segments, in their order.
    segments: Vec<u64>,
    /// The last commit that is applied.
    pub(crate) until: CommitId,
    /// The objects of the chain.
    pub(crate) objects: ChainObjects,
    /// Chains that cannot be read and are not needed.
    unread: Vec<(u32, BackupError)>,
}

impl Plan {
    /// Decides what a moment is restored from.
    pub async fn make(
        target: &dyn Target,
        keys: &[Arc<BackupKey>],
        wanted: Wanted,
    ) -> Result<Plan, BackupError> {
        let catalog = Catalog::read(target).await?;
        if catalog.is_empty() {
            return Err(BackupError::NoMoment(
                "there is no backup in the target".to_owned(),
            ));
        }
        if let Some(number) = wanted.chain
            && !catalog.chains.contains_key(&number)
        {
            return Err(BackupError::NoMoment(format!("there is no chain {number}")));
        }
        let mut candidates = Vec::new();
        let mut unread = Vec::new();
        for (number, objects) in &catalog.chains {
            if wanted.chain.is_some_and(|chain| chain != *number) || objects.bases.is_empty() {
                continue;
            }
            match Candidate::of(target, keys, *number, objects, wanted).await {
                Ok(candidate) => candidates.push(candidate),
                Err(error) if wanted.chain.is_some() => return Err(error),
                Err(error) => unread.push((*number, error)),
            }
        }
        let best = candidates
            .iter()
            .enumerate()
            .filter_map(|(at, candidate)| Some((candidate.order(wanted.moment)?, at)))
            .max();
        let Some((_, at)) = best else {
            let error = unread.pop().map(|(_, error)| error);
            return Err(error.unwrap_or_else(|| no_moment(wanted, &candidates)));
        };
        if is_in_hole(wanted.moment, &candidates[at], &candidates) {
            return Err(no_moment(wanted, &candidates));
        }
        let best = candidates.swap_remove(at);
        let in_the_way = unread.iter().rposition(|(number, _)| {
            let objects = &catalog.chains[number];
            best.may_be_behind(wanted.moment, *number, objects)
        });
        if let Some(at) = in_the_way {
            let (number, error) = unread.swap_remove(at);
            return Err(BackupError::InTheWay {
                chain: number,
                other: best.chain.name.0,
                source: Box::new(error),
            });
        }
        Ok(Plan {
            unread,
            ..best.plan()?
        })
    }

    fn of(
        chain: Chain,
        objects: &ChainObjects,
        reach: &Reach,
        until: CommitId,
    ) -> Result<Plan, BackupError> {
        let bases = reach.bases.iter().rev();
        let base = bases
            .clone()
            .find(|base| base.last.number <= until.number)
            .cloned();
        let base = base.ok_or_else(|| {
            BackupError::NoMoment(format!(
                "{} has no base before commit {}",
                chain.name, until.number
            ))
        })?;
        let begin = base.first.number + 1;
        let before = objects.segments.partition_point(|first| *first <= begin);
        let segments = objects.segments[before.saturating_sub(1)..].iter().copied();
        let segments: Vec<u64> = segments
            .take_while(|first| *first <= until.number)
            .collect();
        Ok(Plan {
            chain,
            base,
            segments,
            until,
            objects: objects.clone(),
            unread: Vec::new(),
        })
    }

    /// The commit that the plan comes to.
    pub fn commit(&self) -> CommitId {
        self.until
    }

    /// The chains that were found damaged when this one was chosen, and how.
    pub fn damaged(&self) -> impl Iterator<Item = (u32, &BackupError)> {
        let is_damage = |error: &BackupError| !matches!(error, BackupError::Key(_));
        let unread = self.unread.iter().map(|(number, error)| (*number, error));
        unread.filter(move |(_, error)| is_damage(error))
    }

    /// The files that the backup has for that commit.
    pub async fn files(&self, target: &dyn Target) -> Result<KeptFiles, BackupError> {
        KeptFiles::at(&self.chain, target, &self.objects, self.until.number).await
    }

    /// Puts the store together in a directory that has none.
    pub async fn carry_out(
        self,
        target: &dyn Target,
        directory: &Path,
        on_progress: &mut (dyn FnMut(RestoreProgress) + Send),
    ) -> Result<Restored, BackupError> {
        let mut progress = RestoreProgress {
            steps: (self.base.pieces + self.segments.len()) as u64,
            done: 0,
            commit: self.base.first.number,
        };
        let secret = if self.chain.head.has_secret {
            let name = self.chain.name.secret();
            Some(self.chain.seal.open(&name, &target.get(&name).await?)?)
        } else {
            None
        };
        let new = NewStore::create(directory);
        let mut new = new.map_err(|error| BackupError::of_new(&self.base.name, error))?;
        self.put_base(target, &mut new, &mut progress, on_progress)
            .await?;
        self.apply_segments(target, &mut new, &mut progress, on_progress)
            .await?;
        if new.last() != self.until {
            return Err(self.gap(new.last().number + 1, self.until.number));
        }
        let finished = tokio::task::spawn_blocking(move || new.finish()).await;
        let finished = finished.map_err(|error| BackupError::Target {
            name: self.base.name.clone(),
            reason: error.to_string(),
        })?;
        let commit = finished.map_err(|error| BackupError::of_new(&self.base.name, error))?;
        Ok(Restored {
            chain: self.chain.name.0,
            commit,
            secret,
            store: self.chain.head.store,
        })
    }

    async fn put_base(
        &self,
        target: &dyn Target,
        new: &mut NewStore,
        progress: &mut RestoreProgress,
        on_progress: &mut (dyn FnMut(RestoreProgress) + Send),
    ) -> Result<(), BackupError> {
        for number in 0..self.base.pieces {
            let name = names::piece(&self.base.name, number);
            let content = self.chain.seal.open(&name, &target.get(&name).await?)?;
            let piece = Piece::read(&content)
                .ok_or_else(|| BackupError::damaged(&name, "its rows cannot be read"))?;
            let is_within =
                (self.base.first.number..=self.base.last.number).contains(&piece.commit.number);
            if !is_within {
                return Err(BackupError::damaged(&name, "it is of another base"));
            }
            let put = new.put_rows(self.base.first, piece.rows);
            put.map_err(|error| BackupError::of_new(&name, error))?;
            progress.done += 1;
            on_progress(*progress);
        }
        Ok(())
    }

    async fn apply_segments(
        &self,
        target: &dyn Target,
        new: &mut NewStore,
        progress: &mut RestoreProgress,
        on_progress: &mut (dyn FnMut(RestoreProgress) + Send),
    ) -> Result<(), BackupError> {
        for first in &self.segments {
            if *first > new.last().number + 1 {
                return Err(self.gap(new.last().number + 1, first - 1));
            }
            let segment = self.chain.segment(target, *first).await?;
            let name = self.chain.name.segment(*first);
            for commit in segment.commits {
                let number = commit.id.number;
                if number > new.last().number && number <= self.until.number {
                    let applied = new.apply(commit);
                    applied.map_err(|error| BackupError::of_new(&name, error))?;
                }
            }
            progress.done += 1;
            progress.commit = new.last().number;
            on_progress(*progress);
        }
        Ok(())
    }

    fn gap(&self, first: u64, last: u64) -> BackupError {
        BackupError::Gap {
            chain: self.chain.name.to_string(),
            first,
            last,
        }
    }
}

/// A chain that a moment may be restored from.
struct Candidate<'a> {
    chain: Chain,
    objects: &'a ChainObjects,
    reach: Reach,
    /// The commit that the moment means in this chain, if the chain has it.
    until: Option<CommitId>,
}

impl<'a> Candidate<'a> {
    async fn of(
        target: &dyn Target,
        keys: &[Arc<BackupKey>],
        number: u32,
        objects: &'a ChainObjects,
        wanted: Wanted,
    ) -> Result<Candidate<'a>, BackupError> {
        let plain = if wanted.plain_too {
            Plain::Taken
        } else {
            Plain::Refused
        };
        let chain = Chain::open(target, number, keys, plain).await?;
        let reach = Reach::of(&chain, target, objects).await?;
        let until = reach.find(&chain, target, objects, wanted.moment).await?;
        Ok(Candidate {
            chain,
            objects,
            reach,
            until,
        })
    }

    /// The candidate with the greatest is taken: the latest commit, or for a commit by its number the
    /// newest chain, because a store that was restored uses numbers again.
    fn order(&self, moment: Moment) -> Option<(i64, u64, u32)> {
        let until = self.until?;
        let number = self.chain.name.0;
        Some(match moment {
            Moment::Commit(_) => (0, 0, number),
            Moment::Last | Moment::At(_) => (until.time_millis, until.number, number),
        })
    }

    /// Whether a chain that cannot be read may have a moment that is meant rather than this one, by
    /// the names of its objects.
    fn may_be_behind(&self, moment: Moment, number: u32, objects: &ChainObjects) -> bool {
        let until = self.until.unwrap_or_default();
        let firsts = objects.bases.iter().map(|(first, _)| *first);
        match moment {
            Moment::Commit(wanted) => {
                number > self.chain.name.0 && firsts.min().is_some_and(|first| first <= wanted)
            }
            // The commit after it was made later, so no chain has another one in time.
            Moment::At(_) if until != self.reach.last => false,
            Moment::Last | Moment::At(_) => {
                let last = firsts.chain(objects.segments.iter().copied()).max();
                last.is_some_and(|last| last >= until.number)
            }
        }
    }

    fn plan(self) -> Result<Plan, BackupError> {
        let until = self.until.unwrap_or_default();
        Plan::of(self.chain, self.objects, &self.reach, until)
    }
}

/// Whether commits may have been made at that time or before that no chain has: another chain begins
/// after it, and not with the next commit.
fn is_in_hole(moment: Moment, best: &Candidate<'_>, all: &[Candidate<'_>]) -> bool {
    let (Moment::At(millis), Some(until)) = (moment, best.until) else {
        return false;
    };
    let begins_later = |first: CommitId| {
        first.time_millis > millis && first.number > until.number.saturating_add(1)
    };
    until == best.reach.last
        && until.time_millis < millis
        && all.iter().any(|one| begins_later(one.reach.first()))
}

/// The moments that a chain can be restored to.
pub(crate) struct Reach {
    /// Its bases, the oldest first.
    pub(crate) bases: Vec<BaseInfo>,
    pub(crate) last: CommitId,
}

impl Reach {
    pub(crate) async fn of(
        chain: &Chain,
        target: &dyn Target,
        objects: &ChainObjects,
    ) -> Result<Reach, BackupError> {
        let mut bases = Vec::new();
        for (_, name) in &objects.bases {
            bases.push(chain.manifest(target, name).await?);
        }
        bases.sort_by_key(|base| base.last.number);
        let last = chain.last(target, objects).await?.unwrap_or_default();
        if let Some(base) = bases.last()
            && base.last.number > last.number
        {
            // The base says which commits there must be.
            return Err(BackupError::Gap {
                chain: chain.name.to_string(),
                first: last.number + 1,
                last: base.last.number,
            });
        }
        Ok(Reach { bases, last })
    }

    /// The first moment.
    pub(crate) fn first(&self) -> CommitId {
        self.bases.first().map(|base| base.last).unwrap_or_default()
    }

    /// The commit that a moment means in this chain; none if the chain does not have it.
    async fn find(
        &self,
        chain: &Chain,
        target: &dyn Target,
        objects: &ChainObjects,
        moment: Moment,
    ) -> Result<Option<CommitId>, BackupError> {
        match moment {
            Moment::Last => Ok(Some(self.last)),
            Moment::Commit(number) => {
                let is_within = (self.first().number..=self.last.number).contains(&number);
                if is_within {
                    self.commit(chain, target, objects, number).await.map(Some)
                } else {
                    Ok(None)
                }
            }
            Moment::At(millis) if millis < self.first().time_millis => Ok(None),
            Moment::At(millis) if millis >= self.last.time_millis => Ok(Some(self.last)),
            Moment::At(millis) => self.at(chain, target, objects, millis).await.map(Some),
        }
    }

    /// The id of a commit.
    async fn commit(
        &self,
        chain: &Chain,
        target: &dyn Target,
        objects: &ChainObjects,
        number: u64,
    ) -> Result<CommitId, BackupError> {
        let known = self.bases.iter().flat_map(|base| [base.first, base.last]);
        if let Some(id) = known.chain([self.last]).find(|id| id.number == number) {
            return Ok(id);
        }
        let gap = || BackupError::Gap {
            chain: chain.name.to_string(),
            first: number,
            last: number,
        };
        let before = objects.segments.partition_point(|first| *first <= number);
        let first = before
            .checked_sub(1)
            .and_then(|at| objects.segments.get(at));
        let segment = chain.segment(target, *first.ok_or_else(gap)?).await?;
        let commit = segment
            .commits
            .iter()
            .find(|commit| commit.id.number == number);
        Ok(commit.ok_or_else(gap)?.id)
    }

    /// The last commit that was made at a time or before.
    async fn at(
        &self,
        chain: &Chain,
        target: &dyn Target,
        objects: &ChainObjects,
        millis: i64,
    ) -> Result<CommitId, BackupError> {
        // Times do not go back, so the last segment that begins in time is found by halving.
        let (mut low, mut high) = (0, objects.segments.len());
        let mut found = self.first();
        while low < high {
            let middle = low + (high - low) / 2;
            let segment = chain.segment(target, objects.segments[middle]).await?;
            let in_time = |id: &CommitId| id.time_millis <= millis;
            let commits = segment.commits.iter().map(|commit| commit.id);
            match commits.rev().find(in_time) {
                Some(id) => {
                    if id.number > found.number {
                        found = id;
                    }
                    low = middle + 1;
                }
                None => high = middle,
            }
        }
        Ok(found)
    }
}

/// Says which moments there are instead.
fn no_moment(wanted: Wanted, chains: &[Candidate<'_>]) -> BackupError {
    let what = match wanted.moment {
        Moment::Last => "there is no whole base".to_owned(),
        Moment::Commit(number) => format!("no chain has commit {number}"),
        Moment::At(_) => {
            "no chain covers that time: what was committed then was not backed up, or was lost"
                .to_owned()
        }
    };
    let there: Vec<String> = chains
        .iter()
        .map(|one| {
            let (first, last) = (one.reach.first(), one.reach.last);
            format!(
                "chain {} has the commits {} to {}",
                one.chain.name.0, first.number, last.number
            )
        })
        .collect();
    let there = if there.is_empty() {
        "the target has no moment at all".to_owned()
    } else {
        there.join("; ")
    };
    BackupError::NoMoment(format!(
        "{what}; {there}; `partita backup list` has their times"
    ))
}
