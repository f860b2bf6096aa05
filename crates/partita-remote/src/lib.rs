//! Amazon DynamoDB as a store of Partita.
//!
//! | module | what it holds |
//! |---|---|
//! | [`connect`] | [`RemoteConfig`], [`Timeouts`], and the SDK's clients made from them |
//! | [`store`] | [`RemoteStore`]: the trait, one line for each operation |
//! | `tables` | creating, describing, listing and deleting them |
//! | `updates`, `settings` | changing them, and what may be changed |
//! | `expiry`, `tags` | time to live and tags |
//! | `streams`, `arn` | the changes of items, and the names that AWS gives to streams |
//! | `reads`, `batch_get`, `transact_get` | reading |
//! | `writes`, `batch_write`, `transact_write` | writing |
//! | `convert`, `schema` | our values, keys and indexes to the SDK's and back |
//! | `expressions` | conditions, updates and projections as a request's text and placeholders |
//! | `capacity` | consumed units in the store's words |
//! | `error`, `cancellation` | the SDK's errors in the store's words |
//!
//! ```no_run
//! # async fn example() -> partita_store::StoreResult<()> {
//! use partita_remote::{RemoteConfig, RemoteStore};
//! use partita_store::Store;
//! use std::time::Duration;
//!
//! let config = RemoteConfig {
//!     region: Some("eu-central-1".to_owned()),
//!     index_delay: Duration::from_secs(60),
//!     ..RemoteConfig::default()
//! };
//! let store = RemoteStore::connect(config).await?;
//! println!("{:?}", store.describe_table(&"notes".parse()?).await?);
//! # Ok(())
//! # }
//! ```
//!
//! The question that matters most after an error is whether a write was carried out. This crate
//! answers it from what is certain: a request that never left, or that the service refused, was
//! not; about any other it says so, with [`OutcomeUnknown`]. It therefore never retries a write,
//! because the last attempt's error says nothing about the attempts before it; only the planner of
//! the write knows whether repeating it is harmless.
//!
//! Nor does it ever cache an item, or show a secret in a message or in debug output.
//!
//! [`OutcomeUnknown`]: partita_store::StoreError::OutcomeUnknown

pub mod connect;
pub mod store;

mod arn;
mod batch_get;
mod batch_write;
mod cancellation;
mod capacity;
mod convert;
mod error;
mod expiry;
mod expressions;
mod keeping;
mod reads;
mod schema;
mod settings;
mod streams;
mod tables;
mod tags;
mod transact_get;
mod transact_write;
mod updates;
mod writes;

pub use connect::{RemoteConfig, Timeouts};
pub use store::RemoteStore;
