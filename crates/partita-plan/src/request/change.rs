//! An item that a caller names: found if the rules allow what is asked, then changed, deleted,
//! restored, acted on or read.

use std::rc::Rc;

use partita_core::{Map, Number};
use partita_design::design::rules::LimitOf;
use partita_design::design::{Access, Record};

use super::NamedItem;
use super::input::Changes;
use super::rules::{Asked, Verdict};
use crate::draft::{Before, EntryId};
use crate::error::{FaultRule, PlanError};
use crate::operation::Answer;
use crate::planner::refs::Given;
use crate::planner::{By, Planner};

impl<'a> Planner<'a> {
    /// Does what is asked to the item that a caller names.
    pub(crate) fn change_for_caller(
        &mut self,
        on: &NamedItem<'a>,
        asked: Asked<'a>,
        given: &Map,
    ) -> Result<EntryId, PlanError> {
        if asked == Asked::Access(Access::Restore) && on.record.soft_delete.is_none() {
            return Err(PlanError::NotRestorable {
                entity: on.record.name.clone(),
            });
        }
        let at = self.reach(on, asked)?;
        match asked {
            Asked::Access(Access::Update) => {
                let input = self.input(on.record);
                let changes = input.update(given, &on.identity, &mut self.faults);
                self.change_if_allowed(at, &changes)?;
            }
            Asked::Access(Access::Delete) => self.delete(at, By::Caller)?,
            Asked::Access(Access::Restore) => self.restore(at, By::Caller)?,
            Asked::Access(Access::Purge) => self.purge(at),
            Asked::Access(Access::Create | Access::Read) | Asked::Finding(_) => {}
            Asked::Action(action) => self.act(at, action, given)?,
        }
        Ok(at)
    }

    /// The item that a caller names, as they are shown it.
    pub(crate) fn read(mut self, on: &NamedItem<'a>) -> Result<Answer, PlanError> {
        let (at, item) = self.find(on, Asked::Access(Access::Read))?;
        if !on.with_deleted && on.record.is_deleted(&item) {
            return Err(not_found(on.record, true));
        }
        let record = self.entry(at).record;
        let shown = self.unguarded(record, &item).before().shown();
        Ok(Answer::Record(self.context.blueprint.record(record, shown)))
    }

    /// The item that a caller names, if what is asked may be done to it, and if it is as the
    /// caller takes it to be.
    pub(super) fn reach(
        &mut self,
        on: &NamedItem<'a>,
        asked: Asked<'a>,
    ) -> Result<EntryId, PlanError> {
        let (at, old) = self.find(on, asked)?;
        let record = on.record;
        let is_deleted = record.is_deleted(&old);
        let is_for_deleted = matches!(asked, Asked::Access(Access::Restore | Access::Purge));
        if is_for_deleted && !is_deleted {
            return Err(PlanError::NotDeleted {
                entity: record.name.to_owned(),
            });
        }
        if is_deleted && !is_for_deleted && !on.with_deleted {
            let read = Asked::Access(Access::Read);
            let may_read = self.unguarded(record, &old).before().verdict(read) == Verdict::Allowed;
            return Err(not_found(record, may_read));
        }
        if record.is_entity() {
            if let Some(soft_delete) = &record.soft_delete {
                self.entry_mut(at).guard(soft_delete.attribute());
            }
            self.check_version(at, record, on.version);
            // The faults of a change are reported together, its version among them.
            if asked != Asked::Access(Access::Update) {
                self.refuse()?;
            }
        }
        match asked {
            Asked::Access(access) => self.count_towards(&LimitOf::Access(access, record.id))?,
            Asked::Action(action) => self.count_towards(&LimitOf::Action(action.id))?,
            Asked::Finding(_) => {}
        }
        Ok(at)
    }

    /// A change to what is given, if the rules allow it.
    pub(super) fn change_if_allowed(
        &mut self,
        at: EntryId,
        changes: &Changes<'a>,
    ) -> Result<(), PlanError> {
        // Rules for single attributes look at the item as it is.
        if let Some(old) = self.entry(at).old().cloned() {
            let written = changes.names();
            self.evaluate(at, &old, |scope| scope.demand_attributes(written))??;
        }
        self.demand_crossing(at, changes)?;
        self.demand_afterwards(at, Asked::Access(Access::Update), changes)?;
        self.change(at, changes, By::Caller)
    }

    /// A change that enters or leaves the deleted state is a delete or a restore, whichever way it
    /// is written: it needs the right to that.
    pub(super) fn demand_crossing(
        &mut self,
        at: EntryId,
        changes: &Changes<'a>,
    ) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let (record, Some(old)) = (entry.record, entry.old().cloned()) else {
            return Ok(());
        };
        let Some(access) = changes.crossing(record, &old) else {
            return Ok(());
        };
        self.evaluate(at, &old, |scope| scope.demand(Asked::Access(access)))??;
        self.count_towards(&LimitOf::Access(access, record.id))
    }

    /// The item that a caller names, if there is one and the rule allows what is asked.
    fn find(
        &mut self,
        on: &NamedItem<'a>,
        asked: Asked<'a>,
    ) -> Result<(EntryId, Rc<Map>), PlanError> {
        let record = on.record;
        let decided = self.demand_known(record, &on.identity, asked)?;
        self.unguarded(record, &on.identity)
            .known_so_far()
            .need_live_targets();
        let address = self.context.blueprint.address(record, &on.identity)?;
        let at = self.look_up(record, address)?;
        let Before::Found(old) = self.entry(at).before.clone() else {
            return Err(not_found(record, false));
        };
        if let Err(refusal) = self.evaluate(at, &old, |scope| scope.demand(asked))? {
            // Where the item decides, a refusal would tell that it is there.
            let read = Asked::Access(Access::Read);
            let may_read = || self.unguarded(record, &old).verdict(read) == Verdict::Allowed;
            return Err(if decided == Verdict::Allowed || may_read() {
                refusal
            } else {
                not_found(record, false)
            });
        }
        for (reference, target) in self.evaluate(at, &old, |scope| scope.live_targets())? {
            if target.is_hiding(&self.context) {
                return Err(not_found(record, false));
            }
            self.expect(record, reference, target, Given::Before)?;
        }
        Ok((at, old))
    }

    /// Finds out whether the version is the one that the caller saw.
    pub(super) fn check_version(&mut self, at: EntryId, entity: &'a Record, expected: Option<i64>) {
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

pub(crate) fn not_found(record: &Record, deleted: bool) -> PlanError {
    PlanError::NotFound {
        entity: record.name.to_owned(),
        deleted,
    }
}
