//! Jobs: what a write causes beyond one transaction, done afterwards in chunks.
//!
//! The transaction of the write records the job in the sidecar table. A worker takes a lease on
//! it and goes through the items that are meant, page by page. Each chunk is one transaction that
//! also moves the job's position, so that everything happens exactly once, with any number
//! of workers and interruptions.
//!
//! | module | what it holds |
//! |---|---|
//! | `job` | what a job is, and how far it is |
//! | `job::record` | a job as it is stored |
//! | `job::worker` | who takes a job: leases, setbacks, rests |
//! | `job::step` | a page of items and its chunk, and the end |
//! | `job::chunk` | the transaction of a chunk |
//! | `job::leave_out` | what is refused for good |
//! | `job::giving_up` | a job that is dropped |
//! | `job::schedule` | what is done once in every period |
//! | `job::every` | what is done for every item of a pattern |

pub(crate) mod chunk;
pub(crate) mod every;
mod giving_up;
mod leave_out;
mod record;
mod schedule;
mod step;
mod worker;

pub(crate) use schedule::ScheduleCounts;
pub use schedule::ScheduleMeters;

use partita_core::{Item, Map, Value};
use partita_design::design::{
    Action, ActionOn, Application, Each, EachOver, EffectId, Pattern, Record, Ref, RefTarget,
    ReferrerId, ScheduleOver,
};
use partita_design::kernel::{Reaction, Times};
use partita_design::{Design, nested};
use sha2::{Digest as _, Sha256};
use ulid::Ulid;

use crate::blueprint::Blueprint;
use crate::error::PlanError;
use crate::operation::Caller;
use crate::place::Address;

pub(crate) use record::{DONE, OPEN};
pub(crate) use schedule::Scheduled;

/// How long a worker may be silent before another takes over.
const LEASE_MILLIS: i64 = 15_000;

/// What a write left to be done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Job {
    /// Its id; later ones are larger. The caller of the write sees it.
    pub(crate) id: String,
    /// What the ids of the items that it creates are made of. Callers do not see it.
    pub(crate) seed: String,
    /// The job of the caller's write, where a job has left this one.
    pub(crate) root: Option<String>,
    /// The time of the write, which is the time of everything that the job writes.
    pub(crate) created_millis: i64,
    /// Who asked for the write.
    pub(crate) caller: Caller,
    /// What is to be done, one after the other.
    pub(crate) tasks: Vec<Task>,
    /// How many items there are at least, as far as they are counted.
    pub(crate) expected: u64,
    /// How far it is.
    pub(crate) progress: Progress,
    /// Who is at work.
    pub(crate) lease: Option<Lease>,
}

/// Something to be done to a number of items that no bound holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Task {
    /// What it follows from: a record and its identity, or an action and what it was given.
    pub(crate) source: String,
    pub(crate) identity: Map,
    pub(crate) work: Work,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Work {
    /// Something to all items that refer to the item.
    Referring(Referring),
    /// An effect, for every item of a pattern.
    Each(EachWork),
    /// An action, to every item of a pattern.
    Apply(ApplyWork),
    /// The states that were kept of the item go where it went.
    History(HistoryWork),
    /// What a schedule says, to every item that it goes over.
    Schedule(String),
}

/// All items that refer to another: whose, by which ref, and as which of its targets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Referring {
    pub(crate) kind: TaskKind,
    pub(crate) entity: String,
    pub(crate) reference: String,
    pub(crate) target: usize,
}

/// The effect of a trigger or an action, and what it was caused by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EachWork {
    /// The trigger, or the action.
    pub(crate) name: String,
    /// Which of the action's effects; none for a trigger.
    pub(crate) then: Option<usize>,
    /// Whether it follows from a cascade.
    pub(crate) is_released: bool,
    /// The item as it was and as the write left it.
    pub(crate) old: Option<Map>,
    pub(crate) new: Option<Map>,
    /// What the action was given.
    pub(crate) given: Map,
    /// The parameters of the pattern.
    pub(crate) parameters: Map,
}

/// An action that is applied to every item of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApplyWork {
    /// The action that says so.
    pub(crate) action: String,
    /// The parameters of the pattern.
    pub(crate) parameters: Map,
    /// What the applied action is given.
    pub(crate) given: Map,
}

/// The states that were kept of an item that was removed or has moved.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HistoryWork {
    pub(crate) view: String,
    /// The item's identity now; none if it was removed.
    pub(crate) to: Option<Map>,
}

