//! What CreateTable and UpdateTable say of a table.
//!
//! | module | what it holds |
//! |---|---|
//! | `keys` | attribute definitions and key schemas, of the table and of indexes |
//! | `indexes` | secondary indexes |
//! | `billing` | billing mode and provisioned throughput |
//! | `stream` | whether the table has a stream, and its view type |
//!
//! SSESpecification, TableClass, OnDemandThroughput and WarmThroughput are nowhere: they say how
//! Amazon runs a table, and mean nothing where one machine does.

pub(super) mod billing;
pub(super) mod indexes;
pub(super) mod keys;
pub(super) mod stream;
