//! Objects in their places: claimed and copied before a write, removed behind it.

use partita_core::Item;
use partita_core::expression::Condition;
use partita_store::request::PutItem;

use super::names::no_place;
use super::record::{FileRecord, due_row, is_copy_of};
use super::{Copied, Placement, Taken, put};
use crate::error::{Fault, FaultRule, PlanError};
use crate::partita::Partita;
use crate::sidecar;

/// How long a copy may stand before somebody looks whether its item was written: far longer than
/// a write takes.
const COPY_MILLIS: i64 = 3_600_000;

impl Partita {
    /// Copies the objects of a write to their places, before it is committed.
    pub(crate) async fn place(&self, placements: &[Placement]) -> Result<(), PlanError> {
        let Some(objects) = &self.objects else {
            return Ok(());
        };
        let moving: Vec<&Placement> = placements.iter().filter(|one| !one.stays()).collect();
        let mut faults = Vec::new();
        for placement in moving {
            let Placement {
                bucket, from, to, ..
            } = placement;
            self.claim_place(placement).await?;
            let message = match (objects.copy(bucket, from, to).await?, placement.what) {
                (Copied::Done, _) | (Copied::Missing, Taken::Unknown) => continue,
                // The item that had it has let it go meanwhile.
                (Copied::Missing, Taken::File) => return Err(PlanError::Conflict),
                (Copied::Missing, Taken::Upload) => {
                    "has not been uploaded yet: send its bytes to the URL first".to_owned()
                }
                (Copied::NoPlace, _) => no_place(to),
            };
            faults.push(Fault {
                entity: placement.entity.clone(),
                rule: FaultRule::File,
                ..Fault::new(&placement.attribute, message)
            });
        }
        crate::request::input::refuse(faults)
    }

    /// Says that an object is about to be copied to its place, and that somebody has to look at it
    /// there if no write takes it. Of two that want one place, one is refused before it copies
    /// anything; the same upload may try again.
    async fn claim_place(&self, placement: &Placement) -> Result<(), PlanError> {
        let table = &self.blueprint.sidecar;
        let due_millis = self.clock.now_millis().saturating_add(COPY_MILLIS);
        let copy = copy_of(placement, due_millis);
        let is_free = Condition::Any(vec![sidecar::is_missing(), is_copy_of(&placement.from)]);
        self.commit_files(vec![
            put(PutItem {
                condition: Some(is_free),
                ..PutItem::new(table.clone(), copy.item())
            }),
            put(PutItem::new(
                table.clone(),
                due_row(&placement.bucket, &placement.to, due_millis),
            )),
        ])
        .await
    }

    /// What the sidecar says of the objects of a write before it is committed, once they are copied.
    pub(crate) fn claimed_places(&self, placements: &[Placement]) -> Vec<Item> {
        let due_millis = self.clock.now_millis().saturating_add(COPY_MILLIS);
        let moving = placements.iter().filter(|one| !one.stays());
        moving.map(|one| copy_of(one, due_millis).item()).collect()
    }

    /// Removes uploads that have been copied. What is left of them is swept.
    pub(crate) async fn unstage(&self, placements: &[Placement]) {
        let is_left = |one: &&Placement| one.what == Taken::Upload && !one.stays();
        for placement in placements.iter().filter(is_left) {
            self.remove_object(&placement.bucket, &placement.from).await;
        }
    }

    /// Removes objects that no item names any more. What is left of them is swept.
    pub(crate) async fn discard(&self, released: &[(String, String)]) {
        for (bucket, name) in released {
            self.remove_object(bucket, name).await;
        }
    }

    async fn remove_object(&self, bucket: &str, name: &str) {
        if let Some(objects) = &self.objects
            && let Err(error) = objects.remove(bucket, name).await
        {
            tracing::warn!(%error, name, "a file that is not needed is left to the sweeper");
        }
    }
}

/// The record of a copy that no write has taken yet.
fn copy_of(placement: &Placement, due_millis: i64) -> FileRecord {
    FileRecord {
        due_millis: Some(due_millis),
        copy_of: Some(placement.from.clone()),
        ..FileRecord::at(&placement.bucket, &placement.to)
    }
}
