//! Rows of the sidecar table. `partita_design::sidecar` lists them.

use partita_core::expression::{Condition, Path};
use partita_core::{Item, Number, Value};
use partita_design::Design;
use partita_design::sidecar::{KEPT, kept_partition};
use partita_store::request::{CreateTable, PutItem};
use partita_store::settings::Keeping;
use partita_store::table::{KeySchema, TableName, string_key};
use partita_store::{Store, StoreError};

pub(crate) use partita_design::sidecar::{
    EXPIRES, KEPT_ENTITY, KEPT_NUMBERS, OPEN_JOBS, PARTITION, SORT,
};

use crate::error::PlanError;
use crate::place::{Address, Place};
use crate::table;

/// The partition of tokens that are taken.
const FENCE: &str = "FENCE";
/// How long it can be seen that a token is taken. The store itself knows it for ten minutes.
const FENCED_SECONDS: i64 = 3_600;

/// The name of a design's sidecar.
pub(crate) fn name(design: &Design) -> Result<TableName, PlanError> {
    Ok(partita_design::sidecar::name(design).parse()?)
}

/// Whether kept numbers are at a place of the sidecar.
pub(crate) fn is_kept(place: &Place) -> bool {
    place.partition.starts_with(KEPT)
}

/// The key of an item.
pub(crate) fn key(partition: &str, sort: &str) -> Item {
    string_key((PARTITION, partition), (SORT, sort))
}

/// The key of an item that stands here.
pub(crate) fn key_at(place: &Place) -> Item {
    key(&place.partition, &place.sort)
}

/// Where it stands that an item is counted by what a migration fills.
pub(crate) fn mark(sidecar: &TableName, migration: u64, item: &Place) -> Address {
    let partition = format!("{}{}#{}", marks(migration), item.table, item.partition);
    address(sidecar, &partition, &item.sort)
}

/// How the partitions of a migration's marks begin.
pub(crate) fn marks(migration: u64) -> String {
    format!("MARK#{migration}#")
}

/// The address of an item.
pub(crate) fn address(sidecar: &TableName, partition: &str, sort: &str) -> Address {
    Place::address(sidecar, partition.to_owned(), sort.to_owned())
}

/// Where it stands that an item was removed and a job is clearing up behind it.
pub(crate) fn hold(sidecar: &TableName, removed: &Place) -> Address {
    let partition = format!("HELD#{}#{}", removed.table, removed.partition);
    address(sidecar, &partition, &removed.sort)
}

/// Where the numbers of an item are while it is gone and what they count is not.
pub(crate) fn kept(sidecar: &TableName, owner: &Place) -> Address {
    let partition = kept_partition(owner.table.as_str(), &owner.partition);
    address(sidecar, &partition, &owner.sort)
}

/// Takes the token of a transaction that is not to be carried out any more.
pub(crate) fn fence(sidecar: &TableName, token: &str, now_millis: i64) -> PutItem {
    let mut item = key(FENCE, token);
    let expires = now_millis / 1000 + FENCED_SECONDS;
    item.insert(EXPIRES, Value::N(Number::from(expires)));
    PutItem::new(sidecar.clone(), item)
}

/// That there is no such item.
pub(crate) fn is_missing() -> Condition {
    Condition::NotExists(Path::attribute(PARTITION))
}

/// That there is one.
pub(crate) fn is_there() -> Condition {
    Condition::Exists(Path::attribute(PARTITION))
}

/// The keys of the table.
pub(crate) fn keys() -> KeySchema {
    KeySchema::strings(PARTITION, SORT)
}

/// Creates the table if it is not there.
pub(crate) async fn prepare(
    sidecar: &TableName,
    keeping: Keeping,
    store: &dyn Store,
) -> Result<(), PlanError> {
    let key = keys();
    let mut request = CreateTable::new(sidecar.clone(), key.clone());
    request.keeping = keeping;
    let found = match store.describe_table(sidecar).await {
        // Another process may create it at the same moment.
        Err(StoreError::TableNotFound { .. }) => match store.create_table(request).await {
            Err(StoreError::TableExists { .. }) => store.describe_table(sidecar).await?,
            created => created?,
        },
        described => described?,
    };
    if found.schema.key != key {
        let message = format!("the table `{sidecar}` is not Partita's; name another table");
        return Err(PlanError::Store(StoreError::validation(message)));
    }
    if store.describe_time_to_live(sidecar).await?.is_none() {
        table::expire_by(EXPIRES, sidecar, store).await?;
    }
    Ok(())
}
