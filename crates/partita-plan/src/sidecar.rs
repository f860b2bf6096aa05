//! The sidecar table `{table}-partita`: what is Partita's and not the design's.
//!
//! | partition | sort | what it is |
//! |---|---|---|
//! | `DESIGN` | a number | a design that is or was live: text, variables, prints; the last one is live |
//! | `JOB` | id | a job that is not done |
//! | `JOB#DONE` | id | one that is; it expires |
//! | `DONE#`, a job's id and the number of a task | a digest | an element that the task was done for; it expires |
//! | `HELD#`, a table and a partition key | a sort key | the item was removed, and a job is clearing up behind it |
//! | `KEPT#`, a table and a partition key | a sort key | the numbers of an item that is gone, over items that stay |
//! | `KEY#` and a caller | an idempotency key | the outcome of a write; it expires |
//! | `ROOM#` and a caller | a number | how much was kept of the caller's outcomes in this hour; it expires |
//! | `LIMIT#` and a caller | the name of a limit | how often the caller did it in this window; it expires |
//! | `FILE#`, a bucket and a name | `FILE` | an object of a bucket |
//! | the same | `OWNER#` and a digest | an item that names it, where there are several |
//! | `FILE#DUE` | a time, a bucket and a name | objects that are to be looked at then |
//! | the same | a time, `OWNER#` and a digest | the files of an item that expires then |
//! | `FILE#SLOT#` and a caller | a number | an upload of the caller; it expires |
//!
//! It has no stream: nobody who follows a design's tables hears of these. A design has one sidecar,
//! that of its first table; transactions span all of them.

use partita_core::Item;
use partita_core::expression::{Condition, Path};
use partita_store::request::CreateTable;
use partita_store::table::{KeySchema, TableName, string_key};
use partita_store::{Store, StoreError};

use crate::error::PlanError;
use crate::place::{Address, Place};
use crate::table;

/// The partition key of the sidecar table.
pub(crate) const PARTITION: &str = "PK";
/// Its sort key.
pub(crate) const SORT: &str = "SK";
/// What the partition of kept numbers begins with.
const KEPT: &str = "KEPT#";
/// When an item may be swept, in seconds since 1970.
pub(crate) const EXPIRES: &str = "expires";

/// The name of the sidecar of a table.
pub(crate) fn name(table: &TableName) -> Result<TableName, PlanError> {
    Ok(format!("{table}-partita").parse()?)
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
    let partition = format!("{KEPT}{}#{}", owner.table, owner.partition);
    address(sidecar, &partition, &owner.sort)
}

/// That there is no such item.
pub(crate) fn is_missing() -> Condition {
    Condition::NotExists(Path::attribute(PARTITION))
}

/// That there is one.
pub(crate) fn is_there() -> Condition {
    Condition::Exists(Path::attribute(PARTITION))
}

/// Creates the table if it is not there.
pub(crate) async fn prepare(sidecar: &TableName, store: &dyn Store) -> Result<(), PlanError> {
    let key = KeySchema::strings(PARTITION, SORT);
    let request = CreateTable::new(sidecar.clone(), key.clone());
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
