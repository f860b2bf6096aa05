//! What is left for a job: everything that follows from a write in a number of items that no
//! bound holds.
//!
//! A write is planned whole first. Only where that is more than one transaction can hold, it is
//! planned again with what goes over the items that refer to another, over the items of a pattern,
//! or over the states that were kept of one left to a job, which the transaction records.

use partita_core::limits::TRANSACTION_ACTIONS_MAX;
use partita_core::size::item_bytes;
use partita_core::{Map, Number, Value};
use partita_design::design::{OnDelete, Record, Source};
use partita_store::request::{ConditionCheck, PutItem, TransactAction};
use partita_store::table::TableName;
use ulid::Ulid;

use super::follow::argument_source;
use super::{Planner, Step};
use crate::draft::Refusal;
use crate::error::PlanError;
use crate::evaluate::Known;
use crate::job::{HistoryWork, Job, Lease, Progress, Referrers, Referring, Task, TaskKind, Work};
use crate::place::Address;
use crate::request::input::Changes;
use crate::sidecar;
use partita_design::nested;

/// How long a job remembers what it has done for which elements: longer than it takes.
const MARKED_SECONDS: i64 = 30 * 86_400;

/// The largest job; an item has room for 400 KB, and the position needs some of it.
const JOB_BYTES_MAX: usize = 350_000;

/// How much of a write is done in its transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Everything.
    #[default]
    Whole,
    /// Everything but what a job can do.
    WithJob,
}

/// What a write leaves to a job, and what it must not run into.
#[derive(Default)]
pub(crate) struct Later {
    pub(crate) extent: Extent,
    /// Actions of the transaction that belong to somebody else.
    pub(crate) reserved: usize,
    /// Whether whoever makes the write stays to look again, and so has the job from the start.
    pub(crate) is_attended: bool,
    tasks: Vec<Task>,
    expected: u64,
    /// Items that are removed while others still refer to them, or whose past is on its way.
    held: Vec<Address>,
    /// Places that something is done to where one may be held, and the entity.
    claimed: Vec<(Address, String)>,
    /// Elements that a job does something for, so that it is done once.
    marks: Vec<Address>,
}

impl<'a> Planner<'a> {
    /// Plans with so much in the transaction, and with room for so many other actions.
    pub(crate) fn with_extent(mut self, extent: Extent, reserved: usize) -> Self {
        self.later.extent = extent;
        self.later.reserved = reserved;
        self
    }

    /// Whether a job does what goes over items that no bound holds.
    pub(super) fn leaves_to_job(&self) -> bool {
        self.later.extent == Extent::WithJob
    }

    /// Leaves what is to be done to the items that refer to one to a job, if that is wanted.
    pub(super) fn is_left(&mut self, kind: TaskKind, at: usize, who: Referrers<'a>) -> bool {
        if self.later.extent == Extent::Whole {
            return false;
        }
        if self.leave_referring(kind, at, who) && kind == TaskKind::Release {
            self.expect_as_counted(at, who);
        }
        true
    }

    /// Has a job look once more for the items that refer to one, after the commit: whoever began to
    /// refer to it between the listing and the commit is not in the transaction. Later ones find
    /// the item gone, or as it is now.
    pub(super) fn look_again(&mut self, kind: TaskKind, at: usize, who: Referrers<'a>) {
        self.leave_referring(kind, at, who);
    }

    /// Leaves something to be done to the items that refer to one. Says whether it was not left
    /// already.
    fn leave_referring(&mut self, kind: TaskKind, at: usize, who: Referrers<'a>) -> bool {
        let Referrers {
            entity,
            reference,
            target,
            ..
        } = who;
        let entry = self.entry(at);
        let named = entry.named().cloned();
        let identity = named.and_then(|named| {
            let mut identity = entry.shape.identity_of(&named)?;
            // A ref by a pattern may go by more than the identity.
            for number in 0..target.arguments.len() {
                let name = argument_source(entry.shape, target, number);
                if let Some((name, value)) =
                    name.and_then(|name| Some((name, nested::get(&named, name)?)))
                {
                    nested::set(&mut identity, name, value.clone());
                }
            }
            Some(identity)
        });
        let position = reference.targets.iter().position(|one| one == target);
        let (Some(identity), Some(position), true) = (identity, position, target.finder.is_some())
        else {
            return false;
        };
        let task = Task {
            source: entry.shape.name.to_owned(),
            identity,
            work: Work::Referring(Referring {
                kind,
                entity: entity.name.clone(),
                reference: reference.name.clone(),
                target: position,
            }),
        };
        let is_new = self.leave_task(task);
        if is_new && kind == TaskKind::Release {
            self.hold(self.entry(at).address.clone());
        }
        is_new
    }

