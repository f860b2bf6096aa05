//! The embedded store: DynamoDB's operations on a directory, durable and serializable.
//!
//! | module | what it holds |
//! |---|---|
//! | `store` | [`EngineStore`]: the [`Store`](partita_store::Store) that the rest of Partita sees |
//! | `commit` | [`CommitId`]: which commit it was; what it changed |
//! | `item_edit` | [`ItemEdit`]: what a commit did to an item |
//! | `commit_log` | [`CommitLog`]: the commits in their order, read from the journals |
//! | `rows`, `new_store` | all that is stored, piece by piece, and a store that is put together from it and commits |
//! | `committer` | the one thread that writes, many requests to a sync |
//! | `meters` | what the committer counts |
//! | `queue`, `weight` | the way there, bounded by requests and bytes |
//! | `batch` | the writes of one commit, each on top of those before it |
//! | `frozen` | tables that take no writes, or no requests, for now |
//! | `filling` | [`Filling`]: the store for the one who fills such tables |
//! | `replaced` | which items were removed or replaced since a moment |
//! | `options` | [`Options`]: how a store is opened; [`Durability`] |
//! | `syncing` | the thread that has buffered commits put on disk |
//! | `tending` | what the store does by itself: clearing away, building, sweeping, trimming |
//! | `read` | gets, queries and scans of one moment |
//! | `background` | reads of many items, on threads that may be kept waiting |
//! | `verify` | all that is stored, held against itself |
//! | `tables`, `totals`, `tokens` | what is stored of tables, of how much they hold, and of client request tokens |
//! | `item`, `entry`, `expiry`, `row_change` | what is stored of an item, in an index, of when it expires, and how that follows the item |
//! | `streams` | what is stored of streams, and how they are read |
//! | `keys` | the bytes under which it is stored |
//! | `directory` | who may open a directory, and how a store comes to be in it |
//! | `storage` | ordered bytes, views and commits; `storage::fjall` has them on disk, `storage::journal` repairs what a crash leaves, `storage::contents` finds damage |
//! | [`error`] | [`EngineError`]: why a store does not open |
//!
//! A write goes from the store to the committer and is answered when it is on disk. A read
//! takes a view of what is on disk and waits for no writer.
//!
//! ```
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! use std::sync::Arc;
//! use partita_core::{Item, Value};
//! use partita_engine::{EngineStore, Options};
//! use partita_store::{Store, request::*, surroundings::SystemClock, table::*};
//!
//! let directory = tempfile::tempdir()?;
//! let table: TableName = "notes".parse()?;
//! let item = Item::from([("PK", Value::from("a")), ("SK", Value::from("b"))]);
//!
//! let store = EngineStore::open(directory.path(), Options::new(Arc::new(SystemClock)))?;
//! store.create_table(CreateTable::new(table.clone(), KeySchema::strings("PK", "SK"))).await?;
//! store.put_item(PutItem::new(table.clone(), item.clone()), ReturnValues::None).await?;
//! drop(store);
//!
//! let store = EngineStore::open(directory.path(), Options::new(Arc::new(SystemClock)))?;
//! let found = store.get_item(GetItem::new(table, item.clone())).await?;
//! assert_eq!(found.answer, Some(item.into()));
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Unless it is opened as [`Durability::Buffered`], the engine never answers a write before it is
//! on disk, and never shows a write that is not. It never writes again after a commit or a sync
//! has failed, until the store is reopened.

mod background;
mod batch;
mod commit;
mod commit_log;
mod committer;
#[cfg(test)]
mod corruption;
#[cfg(test)]
mod defects;
mod directory;
mod entry;
pub mod error;
mod expiry;
mod filling;
mod frozen;
mod item;
mod item_edit;
mod keys;
mod meters;
mod new_store;
mod options;
mod queue;
mod read;
mod replaced;
mod row_change;
mod rows;
mod storage;
mod store;
mod streams;
mod syncing;
mod tables;
mod tending;
mod tokens;
mod totals;
mod trust;
mod verify;
mod weight;

pub use commit::{Commit, CommitId, Edit};
pub use commit_log::{CommitLog, LogError};
pub use error::EngineError;
pub use filling::Filling;
pub use item_edit::ItemEdit;
pub use new_store::{NewStore, NewStoreError};
pub use options::{Durability, Options, Upkeep};
pub use rows::Rows;
pub use store::EngineStore;
