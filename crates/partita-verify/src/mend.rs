//! Writes that mend, each on the condition that what it rests on is as it was read.

use std::collections::BTreeSet;

use partita_core::expression::{Condition, Path, Update};
use partita_core::{Item, Name};
use partita_store::StoreResult;
use partita_store::request::{ConditionCheck, DeleteItem, ItemAddress, TransactAction, UpdateItem};

use crate::check::{Findings, Own};
use crate::layout::{Layout, Stored};
use crate::reader::{Reader, Written};
use crate::reads::{Known, Reads};
use crate::scope::ReadState;
use partita_design::nested;

/// Actions of a transaction at most.
const ACTIONS_MAX: usize = 100;

/// That an item is as it was read, in every attribute; or still missing.
pub(crate) fn as_read(state: ReadState<'_, '_>, address: &ItemAddress) -> Condition {
    let ReadState { layout, reads } = state;
    if let Known::Found(stored) = reads.item(address) {
        return as_stored(layout, address, stored);
    }
    let missing = Condition::NotExists(partition(layout, address));
    // An expired item counts as missing, and the store may take days to remove it.
    match (layout.ttl(&address.table), reads.over(address)) {
        (Some(ttl), Some(until)) => {
            let expired = Condition::equals(Path::attribute(ttl), until.clone());
            Condition::Any(vec![missing, expired])
        }
        _ => missing,
    }
}

fn partition(layout: &Layout<'_>, address: &ItemAddress) -> Path {
    let table = layout.table(&address.table);
    let partition = table.map(|table| table.partition.as_str());
    let partition = partition.or_else(|| address.key.keys().next().map(Name::as_str));
    Path::attribute(partition.unwrap_or_default())
}

/// That an item is there, with these attributes and no others that its record declares.
fn as_stored(layout: &Layout<'_>, address: &ItemAddress, stored: &Item) -> Condition {
    let partition = partition(layout, address);
    // What is missing must still be missing, too.
    let declared = match layout.recognise(&address.table, stored) {
        Stored::Record(record, _) => {
            let attributes = record.attributes.iter();
            let attributes = attributes.filter(|one| !one.key_only && !one.is_virtual);
            attributes.map(|one| one.path().root).collect()
        }
        Stored::Guard(..) | Stored::Stranger | Stored::Foreign => BTreeSet::new(),
    };
    let names: BTreeSet<Name> = stored.keys().cloned().chain(declared).collect();
    let names = names
        .into_iter()
        .filter(|name| !address.key.contains_key(name));
    let is_same = |name: Name| match stored.get(&name) {
        Some(value) => Condition::equals(Path::attribute(name), value.clone()),
        None => Condition::NotExists(Path::attribute(name)),
    };
    names
        .map(is_same)
        .fold(Condition::Exists(partition), Condition::and)
}

/// The update that makes one item of another, if it still is as it was read.
pub(crate) fn change(
    layout: &Layout<'_>,
    address: &ItemAddress,
    stored: &Item,
    after: &Item,
) -> TransactAction {
    let mut update = Update::default();
    for (name, value) in after {
        if stored.get(name) != Some(value) {
            update = update.setting(Path::attribute(name.clone()), value.clone());
        }
    }
    let gone = stored.keys().filter(|name| !after.contains_key(name));
    update.remove.extend(gone.cloned().map(Path::attribute));
    TransactAction::Update(UpdateItem {
        table: address.table.clone(),
        key: address.key.clone(),
        update,
        condition: Some(as_stored(layout, address, stored)),
        return_item_on_failure: false,
    })
}

/// Carries out what becomes of the item itself. Everything that it was decided on must still be
/// so.
pub(crate) async fn mend_own(
    layout: &Layout<'_>,
    reader: Reader<'_>,
    reads: &Reads,
    address: &ItemAddress,
    stored: &Item,
    findings: &Findings,
) -> StoreResult<Written> {
    let own = &findings.own;
    let action = if own.delete {
        TransactAction::Delete(DeleteItem {
            table: address.table.clone(),
            key: address.key.clone(),
            condition: Some(as_stored(layout, address, stored)),
            return_item_on_failure: false,
        })
    } else {
        change(layout, address, stored, &own.applied(stored))
    };
    let others = sources(reads, findings).filter(|one| *one != address);
    let checks = others.map(|other| check(layout, reads, other));
    write(reader, std::iter::once(action).chain(checks).collect()).await
}

/// Carries out a write on an item that is derived from this one, while this one and what it was
/// judged by are as they were read.
pub(crate) async fn mend_other(
    layout: &Layout<'_>,
    reader: Reader<'_>,
    reads: &Reads,
    address: &ItemAddress,
    findings: &Findings,
    action: TransactAction,
) -> StoreResult<Written> {
    let others = sources(reads, findings).filter(|one| *one != address);
    let sources = std::iter::once(address).chain(others);
    let checks = sources.map(|source| check(layout, reads, source));
    write(reader, std::iter::once(action).chain(checks).collect()).await
}

/// Carries a transaction out, if it has room for all conditions that it rests on.
async fn write(reader: Reader<'_>, actions: Vec<TransactAction>) -> StoreResult<Written> {
    if actions.len() > ACTIONS_MAX {
        return Ok(Written::Refused);
    }
    reader.write(actions).await
}

/// What was read and is not derived from the item itself.
fn sources<'r>(reads: &'r Reads, findings: &'r Findings) -> impl Iterator<Item = &'r ItemAddress> {
    let addresses = reads.addresses();
    addresses.filter(|one| !findings.derived.contains(one))
}

fn check(layout: &Layout<'_>, reads: &Reads, address: &ItemAddress) -> TransactAction {
    TransactAction::Check(ConditionCheck {
        table: address.table.clone(),
        key: address.key.clone(),
        condition: as_read(ReadState { layout, reads }, address),
        return_item_on_failure: false,
    })
}

impl Own {
    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Own::default()
    }

    fn applied(&self, stored: &Item) -> Item {
        let mut after = stored.clone();
        for (name, value) in &self.set {
            nested::set(&mut after, name, value.clone());
        }
        for name in &self.remove {
            nested::remove(&mut after, name);
        }
        after
    }
}
