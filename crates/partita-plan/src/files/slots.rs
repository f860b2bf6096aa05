//! How many uploads a caller may have that no item has taken over.
//!
//! Each takes one of the caller's slots: a row with a number, written in the transaction that records
//! the upload, on the condition that the slot is as it was read. So there are never more than slots,
//! however many ask at once. Writes of items know nothing of slots. That an upload was taken over or
//! removed is found out when no other slot is left, and then all such slots are free again.

use std::collections::BTreeMap;

use partita_core::expression::{Condition, KeyCondition, Path};
use partita_core::limits::{BATCH_GET_KEYS_MAX, TRANSACTION_ACTIONS_MAX};
use partita_core::{Item, Number, Value};
use partita_store::request::{DeleteItem, PutItem, Query, TransactAction};

use super::put;
use super::record::{self, FileRecord};
use crate::commit::Step;
use crate::error::PlanError;
use crate::partita::Partita;
use crate::sidecar;

const SLOT: &str = "FILE#SLOT";
const BUCKET: &str = "bucket";
const NAME: &str = "name";
const DUE_AT: &str = "due";

/// How long a slot is kept behind the time of its upload, which may be removed a little late.
const KEPT_SECONDS: i64 = 3_600;

/// What is in a slot.
#[derive(Clone)]
struct Held {
    bucket: String,
    name: String,
    due_millis: i64,
}

impl Partita {
    /// The steps by which an upload takes a slot of its caller, who has so many.
    pub(super) async fn take_slot(
        &self,
        upload: &FileRecord,
        slots: usize,
    ) -> Result<Vec<Step>, PlanError> {
        let caller = upload.caller.as_deref();
        let held = self.held_slots(caller).await?;
        let is_empty = |number: &usize| !held.contains_key(number);
        let empty: Vec<usize> = (0..slots).filter(is_empty).collect();
        if !empty.is_empty() {
            // Whoever asks for many at once should not want the same one.
            let number = empty[self.any_of(empty.len())];
            return Ok(vec![self.fill(number, upload, sidecar::is_missing())]);
        }
        let mut over = self.over(&held).await?.into_iter();
        let Some((number, old)) = over.find(|(number, _)| *number < slots) else {
            return Err(self.too_many(slots, &held));
        };
        let mut steps = vec![self.fill(number, upload, holds(&old))];
        // Two more actions record the upload.
        let others = over.take(TRANSACTION_ACTIONS_MAX - 3);
        steps.extend(others.map(|(number, old)| self.clear(caller, number, &old)));
        Ok(steps)
    }

    /// The slots of a caller that hold something.
    async fn held_slots(&self, caller: Option<&str>) -> Result<BTreeMap<usize, Held>, PlanError> {
        let keys = KeyCondition {
            equals: vec![(
                sidecar::PARTITION.to_owned(),
                Value::from(partition(caller).as_str()),
            )],
            range: None,
        };
        let request = Query {
            consistent: true,
            ..Query::new(self.blueprint.sidecar.clone(), keys)
        };
        let rows = self.runner.query(&request).await?.items;
        Ok(rows.iter().filter_map(read).collect())
    }

    /// The slots whose uploads are none any more.
    async fn over(&self, held: &BTreeMap<usize, Held>) -> Result<Vec<(usize, Held)>, PlanError> {
        let addresses = held
            .values()
            .map(|held| record::address(&self.blueprint, &held.bucket, &held.name));
        let addresses: Vec<_> = addresses.collect();
        let mut found = Vec::new();
        for some in addresses.chunks(BATCH_GET_KEYS_MAX) {
            found.extend(self.runner.read_items(some).await?);
        }
        let is_upload = |item: &Option<Item>| {
            let record = item.as_ref().and_then(FileRecord::read);
            record.is_some_and(|record| !record.is_owned())
        };
        let over = held.iter().zip(&found);
        let over = over.filter(|(_, item)| !is_upload(item));
        Ok(over
            .map(|((number, held), _)| (*number, held.clone()))
            .collect())
    }

    fn fill(&self, number: usize, upload: &FileRecord, condition: Condition) -> Step {
        let due_millis = upload.due_millis.unwrap_or_default();
        let expires = due_millis.div_euclid(1000).saturating_add(KEPT_SECONDS);
        let mut row = key_of(upload.caller.as_deref(), number);
        row.extend([
            (BUCKET.to_owned(), Value::from(upload.bucket.as_str())),
            (NAME.to_owned(), Value::from(upload.name.as_str())),
            (DUE_AT.to_owned(), Value::N(Number::from(due_millis))),
            (sidecar::EXPIRES.to_owned(), Value::N(Number::from(expires))),
        ]);
        put(PutItem {
            condition: Some(condition),
            ..PutItem::new(self.blueprint.sidecar.clone(), row)
        })
    }

    fn clear(&self, caller: Option<&str>, number: usize, old: &Held) -> Step {
        Step::or_stale(TransactAction::Delete(DeleteItem {
            table: self.blueprint.sidecar.clone(),
            key: key_of(caller, number),
            condition: Some(holds(old)),
            return_item_on_failure: false,
        }))
    }

    fn too_many(&self, slots: usize, held: &BTreeMap<usize, Held>) -> PlanError {
        let first = held.values().map(|held| held.due_millis).min();
        let wait_millis = first.unwrap_or_default() - self.clock.now_millis();
        PlanError::TooManyUploads {
            open: slots,
            wait_seconds: u64::try_from(wait_millis)
                .unwrap_or(0)
                .div_ceil(1000)
                .max(1),
        }
    }

    /// One of so many places, by chance.
    fn any_of(&self, count: usize) -> usize {
        let mut random = [0; 8];
        self.runner.entropy.fill(&mut random);
        usize::from_le_bytes(random) % count
    }
}

fn partition(caller: Option<&str>) -> String {
    match caller {
        Some(caller) => format!("{SLOT}#{caller}"),
        // Those without a token share theirs.
        None => SLOT.to_owned(),
    }
}

fn key_of(caller: Option<&str>, number: usize) -> Item {
    sidecar::key(&partition(caller), &format!("{number:06}"))
}

fn read(row: &Item) -> Option<(usize, Held)> {
    let text = |name: &str| row.get(name)?.as_str();
    let number = text(sidecar::SORT)?.parse().ok()?;
    let held = Held {
        bucket: text(BUCKET)?.to_owned(),
        name: text(NAME)?.to_owned(),
        due_millis: row.get(DUE_AT)?.as_number()?.to_i64()?,
    };
    Some((number, held))
}

/// That a slot is as it was read.
fn holds(held: &Held) -> Condition {
    Condition::equals(Path::attribute(BUCKET), held.bucket.as_str())
        .and(Condition::equals(Path::attribute(NAME), held.name.as_str()))
}
