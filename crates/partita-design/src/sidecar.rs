//! The sidecar: the table beside a design's own that holds what is Partita's.
//!
//! The planner writes it and `verify` reads it, so the names that both need are here.
//!
//! | partition | sort | what it is |
//! |---|---|---|
//! | `DESIGN` | a number | a design that is or was live: text, variables, prints; the last one is live |
//! | `MIGRATION` | a number | the way from one live design to the next: text, stage, position; only the last one may not be over |
//! | `MARK#`, the number of a migration, a table and a partition key | a sort key | the numbers that are being filled and that the item counts for |
//! | `LEASE` | an id | a server that shares the tables: its name, the number of the design that it plans with, and how often it has renewed this; it expires |
//! | `MOVING` | `MOVING` | the data arrives from another store and is not whole, or has gone to one |
//! | `JOB` | id | a job that is not done |
//! | `JOB#DONE` | id | one that is; it expires |
//! | `DONE#`, a job's id and the number of a task | a digest | an element that the task was done for; it expires |
//! | `HELD#`, a table and a partition key | a sort key | the item was removed, and a job is clearing up behind it |
//! | `KEPT#`, a table and a partition key | a sort key | the numbers of an item that is gone, over items that stay |
//! | `KEY#` and a caller | an idempotency key | the outcome of a write; it expires |
//! | `ROOM#` and a caller | a number | how much was kept of the caller's outcomes in this hour; it expires |
//! | `LIMIT#` and a caller | the name of a limit | how often the caller did it in this window; it expires |
//! | `REPAIR` | `LOCK` | who repairs derived data, until when, and how many steps were done |
//! | `ATTEMPT#` and a digest | the start of a step of a window | how often something of accounts was tried in it; it expires |
//! | `LINK#` and the digest of a mailed link | `LINK` | which login and password the link belongs to; it expires |
//! | `UNCONFIRMED#` and the digest of somebody's id | `ACCOUNT` | when they signed up, while nobody has confirmed or touched the account |
//! | `SESSIONS#` and the digest of somebody's id | `GENERATION` | the generation that their sessions must be of, since all others were ended; it expires |
//! | `PROMISE` | a time and a random number | a sign-up or the mail of a link that is answered and not carried out yet; it expires |
//! | `ADMINISTRATOR` | `FIRST` | the link that makes the first administrator, or that there is one |
//! | `SUBJECT#` and the digest of somebody's id | `SUBJECT` | an account was made of claims for them, a token was shown for it, or it was deleted |
//! | `FENCE` | the token of a transaction | the transaction is not carried out any more; it expires |
//! | `FILE#`, a bucket and a name | `FILE` | an object of a bucket |
//! | the same | `OWNER#` and a digest | an item that names it, where there are several |
//! | `FILE#DUE` | a time, a bucket and a name | objects that are to be looked at then |
//! | the same | a time, `OWNER#` and a digest | the files of an item that expires then |
//! | `FILE#SLOT#` and a caller | a number | an upload of the caller; it expires |
//! | `OUTBOX#`, a channel, `#` and a shard | a ULID | a mail or an event that is to be delivered; those of one item rise in the order of its writes |
//! | `OUTBOX#PARKED` | the same ULID | one that failed for good |
//! | `OUTBOX#LAST#` and the digest of an item | `LAST` | the time in the last ULID of the item; it expires |
//! | `OUTBOX#LEASE` | a channel | who delivers what is on it |
//! | `PURGED#` and the digest of an identity | a time | what one write purged, as digests; it expires |
//! | `SCHEDULE` | the name of a schedule | the last period that was started |
//! | `OUTBOX#SENT#` and a channel | a stream and a shard | how far the changes of a table were sent; it expires |
//! | `OUTBOX#CHANNEL` | a channel | that a design sends there, or did |
//!
//! It has no stream, so that no reader of a design's streams sees these rows.

use crate::design::Design;

/// The partition key of the table.
pub const PARTITION: &str = "PK";
/// The sort key of the table.
pub const SORT: &str = "SK";
/// The partition of the jobs that are not done.
pub const OPEN_JOBS: &str = "JOB";
/// The prefix of partitions of kept numbers.
pub const KEPT: &str = "KEPT#";
/// The attribute of a row of kept numbers that has them, by their names.
pub const KEPT_NUMBERS: &str = "numbers";
/// The attribute of a row of kept numbers that has the name of their entity.
pub const KEPT_ENTITY: &str = "entity";
/// The key of the lock on repairs.
pub const REPAIR: &str = "REPAIR";
/// Its sort key.
pub const REPAIR_LOCK: &str = "LOCK";

/// The attribute with the time at which a row may be swept, in seconds since 1970.
pub const EXPIRES: &str = "expires";

/// The prefix of the partitions of the outbox.
pub const OUTBOX: &str = "OUTBOX#";

/// How the names of sidecars end. No table of a design ends so.
pub const SUFFIX: &str = "-partita";

/// The name of a design's sidecar. There is one, whatever tables the design has; transactions span
/// all of them.
pub fn name(design: &Design) -> String {
    beside(&design.tables[0].name)
}

/// The name of the sidecar of a design whose first table has this name.
pub fn beside(table: &str) -> String {
    format!("{table}{SUFFIX}")
}

/// Whether a table of this name is a sidecar.
pub fn is_name(table: &str) -> bool {
    table.ends_with(SUFFIX)
}

/// The partition of the numbers that are kept of an item that is gone.
pub fn kept_partition(table: &str, partition: &str) -> String {
    format!("{KEPT}{table}#{partition}")
}
