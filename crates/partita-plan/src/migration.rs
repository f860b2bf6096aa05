//! The way from the live design to another one, with the data in place.
//!
//! ```text
//!            start          backfill done        switch            complete
//!  (old) ──────────▶ kept ──────────────▶ filled ──────▶ switched ─────────▶ completing ─▶ (new)
//!                     │                     │               │
//!                     └────── rollback ─────┴───────────────┴──▶ rolling back ─▶ (old)
//! ```
//!
//! From `kept` until `completing`, every write is planned with the
//! [union](partita_design::union) of both designs: one draft, one transaction, the derived data of
//! both. The served design alone decides what is allowed and what is triggered. It is the old one
//! up to the switch and the new one from then on.
//!
//! - **kept**: writers keep the new derived data, and the backfill goes through all items. An item
//!   may lack what it has not come to yet, so nothing relies on it: records and guards are looked at
//!   before they are changed, and numbers go by marks (`react::mark`).
//! - **filled**: nothing is missing. Marks are removed.
//! - **switched**: the new design is served, and what only the old one derives is still kept, so
//!   that a rollback only has to switch back.
//! - **completing**, **rolling back**: one design alone is planned with, and what only the other
//!   one derives is removed.
//! - **naming**, **clearing**: only where both designs declare something otherwise. One attribute
//!   cannot be two counts at once, so that from `kept` on the new one has interim names
//!   ([`partita_design::union::interim`]), which callers do not see. When nothing is left of the old
//!   design, the way goes on as from one design to another: what has interim names is kept under its
//!   own names, too, and filled (naming); then it is served from there, and the interim names are
//!   removed (clearing).
//!
//! A stage is a row of the sidecar and moves by one conditional write. A process that stops at any
//! point goes on with what that row says: all work is idempotent, and the position of the backfill
//! is only where it begins again.
//!
//! **One process at a time.** The embedded store belongs to one process, so a stage moves under a
//! lock (`gate`) that every commit passes: no commit is under way while it moves, and a plan of
//! an earlier stage is refused by [`PlanError::Superseded`] and planned again. Several servers on
//! one DynamoDB table have leases ([`crate::lease`]) that name the live design, and not yet a stage;
//! as long as they do not, a migration does not start there.
//!
//! | module | what it holds |
//! |---|---|
//! | `migration` | the stages, and a migration as it is stored and shown |
//! | `migration::row` | the row in the sidecar |
//! | `migration::changes` | what a migration can carry out, and what it cannot |
//! | `migration::current` | [`Current`]: a design that is served, whichever stage it is in |
//! | `migration::gate` | the lock that stages move under |
//! | `migration::gated` | a store whose writes pass it, for repairs |
//! | `migration::drive` | the work of a stage, until the next command |
//! | `migration::backfill` | all items, page by page, given what they lack |
//! | `migration::removal` | what a design that is no longer planned with has left |
//! | `migration::survey` | stored items and jobs that are in the way of a step, looked for up to it |

mod backfill;
pub mod changes;
mod current;
mod drive;
pub(crate) mod gate;
pub(crate) mod gated;
mod removal;
pub(crate) mod row;
mod survey;

use std::collections::BTreeMap;

use partita_core::Item;
use partita_design::Design;
use partita_design::union::{Disagreement, Served, Union, interim, union};

use crate::blueprint::{Beside, Blueprint};
use crate::error::PlanError;

pub use changes::PlannedChange;
pub use current::Current;
pub use drive::OnProgress;
pub(crate) use drive::change_table;
pub use gate::Gate;

/// How far a migration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Both designs' derived data are kept, and the new one's are filled in.
    Kept,
    /// Nothing of the new design's is missing.
    Filled,
    /// The new design is served, and the old one's derived data are kept.
    Switched,
    /// The new design is served, and what only the old one derives is removed.
    Completing,
    /// What the new design stores under interim names is stored under its own, too.
    Naming,
    /// The new design is served under its own names, and the interim ones are removed.
    Clearing,
    /// The new design is served alone.
    Completed,
    /// The old design is served, and what only the new one derives is removed.
    RollingBack,
    /// The old design is served alone.
    RolledBack,
}

impl Stage {
    const WORDS: [(Stage, &'static str); 9] = [
        (Stage::Kept, "kept"),
        (Stage::Filled, "filled"),
        (Stage::Switched, "switched"),
        (Stage::Completing, "completing"),
        (Stage::Naming, "naming"),
        (Stage::Clearing, "clearing"),
        (Stage::Completed, "completed"),
        (Stage::RollingBack, "rolling back"),
        (Stage::RolledBack, "rolled back"),
    ];

    /// The stage in a word or two.
    pub fn word(self) -> &'static str {
        let found = Stage::WORDS.iter().find(|(stage, _)| *stage == self);
        found.map_or("", |(_, word)| word)
    }

