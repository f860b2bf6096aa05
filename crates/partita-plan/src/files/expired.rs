//! Files of items that expire. The store removes such an item without a write of ours, so nobody
//! takes its files from it then. A row in the sidecar has them looked at after that time.

use std::collections::BTreeSet;

use partita_core::expression::{Condition, Path};
use partita_core::{Item, Map};
use partita_design::design;
use partita_design::nested;
use partita_design::time::TimeForm;
use partita_store::request::{ConditionCheck, PutItem, TransactAction};

use super::record::{self, FileRecord, Owner};
use super::sweep::{Finding, Looked};
use super::{Objects, names, owning, put};
use crate::commit::Step;
use crate::error::PlanError;
use crate::partita::Partita;

/// How long it takes until somebody looks again at an item that has expired and is still stored.
/// Amazon DynamoDB removes most of them within a few days.
const AGAIN_MILLIS: i64 = 3_600_000;

impl Partita {
    /// Takes files from an item that does not name them any more, because it has expired and the
    /// store has removed it. What it still names is looked at again, if it expires.
    pub(super) async fn look_at_owner(
        &self,
        objects: &dyn Objects,
        (owner, noted_millis): (&Owner, i64),
        files: Vec<(String, String)>,
    ) -> Result<Looked, PlanError> {
        let mut looked = Looked::default();
        let blueprint = &self.blueprint;
        // What the design does not know any more is left as it is.
        let Ok(entity) = blueprint.entity(&owner.entity) else {
            return Ok(looked);
        };
        let Ok(address) = blueprint.address(entity, &owner.identity) else {
            return Ok(looked);
        };
        let read = self
            .runner
            .read_items(std::slice::from_ref(&address))
            .await?;
        let item = read.into_iter().flatten().next();
        let named = match &item {
            None => Vec::new(),
            Some(item) => names::all(entity, &blueprint.attributes(entity, item)?),
        };
        let check = ConditionCheck {
            table: address.table.clone(),
            key: blueprint.keys.key(&address),
            condition: names_as(&blueprint.partition(entity), entity, item.as_ref()),
            return_item_on_failure: false,
        };
        let is_named = |name: &str| named.iter().any(|file| file.name == name);
        let (kept, left): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|(_, name)| is_named(name));
        let attributes = item.as_ref().map(|item| blueprint.attributes(entity, item));
        let known = attributes.transpose()?;
        let known = known.as_ref().unwrap_or(&owner.identity);
        let past = self.named_by_states(entity, known, &left).await?;
        for (bucket, name) in left.into_iter().filter(|(_, name)| !past.contains(name)) {
            let taken = self.take_from(objects, owner, (&bucket, &name), &check);
            looked.note(taken.await)?;
        }
        let expiry = blueprint.expiry(entity).map(|one| one.name.as_str());
        if let Some(item) = &item
            && let Some(until) = expiry.and_then(|name| until(item, name))
        {
            let due_millis = self.next_look(until);
            let row = record::owner_due_row(owner, &kept, due_millis, noted_millis);
            let table = blueprint.sidecar.clone();
            if let Some(row) = row {
                let row = put(PutItem::new(table, row));
                self.commit_files(vec![row]).await?;
            }
        }
        Ok(looked)
    }

    /// Those of some files that states which are kept of an item name: they do not expire with it.
    ///
    /// A further state that names one comes only with a change of an item that names it, and that
    /// the item does not is required where a file is taken from it.
    async fn named_by_states(
        &self,
        entity: &design::Record,
        item: &Map,
        files: &[(String, String)],
    ) -> Result<BTreeSet<String>, PlanError> {
        let blueprint = &self.blueprint;
        let is_asked = |name: &String| files.iter().any(|(_, asked)| asked == name);
        let mut named = BTreeSet::new();
        let views = blueprint.design.views_of(entity.id);
        for (view, _) in views.filter(|(_, view)| view.history && !files.is_empty()) {
            // Where its states cannot be found from the identity, each file may be in one.
            let Ok(Some(listing)) = blueprint.states_of(view, entity, item) else {
                return Ok(files.iter().map(|(_, name)| name.clone()).collect());
            };
            let mut request = listing.query(false);
            while named.len() < files.len() {
                let page = self.runner.query(&request).await?;
                let states = blueprint.states_among(view, entity, item, &page.items);
                let found = states.flat_map(|state| names::all(entity, state));
                named.extend(found.map(|file| file.name).filter(&is_asked));
                match page.last_key {
                    None => break,
                    last_key => request.start_after = last_key,
                }
            }
        }
        Ok(named)
    }

    /// Takes a file from an item, if it is its own and the item is as it was read; and removes it,
    /// if no other item has it.
    async fn take_from(
        &self,
        objects: &dyn Objects,
        owner: &Owner,
        (bucket, name): (&str, &str),
        check: &ConditionCheck,
    ) -> Result<Finding, PlanError> {
        let finding = self.disown(owner, (bucket, name), check).await?;
        if let Finding::Claimed = finding {
            self.remove(objects, bucket, name).await?;
        }
        Ok(finding)
    }

    async fn disown(
        &self,
        owner: &Owner,
        (bucket, name): (&str, &str),
        check: &ConditionCheck,
    ) -> Result<Finding, PlanError> {
        let Some(record) = self.record(bucket, name).await? else {
            return Ok(Finding::Stays);
        };
        if record.is_removing {
            return Ok(Finding::Claimed);
        }
        if !self.is_owned_by(&record, owner).await? {
            return Ok(Finding::Stays);
        }
        let now = self.clock.now_millis();
        let table = &self.blueprint.sidecar;
        let lost = vec![owner.clone()];
        let (mut steps, is_free) = owning::replace(table, record, Vec::new(), lost, now);
        steps.push(Step::or_stale(TransactAction::Check(check.clone())));
        match self.commit_files(steps).await {
            Ok(()) if is_free => Ok(Finding::Claimed),
            Ok(()) => Ok(Finding::Stays),
            Err(PlanError::Conflict) => Ok(Finding::Unsure),
            Err(error) => Err(error),
        }
    }

    async fn is_owned_by(&self, record: &FileRecord, owner: &Owner) -> Result<bool, PlanError> {
        if record.owner.as_ref() == Some(owner) {
            return Ok(true);
        }
        let row = record::owner_address(&self.blueprint, &record.bucket, &record.name, owner);
        let read = self.runner.read_items(&[row]).await?;
        Ok(read.iter().any(Option::is_some))
    }

    /// When files are to be looked at again: when their item has expired, or in a while if it has.
    fn next_look(&self, until_millis: i64) -> i64 {
        let now = self.clock.now_millis();
        if until_millis < now {
            now.saturating_add(AGAIN_MILLIS)
        } else {
            until_millis
        }
    }
}

/// When an item expires, in milliseconds since 1970.
pub(crate) fn until(item: &Map, attribute: &str) -> Option<i64> {
    TimeForm::Epoch.read(nested::get(item, attribute)?)
}

/// That an item names the files that it named when it was read, or is still missing.
fn names_as(partition: &Path, entity: &design::Record, item: Option<&Item>) -> Condition {
    let Some(item) = item else {
        return Condition::NotExists(partition.clone());
    };
    let attributes = entity.attributes.iter();
    let attributes = attributes.filter(|one| names::names_files(one));
    let same = attributes.map(|one| match nested::get(item, &one.name) {
        Some(value) => Condition::equals(one.path(), value.clone()),
        None => Condition::NotExists(one.path()),
    });
    same.fold(Condition::Exists(partition.clone()), Condition::and)
}