/// What is done to items that refer to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskKind {
    /// It was removed: they do what their ref says `on delete`.
    Release,
    /// It changed: their copies of it follow.
    Follow,
}

/// How far a job is. It changes with every chunk, in the transaction of the chunk.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Progress {
    /// How many chunks were done. It shows whether another worker has gone on.
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
    /// How many were done without what was refused; none as long as nothing is left out.
    pub(crate) left_out: Option<u64>,
    /// Why a task was left out, if one was.
    pub(crate) skipped: Option<String>,
    /// How often it has waited for indexes and begun once more.
    pub(crate) looks: usize,
    /// Whether it rests since it could not go on, or is tried again after that and has done nothing
    /// yet.
    pub(crate) is_stalled: bool,
}

impl Progress {
    /// Whether a pass through the tasks is about to begin.
    fn is_at_start(&self) -> bool {
        self.task == 0 && self.listing == 0 && self.after.is_none()
    }
}

/// A claim on a job. Without an owner, it cannot be taken before that time.
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
    /// The job of the caller's write, where a job has left this one. That one is not done before.
    pub parent: Option<String>,
    /// What it follows: `Album 6f1c…`.
    pub of: String,
    /// What it does: to which items that refer (`AlbumMedia.album`), by which trigger or action
    /// (`completed`), or with the records of which view (`LetterVersion`).
    pub tasks: Vec<String>,
    /// Whether it waits, is being worked on, or is done.
    pub state: JobState,
    /// When the write was that caused it.
    pub created_millis: i64,
    /// How many items were done.
    pub done: u64,
    /// How many there are at least, where a count has them. Not every item need be counted, so that
    /// it is not shown when more are done.
    pub expected: Option<u64>,
    /// How many items could not be done so far; they are tried again.
    pub refused: u64,
    /// How many items were done without what was refused.
    pub left_out: u64,
    /// What went wrong last.
    pub last_error: Option<String>,
    /// Whether it could not go on, and has done nothing since; it is tried again.
    pub is_stalled: bool,
}

/// What became of a job that was to be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DroppedJob {
    /// It is.
    Dropped,
    /// There is none of that id that is not done.
    Missing,
    /// It is being worked on, or nothing is in its way.
    GoesOn,
}

/// What a job is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// No worker has a lease on it.
    Waiting,
    /// A worker has a lease on it.
    Running,
    /// Everything is done.
    Done,
}

impl Lease {
    /// A claim of a worker, from now on.
    pub(crate) fn new(owner: &str, now_millis: i64) -> Self {
        Lease {
            owner: Some(owner.to_owned()),
            until_millis: now_millis.saturating_add(LEASE_MILLIS),
        }
    }
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
    /// The id of a job with that seed. The ids that a write draws follow each other, and those of a
    /// job are made of its seed, so that none of them may be computed from what callers see.
    pub(crate) fn id_of(seed: &str, created_millis: i64) -> String {
        let digest = Sha256::digest(seed.as_bytes());
        let random = digest
            .iter()
            .take(16)
            .fold(0, |all, byte| all << 8 | u128::from(*byte));
        let millis = u64::try_from(created_millis).unwrap_or(0);
        Ulid::from_parts(millis, random).to_string()
    }

    /// Whether it finds the items that refer to one, or those of a schedule, by an index, which may be
    /// behind. What is done for every item of a pattern because of a write is not among them: it
    /// is for those that there were then, and later ones could not be told from them.
    fn goes_by_index(&self, blueprint: &Blueprint) -> bool {
        self.tasks.iter().any(|task| match task.within(blueprint) {
            Some(Within::Schedule(within)) => match within.schedule.over {
                ScheduleOver::Pattern { pattern, .. } => {
                    blueprint.design[pattern].read.index().is_some()
                }
                ScheduleOver::Entity(_) => false,
            },
            Some(Within::Referring(who)) => {
                let finder = who.target.finder.as_ref();
                finder.is_some_and(|finder| finder.index.is_some())
            }
            _ => false,
        })
    }

    /// Whether another job has done all that it would do, if that one began later than this one was
    /// left: copies follow what their item is by then, whoever has them follow.
    fn is_covered_by(&self, done: &Job) -> bool {
        let mut tasks = self.tasks.iter();
        tasks.all(|task| task.follows() && done.tasks.contains(task))
    }

    /// The job of the caller's write.
    fn root(&self) -> &str {
        self.root.as_deref().unwrap_or(&self.id)
    }