    fn find(word: &str) -> Option<Stage> {
        let found = Stage::WORDS.iter().find(|(_, known)| *known == word);
        found.map(|(stage, _)| *stage)
    }

    /// Whether there is nothing left to do.
    pub fn is_over(self) -> bool {
        matches!(self, Stage::Completed | Stage::RolledBack)
    }

    /// Whether the new design is the live one.
    fn is_new_served(self) -> bool {
        match self {
            Stage::Kept | Stage::Filled | Stage::RollingBack | Stage::RolledBack => false,
            Stage::Switched
            | Stage::Completing
            | Stage::Naming
            | Stage::Clearing
            | Stage::Completed => true,
        }
    }

    /// Whether writes keep the derived data of both designs.
    fn keeps_both(self) -> bool {
        matches!(
            self,
            Stage::Kept | Stage::Filled | Stage::Switched | Stage::Naming
        )
    }

    /// Whether items may lack what is kept beside the served design.
    pub(crate) fn is_filling(self) -> bool {
        matches!(self, Stage::Kept | Stage::Naming)
    }

    /// Whether it is of the way from interim names to the new design's own.
    fn is_of_names(self) -> bool {
        matches!(self, Stage::Naming | Stage::Clearing | Stage::Completed)
    }
}

/// A migration as it is stored.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Migration {
    /// Which one, from 1.
    pub number: u64,
    /// The number of the live design that it began with.
    pub from: u64,
    /// The file of the new design.
    pub text: String,
    /// The variables that the new design was compiled with.
    pub variables: BTreeMap<String, String>,
    /// How far it is.
    pub stage: Stage,
    /// When it came to this stage, in milliseconds since 1970.
    pub since_millis: i64,
    /// Whether nothing is filled in at the moment: an operator said so, or items are in the way.
    pub is_paused: bool,
    /// The items that could not be filled in, with what is wrong with them.
    pub refused: Vec<String>,
    /// What goes though callers gave it, by the names of its declarations, because whoever began it
    /// said so.
    pub drops: Vec<String>,
    /// How many items were looked at in this stage.
    pub looked_at: u64,
    /// Where the work of this stage goes on: the table, and the key behind which.
    pub(crate) position: Position,
    /// Whether the marks of a stage that is over are removed.
    pub(crate) is_swept: bool,
}

/// Where the work of a stage goes on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Position {
    pub(crate) table: usize,
    pub(crate) after: Option<Item>,
}

/// Why a migration does not begin or go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MigrationError {
    /// The stored data need not follow what changed.
    #[error("stored data need not follow what has changed: serve the design, and it is adopted")]
    NotNeeded,
    /// Changes that no migration of this version carries out.
    #[error("this version cannot carry out: {}", lines(.changes))]
    Unable {
        /// The changes and why not.
        changes: Vec<String>,
    },
    /// Stored items are in the way.
    #[error("items are in the way, {count} in all: {}", lines(.items))]
    InTheWay {
        /// How many there are.
        count: u64,
        /// The keys of the first ones, and what is wrong with them.
        items: Vec<String>,
    },
    /// The old design's data cannot be had back after the switch.
    #[error("after the switch this cannot be taken back: {}", lines(.changes))]
    Lasting {
        /// The changes that last.
        changes: Vec<String>,
    },
    /// Another migration is not over.
    #[error(
        "migration {number} is not over, it is {}: complete it or roll it back first",
        .stage.word()
    )]
    Running {
        /// Which one.
        number: u64,
        /// How far it is.
        stage: Stage,
    },
    /// A file was given that has nothing to do with it.
    #[error(
        "migration {number} goes from the file with the SHA-256 {old} to the one with {new}, and this \
         file, with {given}, is neither: give one of the two"
    )]
    OtherText {
        /// Which one.
        number: u64,
        /// The digest of the old design's file, in hexadecimal.
        old: String,
        /// That of the new one's.
        new: String,
        /// That of the file that was given.
        given: String,
    },
    /// There is none.
    #[error("no migration is running")]
    Nothing,
    /// It is not far enough, or too far.
    #[error("migration {number} is {}, and {what}", .stage.word())]
    Stage {
        /// Which one.
        number: u64,
        /// How far it is.
        stage: Stage,
        /// What it would have to be.
        what: &'static str,
    },
    /// Jobs of the design that is served have no place in the other one.
    #[error(
        "jobs are not done that the other design knows nothing of, or whose items it has under other \
         keys: {}",
        .jobs.join(", ")
    )]
    Jobs {
        /// Their ids.
        jobs: Vec<String>,
    },
    /// The store may be used by other processes.
    #[error(
        "a migration needs the embedded store in this version: several servers may use a DynamoDB \
         table, and they cannot follow its stages yet"
    )]
    Shared,
    /// Somebody mends derived data by the design that is served.
    #[error(
        "{holder} has been repairing since {since}, by the design that is served now: try again when \
         that has ended; if it was interrupted, that is at {until}"
    )]
    Repairing {
        /// Who repairs.
        holder: String,
        /// When they began.
        since: String,
        /// When it ends, if they are not heard of again.
        until: String,
    },
    /// Callers write faster than it can be looked at.
    #[error(
        "callers write faster than it can be looked at whether what they write is in the way: nothing \
         has changed; give the same command again at a quieter time"
    )]
    Busy,
    /// It changes while the same is asked of somebody else.
    #[error("the migration was changed by somebody else at the same moment; look at its status")]
    Moved,
}

