//! The suite that every store passes.
//!
//! A [`Case`] is one promise of the [`Store`] trait, put to the test on tables of its own. What
//! a case expects is what Amazon DynamoDB does; the model, the engine and DynamoDB itself all
//! run the same cases, so none of them can drift from the others unnoticed.
//!
//! | module | what it holds |
//! |---|---|
//! | `bench` | what a case works with: fresh tables, short calls |
//! | `unmetered` | the store without its meters |
//! | `values` | what items and expressions are made of |
//! | `expect` | what a case asserts about errors |
//! | `tables`, `get`, `batch_get`, `query`, `pages`, `scan` | creating and reading |
//! | `put`, `update`, `paths`, `delete`, `conditions` | single writes |
//! | `transactions`, `tokens`, `races` | several writes as one, and several at once |
//! | `types`, `numbers`, `names`, `sizes` | what an item may hold |
//!
//! ```
//! # futures::executor::block_on(async {
//! let store = partita_store::ModelStore::default();
//! partita_store::conformance::run(&store, "example").await;
//! # });
//! ```
//!
//! Errors are compared by their variant and never by their text, which Amazon changes at will.

mod bench;
mod expect;
mod unmetered;
mod values;

mod batch_get;
mod conditions;
mod delete;
mod get;
mod names;
mod numbers;
mod pages;
mod paths;
mod put;
mod query;
mod races;
mod scan;
mod sizes;
mod tables;
mod tokens;
mod transactions;
mod types;
mod update;

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::error::StoreResult;
use crate::store::Store;

use bench::Bench;

/// One promise, and how it is tested.
pub struct Case {
    topic: &'static str,
    name: &'static str,
    test: Test,
}

/// Fails by a panic where an expectation is not met, and by an error where the store refuses
/// what it should have done.
type Test = for<'a> fn(&'a Bench<'a>) -> BoxFuture<'a, StoreResult<()>>;

/// Every case of the suite.
pub fn cases() -> Vec<Case> {
    let topics = [
        tables::cases,
        get::cases,
        batch_get::cases,
        query::cases,
        pages::cases,
        scan::cases,
        put::cases,
        update::cases,
        paths::cases,
        delete::cases,
        conditions::cases,
        transactions::cases,
        tokens::cases,
        races::cases,
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
pub async fn run_cases(store: &dyn Store, unique: &str, cases: &[Case]) {
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

impl Case {
    /// The case's topic and name, as `get::a_missing_item_is_no_error`.
    pub fn name(&self) -> String {
        self.to_string()
    }

    /// Runs this case; a failure is told, not thrown.
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

impl std::fmt::Display for Case {
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
        pub(super) fn cases() -> Vec<$crate::conformance::Case> {
            vec![$($crate::conformance::Case {
                topic: $topic,
                name: stringify!($case),
                test: |bench| Box::pin($case(bench)),
            }),*]
        }
    };
}
use topic;