    /// The worker that has the lease.
    fn lease_owner(&self) -> Option<&str> {
        self.lease.as_ref()?.owner.as_deref()
    }

    /// The job as others see it.
    fn status(&self, design: &Design, is_done: bool, now_millis: i64) -> JobStatus {
        let lease = self.lease.as_ref();
        let is_held = lease.is_some_and(|one| one.owner.is_some() && one.until_millis > now_millis);
        let of = self.tasks.first().map(|task| task.shown_source(design));
        let mut tasks: Vec<String> = Vec::new();
        for task in self.tasks.iter().map(Task::shown_work) {
            // The tasks of one kind differ in the items that they follow from.
            if !tasks.contains(&task) {
                tasks.push(task);
            }
        }
        JobStatus {
            id: self.id.clone(),
            parent: self.root.clone(),
            of: of.unwrap_or_default(),
            tasks,
            state: match (is_done, is_held) {
                (true, _) => JobState::Done,
                (false, true) => JobState::Running,
                (false, false) => JobState::Waiting,
            },
            created_millis: self.created_millis,
            done: self.progress.done,
            expected: (self.expected > 0 && self.progress.done <= self.expected)
                .then_some(self.expected),
            refused: self.progress.refused,
            left_out: self.progress.left_out.unwrap_or(0),
            last_error: self.progress.last_error.clone(),
            is_stalled: self.progress.is_stalled && !is_done,
        }
    }
}

impl Task {
    /// Whether it has copies follow their item.
    fn follows(&self) -> bool {
        matches!(&self.work, Work::Referring(work) if work.kind == TaskKind::Follow)
    }

    /// Whether it is a part of a cascade.
    fn is_released(&self) -> bool {
        match &self.work {
            Work::Referring(work) => work.kind == TaskKind::Release,
            Work::Each(work) => work.is_released,
            Work::Apply(_) | Work::History(_) | Work::Schedule(_) => false,
        }
    }

    /// What it follows from, with its identity in the order of the design.
    fn shown_source(&self, design: &Design) -> String {
        let parts: Vec<&Value> = match design.find_record(&self.source) {
            Some(record) => {
                let names = record.identity.iter().map(|part| &part.attribute);
                names
                    .filter_map(|name| nested::get(&self.identity, name))
                    .collect()
            }
            None => self.identity.values().collect(),
        };
        let parts = parts.into_iter().filter_map(|part| match part {
            Value::S(text) => Some(text.clone()),
            Value::N(number) => Some(number.to_string()),
            _ => None,
        });
        let parts: Vec<String> = parts.collect();
        format!("{} {}", self.source, parts.join(" "))
    }

    fn shown_work(&self) -> String {
        match &self.work {
            Work::Referring(work) => format!("{}.{}", work.entity, work.reference),
            Work::Each(work) => work.name.clone(),
            Work::Apply(work) => work.action.clone(),
            Work::History(work) => work.view.clone(),
            Work::Schedule(name) => name.clone(),
        }
    }

    /// The parts of the design that a task names. A design that was changed since may lack them.
    pub(crate) fn within<'a>(&self, blueprint: &'a Blueprint) -> Option<Within<'a>> {
        let source = blueprint.design.find_record(&self.source);
        Some(match &self.work {
            Work::Referring(work) => {
                let entity = blueprint.design.find_entity(&work.entity)?;
                let id = entity.referrer(&work.reference, work.target)?;
                Within::Referring(Referrers::of(&blueprint.design, source?, id))
            }
            Work::Each(work) => Within::Each(Effected::find(blueprint, source?, work)?),
            Work::Apply(work) => Within::Apply(Applied::find(blueprint, work)?),
            Work::Schedule(name) => {
                let schedule = blueprint.design.find_schedule(name)?;
                Within::Schedule(Scheduled { schedule })
            }
            Work::History(work) => Within::History {
                source: source?,
                view: blueprint.design.find_record(&work.view)?,
            },
        })
    }

    /// The places that cannot be used before the task is done.
    pub(crate) fn held(&self, blueprint: &Blueprint) -> Result<Vec<Address>, PlanError> {
        let source = match self.within(blueprint) {
            Some(Within::Referring(within)) => within.source,
            Some(Within::History { source, .. }) => source,
            _ => return Ok(Vec::new()),
        };
        let from = || blueprint.address(source, &self.identity);
        Ok(match &self.work {
            Work::Referring(work) if work.kind == TaskKind::Release => vec![from()?],
            Work::History(work) => match &work.to {
                Some(to) => vec![from()?, blueprint.address(source, to)?],
                None => vec![from()?],
            },
            _ => Vec::new(),
        })
    }
}

