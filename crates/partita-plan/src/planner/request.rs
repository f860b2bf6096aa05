//! What callers ask for, as operations on the draft: rules first, then the item, then everything
//! that follows.

use partita_core::{Map, Number};
use partita_design::design::rules::LimitOf;
use partita_design::design::{Access, Action, Record};

use super::refs::Given;
use super::{By, Planner, WritePlan};
use crate::access::{Asked, Verdict};
use crate::draft::Before;
use crate::error::{FaultRule, PlanError};
use crate::input::{Changes, Input};
use crate::operation::Answer;

/// A write that a caller asks for.
#[derive(Clone, Debug)]
pub(crate) enum Request<'a> {
    Create {
        entity: &'a Record,
        given: Map,
    },
    /// An item is created, or changed if it is there.
    Upsert {
        entity: &'a Record,
        on: On<'a>,
        given: Map,
    },
    /// Something is done to an item that is there.
    Change {
        on: On<'a>,
        change: Change<'a>,
    },
    /// An action that finds its item, or its items, by a pattern.
    Found {
        action: &'a Action,
        given: Map,
    },
}

/// The item that a caller names.
#[derive(Clone, Debug)]
pub(crate) struct On<'a> {
    pub(crate) shape: &'a Record,
    pub(crate) identity: Map,
    /// Whether a soft-deleted item is found too.
    pub(crate) with_deleted: bool,
    /// The version that the caller saw.
    pub(crate) version: Option<i64>,
}

/// What is to become of it.
#[derive(Clone, Debug)]
pub(crate) enum Change<'a> {
    Update(Map),
    Delete,
    Restore,
    Act { action: &'a Action, given: Map },
}

impl<'a> Change<'a> {
    pub(super) fn asked(&self) -> Asked<'a> {
        match self {
            Change::Update(_) => Asked::Access(Access::Update),
            Change::Delete => Asked::Access(Access::Delete),
            Change::Restore => Asked::Access(Access::Restore),
            Change::Act { action, .. } => Asked::Action(action),
        }
    }
}

impl<'a> Planner<'a> {
    /// Plans a write, as far as what was read allows.
    pub(crate) fn plan(mut self, request: &Request<'a>) -> Result<WritePlan, PlanError> {
        let mut is_created = false;
        self.later.is_attended = true;
        self.files.takes_uploads = self.context.blueprint.keeps_files;
        let (shown, is_tally) = match request {
            Request::Create { entity, given } => {
                let at = self.create_for(entity, given)?;
                is_created = at.is_some_and(|at| self.entry(at).is_new());
                (at, false)
            }
            Request::Upsert { entity, on, given } => {
                let at = self.upsert_for(entity, on, given)?;
                is_created = self.entry(at).is_new();
                (Some(at), false)
            }
            Request::Change { on, change } => {
                let at = self.change_for(on, change)?;
                match change {
                    Change::Delete => (None, false),
                    Change::Act { action, .. } => {
                        let is_tally = self.is_tally(action, self.entry(at).shape);
                        (Some(at).filter(|_| !is_tally), is_tally)
                    }
                    Change::Update(_) | Change::Restore => (Some(at), false),
                }
            }
            Request::Found { action, given } => (self.act_on_found(action, given)?, false),
        };
        self.follow_through()?;
        let shown = shown.filter(|_| self.context.reads.is_complete());
        let answer = match shown.map(|at| self.answer(at)) {
            Some(Answer::Record(record)) if is_created => Answer::Created(record),
            Some(answer) => answer,
            None => Answer::Done,
        };
        let steps = self.emit()?;
        let (placements, released) = self.files.into_parts();
        Ok(WritePlan {
            steps,
            answers: vec![answer],
            is_tally: is_tally && !self.is_limited,
            left: self.left.into_iter().collect(),
            placements,
            released,
        })
    }

    /// Whoever may write an item but not read it is not shown what became of it.
    fn answer(&self, at: usize) -> Answer {
        let entry = self.entry(at);
        let Some(item) = &entry.after else {
            return Answer::Done;
        };
        let scope = self.unguarded(entry.shape, item).after(&self.draft);
        match scope.verdict(Asked::Access(Access::Read)) {
            Verdict::Allowed => {
                let blueprint = self.context.blueprint;
                Answer::Record(blueprint.record(entry.shape, scope.shown()))
            }
            Verdict::Denied | Verdict::Open => Answer::Done,
        }
    }

    pub(super) fn change_for(
        &mut self,
        on: &On<'a>,
        change: &Change<'a>,
    ) -> Result<usize, PlanError> {
        if matches!(change, Change::Restore) && on.shape.soft_delete.is_none() {
            return Err(PlanError::NotRestorable {
                entity: on.shape.name.clone(),
            });
        }
        let at = self.reach(on, change.asked())?;
        if self.entry(at).old().is_none() {
            return Ok(at);
        }
        match change {
            Change::Update(given) => self.update_for(at, on, given)?,
            Change::Delete => self.delete(at, By::Caller)?,
            Change::Restore => self.restore(at, By::Caller)?,
            Change::Act { action, given } => self.act(at, action, given)?,
        }
        Ok(at)
    }

