//! Single writes and batches of them.

use partita_core::Item;
use partita_store::capacity::{Metered, Rate};
use partita_store::error::{CancellationReason, Exhausted};
use partita_store::request::{
    BatchWrite, BatchWriteItem, DeleteItem, PutItem, ReturnValues, TransactAction,
};
use partita_store::table::{Key, TableName};
use partita_store::write;
use partita_store::{ErrorKind, StoreError, StoreResult};

use super::locks::Place;
use super::throughput::{Partition, Throttle, index_partitions};
use super::transactions::Current;
use super::{Amazon, State};

impl State {
    /// Notes that something was throttled, and gives the error for it.
    pub(super) fn throttled(&mut self, throttle: Throttle) -> StoreError {
        StoreError::Exhausted(self.exhausted(throttle))
    }

    /// Notes that something was throttled, and gives Amazon's reason for it.
    pub(super) fn exhausted(&mut self, throttle: Throttle) -> Exhausted {
        let exhausted = Exhausted {
            reason: throttle.reason().to_owned(),
            index: throttle.partition.index.clone(),
        };
        self.counts.throttled += 1;
        self.throttles.push(throttle);
        exhausted
    }
}

impl Amazon {
    /// A single write. It is carried out in a moment, and a transaction that comes in the next
    /// few milliseconds still meets it.
    pub(super) async fn write(
        &self,
        action: TransactAction,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.check_created([action.table()])?;
        let _turn = self.turn.lock().await;
        let places: Vec<Place> = self.place(&action).into_iter().collect();
        let before = self.items(&places);
        if let (Some(place), Some(old)) = (places.first(), before.first()) {
            self.check_alone(place)?;
            if let Some(throttle) = self.exhausted(place, &action, old.as_ref()) {
                return Err(self.state().throttled(throttle));
            }
        }
        let answer = match action {
            TransactAction::Put(put) => self.primary.put_item(put, returns).await,
            TransactAction::Update(update) => self.primary.update_item(update, returns).await,
            TransactAction::Delete(delete) => self.primary.delete_item(delete, returns).await,
            TransactAction::Check(_) => Err(StoreError::validation("a check is no write")),
        };
        match &answer {
            Ok(_) => {
                self.keep_from_transactions(&places);
                self.follow(places, before, Rate::Standard);
            }
            Err(error) if error.kind() == ErrorKind::ConditionFailed => {
                self.charge_refused(&places, &before, Rate::Standard);
            }
            Err(_) => {}
        }
        answer
    }

    /// A batch of writes, each for itself. What meets a transaction or finds no units is left
    /// out, and so is some of the rest.
    pub(super) async fn batch_write(
        &self,
        request: BatchWriteItem,
    ) -> StoreResult<Metered<Vec<BatchWrite>>> {
        self.check_created(request.writes.iter().map(written_table))?;
        let _turn = self.turn.lock().await;
        let (now, left): (Vec<_>, Vec<_>) = {
            let last = request.writes.len().saturating_sub(1);
            let writes = request.writes.iter().cloned().enumerate();
            let is_drawn = |at| at < last && self.happens(self.behaviour.unprocessed);
            writes.partition(|(at, write)| !self.is_left_out(write) && !is_drawn(*at))
        };
        let places = now
            .iter()
            .filter_map(|(_, write)| self.place(&action(write)));
        let places: Vec<Place> = places.collect();
        let before = self.items(&places);
        // Judged as a whole: a batch that is wrong is refused, whatever is left out of it.
        if !left.is_empty() {
            self.check_batch(&request)?;
        }
        // Only what is done in part is a success.
        if now.is_empty() && !left.is_empty() {
            let throttle = left.iter().find_map(|(_, write)| self.exhausted_by(write));
            if let Some(throttle) = throttle {
                return Err(self.state().throttled(throttle));
            }
            let writes = left.into_iter().map(|(_, write)| write).collect();
            return Ok(Metered {
                answer: writes,
                ..Metered::default()
            });
        }
        let writes = now.into_iter().map(|(_, write)| write).collect();
        let mut answer = self
            .primary
            .batch_write_item(BatchWriteItem { writes })
            .await?;
        self.state().counts.unprocessed += left.len() as u64;
        answer
            .answer
            .extend(left.into_iter().map(|(_, write)| write));
        self.keep_from_transactions(&places);
        self.follow(places, before, Rate::Standard);
        Ok(answer)
    }