/// What a task is about, found in the design.
#[derive(Clone, Copy)]
pub(crate) enum Within<'a> {
    Referring(Referrers<'a>),
    Each(Effected<'a>),
    Apply(Applied<'a>),
    Schedule(Scheduled<'a>),
    History {
        source: &'a Record,
        view: &'a Record,
    },
}

impl Within<'_> {
    /// Whether items have other keys in the design that is planned with next, so that the places
    /// which are held for the task, and the one where it goes on, would mean nothing.
    fn goes_by_keys_of(&self, now: &Blueprint, next: &Blueprint) -> bool {
        let has_others = |record: &Record| {
            let known = next.design.find_record(&record.name);
            known.is_some_and(|known| known.key != record.key)
        };
        let finds_others = |pattern: &Pattern| {
            let mut found = pattern.returns.iter();
            found.any(|record| has_others(&now.design[*record]))
        };
        match self {
            Within::Referring(within) => has_others(within.source) || has_others(within.entity),
            Within::Each(within) => has_others(within.source) || finds_others(within.pattern),
            Within::Apply(within) => finds_others(within.pattern),
            Within::Schedule(within) => has_others(&now.design[within.schedule.over.record()]),
            Within::History { source, view } => has_others(source) || has_others(view),
        }
    }
}

/// The items that refer to one of a record.
#[derive(Clone, Copy)]
pub(crate) struct Referrers<'a> {
    pub(crate) id: ReferrerId,
    /// What they refer to.
    pub(crate) source: &'a Record,
    pub(crate) entity: &'a Record,
    pub(crate) reference: &'a Ref,
    pub(crate) target: &'a RefTarget,
}

impl<'a> Referrers<'a> {
    pub(crate) fn of(design: &'a Design, source: &'a Record, id: ReferrerId) -> Self {
        let reference = &design[(id.record, id.reference)];
        Referrers {
            id,
            source,
            entity: &design[id.record],
            reference,
            target: &reference.targets[id.target],
        }
    }
}

/// An effect for every item of a pattern.
#[derive(Clone, Copy)]
pub(crate) struct Effected<'a> {
    pub(crate) source: &'a Record,
    pub(crate) effect: EffectId,
    pub(crate) reaction: &'a Reaction,
    pub(crate) pattern: &'a Pattern,
    /// The action, where it is one's effect.
    pub(crate) action: Option<&'a Action>,
}

impl<'a> Effected<'a> {
    fn find(blueprint: &'a Blueprint, source: &'a Record, work: &EachWork) -> Option<Self> {
        let design = &blueprint.design;
        let (effect, action) = match work.then {
            None => {
                let mut triggers = design.triggers.iter();
                let trigger = triggers.find(|one| one.name == work.name)?;
                (EffectId::Trigger(trigger.id), None)
            }
            Some(at) => {
                let action = design.find_action(&work.name)?;
                (EffectId::Action(action.id, at), Some(action))
            }
        };
        let reaction = design.reactions.effect(source.id, effect)?;
        let Times::Each(each) = &reaction.each else {
            return None;
        };
        Some(Effected {
            source,
            effect,
            reaction,
            pattern: pattern_of(blueprint, each)?,
            action,
        })
    }
}

/// An action that is applied to every item of a pattern.
#[derive(Clone, Copy)]
pub(crate) struct Applied<'a> {
    pub(crate) action: &'a Action,
    pub(crate) application: &'a Application,
    pub(crate) pattern: &'a Pattern,
    pub(crate) applied: &'a Action,
}

impl<'a> Applied<'a> {
    fn find(blueprint: &'a Blueprint, work: &ApplyWork) -> Option<Self> {
        let action = blueprint.design.find_action(&work.action)?;
        let ActionOn::Every(application) = &action.on else {
            return None;
        };
        Some(Applied {
            action,
            application,
            pattern: pattern_of(blueprint, &application.each)?,
            applied: &blueprint.design[application.apply],
        })
    }
}

/// The pattern that an `each` goes through.
fn pattern_of<'a>(blueprint: &'a Blueprint, each: &Each) -> Option<&'a Pattern> {
    match &each.over {
        EachOver::Pattern { pattern, .. } => Some(&blueprint.design[*pattern]),
        EachOver::List { .. } => None,
    }
}

#[cfg(test)]
mod tests;
