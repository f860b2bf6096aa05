//! What is left for a job: everything that follows from a write in a number of items that no
//! bound holds.
//!
//! A write is planned whole first. Only where that is more than one transaction can hold, it is
//! planned again with what goes over the items that refer to another left to a job, which the
//! transaction records.

use partita_core::limits::TRANSACTION_ACTIONS_MAX;
use partita_design::design::{Entity, OnDelete, Ref, RefTarget, Source};
use partita_store::request::{ConditionCheck, ItemAddress, PutItem, TransactAction};
use ulid::Ulid;

use super::follow::argument_source;
use super::{Planner, Step};
use crate::draft::Refusal;
use crate::error::PlanError;
use crate::input::Changes;
use crate::job::{Job, Progress, Task, TaskKind};
use crate::nested;
use crate::scene::number_at;
use crate::shape::identity_of;
use crate::sidecar;

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
    tasks: Vec<Task>,
    expected: u64,
    /// Items that are removed while others still refer to them.
    held: Vec<ItemAddress>,
    /// Items that are created, where one may be held.
    claimed: Vec<(ItemAddress, String)>,
}

impl<'a> Planner<'a> {
    /// Plans with so much in the transaction, and with room for so many other actions.
    pub(crate) fn with_extent(mut self, extent: Extent, reserved: usize) -> Self {
        self.later.extent = extent;
        self.later.reserved = reserved;
        self
    }

    /// Leaves what is to be done to the items that refer to one to a job, if that is wanted.
    pub(super) fn is_left(
        &mut self,
        kind: TaskKind,
        at: usize,
        entity: &'a Entity,
        reference: &'a Ref,
        target: &'a RefTarget,
    ) -> bool {
        if self.later.extent == Extent::Whole {
            return false;
        }
        let entry = self.entry(at);
        let old = entry.old().cloned();
        let identity = old.and_then(|old| {
            let mut identity = identity_of(entry.shape, &old)?;
            // A ref by a pattern may go by more than the identity.
            for number in 0..target.arguments.len() {
                let name = argument_source(entry.shape, target, number);
                if let Some((name, value)) =
                    name.and_then(|name| Some((name, nested::get(&old, name)?)))
                {
                    nested::set(&mut identity, name, value.clone());
                }
            }
            Some(identity)
        });
        let position = reference.targets.iter().position(|one| one == target);
        let (Some(identity), Some(position), true) = (identity, position, target.finder.is_some())
        else {
            return true;
        };
        let task = Task {
            kind,
            source: entry.shape.name().to_owned(),
            identity,
            entity: entity.name.clone(),
            reference: reference.name.clone(),
            target: position,
        };
        if self.later.tasks.contains(&task) {
            return true;
        }
        self.later.tasks.push(task);
        if kind == TaskKind::Release {
            self.expect_as_counted(at, entity, reference);
            let address = self.entry(at).address.clone();
            if !self.later.held.contains(&address) {
                self.later.held.push(address);
            }
        }
        true
    }

    /// Where the items that refer are counted, it is known how many there are.
    fn expect_as_counted(&mut self, at: usize, entity: &'a Entity, reference: &Ref) {
        let entry = self.entry(at);
        let Some(count) = self.count_of(at, entity, reference) else {
            return;
        };
        let number = entry.old().and_then(|old| {
            let number = number_at(entry.shape, old, &count.attribute.name)?;
            u64::try_from(number.to_i64()?).ok()
        });
        self.later.expected += number.unwrap_or_default();
    }

    /// Lets an item be created only if no job is still clearing up behind one of that identity:
    /// it would take the old one's children for the new one's. An id that was just drawn is
    /// nobody's.
    pub(super) fn claim(&mut self, entity: &'a Entity, given: &Changes<'a>, address: &ItemAddress) {
        let blueprint = self.context.blueprint;
        let mut referrers = blueprint.kernel.referrers(&blueprint.design, &entity.name);
        let can_be_held = referrers
            .any(|one| matches!(one.target.on_delete, OnDelete::Cascade | OnDelete::Clear(_)));
        let is_drawn = entity.identity.iter().any(|part| {
            let source = entity.attribute(&part.attribute).map(|one| &one.source);
            let mut given = given.set.iter();
            matches!(source, Some(Source::Generated))
                && !given.any(|(slot, _)| slot.name() == part.attribute)
        });
        if can_be_held && !is_drawn {
            let hold = sidecar::hold(&blueprint.sidecar, address);
            let claimed = (hold, entity.name.clone());
            if !self.later.claimed.contains(&claimed) {
                self.later.claimed.push(claimed);
            }
        }
    }

    /// How many actions the design's own items may take.
    pub(super) fn room(&self) -> usize {
        let later = &self.later;
        let job = usize::from(!later.tasks.is_empty());
        let taken = later.reserved + later.claimed.len() + later.held.len() + job;
        TRANSACTION_ACTIONS_MAX.saturating_sub(taken)
    }

    /// Records what is left, and holds what it is left of.
    pub(super) fn leave(&mut self) -> Vec<Step> {
        let sidecar = &self.context.blueprint.sidecar;
        let later = std::mem::take(&mut self.later);
        let mut steps = Vec::new();
        for (hold, entity) in later.claimed {
            steps.push(Step {
                action: TransactAction::Check(ConditionCheck {
                    table: hold.table,
                    key: hold.key,
                    condition: sidecar::is_missing(),
                    return_item_on_failure: false,
                }),
                refusal: Refusal::last(PlanError::StillRemoved { entity }),
            });
        }
        if later.tasks.is_empty() {
            return steps;
        }
        for removed in &later.held {
            let item = sidecar::hold(sidecar, removed).key;
            let put = PutItem {
                condition: Some(sidecar::is_missing()),
                ..PutItem::new(sidecar.clone(), item)
            };
            steps.push(stale(TransactAction::Put(put)));
        }
        let millis = u64::try_from(self.moment.now_millis).unwrap_or(0);
        // The last of the ids that this write draws, so that it is none of the others.
        let random = self.moment.random.wrapping_add(u128::from(self.ids_drawn));
        let job = Job {
            id: Ulid::from_parts(millis, random).to_string(),
            created_millis: self.moment.now_millis,
            caller: self.context.caller.clone(),
            tasks: later.tasks,
            expected: later.expected,
            progress: Progress::default(),
            lease: None,
        };
        steps.push(stale(job.put(sidecar)));
        self.has_job = true;
        steps
    }
}

fn stale(action: TransactAction) -> Step {
    Step {
        action,
        refusal: Refusal::Stale,
    }
}
