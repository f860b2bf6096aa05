//! What is found, and what became of it.

use std::fmt;

use async_trait::async_trait;
use partita_core::{Item, Value, plain, printable};
use partita_store::StoreError;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// One derived value that is not what its sources say.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Drift {
    /// What kind of value it is.
    pub kind: DriftKind,
    /// Whose item it is: an entity, a view, or the guards of an entity.
    pub record: String,
    /// The table.
    pub table: String,
    /// The primary key of the item.
    pub key: Item,
    /// The attribute; `None` speaks of the whole item.
    pub attribute: Option<String>,
    /// What is stored; `None` where nothing is.
    pub stored: Option<Value>,
    /// What it should be; `None` where nothing should be.
    pub expected: Option<Value>,
    /// What is wrong, where the two values do not tell.
    pub note: Option<String>,
    /// The place in the design that says so.
    pub says: String,
}

/// The kinds of derived values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DriftKind {
    /// The primary key against the attributes that it is made of.
    PrimaryKey,
    /// A key of an index.
    IndexKey,
    /// A value that is computed from its own item.
    Computed,
    /// A value that its attribute does not allow, a required one that is missing, or an item that
    /// breaks its entity's `require`.
    Value,
    /// A count or a sum.
    Aggregate,
    /// A sum over a tally, which is not exact under retries.
    Tally,
    /// A value that follows one of another item.
    Copy,
    /// A record of a view.
    View,
    /// A state that was kept of an item that is gone.
    History,
    /// The guard of a unique value.
    Unique,
    /// A reference to an item that is gone, which `on delete` does not allow.
    Dangling,
}

impl DriftKind {
    /// The kind in one word.
    pub fn word(self) -> &'static str {
        match self {
            DriftKind::PrimaryKey => "primary-key",
            DriftKind::IndexKey => "index-key",
            DriftKind::Computed => "computed",
            DriftKind::Value => "value",
            DriftKind::Aggregate => "aggregate",
            DriftKind::Tally => "tally",
            DriftKind::Copy => "copy",
            DriftKind::View => "view",
            DriftKind::History => "history",
            DriftKind::Unique => "unique",
            DriftKind::Dangling => "dangling",
        }
    }
}

/// What became of a drift.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It is there.
    Found,
    /// It is there, and the repair would mend it.
    Mendable,
    /// It was mended.
    Mended,
    /// It is there and only somebody who knows the data can mend it.
    Left {
        /// Whether it is removed where the operator names the place in the design that says so.
        removable: bool,
    },
    /// It looks left behind or miscounted, and stays as long as the table has items that the design
    /// does not recognise: it may be one of theirs, or they may count.
    Held,
    /// An unfinished job will settle it: it is no drift.
    Awaited {
        /// The id of the job.
        job: String,
    },
    /// Its items kept changing while they were looked at.
    Moving,
}

/// Something in a table that no part of the design explains. Nothing is ever done to it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Unrecognised {
    /// The table.
    pub table: String,
    /// The primary key of the item.
    pub key: Item,
    /// The record and its attribute that the design does not have; `None` speaks of the whole item.
    pub attribute: Option<(String, String)>,
}

/// How far a pass is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Items looked at in this pass.
    pub items: u64,
    /// Items that the tables hold, as far as the store counts them.
    pub total: u64,
}

/// Whoever asked does not wait for the answer any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Receives what is found while it is found. Nothing is kept for later: a table may
/// have more drifts than memory holds.
#[async_trait]
pub trait Watch: Send {
    /// Called between two steps, after each page and each write. It may wait, to leave the store to
    /// others or until its events are read; and it may end the work here, where nothing is half done.
    async fn between_steps(&mut self) -> Result<(), Stopped> {
        Ok(())
    }

    /// A pass over the tables begins. A repair makes several, and what a pass before left may be
    /// mended by this one.
    fn begins(&mut self, _pass: u32) {}

    /// So much of the pass is done.
    fn moves(&mut self, _progress: Progress) {}

    /// Something was found.
    fn finds(&mut self, drift: &Drift, outcome: &Outcome);

    /// There is an item that the design does not recognise.
    fn meets(&mut self, _unrecognised: &Unrecognised) {}
}

/// Everything that was found, for tests and small tables: what was mended, and of the last pass
/// what was not.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    /// What was found and not mended.
    pub open: Vec<(Drift, Outcome)>,
    /// What was mended.
    pub mended: Vec<Drift>,
    /// What the design does not recognise.
    pub unrecognised: Vec<Unrecognised>,
}

impl Watch for Collected {
    fn begins(&mut self, _pass: u32) {
        self.open.clear();
        self.unrecognised.clear();
    }

    fn meets(&mut self, unrecognised: &Unrecognised) {
        self.unrecognised.push(unrecognised.clone());
    }

    fn finds(&mut self, drift: &Drift, outcome: &Outcome) {
        match outcome {
            Outcome::Mended => self.mended.push(drift.clone()),
            _ => self.open.push((drift.clone(), outcome.clone())),
        }
    }
}

