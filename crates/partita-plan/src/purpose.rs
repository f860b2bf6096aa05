//! What nobody gets without a token, decided before anything of a request but its route is read.

use partita_design::design::{Access, ActionOn, Entity, RecordName};

use crate::access::{self, Asked};
use crate::error::PlanError;
use crate::operation::{Caller, Operation};
use crate::partita::Partita;
use crate::shape::Shape;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose<'o> {
    /// To create an item of an entity.
    Create(&'o str),
    /// To read one.
    Get(&'o str),
    /// To change one.
    Update(&'o str),
    /// To create one, or to change it if it is there.
    Upsert(&'o str),
    /// To delete one.
    Delete(&'o str),
    /// To restore one.
    Restore(&'o str),
    /// To use an action.
    Act {
        /// The action.
        action: &'o str,
        /// The entity or view that it is done to; none where the action finds its items itself.
        on: Option<&'o str>,
    },
    /// To ask a pattern.
    Query(&'o str),
}

impl Operation {
    /// What it is for.
    pub fn purpose(&self) -> Purpose<'_> {
        match self {
            Operation::Create { entity, .. } => Purpose::Create(entity),
            Operation::Get { entity, .. } => Purpose::Get(entity),
            Operation::Update { entity, .. } => Purpose::Update(entity),
            Operation::Upsert { entity, .. } => Purpose::Upsert(entity),
            Operation::Delete { entity, .. } => Purpose::Delete(entity),
            Operation::Restore { entity, .. } => Purpose::Restore(entity),
            Operation::Act { action, entity, .. } => Purpose::Act {
                action,
                on: entity.as_deref(),
            },
            Operation::Query { pattern, .. } => Purpose::Query(pattern),
        }
    }
}

impl Partita {
    /// Refuses somebody without a token what no rule allows to anybody without one. Nothing is
    /// read, so that the refusal tells nothing of what is stored or of what was sent.
    ///
    /// [`Partita::run`] begins with this. Whoever reads a request from a socket asks before its
    /// body is read.
    pub fn demand_token(&self, caller: &Caller, purpose: Purpose<'_>) -> Result<(), PlanError> {
        if caller.id.is_some() {
            return Ok(());
        }
        let of_entity = |name: &str, access: Access| match self.blueprint.design.entity(name) {
            Some(entity) => self.demand_for(caller, Shape::Entity(entity), access),
            None => Ok(()),
        };
        match purpose {
            Purpose::Create(name) => of_entity(name, Access::Create),
            Purpose::Get(name) => of_entity(name, Access::Read),
            Purpose::Update(name) => of_entity(name, Access::Update),
            Purpose::Delete(name) => of_entity(name, Access::Delete),
            Purpose::Restore(name) => of_entity(name, Access::Restore),
            Purpose::Upsert(name) => {
                let update = of_entity(name, Access::Update);
                let entity = self.blueprint.design.entity(name);
                if update.is_err() && entity.is_some_and(Entity::takes_identity) {
                    return of_entity(name, Access::Create);
                }
                update
            }
            Purpose::Act { action, on } => self.demand_to_act(caller, action, on),
            Purpose::Query(name) => self.demand_to_ask(caller, name),
        }
    }

    /// As [`Partita::demand_token`], for several writes that are not known yet: whether nobody
    /// without a token may write anything.
    pub fn demand_token_to_write(&self, caller: &Caller) -> Result<(), PlanError> {
        let design = &self.blueprint.design;
        let entities = design.entities.iter().map(|entity| &entity.rules);
        let views = design.views.iter().filter_map(|view| view.rules.as_ref());
        let is_write = |access: &Access| *access != Access::Read;
        let mut rules = entities.chain(views).flat_map(|rules| {
            let by_access = rules.by_access.iter();
            let writes = by_access.filter(|(access, _)| is_write(access));
            let actions = rules.by_action.iter().map(|(_, rule)| rule);
            writes.map(|(_, rule)| rule).chain(actions)
        });
        let entity = design.entities.first().map(|entity| entity.name.clone());
        if caller.id.is_some() || !rules.all(|rule| rule.needs_caller(design)) {
            return Ok(());
        }
        Err(PlanError::Unauthenticated {
            access: Access::Create.word().to_owned(),
            entity: entity.unwrap_or_default(),
        })
    }

    fn demand_for(
        &self,
        caller: &Caller,
        shape: Shape<'_>,
        access: Access,
    ) -> Result<(), PlanError> {
        access::demand_token(&self.blueprint, caller, shape, Asked::Access(access))
    }

    fn demand_to_act(
        &self,
        caller: &Caller,
        action: &str,
        on: Option<&str>,
    ) -> Result<(), PlanError> {
        let found = self.blueprint.design.action(action).map(|one| &one.on);
        let record = match (on, found) {
            (Some(record), _) => self.shape_named(record).ok(),
            (None, Some(ActionOn::Found { record, .. })) => self.blueprint.shape(record),
            (None, Some(ActionOn::Every(every))) => self.blueprint.shape(&every.record),
            (None, Some(ActionOn::Items(_)) | None) => None,
        };
        match record {
            Some(shape) => {
                access::demand_token(&self.blueprint, caller, shape, Asked::Action(action))
            }
            None => Ok(()),
        }
    }

    /// A pattern is open to somebody if one of the records that it finds is.
    fn demand_to_ask(&self, caller: &Caller, pattern: &str) -> Result<(), PlanError> {
        let pattern = self.blueprint.design.pattern(pattern);
        let records: &[RecordName] = pattern.map_or(&[], |pattern| &pattern.returns);
        let mut refused = Ok(());
        for shape in records.iter().filter_map(|one| self.blueprint.shape(one)) {
            match self.demand_for(caller, shape, Access::Read) {
                Ok(()) => return Ok(()),
                refusal if refused.is_ok() => refused = refusal,
                _ => {}
            }
        }
        refused
    }
}
