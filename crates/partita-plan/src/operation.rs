//! What can be asked, by whom, and what is answered.

use std::collections::BTreeMap;

use partita_core::Map;
use partita_core::size::item_memory;

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// The caller's id; none without a token.
    pub id: Option<String>,
    /// The caller's role, as the token has it.
    pub role: Option<String>,
    /// The groups that the caller is in, as the token has them.
    pub groups: Vec<String>,
}

impl Caller {
    /// A caller without a token.
    pub fn anonymous() -> Self {
        Caller::default()
    }

    /// A user without a role.
    pub fn user(id: impl Into<String>) -> Self {
        Caller {
            id: Some(id.into()),
            ..Caller::default()
        }
    }
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Create an item.
    Create {
        /// The entity.
        entity: String,
        /// Its attributes, by name or alias.
        attributes: Map,
    },
    /// Read one item.
    Get {
        /// The entity.
        entity: String,
        /// The parts of its identity, in order.
        identity: Vec<String>,
        /// Whether a soft-deleted item is found too.
        with_deleted: bool,
    },
    /// Change some attributes of an item; a null removes one.
    Update {
        /// The entity.
        entity: String,
        /// The parts of its identity, in order.
        identity: Vec<String>,
        /// The attributes that change.
        changes: Map,
        /// Whether a soft-deleted item is changed too.
        with_deleted: bool,
        /// The version that the caller saw; another one is refused.
        version: Option<i64>,
    },
    /// Create an item, or replace what is given of the one that is there; a null removes an
    /// attribute.
    ///
    /// Nothing there: it is a creation, with the defaults of the design, and every required
    /// attribute must be given. Something there: it is a change, and what is not given stays. Each
    /// needs the rule of its own.
    Upsert {
        /// The entity.
        entity: String,
        /// The parts of its identity, in order. Generated ones are given here too.
        identity: Vec<String>,
        /// Its attributes, by name or alias. The parts of the identity may be repeated.
        attributes: Map,
        /// The version that the caller saw; another one is refused, and so is no item at all.
        version: Option<i64>,
    },
    /// Delete an item, softly if the design says so.
    Delete {
        /// The entity.
        entity: String,
        /// The parts of its identity, in order.
        identity: Vec<String>,
        /// The version that the caller saw; another one is refused.
        version: Option<i64>,
    },
    /// Take a soft delete back.
    Restore {
        /// The entity.
        entity: String,
        /// The parts of its identity, in order.
        identity: Vec<String>,
        /// The version that the caller saw; another one is refused.
        version: Option<i64>,
    },
    /// Remove a soft-deleted item for good.
    Purge {
        /// The entity.
        entity: String,
        /// The parts of its identity, in order.
        identity: Vec<String>,
        /// The version that the caller saw; another one is refused.
        version: Option<i64>,
    },
    /// Do something to an item that the design has a name for.
    Act {
        /// The action.
        action: String,
        /// The record that the item is; where the action finds its items itself, there is none.
        entity: Option<String>,
        /// The parts of its identity, in order.
        identity: Vec<String>,
        /// Attributes and parameters.
        given: Map,
        /// The version that the caller saw; another one is refused.
        version: Option<i64>,
    },
    /// Read by an access pattern.
    Query {
        /// The pattern.
        pattern: String,
        /// Its parameters.
        parameters: BTreeMap<String, String>,
        /// Items on the page at most.
        limit: Option<usize>,
        /// Where the last page ended.
        cursor: Option<String>,
    },
}

impl Operation {
    /// The parts of the identity that it names its item by, in order; none where it creates or
    /// finds items.
    pub fn identity(&self) -> &[String] {
        match self {
            Operation::Create { .. } | Operation::Query { .. } => &[],
            Operation::Get { identity, .. }
            | Operation::Update { identity, .. }
            | Operation::Upsert { identity, .. }
            | Operation::Delete { identity, .. }
            | Operation::Restore { identity, .. }
            | Operation::Purge { identity, .. }
            | Operation::Act { identity, .. } => identity,
        }
    }
}

/// What is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// One record.
    Record(Record),
    /// One record that was not there before.
    Created(Record),
    /// A page of records.
    Page {
        /// The records.
        records: Vec<Record>,
        /// Where to go on; the end is reached when there is none.
        cursor: Option<String>,
    },
    /// It is done, and there is nothing to show.
    Done,
}

/// An answer to a write, and what of the write is still to be done.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply<T = Answer> {
    /// What is answered.
    pub answer: T,
    /// The ids of the jobs that do the rest of the write.
    pub jobs: Vec<String>,
}

impl<T> Reply<T> {
    /// The same jobs with another answer.
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Reply<U> {
        Reply {
            answer: change(self.answer),
            jobs: self.jobs,
        }
    }
}

impl From<Answer> for Reply {
    /// An answer after which nothing is left to do.
    fn from(answer: Answer) -> Self {
        Reply {
            answer,
            jobs: Vec::new(),
        }
    }
}

impl Answer {
    /// About how many bytes of memory it takes.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Answer::Done => 0,
            Answer::Record(record) | Answer::Created(record) => item_memory(&record.attributes),
            Answer::Page { records, .. } => {
                let records = records.iter();
                records.map(|record| item_memory(&record.attributes)).sum()
            }
        }
    }
}

/// An item as its design sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The entity or view that it is.
    pub name: String,
    /// Its attributes, those that stand only in the key too.
    pub attributes: Map,
}
