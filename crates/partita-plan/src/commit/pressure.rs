//! Which keys others write to and read at the same time.

use partita_core::expression::KeyCondition;
use partita_core::{Item, Value};
use partita_store::StoreError;
use partita_store::error::{CancellationReason, Exhausted};
use partita_store::request::{Query, TransactAction};

use super::Step;
use super::run::Runner;
use crate::error::PlanError;
use crate::hot::{Happened, HotCause, HotSpot, IndexMeant};
use crate::place::{Address, Place};

/// What kept an action from being carried out.
struct Pressure<'e> {
    cause: HotCause,
    exhausted: Option<&'e Exhausted>,
}

impl Runner {
    /// Counts the items that were written.
    pub(crate) fn count_written(&self, steps: &[Step]) {
        for step in steps {
            if !matches!(step.action, TransactAction::Check(_)) {
                self.count_at(step, None, Happened::Written);
            }
        }
    }

    /// Counts an item that was read.
    pub(super) fn count_read(&self, address: &Place) {
        if let Some(spots) = &self.spots {
            spots.count(&address.table, None, &address.partition, Happened::Read);
        }
    }

    fn count_at(&self, step: &Step, index: Option<&str>, happened: Happened) {
        let table = step.action.table();
        let partition = written(&step.action).get(self.keys.of(table)[0]);
        if let (Some(spots), Some(Value::S(partition))) = (&self.spots, partition) {
            spots.count(table, index, partition, happened);
        }
    }

    /// Where steps met others, if they did.
    pub(crate) fn met(&self, steps: &[Step], error: &StoreError) -> Option<Box<HotSpot>> {
        let spots = self.spots.as_ref()?;
        let mut first = None;
        for (step, pressure) in pressures(steps, error) {
            let happened = match pressure.cause {
                HotCause::Conflict => Happened::Conflict,
                HotCause::Writes | HotCause::Reads => Happened::Throttled,
            };
            // Which value the key of an index has is not known here.
            self.count_at(step, None, happened);
            let place = self.keys.place(step.action.table(), written(&step.action));
            let index = pressure.exhausted.filter(|one| one.is_of_index());
            let index = index.map(|one| match &one.index {
                Some(name) => IndexMeant::Named(name),
                None => IndexMeant::Some,
            });
            let key = (place.partition.as_str(), place.sort.as_str());
            let spot = || spots.of_item(&place.table, key, index, pressure.cause);
            first = first.or_else(spot);
        }
        first
    }

    /// The refusal of a read of some items, of which this one is the first.
    pub(super) fn unread(&self, first: &Address, error: StoreError) -> PlanError {
        let Some(spots) = &self.spots else {
            return error.into();
        };
        let refusal = PlanError::from(error);
        let Place {
            table,
            partition,
            sort,
            ..
        } = &**first;
        let hot = spots.of_item(table, (partition, sort), None, HotCause::Reads);
        let refusal = refusal.at(hot);
        if matches!(refusal, PlanError::Hot(_)) {
            spots.count(table, None, partition, Happened::Throttled);
        }
        refusal
    }

    /// The refusal of a query.
    pub(super) fn unlisted(&self, request: &Query, error: StoreError) -> PlanError {
        let partition = partition_of(&request.keys);
        let (Some(spots), Some(partition)) = (&self.spots, partition) else {
            return error.into();
        };
        let index = request.index.as_deref();
        let refusal = PlanError::from(error);
        let refusal = refusal.at(spots.of_partition(&request.table, index, partition));
        if matches!(refusal, PlanError::Hot(_)) {
            spots.count(&request.table, index, partition, Happened::Throttled);
        }
        refusal
    }
}

/// The steps that kept a transaction from being carried out, and why.
fn pressures<'s>(steps: &'s [Step], error: &'s StoreError) -> Vec<(&'s Step, Pressure<'s>)> {
    let conflict = || Pressure {
        cause: HotCause::Conflict,
        exhausted: None,
    };
    let throttled = |exhausted| Pressure {
        cause: HotCause::Writes,
        exhausted,
    };
    let pressure = |reason: &'s CancellationReason| match reason {
        CancellationReason::TransactionConflict
        | CancellationReason::ConditionalCheckFailed { .. } => Some(conflict()),
        CancellationReason::Throttled => Some(throttled(None)),
        CancellationReason::Exhausted(exhausted) => Some(throttled(Some(exhausted))),
        CancellationReason::None
        | CancellationReason::DuplicateItem
        | CancellationReason::Validation { .. } => None,
    };
    match error {
        StoreError::TransactionCanceled { reasons } => {
            let reasons = steps.iter().zip(reasons);
            let met = reasons.filter_map(|(step, reason)| Some((step, pressure(reason)?)));
            met.collect()
        }
        StoreError::TransactionConflict => {
            steps.iter().take(1).map(|one| (one, conflict())).collect()
        }
        StoreError::Throttled => {
            let first = steps.iter().take(1);
            first.map(|one| (one, throttled(None))).collect()
        }
        StoreError::Exhausted(exhausted) => {
            let first = steps.iter().take(1);
            first.map(|one| (one, throttled(Some(exhausted)))).collect()
        }
        _ => Vec::new(),
    }
}

/// The key of an action, or the item of a put.
fn written(action: &TransactAction) -> &Item {
    match action {
        TransactAction::Put(put) => &put.item,
        TransactAction::Update(update) => &update.key,
        TransactAction::Delete(delete) => &delete.key,
        TransactAction::Check(check) => &check.key,
    }
}

/// The partition that a query asks for.
fn partition_of(keys: &KeyCondition) -> Option<&str> {
    let (_, value) = keys.equals.first()?;
    value.as_str()
}