/// What a verification or a repair came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Report {
    /// Items that were looked at, in the last pass.
    pub items: u64,
    /// Items that no part of the design explains, in the last pass.
    pub unrecognised: u64,
    /// Attributes of items that their records do not have, in the last pass.
    pub unrecognised_attributes: u64,
    /// References to items that are gone, where the design lets them stay, in the last pass.
    pub kept_references: u64,
    /// Drifts that are there: all of a verification, what is left of a repair.
    pub drifts: u64,
    /// Those of them that only sum over tallies, and may be so after lost answers.
    pub tallies: u64,
    /// Values that unfinished jobs will settle.
    pub awaited: u64,
    /// Values that kept changing while they were looked at; ask again.
    pub moving: u64,
    /// Drifts that stay because of unrecognised items.
    pub held: u64,
    /// Values that are derived from such as drifted, so that it cannot be said yet whether they are
    /// right.
    pub following: u64,
    /// Drifts that were mended, in all passes.
    pub mended: u64,
    /// Jobs that are not done.
    pub jobs: u64,
    /// Those of them that could not go on, and may need somebody to see why.
    pub stalled: u64,
    /// Passes over the tables.
    pub passes: u32,
}

impl Report {
    /// Whether nothing is wrong. What jobs will settle, and sums over tallies, count as right; a job
    /// that does not go on does not.
    pub fn is_clean(&self) -> bool {
        let is_right = self.drifts == self.tallies && self.following == 0;
        is_right && self.moving == 0 && self.stalled == 0
    }

    /// Counts a value that is derived from one that drifted.
    pub(crate) fn follow(&mut self, drift: &Drift) {
        if drift.kind == DriftKind::Tally {
            self.drifts += 1;
            self.tallies += 1;
        } else {
            self.following += 1;
        }
    }

    pub(crate) fn count(&mut self, drift: &Drift, outcome: &Outcome) {
        match outcome {
            Outcome::Mended => self.mended += 1,
            Outcome::Awaited { .. } => self.awaited += 1,
            Outcome::Moving => self.moving += 1,
            Outcome::Found | Outcome::Mendable | Outcome::Left { .. } | Outcome::Held => {
                self.drifts += 1;
                self.tallies += u64::from(drift.kind == DriftKind::Tally);
                self.held += u64::from(*outcome == Outcome::Held);
            }
        }
    }
}

/// Why a table cannot be verified.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// Something was named for removal that cannot be.
    #[error(
        "`{place}` is nothing whose leftovers can be removed: name a view with `history-of`, a ref \
         with `on delete cascade` or `clear`, or `entity.X.open` of an entity that is `open`, the way \
         `verify` prints it"
    )]
    NotRemovable {
        /// What was named.
        place: String,
    },
    /// An entity was named that the design does not have.
    #[error("the design has no entity `{name}`")]
    NoEntity {
        /// What was named.
        name: String,
    },
    /// Another repair is at work, or has taken over from this one.
    #[error(
        "{holder} has been repairing since {since}, and one repair at a time writes: try again when it \
         has ended; if it was interrupted, that is at {until}"
    )]
    Locked {
        /// Who has the lock.
        holder: String,
        /// When they took it.
        since: String,
        /// When it ends, if they are not heard of again.
        until: String,
    },
    /// It was ended between two steps.
    #[error("it was stopped before it was done")]
    Stopped,
    /// The store refuses or fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The numbers of a large table do not fit where they are put aside.
    #[error("cannot put numbers aside in the temporary directory: {0}")]
    Aside(#[from] std::io::Error),
}

impl From<Stopped> for VerifyError {
    fn from(_: Stopped) -> Self {
        VerifyError::Stopped
    }
}

impl Drift {
    /// The drift as JSON, for other tools.
    pub fn to_json(&self) -> Json {
        let value = |value: &Option<Value>| value.as_ref().map_or(Json::Null, plain::to_json);
        json!({
            "kind": self.kind.word(),
            "record": self.record,
            "table": self.table,
            "key": plain::map_to_json(&self.key),
            "attribute": self.attribute,
            "stored": value(&self.stored),
            "expected": value(&self.expected),
            "note": self.note,
            "says": self.says,
        })
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Value| {
            let text = plain::to_json(value).to_string();
            printable::line(&text).into_owned()
        };
        write!(f, "{}", self.record)?;
        for value in self.key.values() {
            let text = value.as_str().unwrap_or_default();
            write!(f, " {}", printable::line(text))?;
        }
        if let Some(attribute) = &self.attribute {
            write!(f, ": {}", printable::line(attribute))?;
        }
        let is_item = self.attribute.is_none();
        match (&self.stored, &self.expected) {
            _ if self.note.is_some() => {}
            (None, Some(_)) if is_item => f.write_str(" is missing")?,
            (Some(_), None) if is_item => f.write_str(" should not be there")?,
            (Some(stored), Some(expected)) => {
                write!(f, " is {}, should be {}", shown(stored), shown(expected))?;
            }
            (None, Some(expected)) => write!(f, " is missing, should be {}", shown(expected))?,
            (Some(stored), None) => write!(f, " is {}, should be missing", shown(stored))?,
            (None, None) => {}
        }
        if let Some(note) = &self.note {
            write!(f, " {}", printable::line(note))?;
        }
        write!(f, " ({})", self.says)
    }
}
