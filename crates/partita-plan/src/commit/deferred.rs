//! What is deferred to a job: whatever follows from a write in a number of items that has no bound.
//!
//! A write is planned whole first. Where that is more than one transaction can hold, it is planned
//! again with a job, which the transaction records. The job does what goes over the items that
//! refer to another, over the items of a pattern, or over the states that were kept of one. A write
//! that fits records a job too where items may begin to refer to its item before the commit: the
//! job lists them once more.

use partita_core::limits::TRANSACTION_ACTIONS_MAX;
use partita_core::size::item_bytes;
use partita_core::{Map, Number, Value};
use partita_design::design::{OnDelete, Record, Source};
use partita_design::kernel::{Does, Times};
use partita_design::nested;
use partita_design::types::AttributeType;
use partita_store::request::{ConditionCheck, PutItem, TransactAction};
use partita_store::table::TableName;

use crate::commit::Step;
use crate::draft::{EntryId, Refusal};
use crate::error::PlanError;
use crate::evaluate::Known;
use crate::job::{HistoryWork, Job, Lease, Progress, Referrers, Referring, Task, TaskKind, Work};
use crate::place::Address;
use crate::planner::Planner;
use crate::request::input::Changes;
use crate::sidecar;

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

/// What a write defers to a job, and the places that jobs keep from being used.
#[derive(Default)]
pub(crate) struct Deferred {
    extent: Extent,
    /// Actions of the transaction that are not the planner's.
    reserved: usize,
    /// Whether the process that makes the write works on the job at once, and so has the lease.
    pub(crate) is_attended: bool,
    /// The job of the caller's write, where this is a chunk of one.
    pub(crate) root: Option<String>,
    /// The job, once the transaction is made.
    pub(crate) job: Option<Job>,
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
        self.deferred.extent = extent;
        self.deferred.reserved = reserved;
        self
    }

    /// Whether the write is planned with a job.
    pub(crate) fn plans_job(&self) -> bool {
        self.deferred.extent == Extent::WithJob
    }

    /// Defers what is to be done to the items that refer to one, if the write is planned with a
    /// job. Says whether it is.
    pub(crate) fn defer_referring(
        &mut self,
        kind: TaskKind,
        at: EntryId,
        who: Referrers<'a>,
    ) -> bool {
        if !self.plans_job() {
            return false;
        }
        if self.add_referring(kind, at, who) && kind == TaskKind::Release {
            self.expect_as_counted(at, who);
        }
        true
    }

    /// Has a job look once more for the items that refer to one, after the commit: an item that
    /// began to refer to it between the listing and the commit is not in the transaction. Later
    /// ones find the item gone, or as it is now.
    pub(crate) fn look_again(&mut self, kind: TaskKind, at: EntryId, who: Referrers<'a>) {
        self.add_referring(kind, at, who);
    }

    /// Adds the task to do something to the items that refer to one. Says whether it is new.
    fn add_referring(&mut self, kind: TaskKind, at: EntryId, who: Referrers<'a>) -> bool {
        let entry = self.entry(at);
        let identity = entry.named().and_then(|named| {
            let mut identity = entry.record.identity_of(named)?;
            // A ref by a pattern may go by more than the identity.
            for number in 0..who.target.arguments.len() {
                let name = who.argument_source(number);
                if let Some((name, value)) =
                    name.zip(name.and_then(|name| nested::get(named, name)))
                {
                    nested::set(&mut identity, name, value.clone());
                }
            }
            Some(identity)
        });
        let Some(identity) = identity.filter(|_| who.target.finder.is_some()) else {
            return false;
        };
        let task = Task {
            source: entry.record.name.clone(),
            identity,
            work: Work::Referring(Referring {
                kind,
                entity: who.entity.name.clone(),
                reference: who.reference.name.clone(),
                target: who.id.target,
            }),
        };
        let is_new = self.add_task(task);
        if is_new && kind == TaskKind::Release {
            self.hold(self.entry(at).address.clone());
        }
        is_new
    }

    /// Defers what becomes of the states that were kept of an item that is removed or moves, if the
    /// write is planned with a job. Says whether it is. Until it is done the place where they are
    /// cannot be used, nor can the item that they follow be removed or moved.
    pub(crate) fn defer_history(
        &mut self,
        at: EntryId,
        view: &'a Record,
    ) -> Result<bool, PlanError> {
        let blueprint = self.context.blueprint;
        let entry = self.entry(at);
        let (record, old) = (entry.record, entry.old().cloned());
        let identity = old.and_then(|old| record.identity_of(&old));
        let Some(identity) = identity.filter(|_| self.plans_job()) else {
            return Ok(false);
        };
        if blueprint.states_of(view, record, &identity)?.is_none() {
            return Ok(false);
        }
        let (from, place) = (entry.address.clone(), entry.destination().cloned());
        let new = entry.after.as_deref().filter(|_| place.is_some());
        let to = new.and_then(|new| record.identity_of(new));
        self.add_task(Task {
            source: record.name.clone(),
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

    /// Defers a task. Says whether it is new.
    pub(crate) fn add_task(&mut self, task: Task) -> bool {
        let is_new = !self.deferred.tasks.contains(&task);
        if is_new {
            self.deferred.tasks.push(task);
        }
        is_new
    }

    /// Keeps a place from being used before the job is done.
    fn hold(&mut self, address: Address) {
        if !self.deferred.held.contains(&address) {
            self.deferred.held.push(address);
        }
    }

    /// Records the elements that a job does something for, so that it is done once.
    pub(crate) fn mark(&mut self, marks: Vec<Address>) {
        self.deferred.marks.extend(marks);
    }

    /// Where the items that refer are counted, it is known how many there are.
    fn expect_as_counted(&mut self, at: EntryId, who: Referrers<'a>) {
        let entry = self.entry(at);
        let Some(total) = self.count_of(who) else {
            return;
        };
        let number = entry.old().and_then(|old| {
            let number = entry.record.number(old, &total.attribute.name)?;
            u64::try_from(number.to_i64()?).ok()
        });
        self.deferred.expected += number.unwrap_or_default();
    }

    /// Lets an item be created only if no job is still clearing up behind one of that identity:
    /// it would take the old one's children for the new one's. An id that was just drawn has never
    /// been used.
    pub(crate) fn claim(
        &mut self,
        at: EntryId,
        entity: &'a Record,
        given: &Changes<'a>,
    ) -> Result<(), PlanError> {
        let is_drawn = entity.identity_attributes().any(|part| {
            let mut given = given.set.iter();
            part.source == Source::Generated && !given.any(|(slot, _)| slot.name() == part.name)
        });
        if is_drawn {
            return Ok(());
        }
        let address = self.entry(at).address.clone();
        self.claim_place(entity, address.clone());
        self.take_up(at, &address)
    }

    /// Lets an item come to a place only if no job is still clearing up there.
    pub(crate) fn claim_place(&mut self, entity: &'a Record, address: Address) {
        let design = &self.context.blueprint.design;
        let mut reactions = design.reactions.of(entity.id).iter();
        let can_be_held = reactions.any(|one| match (&one.does, &one.each) {
            (Does::Archive(_), _) => true,
            (Does::Release, Times::Referring(referrer)) => {
                let target = Referrers::of(design, entity, *referrer).target;
                matches!(target.on_delete, OnDelete::Cascade | OnDelete::Clear(_))
            }
            _ => false,
        });
        if can_be_held {
            self.claim_held(entity, address);
        }
    }

    /// Refuses to delete or move an item while a job is moving its history.
    pub(crate) fn claim_history(&mut self, at: EntryId) {
        let entry = self.entry(at);
        let entity = entry.record;
        let goes = entry.is_removed() || entry.destination().is_some();
        let address = entry.address.clone();
        if goes && entity.movable_part().is_some() && entity.is_entity() {
            self.claim_held(entity, address);
        }
    }

    fn claim_held(&mut self, entity: &'a Record, address: Address) {
        let claimed = (address, entity.name.clone());
        if !self.deferred.claimed.contains(&claimed) {
            self.deferred.claimed.push(claimed);
        }
    }

    /// How many actions the design's own items may take.
    pub(super) fn room(&self) -> usize {
        let deferred = &self.deferred;
        let job = usize::from(!deferred.tasks.is_empty());
        let aside = deferred.claimed.len() + deferred.held.len() + deferred.marks.len();
        let taken = deferred.reserved + aside + job + self.windows.len();
        TRANSACTION_ACTIONS_MAX.saturating_sub(taken)
    }

    /// The actions in the sidecar: marks, claims and holds of places, and the job itself.
    pub(super) fn deferred_steps(&mut self) -> Result<Vec<Step>, PlanError> {
        let mut steps = self.mark_steps();
        let claimed = &self.deferred.claimed;
        // A place that is held now is free, or it could not be.
        let claimed = claimed
            .iter()
            .filter(|(address, _)| !self.deferred.held.contains(address));
        for (address, entity) in claimed {
            steps.push(self.claim_step(address, entity)?);
        }
        if !self.deferred.tasks.is_empty() {
            let held = self.deferred.held.iter();
            steps.extend(held.map(|address| self.hold_step(address)));
            steps.push(self.job_step()?);
        }
        Ok(steps)
    }

    fn mark_steps(&self) -> Vec<Step> {
        let expires = self.moment.now_millis / 1000 + MARKED_SECONDS;
        let marks = self.deferred.marks.iter().map(|mark| {
            let mut item = sidecar::key_at(mark);
            let expires = Value::N(Number::from(expires));
            item.insert(sidecar::EXPIRES.to_owned(), expires);
            Step::or_stale(put_new(mark.table.clone(), item))
        });
        marks.collect()
    }

    /// No job holds a place.
    fn claim_step(&self, address: &Address, entity: &str) -> Result<Step, PlanError> {
        let hold = sidecar::hold(&self.context.blueprint.sidecar, address);
        let refusal = still_removed(entity);
        // An earlier operation of the batch has removed the item.
        if let Known::Found(_) = self.context.peek(&hold) {
            return Err(refusal);
        }
        Ok(Step {
            action: TransactAction::Check(ConditionCheck {
                table: hold.table.clone(),
                key: sidecar::key_at(&hold),
                condition: sidecar::is_missing(),
                return_item_on_failure: false,
            }),
            refusal: Refusal::of(refusal),
        })
    }

    /// The job holds a place.
    fn hold_step(&self, address: &Address) -> Step {
        let hold = sidecar::hold(&self.context.blueprint.sidecar, address);
        let mut claimed = self.deferred.claimed.iter();
        let claimed = claimed.find(|(claimed, _)| claimed == address);
        Step {
            action: put_new(hold.table.clone(), sidecar::key_at(&hold)),
            refusal: match claimed {
                Some((_, entity)) => Refusal::of(still_removed(entity)),
                None => Refusal::Stale,
            },
        }
    }

    /// Records the job.
    fn job_step(&mut self) -> Result<Step, PlanError> {
        let now_millis = self.moment.now_millis;
        // The last of the ids that this write draws, so that it is none of the others.
        let seed = self.new_id(&AttributeType::Ulid);
        let id = Job::id_of(&seed, now_millis);
        let is_led = self.deferred.is_attended && !self.plans_job();
        let job = Job {
            lease: is_led.then(|| Lease::new(&id, now_millis)),
            id,
            seed,
            root: self.deferred.root.clone(),
            created_millis: now_millis,
            caller: self.context.caller.clone(),
            tasks: std::mem::take(&mut self.deferred.tasks),
            expected: self.deferred.expected,
            progress: Progress::default(),
        };
        let put = job.put(&self.context.blueprint.sidecar);
        if let TransactAction::Put(put) = &put
            && item_bytes(&put.item) > JOB_BYTES_MAX
        {
            let what = "what it leaves to be done is itself too large to be kept".to_owned();
            return Err(PlanError::TooMuch { what });
        }
        self.deferred.job = Some(job);
        Ok(Step::or_stale(put))
    }
}

/// That a job is still clearing up behind an item.
fn still_removed(entity: &str) -> PlanError {
    PlanError::StillRemoved {
        entity: entity.to_owned(),
    }
}

/// Puts an item where there is none.
fn put_new(table: TableName, item: Map) -> TransactAction {
    TransactAction::Put(PutItem {
        condition: Some(sidecar::is_missing()),
        ..PutItem::new(table, item)
    })
}