    /// Leaves the states that were kept of an item that is removed or moves to a job, if that is
    /// wanted. Until it is done nobody may use the place where they are, nor remove or move the
    /// item that they follow.
    pub(super) fn is_history_left(
        &mut self,
        at: usize,
        view: &'a Record,
    ) -> Result<bool, PlanError> {
        let blueprint = self.context.blueprint;
        let entry = self.entry(at);
        let (shape, old) = (entry.shape, entry.old().cloned());
        let identity = old.and_then(|old| shape.identity_of(&old));
        let (Extent::WithJob, Some(identity)) = (self.later.extent, identity) else {
            return Ok(false);
        };
        if blueprint.states_of(view, shape, &identity)?.is_none() {
            return Ok(false);
        }
        let (from, place) = (entry.address.clone(), entry.destination().cloned());
        let new = entry.after.as_deref().filter(|_| place.is_some());
        let to = new.and_then(|new| shape.identity_of(new));
        self.leave_task(Task {
            source: shape.name.to_owned(),
            identity,
            work: Work::History(HistoryWork {
                view: view.name.clone(),
                to,
            }),
        });
        self.hold(from);
        place.into_iter().for_each(|place| self.hold(place));
        Ok(true)
    }

    /// Leaves a task to a job. Says whether it is new.
    pub(super) fn leave_task(&mut self, task: Task) -> bool {
        let is_new = !self.later.tasks.contains(&task);
        if is_new {
            self.later.tasks.push(task);
        }
        is_new
    }

    /// Keeps a place from being used before the job is done.
    fn hold(&mut self, address: Address) {
        if !self.later.held.contains(&address) {
            self.later.held.push(address);
        }
    }

    /// Remembers what a job does something for, so that it is done once.
    pub(super) fn mark(&mut self, marks: Vec<Address>) {
        self.later.marks.extend(marks);
    }

    /// Where the items that refer are counted, it is known how many there are.
    fn expect_as_counted(&mut self, at: usize, who: Referrers<'a>) {
        let entry = self.entry(at);
        let Some(count) = self.count_of(who) else {
            return;
        };
        let number = entry.old().and_then(|old| {
            let number = entry.shape.number(old, &count.attribute.name)?;
            u64::try_from(number.to_i64()?).ok()
        });
        self.later.expected += number.unwrap_or_default();
    }

    /// Lets an item be created only if no job is still clearing up behind one of that identity:
    /// it would take the old one's children for the new one's. An id that was just drawn is
    /// nobody's.
    pub(super) fn claim(
        &mut self,
        at: usize,
        entity: &'a Record,
        given: &Changes<'a>,
    ) -> Result<(), PlanError> {
        let is_drawn = entity.identity.iter().any(|part| {
            let source = entity.attribute(&part.attribute).map(|one| &one.source);
            let mut given = given.set.iter();
            matches!(source, Some(Source::Generated))
                && !given.any(|(slot, _)| slot.name() == part.attribute)
        });
        if is_drawn {
            return Ok(());
        }
        let address = self.entry(at).address.clone();
        self.claim_place(entity, address.clone());
        self.take_up(at, &address)
    }

    /// Lets an item come to a place only if no job is still clearing up there.
    pub(super) fn claim_place(&mut self, entity: &'a Record, address: Address) {
        let blueprint = self.context.blueprint;
        let mut referrers = blueprint.kernel.referrers(&blueprint.design, entity.id);
        let can_be_held = referrers
            .any(|one| matches!(one.target.on_delete, OnDelete::Cascade | OnDelete::Clear(_)));
        if can_be_held || self.has_history(entity) {
            self.claim_held(entity, address);
        }
    }

