//! What can be asked of a design, and what needs a token: decided by the route of a request, before
//! anything else of it is read.

use partita_design::design::{Access, ActionId, PatternId, RecordId};

use super::action::FoundBy;
use super::rules::{self, Asked};
use crate::error::PlanError;
use crate::operation::{Caller, Operation};
use crate::partita::Partita;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Create an item of an entity.
    Create(RecordId),
    /// Read one.
    Get(RecordId),
    /// Change one.
    Update(RecordId),
    /// Create one, or change it if it is there.
    Upsert(RecordId),
    /// Delete one.
    Delete(RecordId),
    /// Take a soft delete back.
    Restore(RecordId),
    /// Remove a soft-deleted one for good.
    Purge(RecordId),
    /// Use an action.
    Act {
        /// The action.
        action: ActionId,
        /// The entity or view that it is done to; none where the action finds its items itself.
        on: Option<RecordId>,
    },
    /// Ask a pattern.
    Query(PatternId),
}

impl Verb {
    /// Whether nothing can change.
    pub fn is_read(self) -> bool {
        matches!(self, Verb::Get(_) | Verb::Query(_))
    }

    /// The record whose items it is about, where it names one.
    pub fn record(self) -> Option<RecordId> {
        match self {
            Verb::Create(record)
            | Verb::Get(record)
            | Verb::Update(record)
            | Verb::Upsert(record)
            | Verb::Delete(record)
            | Verb::Restore(record)
            | Verb::Purge(record) => Some(record),
            Verb::Act { on, .. } => on,
            Verb::Query(_) => None,
        }
    }
}

impl Partita {
    /// What an operation asks for. What it names must be in the design.
    pub(crate) fn verb(&self, operation: &Operation) -> Result<Verb, PlanError> {
        let blueprint = &self.blueprint;
        let entity = |name: &str| blueprint.entity(name).map(|entity| entity.id);
        let record = |name: &String| blueprint.named_record(name).map(|record| record.id);
        Ok(match operation {
            Operation::Create { entity: name, .. } => Verb::Create(entity(name)?),
            Operation::Get { entity: name, .. } => Verb::Get(entity(name)?),
            Operation::Update { entity: name, .. } => Verb::Update(entity(name)?),
            Operation::Upsert { entity: name, .. } => Verb::Upsert(entity(name)?),
            Operation::Delete { entity: name, .. } => Verb::Delete(entity(name)?),
            Operation::Restore { entity: name, .. } => Verb::Restore(entity(name)?),
            Operation::Purge { entity: name, .. } => Verb::Purge(entity(name)?),
            Operation::Act { action, entity, .. } => Verb::Act {
                action: blueprint.action(action)?.id,
                on: entity.as_ref().map(record).transpose()?,
            },
            Operation::Query { pattern, .. } => Verb::Query(blueprint.pattern(pattern)?.id),
        })
    }

    /// Refuses a caller without a token what the rules allow only with one. Nothing is read, so that
    /// the refusal reveals nothing of what is stored or of what was sent.
    ///
    /// [`Partita::run`] begins with this. A server asks it before the body of a request is read.
    pub fn demand_token(&self, caller: &Caller, verb: Verb) -> Result<(), PlanError> {
        if caller.id.is_some() {
            return Ok(());
        }
        let design = &self.blueprint.design;
        let demand = |record: RecordId, asked: Asked<'_>| {
            rules::demand_token(&self.blueprint, caller, &design[record], asked)
        };
        let may = |record, access| demand(record, Asked::Access(access));
        match verb {
            Verb::Create(record) => may(record, Access::Create),
            Verb::Get(record) => may(record, Access::Read),
            Verb::Update(record) => may(record, Access::Update),
            Verb::Delete(record) => may(record, Access::Delete),
            Verb::Restore(record) => may(record, Access::Restore),
            Verb::Purge(record) => may(record, Access::Purge),
            Verb::Upsert(record) => {
                let update = may(record, Access::Update);
                if update.is_err() && design[record].takes_identity() {
                    return may(record, Access::Create);
                }
                update
            }
            Verb::Act { action, on } => {
                let action = &design[action];
                let found = || FoundBy::of(design, action).map(|by| by.record.id);
                match on.or_else(found) {
                    Some(record) => demand(record, Asked::Action(action)),
                    None => Ok(()),
                }
            }
            // One of the records that it finds is enough.
            Verb::Query(pattern) => {
                let pattern = &design[pattern];
                let mut reads = pattern.returns.iter().map(|record| {
                    may(*record, Access::Read)?;
                    let rule = pattern.rule(*record).map(Asked::Finding);
                    rule.map_or(Ok(()), |rule| demand(*record, rule))
                });
                let first = reads.next().unwrap_or(Ok(()));
                if first.is_err() && reads.any(|read| read.is_ok()) {
                    return Ok(());
                }
                first
            }
        }
    }

    /// As [`Partita::demand_token`], for several writes that are not known yet: refuses where every
    /// write needs a token.
    pub fn demand_token_to_write(&self, caller: &Caller) -> Result<(), PlanError> {
        let design = &self.blueprint.design;
        let records = design.records.iter().map(|record| &record.rules);
        let is_write = |access: &Access| *access != Access::Read;
        let mut rules = records.flat_map(|rules| {
            let by_access = rules.by_access.iter();
            let writes = by_access.filter(|(access, _)| is_write(access));
            let actions = rules.by_action.iter().map(|(_, rule)| rule);
            writes.map(|(_, rule)| rule).chain(actions)
        });
        let entity = design.records.first().map(|entity| entity.name.clone());
        if caller.id.is_some() || !rules.all(|rule| rule.needs_caller(design)) {
            return Ok(());
        }
        Err(PlanError::Unauthenticated {
            access: Access::Create.word().to_owned(),
            entity: entity.unwrap_or_default(),
        })
    }
}
