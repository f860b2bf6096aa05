//! Amazon DynamoDB as a store of Partita.
//!
//! | module | what it holds |
//! |---|---|
//! | [`connect`] | [`RemoteConfig`], [`Timeouts`], and the SDK's clients made from them |
//! | [`store`] | [`RemoteStore`]: the trait, one line for each operation |
//! | `tables`, `reads`, `batch_get`, `writes`, `transaction` | the operations themselves |
//! | `convert` | our values to the SDK's and back |
//! | `expressions` | conditions and updates as a request's text and placeholders |
//! | `error` | the SDK's errors in the store's words |
//!
//! ```no_run
//! # async fn example() -> partita_store::StoreResult<()> {
//! use partita_remote::{RemoteConfig, RemoteStore};
//! use partita_store::Store;
//!
//! let config = RemoteConfig { endpoint: None, region: Some("eu-central-1".to_owned()) };
//! let store = RemoteStore::connect(config).await?;
//! println!("{:?}", store.describe_table(&"notes".parse()?).await?);
//! # Ok(())
//! # }
//! ```
//!
//! The question that matters most after an error is whether a write was carried out. This crate
//! answers it from what is certain: a request that never left, or that the service refused, was
//! not; about any other it says so, with [`OutcomeUnknown`]. It therefore never retries a write,
//! because the last attempt's error tells nothing about the attempts before it; whoever planned
//! the write knows whether repeating it is harmless.
//!
//! Nor does it ever cache an item, or show a secret in a message or in debug output.
//!
//! [`OutcomeUnknown`]: partita_store::StoreError::OutcomeUnknown

pub mod connect;
pub mod store;

mod batch_get;
mod convert;
mod error;
mod expressions;
mod reads;
mod tables;
mod transaction;
mod writes;

pub use connect::{RemoteConfig, Timeouts};
pub use store::RemoteStore;
