//! One write as one transaction, guarded by what it was decided on.
//!
//! Planning is pure: from the items as they were read to a list of steps. Each step knows what
//! it means when the store refuses it.

use std::collections::BTreeSet;

use partita_core::expression::{Condition, Path, Update};
use partita_core::{Item, Map, Value};
use partita_design::design::{Access, Entity, Ref, SoftDelete};
use partita_store::request::{
    ConditionCheck, DeleteItem, ItemAddress, PutItem, TransactAction, UpdateItem,
};

use crate::access::{Subject, attributes_read};
use crate::error::{Fault, PlanError};
use crate::input::Changes;
use crate::operation::{Answer, Record};
use crate::record::Blueprint;
use crate::view::{Transition, is_deleted};

/// A transaction, and the answer once it is committed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WritePlan {
    pub(crate) steps: Vec<Step>,
    pub(crate) answer: Answer,
}

/// One action, and what it means when its condition does not hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) action: TransactAction,
    pub(crate) refusal: Refusal,
}

/// What a failed condition means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refusal {
    /// The operation is refused.
    Final(Box<PlanError>),
    /// Something changed since it was read: read again and plan again.
    Stale,
}

impl Refusal {
    fn last(error: PlanError) -> Self {
        Refusal::Final(Box::new(error))
    }
}

/// When a reference was set.
#[derive(Clone, Copy)]
enum Given {
    /// By this write: a missing target is the caller's mistake.
    Now,
    /// Before: the target was there when it was read, so it went meanwhile.
    Before,
}

/// An item that a write starts from.
pub(crate) struct Existing<'a> {
    pub(crate) entity: &'a Entity,
    pub(crate) address: ItemAddress,
    pub(crate) attributes: Map,
    /// What the caller wants to do, and was allowed to.
    pub(crate) access: Access,
}

impl Blueprint {
    /// A new item with its views. Nothing was read: the store finds out what is in the way.
    pub(crate) fn create(
        &self,
        entity: &Entity,
        subject: Subject<'_>,
    ) -> Result<WritePlan, PlanError> {
        let attributes = subject.attributes;
        subject.demand(entity, Access::Create)?;
        let put = PutItem {
            condition: Some(Condition::NotExists(self.partition())),
            ..PutItem::new(self.table.clone(), self.entity_item(entity, attributes)?)
        };
        let exists = PlanError::Exists {
            entity: entity.name.clone(),
        };
        let mut steps = vec![Step {
            action: TransactAction::Put(put),
            refusal: Refusal::last(exists),
        }];
        for reference in &entity.refs {
            steps.extend(self.check_target(reference, attributes, Given::Now)?);
        }
        let follow = self.follow(
            entity,
            Transition {
                old: None,
                new: Some(attributes),
                changes: &Changes::default(),
            },
        )?;
        steps.extend(follow.actions.into_iter().map(stale));
        let answer = Answer::Record(self.record(entity, attributes.clone()));
        Ok(WritePlan { steps, answer })
    }

    /// A change of some attributes, with the views that follow.
    pub(crate) fn update(
        &self,
        existing: &Existing<'_>,
        changes: &Changes,
    ) -> Result<WritePlan, PlanError> {
        let Existing {
            entity,
            address,
            attributes: old,
            ..
        } = existing;
        let new = changes.applied_to(old);
        if changes.is_empty() {
            return Ok(WritePlan {
                steps: Vec::new(),
                answer: Answer::Record(self.record(entity, new)),
            });
        }
        let follow = self.follow(
            entity,
            Transition {
                old: Some(old),
                new: Some(&new),
                changes,
            },
        )?;
        let mut update = Update::default();
        for (name, value) in &changes.set {
            update = update.setting(Path::attribute(name), value.clone());
        }
        update.remove = changes.remove.iter().map(Path::attribute).collect();
        let mut steps = vec![stale(TransactAction::Update(UpdateItem {
            table: address.table.clone(),
            key: address.key.clone(),
            update,
            condition: Some(self.guard(existing, follow.guards)),
            return_item_on_failure: false,
        }))];
        let written = changes.names();
        for reference in &entity.refs {
            let targets = reference.targets.iter();
            let mut arguments = targets.flat_map(|target| &target.arguments);
            let moves = arguments.any(|argument| written.contains(argument.path.as_str()));
            let given = if moves { Given::Now } else { Given::Before };
            if reference.live || moves {
                steps.extend(self.check_target(reference, &new, given)?);
            }
        }
        steps.extend(follow.actions.into_iter().map(stale));
        let answer = Answer::Record(self.record(entity, new));
        Ok(WritePlan { steps, answer })
    }