fn lines(all: &[String]) -> String {
    all.iter().map(|line| format!("\n  {line}")).collect()
}

/// Mistakes that tests must notice.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// A writer counts an item in full though it has a mark.
    CountedTwice,
    /// The backfill passes over some items.
    Missed,
    /// It does so when interim names end.
    MissedName,
    /// The backfill takes no guards.
    GuardNotTaken,
    /// A record that is not there yet may come before the write that would have removed it.
    RecordNotRequired,
    /// Plans of the stage before are committed.
    StageTooEarly,
    /// The backfill is an operation on the item.
    TriggerFired,
}

/// Both designs of a migration.
#[derive(Clone)]
pub(crate) struct Designs {
    pub(crate) old: Design,
    pub(crate) new: Design,
    /// The new design with interim names for what both have and declare otherwise, if there is any.
    interim: Option<Design>,
}

impl Designs {
    pub(crate) fn new(old: Design, new: Design) -> Result<Designs, PlanError> {
        let interim = interim(&old, &new).map_err(|wrong| unable(&wrong))?;
        Ok(Designs { old, new, interim })
    }

    /// The design that callers know in a stage.
    pub(crate) fn served(&self, stage: Stage) -> &Design {
        if stage.is_new_served() {
            &self.new
        } else {
            &self.old
        }
    }

    /// The designs that a stage is between: one of them comes beside the other, or goes.
    fn ends(&self, stage: Stage) -> (&Design, &Design) {
        match &self.interim {
            None => (&self.old, &self.new),
            Some(interim) if stage.is_of_names() => (interim, &self.new),
            Some(interim) => (&self.old, interim),
        }
    }

    /// Which of the two is planned with.
    fn planned(&self, stage: Stage) -> Served {
        if stage.is_new_served() && stage != Stage::Naming {
            Served::New
        } else {
            Served::Old
        }
    }

    /// The stage in which what only the old design derives is removed.
    fn after_completing(&self) -> Stage {
        match self.interim {
            Some(_) => Stage::Naming,
            None => Stage::Completed,
        }
    }

    /// The stages in which writes keep the derived data of two designs.
    fn keeping(&self) -> impl Iterator<Item = Stage> {
        let naming = self.interim.as_ref().map(|_| Stage::Naming);
        [Stage::Kept, Stage::Switched].into_iter().chain(naming)
    }

    /// The union of both, as a stage serves them.
    fn union(&self, stage: Stage) -> Result<Union, PlanError> {
        let (from, to) = self.ends(stage);
        union(from, to, self.planned(stage)).map_err(|wrong| unable(&wrong))
    }

    /// What a stage plans with.
    pub(crate) fn blueprint(&self, migration: &Migration) -> Result<Blueprint, PlanError> {
        let stage = migration.stage;
        let (from, to) = self.ends(stage);
        let planned = match self.planned(stage) {
            Served::Old => from,
            Served::New => to,
        };
        let served = self.served(stage);
        if !stage.keeps_both() {
            let fading = (!stage.is_over()).then(|| self.union(stage));
            let fading = fading.transpose()?.map(Box::new);
            let mut planned = planned.clone();
            if let Some(union) = &fading {
                // Some items still have the marks of the other design.
                for (record, both) in planned.records.iter_mut().zip(&union.design.records) {
                    record.also_marked.clone_from(&both.also_marked);
                }
            }
            return Ok(Blueprint {
                fading,
                served: served.clone(),
                ..Blueprint::new(planned)?
            });
        }
        let Union {
            design,
            aside,
            demands,
        } = self.union(stage)?;
        let settled = match stage {
            Stage::Kept | Stage::Filled => changes::settled_defaults(&self.old, &self.new),
            _ => Vec::new(),
        };
        let beside = Beside {
            aside,
            demands,
            settled,
            migration: migration.number,
            stage,
            #[cfg(test)]
            mistake: None,
        };
        Ok(Blueprint {
            served: served.clone(),
            ..Blueprint::of(design, Some(beside))?
        })
    }
}

fn unable(wrong: &[Disagreement]) -> PlanError {
    let changes = wrong.iter();
    let changes = changes.map(|one| format!("{} {}", one.place, one.message));
    MigrationError::Unable {
        changes: changes.collect(),
    }
    .into()
}

#[cfg(test)]
mod tests;
