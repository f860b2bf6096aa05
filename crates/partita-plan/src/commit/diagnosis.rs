//! Why a write fails that should not: something that is derived is not as the design says.
//!
//! Nothing that goes well is looked at here. A write that was refused, or has no other attempt, is
//! held against what is stored, so that its answer can say what is wrong and who mends it.

use partita_core::expression::{Condition, SetValue};
use partita_core::{Item, Value};
use partita_design::design::record::UNIQUE_SORT;
use partita_design::design::{Record, RecordId, Unique};
use partita_store::error::CancellationReason;
use partita_store::request::{TransactAction, UpdateItem};
use partita_store::{ErrorKind, StoreError};

use super::{Step, WritePlan};
use crate::error::PlanError;
use crate::partita::Partita;
use crate::place::Address;

/// A guard that was not its owner's when a transaction came to it.
pub(crate) struct Suspect {
    guard: Address,
    /// What was required of it.
    condition: Condition,
}

impl Partita {
    /// The guards of unique values among steps that failed. While guards are filled in, an item may
    /// lack its own.
    pub(crate) fn suspects<'s>(&self, failed: impl Iterator<Item = &'s Step>) -> Vec<Suspect> {
        if self.blueprint.filling().is_some() {
            return Vec::new();
        }
        let suspects = failed.filter_map(|step| {
            let guard = self.blueprint.place_of(&step.action);
            let condition = match &step.action {
                TransactAction::Put(put) => put.condition.clone(),
                TransactAction::Delete(delete) => delete.condition.clone(),
                TransactAction::Update(_) | TransactAction::Check(_) => None,
            };
            let is_guard = guard.sort == UNIQUE_SORT;
            Some(Suspect {
                condition: condition.filter(|_| is_guard)?,
                guard,
            })
        });
        suspects.collect()
    }

    /// The answer to a write that met others in every attempt, or so it seemed: where a guard is
    /// still not its owner's, that.
    pub(crate) async fn explain_conflict(
        &self,
        cause: PlanError,
        suspects: &[Suspect],
    ) -> PlanError {
        if cause != PlanError::Conflict {
            return cause;
        }
        for Suspect { guard, condition } in suspects {
            let Ok(found) = self.runner.read_items(std::slice::from_ref(guard)).await else {
                return cause;
            };
            let found = found.into_iter().flatten().next();
            if condition.holds(found.as_ref().unwrap_or(&Item::new())) {
                continue;
            }
            if let Some((record, unique)) = self.unique_of(guard) {
                let what = match found {
                    Some(_) => "is guarded for another item",
                    None => "has no guard",
                };
                let attribute = unique.attributes.join("/");
                return PlanError::drift(record, &attribute, what);
            }
        }
        cause
    }

    /// The unique value that a guard is of.
    fn unique_of(&self, guard: &Address) -> Option<(&Record, &Unique)> {
        let blueprint = &self.blueprint;
        blueprint.design.entities().find_map(|record| {
            let mut all = record.unique.iter();
            let unique = all.find(|one| one.partition.read(&guard.partition).is_some())?;
            (*blueprint.table_of(record).1 == guard.table).then_some((record, unique))
        })
    }

    /// The answer to a write that the store refuses: where something that is added to is no number,
    /// that.
    pub(crate) async fn explain_refusal(&self, error: PlanError, plan: &WritePlan) -> PlanError {
        let PlanError::Store(refused) = &error else {
            return error;
        };
        if refused.kind() != ErrorKind::FixRequest {
            return error;
        }
        let is_meant = |at: usize| match refused {
            StoreError::TransactionCanceled { reasons } => {
                matches!(reasons.get(at), Some(CancellationReason::Validation { .. }))
            }
            _ => true,
        };
        let steps = plan.steps.iter().enumerate();
        for (_, step) in steps.filter(|(at, _)| is_meant(*at)) {
            if let TransactAction::Update(update) = &step.action
                && let Some(drift) = self.no_number(&step.action, update).await
            {
                return drift;
            }
        }
        error
    }

    /// That an update adds to something that is no number.
    async fn no_number(&self, action: &TransactAction, update: &UpdateItem) -> Option<PlanError> {
        let address = self.blueprint.place_of(action);
        let found = self.runner.read_items(&[address]).await.ok()?;
        let item = found.into_iter().flatten().next()?;
        let records: Vec<RecordId> = self
            .blueprint
            .design
            .records
            .iter()
            .map(|one| one.id)
            .collect();
        let (record, _) = self.blueprint.recognise(&records, &item)?;
        let mut set = update.update.set.iter();
        let (path, _) = set.find(|(path, value)| {
            let is_added = matches!(value, SetValue::Plus(..) | SetValue::Minus(..));
            let is_number = |value: &Value| matches!(value, Value::N(_));
            is_added && path.find(&item).is_some_and(|value| !is_number(value))
        })?;
        let what = "is stored as something else than a number";
        Some(PlanError::drift(record, &path.to_string(), what))
    }
}
