//! Recomputes every derived value of a design's table from its sources, and mends what drifted.
//!
//! The planner keeps derived data right; this crate holds it to that. It works from the compiled
//! design and the meaning of the language alone and shares nothing with the planner but values,
//! expressions and templates, so that a mistake there is not made here again. That it does not
//! even see `partita-plan` is checked by a test of the manifests.
//!
//! | module | what it holds |
//! |---|---|
//! | [`report`] | [`Drift`], [`Report`], and [`Watch`]: what is found, as it is found |
//! | [`extent`] | [`Extent`]: how much of a design a pass looks at, and how much at once |
//! | [`mod@census`] | how many items of each record there are |
//! | `rounds` | passes in the order in which values are derived from each other |
//! | `derivation` | which derived values are derived from which others |
//! | `pass` | one pass over the tables, page by page |
//! | `suspects` | what a pass found, until it is known what follows from what |
//! | `check` | one stored item, judged |
//! | `numbers` | counts and sums, compared with what counts for them |
//! | `correct` | the same mended, beside those that change them |
//! | `recount` | the same counted again, where a scan is not a moment |
//! | `kept` | the numbers of items that are gone, over items that stay |
//! | `grouping` | what counts for which number, also when memory does not hold it |
//! | `layout` | which record a stored item is, and where records are |
//! | `scope` | what expressions see of a stored item |
//! | `reads`, `reader` | what was read, and the store |
//! | `jobs` | unfinished jobs, which will settle some of it |
//! | `lock` | one repair at a time, whose writes of numbers are carried out once |
//! | `mend` | writes on the condition that what they rest on is as it was read |
//! | [`permission`] | [`Permission`]: who decides what a repair writes, and what it never removes |
//!
//! **What is compared.** The primary key with the attributes beside it; the keys of all indexes,
//! absent ones too; values that are computed from their own item; counts and sums with the items
//! that refer, each with its neighbour only; copies with what they follow; records of views, each
//! that should be there and no other, name by name; guards with their owners, both ways; kept
//! states and references that should have gone with an item; values with what their attributes
//! allow. Sums over tallies are reported apart, since tallies are not exact under lost answers. What
//! was taken once and not kept in step (snapshots, times, what triggers did) has no source to
//! compare it with.
//!
//! **Sources are sacred.** A repair writes and removes derived data only. What an entity's item is
//! or a caller gave is reported and left; so is what the design does not recognise, and what may belong
//! to that. A repair looks before every pass that writes, and a [`Permission`] decides.
//!
//! **Sources first.** What is derived from a wrong value cannot be judged. It is counted and not
//! reported, and a repair mends it only when what it is derived from is right: it mends the roots,
//! looks again, and goes on with what is derived from these. So at no moment is a right value
//! overwritten by a wrong one, wherever the repair is interrupted. What is derived from each other in
//! a circle is mended together, in a bounded number of rounds.
//!
//! **Tables larger than memory.** A table is read by pages of a scan. What one item needs of
//! others (targets of its refs, records of its views, guards) is read in batches for a page. Only
//! counts and sums need all items at once: what each counts is grouped by the number that it
//! counts for, in memory up to a bound and then in sorted runs on disk. Drifts are kept up to a
//! bound, until it is known which follow from others; beyond it, another pass reports them as they
//! are found.
//!
//! **Beside live traffic.** Where the store has reads of one moment, a pass sees that moment and
//! nothing that is written later. On DynamoDB, which has none, whatever looks wrong is looked at
//! again by itself, and counts only if nothing that it rests on has changed between two readings. A
//! repair writes on the condition that all of it is still as it was read, and looks again where that
//! fails. A count is mended by the difference that it had, so that others may go on changing it, where
//! it is known that its item was not removed since: a store with reads of one moment tells, and so
//! does the time at which an item was created. A value that keeps moving otherwise is reported as
//! such.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! use partita_store::surroundings::SystemClock;
//! use partita_store::table::{KeySchema, TableName};
//! use partita_store::request::{CreateTable, PutItem, ReturnValues};
//! use partita_store::{ModelStore, Store as _};
//! use partita_core::{Item, Value};
//!
//! let source = partita_design::shipped::find("stories").unwrap().source;
//! let design = partita_design::check(source, &|_| None).0.unwrap();
//! let store = ModelStore::default();
//! let table: TableName = design.tables[0].name.parse()?;
//! store.create_table(CreateTable::new(table.clone(), KeySchema::strings("PK", "SK"))).await?;
//! // A record of the index whose story is gone.
//! let text = |name: &str, value: &str| (name.to_owned(), Value::from(value));
//! let id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
//! let row = Item::from([text("PK", "USER#ann"), text("SK", &format!("STORY#{id}")),
//!     text("ItemType", "StoryIndex"), text("id", id)]);
//! store.put_item(PutItem::new(table, row), ReturnValues::None).await?;
//!
//! let mut found = partita_verify::Collected::default();
//! let report = partita_verify::verify(&design, &store, &SystemClock, &mut found).await?;
//! assert_eq!(report.drifts, 1);
//! assert!(found.open[0].0.to_string().contains("is left behind by a `Story` that is gone"));
//!
//! let all = partita_verify::Permission::granted();
//! let report = partita_verify::repair(&design, &store, &SystemClock, all, &mut found).await?;
//! assert_eq!((report.mended, report.is_clean()), (1, true));
//! # Ok::<(), partita_verify::VerifyError>(()) }).unwrap();
//! ```