    /// The item that a caller names, if what is asked may be done to it, and if it is as the
    /// caller takes it to be.
    pub(super) fn reach(&mut self, on: &On<'a>, asked: Asked<'a>) -> Result<usize, PlanError> {
        let at = self.find(on, asked)?;
        let not_deleted = |deleted: bool| match deleted {
            true => Ok(()),
            false => Err(PlanError::NotDeleted {
                entity: on.shape.name.to_owned(),
            }),
        };
        let is_deleted = match self.entry(at).old() {
            Some(old) => on.shape.is_deleted(old),
            None => return Ok(at),
        };
        match asked {
            Asked::Access(Access::Restore) => not_deleted(is_deleted)?,
            _ if is_deleted && !on.with_deleted => return Err(not_found(on.shape, true)),
            _ => {}
        }
        if on.shape.is_entity() {
            let entity = on.shape;
            if let Some(soft_delete) = &entity.soft_delete {
                self.entry_mut(at).guard(soft_delete.attribute());
            }
            match asked {
                // What else is wrong with a change is told with it.
                Asked::Access(Access::Update) => self.check_version(at, entity, on.version),
                _ => self.demand_version(at, entity, on.version)?,
            }
        }
        self.count_towards(&match asked {
            Asked::Access(access) => LimitOf::Access(access, on.shape.id),
            Asked::Action(action) => LimitOf::Action(action.id),
        })?;
        Ok(at)
    }

    fn update_for(&mut self, at: usize, on: &On<'a>, given: &Map) -> Result<(), PlanError> {
        let input = Input {
            blueprint: self.context.blueprint,
            entity: on.shape,
        };
        let changes = input.update(given, &on.identity, &mut self.faults);
        self.change_given(at, &changes)
    }

    /// A change to what is given, if the rules allow it.
    pub(super) fn change_given(
        &mut self,
        at: usize,
        changes: &Changes<'a>,
    ) -> Result<(), PlanError> {
        self.demand_written(at, changes)?;
        self.demand_crossing(at, changes)?;
        self.change(at, changes, By::Caller)
    }

    /// A change that enters or leaves the deleted state is a delete or a restore, whichever way it
    /// is written: whoever may do neither does not get it done by a change.
    pub(super) fn demand_crossing(
        &mut self,
        at: usize,
        changes: &Changes<'a>,
    ) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let (shape, Some(old)) = (entry.shape, entry.old().cloned()) else {
            return Ok(());
        };
        let Some(access) = changes.crossing(shape, &old) else {
            return Ok(());
        };
        self.evaluate(at, &old, |scope| scope.demand(Asked::Access(access)))??;
        self.count_towards(&LimitOf::Access(access, shape.id))
    }

    /// Rules for single attributes look at the item as it is.
    fn demand_written(&mut self, at: usize, changes: &Changes<'a>) -> Result<(), PlanError> {
        let Some(old) = self.entry(at).old().cloned() else {
            return Ok(());
        };
        let set = changes.set.iter().map(|(slot, _)| slot.name());
        let written = set.chain(changes.remove.iter().map(|slot| slot.name()));
        self.evaluate(at, &old, |scope| scope.demand_attributes(written))?
    }

    /// The item that a caller names, if there is one and the rule allows what is asked.
    fn find(&mut self, on: &On<'a>, asked: Asked<'a>) -> Result<usize, PlanError> {
        let shape = on.shape;
        let known = self.unguarded(shape, &on.identity).known_so_far();
        known.demand_early(asked)?;
        let is_decided = known.verdict(asked) == Verdict::Allowed;
        known.need_live_targets();
        let address = self.context.blueprint.address(shape, &on.identity)?;
        let at = self.look_up(shape, address)?;
        let Before::Found(old) = self.entry(at).before.clone() else {
            return Err(not_found(shape, false));
        };
        if let Err(refusal) = self.evaluate(at, &old, |scope| scope.demand(asked))? {
            // Where the item decides, a refusal would tell that it is there.
            let read = Asked::Access(Access::Read);
            let may_read = self.unguarded(shape, &old).verdict(read) == Verdict::Allowed;
            return Err(if is_decided || may_read {
                refusal
            } else {
                not_found(shape, false)
            });
        }
        self.demand_live(at, &old)?;
        Ok(at)
    }

    /// Refuses an item that a live reference hides.
    fn demand_live(&mut self, at: usize, item: &Map) -> Result<(), PlanError> {
        let shape = self.entry(at).shape;
        for (reference, target) in self.evaluate(at, item, |scope| scope.live_targets())? {
            if target.is_hiding(&self.context) {
                return Err(not_found(shape, false));
            }
            self.expect(shape, reference, target, Given::Before)?;
        }
        Ok(())
    }

    /// Refuses a version that is not the one that the caller saw.
    fn demand_version(
        &mut self,
        at: usize,
        entity: &'a Record,
        expected: Option<i64>,
    ) -> Result<(), PlanError> {
        self.check_version(at, entity, expected);
        self.refuse()
    }

    /// Finds out whether the version is the one that the caller saw.
    pub(super) fn check_version(&mut self, at: usize, entity: &'a Record, expected: Option<i64>) {
        let Some(expected) = expected else {
            return;
        };
        let entry = self.entry_mut(at);
        let found = entity.version().and_then(|version| {
            entry.guard(&version.name);
            let old = entry.old()?;
            entity.number(old, &version.name)
        });
        if found == Some(Number::from(expected)) {
            return;
        }
        let name = entity.version().map_or("version", |version| &version.name);
        let message = match found {
            Some(found) => format!("is {found} by now, and {expected} was seen; read it again"),
            None => format!("was {expected} when it was seen, and there is none"),
        };
        self.fault(entity, name, FaultRule::Version, message);
    }
}

pub(super) fn not_found(shape: &Record, deleted: bool) -> PlanError {
    PlanError::NotFound {
        entity: shape.name.to_owned(),
        deleted,
    }
}