    /// Lets an item be removed or move only if its past is not still on its way to it.
    pub(super) fn claim_past(&mut self, at: usize) {
        let entry = self.entry(at);
        let entity = entry.shape;
        let is_left = entry.is_removed() || entry.destination().is_some();
        let address = entry.address.clone();
        let mut parts = entity.identity.iter();
        let is_movable = parts.any(|part| {
            let attribute = entity.attribute(&part.attribute);
            attribute.is_some_and(|one| one.movable)
        });
        if is_left && is_movable && entity.is_entity() && self.has_history(entity) {
            self.claim_held(entity, address);
        }
    }

    fn claim_held(&mut self, entity: &'a Record, address: Address) {
        let claimed = (address, entity.name.clone());
        if !self.later.claimed.contains(&claimed) {
            self.later.claimed.push(claimed);
        }
    }

    fn has_history(&self, entity: &Record) -> bool {
        let blueprint = self.context.blueprint;
        let mut views = blueprint.kernel.views(&blueprint.design, entity.id);
        views.any(|(_, view)| view.history)
    }

    /// How many actions the design's own items may take.
    pub(super) fn room(&self) -> usize {
        let later = &self.later;
        let job = usize::from(!later.tasks.is_empty());
        let aside = later.claimed.len() + later.held.len() + later.marks.len();
        let taken = later.reserved + aside + job + self.windows.len();
        TRANSACTION_ACTIONS_MAX.saturating_sub(taken)
    }

    /// Records what is left, and holds what it is left of.
    pub(super) fn leave(&mut self) -> Result<Vec<Step>, PlanError> {
        let sidecar = &self.context.blueprint.sidecar;
        let later = std::mem::take(&mut self.later);
        let mut steps = Vec::new();
        let expires = self.moment.now_millis / 1000 + MARKED_SECONDS;
        for mark in later.marks {
            let mut item = sidecar::key_at(&mark);
            let expires = Value::N(Number::from(expires));
            item.insert(sidecar::EXPIRES.to_owned(), expires);
            steps.push(Step::or_stale(put_new(mark.table.clone(), item)));
        }
        for (address, entity) in &later.claimed {
            // What is held now is free, or it could not be.
            if later.held.contains(address) {
                continue;
            }
            let hold = sidecar::hold(sidecar, address);
            let entity = entity.clone();
            // An earlier operation of the batch has removed it.
            if let Known::Found(_) = self.context.peek(&hold) {
                return Err(PlanError::StillRemoved { entity });
            }
            steps.push(Step {
                action: TransactAction::Check(ConditionCheck {
                    table: hold.table.clone(),
                    key: sidecar::key_at(&hold),
                    condition: sidecar::is_missing(),
                    return_item_on_failure: false,
                }),
                refusal: Refusal::last(PlanError::StillRemoved { entity }),
            });
        }
        if later.tasks.is_empty() {
            return Ok(steps);
        }
        for held in &later.held {
            let hold = sidecar::hold(sidecar, held);
            let mut claimed = later.claimed.iter();
            let claimed = claimed.find(|(address, _)| address == held);
            steps.push(Step {
                action: put_new(hold.table.clone(), sidecar::key_at(&hold)),
                refusal: match claimed {
                    Some((_, entity)) => Refusal::last(PlanError::StillRemoved {
                        entity: entity.clone(),
                    }),
                    None => Refusal::Stale,
                },
            });
        }
        let millis = u64::try_from(self.moment.now_millis).unwrap_or(0);
        // The last of the ids that this write draws, so that it is none of the others.
        let random = self.moment.random.wrapping_add(u128::from(self.ids_drawn));
        let id = Ulid::from_parts(millis, random).to_string();
        let job = Job {
            lease: (later.is_attended && later.extent == Extent::Whole)
                .then(|| Lease::new(&id, self.moment.now_millis)),
            id,
            created_millis: self.moment.now_millis,
            caller: self.context.caller.clone(),
            tasks: later.tasks,
            expected: later.expected,
            progress: Progress::default(),
        };
        let put = job.put(sidecar);
        if let TransactAction::Put(put) = &put
            && item_bytes(&put.item) > JOB_BYTES_MAX
        {
            let what = "what it leaves to be done is itself too large to be kept".to_owned();
            return Err(PlanError::TooMuch { what });
        }
        steps.push(Step::or_stale(put));
        self.left = Some(job);
        Ok(steps)
    }
}

/// Puts an item where there is none.
fn put_new(table: TableName, item: Map) -> TransactAction {
    TransactAction::Put(PutItem {
        condition: Some(sidecar::is_missing()),
        ..PutItem::new(table, item)
    })
}
