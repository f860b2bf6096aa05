//! The actions by which a file gets owners and loses them.

use partita_store::request::{DeleteItem, PutItem, TransactAction, UpdateItem};
use partita_store::table::TableName;

use super::put;
use super::record::{self, FileRecord, Owner};
use crate::commit::Step;
use crate::sidecar;

/// Says that one more item names a file.
pub(crate) fn add_row(table: &TableName, file: &FileRecord, owner: &Owner) -> Step {
    let row = record::owner_row(&file.bucket, &file.name, owner);
    put(PutItem {
        condition: Some(sidecar::is_missing()),
        ..PutItem::new(table.clone(), row)
    })
}

fn remove_row(table: &TableName, file: &FileRecord, owner: &Owner) -> Step {
    Step::or_stale(TransactAction::Delete(DeleteItem {
        table: table.clone(),
        key: record::owner_key(&file.bucket, &file.name, owner),
        condition: Some(sidecar::is_there()),
        return_item_on_failure: false,
    }))
}

/// Gives a file to more items.
pub(crate) fn add(table: &TableName, record: &FileRecord, gained: &[Owner]) -> Vec<Step> {
    let update = UpdateItem {
        table: table.clone(),
        key: record::key_of(&record.bucket, &record.name),
        update: record::with_more_owners(gained.len() as u64),
        condition: Some(record::is_kept()),
        return_item_on_failure: false,
    };
    let mut steps = vec![Step::or_stale(TransactAction::Update(update))];
    steps.extend(gained.iter().map(|owner| add_row(table, record, owner)));
    steps
}

/// Takes a file from some of its owners and gives it to other items. Says also whether nobody has
/// it then, so that it is to be removed.
pub(crate) fn replace(
    table: &TableName,
    record: FileRecord,
    mut gained: Vec<Owner>,
    mut lost: Vec<Owner>,
    now_millis: i64,
) -> (Vec<Step>, bool) {
    let condition = Some(record::has_owners_of(&record));
    let first = lost
        .iter()
        .position(|owner| Some(owner) == record.owner.as_ref());
    let owner = match first {
        None => record.owner.clone(),
        Some(at) => {
            lost.remove(at);
            (!gained.is_empty()).then(|| gained.remove(0))
        }
    };
    let others = record.others + gained.len() as u64;
    let others = others.saturating_sub(lost.len() as u64);
    let mut steps: Vec<Step> = Vec::new();
    steps.extend(lost.iter().map(|owner| remove_row(table, &record, owner)));
    steps.extend(gained.iter().map(|owner| add_row(table, &record, owner)));
    let is_free = owner.is_none() && others == 0;
    let file = FileRecord {
        owner,
        others,
        is_removing: is_free,
        due_millis: is_free.then_some(now_millis),
        // Whoever uploaded it cannot name it again.
        caller: record.caller.clone().filter(|_| !is_free),
        ..record
    };
    steps.push(put(PutItem {
        condition,
        ..PutItem::new(table.clone(), file.item())
    }));
    (steps, is_free)
}