    /// Whether a write of a batch meets a transaction, or finds no units.
    fn is_left_out(&self, write: &BatchWrite) -> bool {
        let place = self.place(&action(write));
        let is_met = |place: &Place| self.check_alone(place).is_err();
        place.as_ref().is_some_and(is_met) || self.exhausted_by(write).is_some()
    }

    fn exhausted_by(&self, write: &BatchWrite) -> Option<Throttle> {
        let action = action(write);
        let place = self.place(&action)?;
        let old = self.item(&place);
        self.exhausted(&place, &action, old.as_ref())
    }

    /// Refuses a batch in which an item is written twice; everything else is found when its parts
    /// are written.
    fn check_batch(&self, request: &BatchWriteItem) -> StoreResult<()> {
        let places = request
            .writes
            .iter()
            .filter_map(|one| self.place(&action(one)));
        let mut places: Vec<Place> = places.collect();
        let count = places.len();
        places.sort();
        places.dedup();
        if places.len() < count {
            return Err(StoreError::validation(
                "Provided list of item keys contains duplicates",
            ));
        }
        Ok(())
    }

    /// Refuses to write an item that a transaction has.
    fn check_alone(&self, place: &Place) -> StoreResult<()> {
        let mut state = self.state();
        if state.locks.is_in_transaction(place) {
            state.counts.conflicts += 1;
            return Err(StoreError::TransactionConflict);
        }
        Ok(())
    }

    /// The partition of a write that has nothing left: its own, or one of an index that the item
    /// is in or comes to.
    pub(super) fn exhausted(
        &self,
        (table, key): &(TableName, Key),
        action: &TransactAction,
        old: Option<&Item>,
    ) -> Option<Throttle> {
        if self.is_calm() {
            return None;
        }
        let schema = self.schema(table)?;
        let new = self.written(action);
        let own = Partition {
            table: table.clone(),
            index: None,
            values: vec![key.partition.clone()],
        };
        // A check writes to no index.
        let is_write = !matches!(action, TransactAction::Check(_));
        let images = [old, new.as_ref()]
            .into_iter()
            .flatten()
            .filter(|_| is_write);
        let of_indexes = images.flat_map(|item| index_partitions(table, &schema, item));
        let partitions: Vec<_> = std::iter::once(own).chain(of_indexes).collect();
        let now = self.now();
        self.state().meters.exhausted(partitions, true, now)
    }

    /// The item as a write leaves it, if its condition holds.
    fn written(&self, action: &TransactAction) -> Option<Item> {
        match action {
            TransactAction::Put(put) => Some(put.item.clone()),
            TransactAction::Update(_) => {
                let done = write::single(action, ReturnValues::None, &Current(self));
                done.ok()?.0.new_item().cloned()
            }
            TransactAction::Delete(_) | TransactAction::Check(_) => None,
        }
    }

    fn keep_from_transactions(&self, places: &[Place]) {
        let takes = self.drawn(&self.behaviour.write_millis);
        let now = self.now();
        let mut state = self.state();
        for place in places {
            state.locks.write(place.clone(), now, now + takes);
        }
    }
}

/// The write of a batch as a write of its own.
fn action(write: &BatchWrite) -> TransactAction {
    match write {
        BatchWrite::Put { table, item } => {
            TransactAction::Put(PutItem::new(table.clone(), item.clone()))
        }
        BatchWrite::Delete(address) => TransactAction::Delete(DeleteItem {
            table: address.table.clone(),
            key: address.key.clone(),
            condition: None,
            return_item_on_failure: false,
        }),
    }
}

fn written_table(write: &BatchWrite) -> &TableName {
    match write {
        BatchWrite::Put { table, .. } => table,
        BatchWrite::Delete(address) => &address.table,
    }
}

/// Whether a refusal says more than that somebody else was there.
pub(super) fn is_grave(reason: &CancellationReason) -> bool {
    let reasons = vec![reason.clone()];
    let kind = StoreError::TransactionCanceled { reasons }.kind();
    matches!(kind, ErrorKind::FixRequest | ErrorKind::ConditionFailed)
}
