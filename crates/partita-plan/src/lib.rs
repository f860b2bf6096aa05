//! From a design and an operation to store operations, with all derived data right.
//!
//! | module | what it holds |
//! |---|---|
//! | [`partita`] | [`Partita`]: a design on a store; one function shows the whole trip |
//! | [`operation`] | what can be asked, by whom, and what is answered |
//! | [`error`] | [`PlanError`]: refusals with entity, attribute and rule |
//! | [`support`] | which parts of the language run |
//! | `record` | stored items to records and back |
//! | `input` | a caller's attributes: checked, completed, all faults at once |
//! | `access` | rules: decided where the rows are |
//! | `write` | one write as one transaction, guarded by what it was decided on |
//! | `view` | records kept for an item: put, changed, moved, removed |
//! | `run` | retries, conflicts and unknown outcomes |
//! | `pattern` | access patterns: full pages, sorted results |
//! | [`cursor`] | where a page ended, sealed |
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! use std::sync::Arc;
//! use partita_core::{Map, Value};
//! use partita_plan::{Answer, Caller, Operation, Partita, Surroundings};
//! use partita_store::ModelStore;
//!
//! let (design, _) = partita_design::check(partita_design::shipped::find("stories").unwrap().source, &|_| None);
//! let partita = Partita::open(design.unwrap(), Arc::new(ModelStore::default()), Surroundings::default()).await?;
//!
//! let ann = Caller::user("ann");
//! let attributes = Map::from([("userId".into(), Value::from("ann")), ("title".into(), Value::from("Dune"))]);
//! let created = partita.run(&ann, Operation::Create { entity: "Story".into(), attributes }).await?;
//! let Answer::Record(story) = created else { unreachable!() };
//! assert_eq!(story.attributes["deleted"], Value::Bool(false));
//! # Ok::<(), partita_plan::PlanError>(()) }).unwrap();
//! ```
//!
//! This crate sees `Arc<dyn Store>` and never knows which store it has; it knows nothing of HTTP.

mod access;
pub mod cursor;
pub mod error;
mod input;
pub mod operation;
pub mod partita;
mod pattern;
mod record;
mod run;
pub mod support;
mod view;
mod write;

pub use error::{Fault, PlanError};
pub use operation::{Answer, Caller, Operation, Record};
pub use partita::{Partita, Surroundings};
pub use run::Patience;