pub mod census;
mod check;
mod correct;
mod derivation;
pub mod extent;
mod grouping;
mod jobs;
mod kept;
mod layout;
mod lock;
mod mend;
mod numbers;
mod pass;
pub mod permission;
mod reader;
mod reads;
mod recount;
pub mod report;
mod rounds;
mod scope;
mod suspects;

use partita_design::Design;
use partita_store::{Clock, Store};

pub use census::{Census, Counted, census};
pub use extent::Extent;
pub use lock::{Repairing, repairing};
pub use permission::{Intent, Permission};
pub use report::{
    Collected, Drift, DriftKind, Outcome, Progress, Report, Stopped, Unrecognised, VerifyError,
    Watch,
};

use rounds::Rounds;

/// Looks at everything that is derived in the tables of a design, and changes nothing.
pub async fn verify(
    design: &Design,
    store: &dyn Store,
    clock: &dyn Clock,
    watch: &mut dyn Watch,
) -> Result<Report, VerifyError> {
    verify_within(&Extent::default(), design, store, clock, watch).await
}

/// As [`verify`], of a part of the design.
pub async fn verify_within(
    extent: &Extent,
    design: &Design,
    store: &dyn Store,
    clock: &dyn Clock,
    watch: &mut dyn Watch,
) -> Result<Report, VerifyError> {
    Rounds::new(extent, design, store, clock)
        .verify(watch)
        .await
}

/// Mends what is derived and drifted, as far as that is permitted, in as many rounds as it takes
/// until one finds nothing to mend. Doing it again does nothing.
///
/// A round mends what is derived from right values only, so that the next one can judge what is
/// derived from that. Before it writes it looks, and what it found is decided on. No
/// source is touched: neither an entity's item nor what a caller gave, except where an operator
/// names it. What looks left behind stays while a table has items that the design does not
/// recognise.
///
/// One repair at a time writes: the sidecar has the lock. Another one is told who has it. The lock
/// ends by itself a minute after its holder was last heard of.
pub async fn repair(
    design: &Design,
    store: &dyn Store,
    clock: &dyn Clock,
    permission: Permission<'_>,
    watch: &mut dyn Watch,
) -> Result<Report, VerifyError> {
    repair_within(&Extent::default(), design, store, clock, permission, watch).await
}

/// As [`repair`], of a part of the design.
pub async fn repair_within(
    extent: &Extent,
    design: &Design,
    store: &dyn Store,
    clock: &dyn Clock,
    permission: Permission<'_>,
    watch: &mut dyn Watch,
) -> Result<Report, VerifyError> {
    Rounds::new(extent, design, store, clock)
        .repair(permission, watch)
        .await
}