    /// A removal for good, with the views that go along.
    pub(crate) fn remove_item(&self, existing: &Existing<'_>) -> Result<WritePlan, PlanError> {
        let Existing {
            entity,
            address,
            attributes: old,
            ..
        } = existing;
        let follow = self.follow(
            entity,
            Transition {
                old: Some(old),
                new: None,
                changes: &Changes::default(),
            },
        )?;
        let mut steps = vec![stale(TransactAction::Delete(DeleteItem {
            table: address.table.clone(),
            key: address.key.clone(),
            condition: Some(self.guard(existing, follow.guards)),
            return_item_on_failure: false,
        }))];
        for reference in entity.refs.iter().filter(|reference| reference.live) {
            steps.extend(self.check_target(reference, old, Given::Before)?);
        }
        steps.extend(follow.actions.into_iter().map(stale));
        let answer = Answer::Done;
        Ok(WritePlan { steps, answer })
    }

    /// The condition that the item is there, and that everything is still so that was read and
    /// decided anything: what views need, whether it is deleted, what the rule looked at. What
    /// stands in the key needs no guard: another value is another item.
    fn guard(&self, existing: &Existing<'_>, needed: BTreeSet<String>) -> Condition {
        let entity = existing.entity;
        let mut names = needed;
        let flag = entity.soft_delete.as_ref().map(SoftDelete::attribute);
        names.extend(flag.map(str::to_owned));
        let read = attributes_read(entity, existing.access);
        names.extend(read.into_iter().map(str::to_owned));
        let is_fixed = |name: &str| {
            let mut identity = entity.identity.iter();
            identity.any(|part| part.attribute == name)
        };
        let guards = names.iter().filter(|name| !is_fixed(name));
        guards.fold(Condition::Exists(self.partition()), |guard, name| {
            let path = Path::attribute(name);
            guard.and(match existing.attributes.get(name.as_str()) {
                Some(value) => Condition::equals(path, value.clone()),
                None => Condition::NotExists(path),
            })
        })
    }

    /// Lets the transaction pass only if a reference's target is there.
    fn check_target(
        &self,
        reference: &Ref,
        attributes: &Map,
        given: Given,
    ) -> Result<Option<Step>, PlanError> {
        let Some(address) = self.target_address(reference, attributes)? else {
            return Ok(None);
        };
        let target = self.target(reference)?;
        let mut condition = Condition::Exists(self.partition());
        if let (true, Some(soft_delete)) = (reference.live, &target.soft_delete) {
            condition = condition.and(soft_delete.live());
        }
        let check = ConditionCheck {
            table: address.table,
            key: address.key,
            condition,
            return_item_on_failure: false,
        };
        let message = format!("leads to no `{}`", target.name);
        let missing = PlanError::Invalid {
            faults: vec![Fault::new(&reference.name, message)],
        };
        Ok(Some(Step {
            action: TransactAction::Check(check),
            refusal: match given {
                Given::Now => Refusal::last(missing),
                Given::Before => Refusal::Stale,
            },
        }))
    }

    /// The entity that a reference leads to. A design whose references lead elsewhere is not
    /// opened.
    fn target(&self, reference: &Ref) -> Result<&Entity, PlanError> {
        let (name, _) = reference.single().ok_or_else(|| PlanError::UnknownEntity {
            name: reference.name.clone(),
        })?;
        self.entity(name.as_str())
    }

    /// Where a reference leads; nowhere while one of its arguments is missing.
    pub(crate) fn target_address(
        &self,
        reference: &Ref,
        attributes: &Map,
    ) -> Result<Option<ItemAddress>, PlanError> {
        let target = self.target(reference)?;
        let arguments = reference
            .targets
            .iter()
            .flat_map(|target| &target.arguments);
        let mut identity = Map::new();
        for (part, argument) in target.identity.iter().zip(arguments) {
            match attributes.get(&argument.path) {
                Some(value) => identity.insert(part.attribute.clone(), value.clone()),
                None => return Ok(None),
            };
        }
        self.address(&target.key, &identity).map(Some)
    }

    /// Whether a live reference's target, as it was read, hides the item that refers to it.
    pub(crate) fn hides(&self, reference: &Ref, target: Option<&Item>) -> bool {
        let Some(target) = target else { return true };
        let entity = self.target(reference);
        entity.is_ok_and(|entity| is_deleted(entity, target))
    }

    /// An entity's record as callers see it, with its discriminator.
    pub(crate) fn record(&self, entity: &Entity, mut attributes: Map) -> Record {
        if let (Some(name), Some(value)) = (&self.design.table.discriminator, &entity.discriminator)
        {
            attributes.insert(name.clone(), Value::from(value.as_str()));
        }
        Record {
            name: entity.name.clone(),
            attributes,
        }
    }
}

fn stale(action: TransactAction) -> Step {
    Step {
        action,
        refusal: Refusal::Stale,
    }
}

#[cfg(test)]
mod tests;
