//! Streams: the changes of a table's items, in their order, for 24 hours.
//!
//! A stream has one shard in the stores on one machine, and any number at Amazon. A table that
//! loses its stream and gets one again has a new stream under a new label; the old one can be
//! read until its records are too old, even if the table is deleted.
//!
//! Here is what the operations take and answer. What the stores on one machine share is below:
//!
//! | module | what it holds |
//! |---|---|
//! | [`change`] | [`ItemChange`]: the change that a record describes |
//! | [`kept`] | [`KeptStream`]: what a store remembers of a stream, and its one shard |
//! | [`position`] | [`Position`]: the position that a shard iterator encodes |
//! | [`page`] | pages of records, of shards and of names |
//! | `label` | when a stream began, as text |

pub mod change;
pub mod kept;
mod label;
pub mod page;
pub mod position;

pub use change::ItemChange;
pub use kept::KeptStream;
pub use page::RecordPage;
pub use position::Position;

use std::fmt;

use partita_core::Item;
use serde::{Deserialize, Serialize};

use crate::table::TableName;

/// Which images of an item a record carries besides its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StreamView {
    /// None.
    KeysOnly,
    /// The item as it is now.
    NewImage,
    /// The item as it was.
    OldImage,
    /// Both.
    NewAndOldImages,
}

/// The name of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StreamName {
    /// The table whose changes it records.
    pub table: TableName,
    /// When it began, to the millisecond: `2026-01-31T10:15:00.000`.
    pub label: String,
}

impl fmt::Display for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/stream/{}", self.table, self.label)
    }
}

/// Reads the names of streams, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListStreams {
    /// Only those of this table.
    pub table: Option<TableName>,
    /// Where the last page ended.
    pub start_after: Option<StreamName>,
    /// How many names there are on a page, at most 100.
    pub limit: Option<usize>,
}

/// One page of the names of streams.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamNames {
    /// The names.
    pub names: Vec<StreamName>,
    /// Where to go on; the end is reached when there is none.
    pub last: Option<StreamName>,
}

/// Asks for one page of a stream's shards.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeStream {
    /// The stream.
    pub stream: StreamName,
    /// The shard at which the last page ended.
    pub start_after: Option<String>,
    /// How many shards there are on a page, at most 100.
    pub limit: Option<usize>,
}

/// What a store knows of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamDescription {
    /// The stream.
    pub stream: StreamName,
    /// What its records carry.
    pub view: StreamView,
    /// Whether changes are still added to it.
    pub is_enabled: bool,
    /// When it began.
    pub created_millis: i64,
    /// The names of the table's key attributes, the partition key's first.
    pub key: Vec<String>,
    /// One page of its shards.
    pub shards: Vec<Shard>,
    /// The shard after which to go on; the end is reached when there is none.
    pub last: Option<String>,
}

/// A part of a stream whose records have an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// What requests for records call the shard.
    pub id: String,
    /// The shard that it continues.
    pub parent: Option<String>,
    /// No record of it has a smaller number.
    pub first: SequenceNumber,
    /// The number of its last record, once no more will come.
    pub last: Option<SequenceNumber>,
}

/// The number of a record. Numbers rise along a shard; they leave gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SequenceNumber(pub u128);

/// A place in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPlace {
    /// All records before it have smaller numbers; those behind it have this one or larger ones.
    pub next: SequenceNumber,
    /// A checksum over all records before it. So two stores, or a store and its own past, are told
    /// apart where they have records of the same numbers.
    pub chain: u64,
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // DynamoDB's have 21 to 40 digits, and clients check for that.
        write!(f, "{:021}", self.0)
    }
}

/// Asks for a place in a shard.
#[derive(Clone, Debug, PartialEq)]
pub struct GetShardIterator {
    /// The stream.
    pub stream: StreamName,
    /// The shard.
    pub shard: String,
    /// The place.
    pub start: ShardStart,
}

/// A place in a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardStart {
    /// Before the oldest record that is still kept.
    TrimHorizon,
    /// After the newest record.
    Latest,
    /// At the record of this number.
    At(SequenceNumber),
    /// After the record of this number.
    After(SequenceNumber),
}

/// A place in a shard, to read on from for 15 minutes. Only the store that made it reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardIterator(pub String);

/// Reads records.
#[derive(Clone, Debug, PartialEq)]
pub struct GetRecords {
    /// From where.
    pub iterator: ShardIterator,
    /// How many at most, up to 1,000.
    pub limit: Option<usize>,
}

/// Records of a shard, in its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    /// The records.
    pub records: Vec<StreamRecord>,
    /// Where to go on; a shard that will have no more records has ended when there is none.
    pub next: Option<ShardIterator>,
}

/// One change of one item.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamRecord {
    /// Its number.
    pub number: SequenceNumber,
    /// When the change was made, to the second.
    pub created_seconds: i64,
    /// What happened.
    pub event: StreamEvent,
    /// The item's key.
    pub key: Item,
    /// The item as it was, if the stream carries it and it was there.
    pub old: Option<Item>,
    /// The item after the change, if the view of the stream includes it and it was not deleted.
    pub new: Option<Item>,
    /// What the stream carries.
    pub view: StreamView,
    /// The bytes of keys and images, as DynamoDB counts them.
    pub size_bytes: usize,
    /// Whether the item was deleted because it had expired.
    pub is_expiry: bool,
}

/// What happened to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StreamEvent {
    /// It came into being.
    Insert,
    /// It changed.
    Modify,
    /// It was deleted.
    Remove,
}
