//! The suite that every store passes.
//!
//! A [`ConformanceCase`] is one promise of the [`Store`] trait, put to the test on tables of its own. What
//! a case expects is what Amazon DynamoDB does; the model, the engine and DynamoDB itself all
//! run the same cases, so none of them can drift from the others unnoticed.
//!
//! | module | what it holds |
//! |---|---|
//! | `bench` | what a case works with: fresh tables, short calls |
//! | `unmetered` | the store without its meters |
//! | `values` | what items and expressions are made of |
//! | `expect` | what a case asserts about errors |
//! | `tables`, `schemas`, `table_lists` | creating, describing, listing and deleting tables |
//! | `table_updates`, `expiry`, `tags` | changing tables |
//! | `streams`, `stream_records` | the changes of items |
//! | `expiring`, `aging` | [`items_expire`], [`streams_age`]: for a store whose clock a test sets |
//! | `get`, `batch_get`, `transact_get`, `projections` | items by their keys, and parts of them |
//! | `query`, `pages`, `scan`, `segments` | items in their order, and all of them |
//! | `put`, `update`, `removals`, `paths`, `delete`, `conditions`, `returns` | single writes |
//! | `batch_write`, `transactions`, `tokens`, `races` | several writes, as one or at once |
//! | `indexes`, `index_pages`, `composite_keys`, `local_indexes` | secondary indexes |
//! | `capacity`, `index_capacity` | the units that all of it consumes |
//! | `types`, `numbers`, `names`, `sizes` | what an item may hold |
//!
//! ```
//! # futures::executor::block_on(async {
//! let store = partita_store::ModelStore::default();
//! partita_testkit::conformance::run(&store, "example").await;
//! # });
//! ```
//!
//! Reads of global indexes expect what was just written, as every store here gives it; on Amazon
//! itself they may come too early.
//!
//! Errors are compared by their variant and never by their text, which Amazon changes at will.

mod bench;
mod expect;
mod unmetered;
mod values;

mod aging;
mod batch_get;
mod batch_write;
mod capacity;
mod composite_keys;
mod conditions;
mod delete;
mod expiring;
mod expiry;
mod get;
mod index_capacity;
mod index_pages;
mod indexes;
mod local_indexes;
mod names;
mod numbers;
mod pages;
mod paths;
mod projections;
mod put;
mod query;
mod races;
mod removals;
mod returns;
mod scan;
mod schemas;
mod segments;
mod sizes;
mod stream_records;
mod streams;
mod table_lists;
mod table_updates;
mod tables;
mod tags;
mod tokens;
mod transact_get;
mod transactions;
mod types;
mod update;

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use partita_store::error::StoreResult;
use partita_store::store::Store;

use bench::Bench;

pub use aging::streams_age;
pub use expiring::items_expire;

/// One promise, and how it is tested.
pub struct ConformanceCase {
    topic: &'static str,
    name: &'static str,
    test: Test,
}

/// Fails by a panic where an expectation is not met, and by an error where the store refuses
/// what it should have done.
type Test = for<'a> fn(&'a Bench<'a>) -> BoxFuture<'a, StoreResult<()>>;

/// Every case of the suite.
pub fn cases() -> Vec<ConformanceCase> {
    let topics = [
        tables::cases,
        schemas::cases,
        table_lists::cases,
        table_updates::cases,
        expiry::cases,
        tags::cases,
        stream_records::cases,
        streams::cases,
        get::cases,
        batch_get::cases,
        transact_get::cases,
        projections::cases,
        query::cases,
        pages::cases,
        scan::cases,
        segments::cases,
        put::cases,
        update::cases,
        removals::cases,
        paths::cases,
        delete::cases,
        conditions::cases,
        returns::cases,
        batch_write::cases,
        transactions::cases,
        tokens::cases,
        races::cases,
        indexes::cases,
        index_pages::cases,
        composite_keys::cases,
        local_indexes::cases,
        capacity::cases,
        index_capacity::cases,
        types::cases,
        numbers::cases,
        names::cases,
        sizes::cases,
    ];
    topics.into_iter().flat_map(|cases| cases()).collect()
}

/// Runs every case and panics at the end if any failed, naming each of them.
///
/// `unique` goes into the names of the tables, so that the suite can run again on a store that
/// keeps the tables of earlier runs. Letters, digits, `_`, `-` and `.` will do, 100 at most.
pub async fn run(store: &dyn Store, unique: &str) {
    run_cases(store, unique, &cases()).await;
}

/// Runs some of the cases, for a store with differences that its tests account for.
pub async fn run_cases(store: &dyn Store, unique: &str, cases: &[ConformanceCase]) {
    let mut failures = Vec::new();
    for case in cases {
        if let Err(message) = case.run(store, unique).await {
            failures.push(format!("{case}: {message}"));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} cases failed:\n\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n\n")
    );
}

impl ConformanceCase {
    /// The case's topic and name, as `get::a_missing_item_is_no_error`.
    pub fn name(&self) -> String {
        self.to_string()
    }

    /// Runs this case. A failure is returned and does not panic.
    pub async fn run(&self, store: &dyn Store, unique: &str) -> Result<(), String> {
        let bench = Bench::new(store, format!("{}-{}-{unique}", self.topic, self.name));
        // A case owns everything that it might leave half done, save the store, and a store
        // that cannot take a panic of its caller fails the cases that follow.
        match AssertUnwindSafe((self.test)(&bench)).catch_unwind().await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("unexpected error: {error} ({error:?})")),
            Err(panic) => Err(message_of(&*panic)),
        }
    }
}

impl std::fmt::Display for ConformanceCase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}::{}", self.topic, self.name)
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}

/// The cases of one topic, named after their functions.
macro_rules! topic {
    ($topic:literal: $($case:ident),* $(,)?) => {
        /// The cases of this topic.
        pub(super) fn cases() -> Vec<$crate::conformance::ConformanceCase> {
            vec![$($crate::conformance::ConformanceCase {
                topic: $topic,
                name: stringify!($case),
                test: |bench| Box::pin($case(bench)),
            }),*]
        }
    };
}
use topic;
