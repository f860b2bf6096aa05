//! Jobs: what a write causes beyond one transaction, done afterwards in chunks.
//!
//! The transaction of the write records the job in the sidecar table. A worker takes a lease on
//! it and goes through the items that are meant, page by page. Each chunk is one transaction that
//! also moves the job's position, so that everything happens exactly once, whoever works and
//! however often somebody is interrupted.
//!
//! | module | what it holds |
//! |---|---|
//! | `job` | what a job is, and how far it is |
//! | `job::record` | a job as it is stored |
//! | `job::worker` | leases, chunks, the end |

mod record;
mod worker;

use partita_core::{Item, Map};
use partita_design::design::{Entity, RecordName, Ref, RefTarget};

use crate::blueprint::Blueprint;
use crate::operation::Caller;
use crate::shape::Shape;

pub(crate) use record::{DONE, OPEN};

/// What a write left to be done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Job {
    /// Its id; later ones are larger.
    pub(crate) id: String,
    /// The time of the write, which is the time of everything that the job writes.
    pub(crate) created_millis: i64,
    /// Who asked for the write.
    pub(crate) caller: Caller,
    /// What is to be done, one after the other.
    pub(crate) tasks: Vec<Task>,
    /// How many items there are at least, as far as somebody counts them.
    pub(crate) expected: u64,
    /// How far it is.
    pub(crate) progress: Progress,
    /// Who is at work.
    pub(crate) lease: Option<Lease>,
}

/// Something to be done to all items that refer to one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Task {
    pub(crate) kind: TaskKind,
    /// What they refer to: a record, and its identity.
    pub(crate) source: String,
    pub(crate) identity: Map,
    /// Whose items refer, by which ref, and as which of its targets.
    pub(crate) entity: String,
    pub(crate) reference: String,
    pub(crate) target: usize,
}

/// What is done to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskKind {
    /// The item was removed: they do what their ref says `on delete`.
    Release,
    /// The item changed: their copies of it follow.
    Follow,
}

/// How far a job is. It changes with every chunk, in the transaction of the chunk.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Progress {
    /// How many chunks were done. It tells whether somebody else has gone on meanwhile.
    pub(crate) chunks: u64,
    /// The task and its query that are next, and the key behind which it goes on.
    pub(crate) task: usize,
    pub(crate) listing: usize,
    pub(crate) after: Option<Item>,
    /// How many items were changed.
    pub(crate) done: u64,
    /// How many could not be, in this pass through the tasks.
    pub(crate) refused: u64,
    /// Whether this pass has changed anything.
    pub(crate) has_moved: bool,
    /// Why the last one could not.
    pub(crate) last_error: Option<String>,
}

/// A claim on a job. Without an owner, nobody may take it before that time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) owner: Option<String>,
    pub(crate) until_millis: i64,
}

/// A job as `partita jobs` shows it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct JobStatus {
    /// Its id; later ones are larger.
    pub id: String,
    /// What it follows: `Album 6f1c…`.
    pub of: String,
    /// What it does, and to which items: `AlbumMedia.album`.
    pub tasks: Vec<String>,
    /// Whether it waits, is being worked on, or is done.
    pub state: JobState,
    /// When the write was that caused it.
    pub created_millis: i64,
    /// How many items were done.
    pub done: u64,
    /// How many there are at least, where a count tells.
    pub expected: Option<u64>,
    /// How many items could not be done so far; they are tried again.
    pub refused: u64,
    /// What went wrong last.
    pub last_error: Option<String>,
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// Nobody is at work, or whoever was has stopped.
    Waiting,
    /// Somebody is at work.
    Running,
    /// Everything is done.
    Done,
}

impl JobState {
    /// The state in one word.
    pub fn word(self) -> &'static str {
        match self {
            JobState::Waiting => "waiting",
            JobState::Running => "running",
            JobState::Done => "done",
        }
    }
}

impl Job {
    /// Who is at work, if somebody is.
    fn lease_owner(&self) -> Option<&str> {
        self.lease.as_ref()?.owner.as_deref()
    }

    /// The job as others see it.
    fn status(&self, is_done: bool, now_millis: i64) -> JobStatus {
        let lease = self.lease.as_ref();
        let is_held = lease.is_some_and(|one| one.owner.is_some() && one.until_millis > now_millis);
        let of = self.tasks.first().map(Task::shown_source);
        let names = self.tasks.iter();
        JobStatus {
            id: self.id.clone(),
            of: of.unwrap_or_default(),
            tasks: names
                .map(|task| format!("{}.{}", task.entity, task.reference))
                .collect(),
            state: match (is_done, is_held) {
                (true, _) => JobState::Done,
                (false, true) => JobState::Running,
                (false, false) => JobState::Waiting,
            },
            created_millis: self.created_millis,
            done: self.progress.done,
            expected: (self.expected > 0).then_some(self.expected),
            refused: self.progress.refused,
            last_error: self.progress.last_error.clone(),
        }
    }
}

impl Task {
    fn shown_source(&self) -> String {
        let parts = self.identity.values();
        let parts = parts.filter_map(|part| match part {
            partita_core::Value::S(text) => Some(text.clone()),
            partita_core::Value::N(number) => Some(number.to_string()),
            _ => None,
        });
        let parts: Vec<String> = parts.collect();
        format!("{} {}", self.source, parts.join(" "))
    }

    /// The parts of the design that a task names. A design that was changed since may lack them.
    pub(crate) fn within<'a>(&self, blueprint: &'a Blueprint) -> Option<Within<'a>> {
        let names = [
            RecordName::Entity(self.source.clone()),
            RecordName::View(self.source.clone()),
        ];
        let entity = blueprint.design.entity(&self.entity)?;
        let reference = entity.reference(&self.reference)?;
        Some(Within {
            source: names.iter().find_map(|name| blueprint.shape(name))?,
            entity,
            reference,
            target: reference.targets.get(self.target)?,
        })
    }
}

/// What a task is about, found in the design.
#[derive(Clone, Copy)]
pub(crate) struct Within<'a> {
    pub(crate) source: Shape<'a>,
    pub(crate) entity: &'a Entity,
    pub(crate) reference: &'a Ref,
    pub(crate) target: &'a RefTarget,
}

#[cfg(test)]
mod tests;
