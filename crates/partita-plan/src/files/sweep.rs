//! Removing what is due: uploads that nobody took over, files that no item names any more, copies
//! of writes that never happened.

use partita_core::expression::{KeyCondition, KeyRange};
use partita_core::{Item, Value};
use partita_store::request::{DeleteItem, PutItem, Query, TransactAction};

use super::record::{DUE, FileRecord, is_still_due, key_of, read_due, read_owner_due};
use super::{Objects, new, put};
use crate::commit::Step;
use crate::error::PlanError;
use crate::partita::Partita;
use crate::sidecar;

/// What a round of sweeping has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many objects were removed.
    pub removed: usize,
    /// Whether there is more to do.
    pub has_more: bool,
}

/// What is to become of an object that is to be looked at.
pub(super) enum Finding {
    /// It is to be removed, and nobody can take it over any more.
    Claimed,
    /// An item names it, or it is to be looked at again another time.
    Stays,
    /// Somebody changed what is known of it at this moment: it is looked at again.
    Unsure,
}

/// What a look at the objects of one row has done.
pub(super) struct Looked {
    removed: usize,
    /// Whether none of them is to be looked at again.
    is_done: bool,
    failed: Option<PlanError>,
}

impl Default for Looked {
    fn default() -> Self {
        Looked {
            removed: 0,
            is_done: true,
            failed: None,
        }
    }
}

impl Looked {
    /// Notes down what became of one object. One that cannot be removed does not keep the others.
    pub(super) fn note(&mut self, found: Result<Finding, PlanError>) -> Result<(), PlanError> {
        match found {
            Ok(Finding::Claimed) => self.removed += 1,
            Ok(Finding::Stays) => {}
            Ok(Finding::Unsure) => self.is_done = false,
            Err(error @ PlanError::Objects(_)) => {
                self.failed = Some(error);
                self.is_done = false;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl Partita {
    /// Removes at most so many objects whose time has come by the design's clock; none while the
    /// store doubts the clock.
    pub async fn sweep_files(&self, at_most: usize) -> Result<Swept, PlanError> {
        let Some(objects) = &self.objects else {
            return Ok(Swept::default());
        };
        if self.runner.store.doubts_clock() {
            return Ok(Swept::default());
        }
        let rows = self.due(at_most).await?;
        let mut swept = Swept {
            removed: 0,
            has_more: rows.len() == at_most,
        };
        let mut failed = None;
        for row in rows {
            let looked = match read_owner_due(&row) {
                Some((owner, noted)) => {
                    self.look_at_owner(&**objects, (&owner, noted), read_due(&row))
                        .await?
                }
                None => self.look_at(&**objects, read_due(&row)).await?,
            };
            swept.removed += looked.removed;
            if looked.is_done {
                self.forget(row).await?;
            }
            failed = failed.or(looked.failed);
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(swept),
        }
    }

    /// Removes those of some objects that are to be removed.
    async fn look_at(
        &self,
        objects: &dyn Objects,
        names: Vec<(String, String)>,
    ) -> Result<Looked, PlanError> {
        let mut looked = Looked::default();
        for (bucket, name) in names {
            looked.note(self.sweep_one(objects, &bucket, &name).await)?;
        }
        Ok(looked)
    }

    /// Removes an object, if it is to be removed.
    async fn sweep_one(
        &self,
        objects: &dyn Objects,
        bucket: &str,
        name: &str,
    ) -> Result<Finding, PlanError> {
        let mut buckets = self.blueprint.design.buckets.iter();
        // A bucket that the design does not have any more is somebody else's.
        if !buckets.any(|known| known.name == bucket) {
            return Ok(Finding::Stays);
        }
        let finding = self.claim_object(bucket, name).await?;
        if let Finding::Claimed = finding {
            self.remove(objects, bucket, name).await?;
        }
        Ok(finding)
    }

    async fn due(&self, at_most: usize) -> Result<Vec<Item>, PlanError> {
        let until = format!("{:015}", self.clock.now_millis().max(0));
        let keys = KeyCondition {
            equals: vec![(sidecar::PARTITION.to_owned(), Value::from(DUE))],
            range: Some((sidecar::SORT.to_owned(), KeyRange::Less(Value::S(until)))),
        };
        let request = Query {
            limit: Some(at_most),
            ..Query::new(self.blueprint.sidecar.clone(), keys)
        };
        Ok(self.runner.query(&request).await?.items)
    }

    /// Removes an object, and then what is known of it.
    pub(super) async fn remove(
        &self,
        objects: &dyn Objects,
        bucket: &str,
        name: &str,
    ) -> Result<(), PlanError> {
        objects.remove(bucket, name).await?;
        let forgotten = DeleteItem {
            table: self.blueprint.sidecar.clone(),
            key: key_of(bucket, name),
            condition: None,
            return_item_on_failure: false,
        };
        self.commit_files(vec![Step::or_stale(TransactAction::Delete(forgotten))])
            .await
    }

    /// Makes sure that nobody takes an object over while it is removed. Whoever died in the middle
    /// of this has claimed it already.
    async fn claim_object(&self, bucket: &str, name: &str) -> Result<Finding, PlanError> {
        let now = self.clock.now_millis();
        let claim = match self.record(bucket, name).await? {
            Some(record) if record.is_removing => return Ok(Finding::Claimed),
            // INVARIANT: what an item names is not removed, whatever is due.
            Some(record) if record.is_owned() => return Ok(Finding::Stays),
            Some(record) => match record.due_millis {
                Some(due) if due <= now => put(PutItem {
                    condition: Some(is_still_due(due)),
                    ..PutItem::new(self.blueprint.sidecar.clone(), removing(record).item())
                }),
                _ => return Ok(Finding::Stays),
            },
            // A copy whose item was not written, or an upload that was taken over and is still
            // there.
            None => new(&self.blueprint.sidecar, &leftover(bucket, name)),
        };
        match self.commit_files(vec![claim]).await {
            Ok(()) => Ok(Finding::Claimed),
            Err(PlanError::Conflict) => Ok(Finding::Unsure),
            Err(error) => Err(error),
        }
    }

    async fn forget(&self, row: Item) -> Result<(), PlanError> {
        let keys = [sidecar::PARTITION, sidecar::SORT];
        let key = row
            .into_iter()
            .filter(|(name, _)| keys.contains(&name.as_str()));
        let forgotten = DeleteItem {
            table: self.blueprint.sidecar.clone(),
            key: key.collect(),
            condition: None,
            return_item_on_failure: false,
        };
        self.commit_files(vec![Step::or_stale(TransactAction::Delete(forgotten))])
            .await
    }
}

fn removing(record: FileRecord) -> FileRecord {
    FileRecord {
        is_removing: true,
        ..record
    }
}

/// A record that says nothing but that the object is being removed.
fn leftover(bucket: &str, name: &str) -> FileRecord {
    removing(FileRecord {
        due_millis: Some(0),
        ..FileRecord::at(bucket, name)
    })
}
