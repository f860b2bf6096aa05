//! From a design and an operation to store operations, with all derived data right.
//!
//! | module | what it holds |
//! |---|---|
//! | [`partita`] | [`Partita`]: a design on a store: operations in, answers out |
//! | [`operation`] | what can be asked, by whom, and what is answered |
//! | [`error`] | [`PlanError`]: refusals with entity, attribute and rule |
//! | `account` | people who sign in: accounts, sessions, links |
//! | `batch` | several writes in one transaction: [`Partita::run_all`] |
//! | [`ruling`] | whether a caller may do something, and which rule decides |
//! | [`preview`] | the transaction that a write would become, and what a read takes |
//! | [`typed`] | entities as types of one's own |
//! | `missing_target` | what is said when a ref leads nowhere |
//! | `blueprint` | a design ready to be planned with: stored items to records and back |
//! | [`lease`] | which of the servers that share tables may write, and by which design |
//! | `lapse` | counters that start again with every period |
//! | `write` | the way of an operation: planned, committed, and again if something changed meanwhile |
//! | `request` | what a caller asks for: its rules, its input, and what it does to the draft |
//! | `evaluate` | what an expression sees, where refs lead, and the guards that follow from what was read |
//! | [`load`] | how much a request reads, and where it is worked on |
//! | `room` | bytes of memory that items may take |
//! | `draft` | every item that a write touches, as it was and as it will be |
//! | [`hot`] | where too much is asked at once, and what was counted there |
//! | [`files`] | objects in buckets: uploads, the items that name them, and what is swept |
//! | `planner` | items of the draft created, changed and deleted |
//! | `react` | what follows from that, by the design's table of reactions |
//! | `commit` | the draft as one transaction, sent until its outcome is known |
//! | `idempotency` | the outcome of a write under a caller's key |
//! | [`job`] | what follows a write beyond its transaction: chunks, leases, progress |
//! | [`outbox`] | mails and events that a write causes: recorded with it, delivered afterwards |
//! | [`live`] | the design that the stored data follow, and which one is served |
//! | [`migration`] | the way from the live design to another one, with the data in place |
//! | [`arrival`] | rows of a sidecar that come from files |
//! | [`moving`] | the mark of data that is on its way to another store or from one |
//! | [`purged`] | what was purged, purged from an earlier state |
//! | `sidecar` | the table of what is Partita's and not the design's |
//! | `table` | the table that a design lives in |
//! | `pattern` | access patterns: full pages, sorted results |
//! | [`cursor`] | where a page ended, sealed |
//! | [`keyring`] | keys that can be replaced while they are in use |
//! | `verification` | `Partita::verify` and `repair`: another crate's work, which sees nothing of this one |
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! use std::sync::Arc;
//! use partita_core::{Map, Value};
//! use partita_plan::{Answer, Caller, Operation, Partita};
//! use partita_store::ModelStore;
//!
//! let (design, _) = partita_design::check(partita_design::shipped::find("stories").unwrap().source, &|_| None);
//! let partita = Partita::open(design.unwrap(), Arc::new(ModelStore::default())).await?;
//!
//! let ann = Caller::user("ann");
//! let attributes = Map::from([("userId", Value::from("ann")), ("title", Value::from("Dune"))]);
//! let created = partita.run(&ann, Operation::Create { entity: "Story".into(), attributes }).await?;
//! let Answer::Created(story) = created else { unreachable!() };
//! assert_eq!(story.attributes["deleted"], Value::Bool(false));
//! # Ok::<(), partita_plan::PlanError>(()) }).unwrap();
//! ```
//!
//! This crate sees `Arc<dyn Store>` and never knows which store it has; it knows nothing of HTTP.

mod account;
mod administrators;
pub mod arrival;
mod batch;
mod blueprint;
pub mod browse;
mod commit;
mod compared;
pub mod cursor;
mod draft;
pub mod error;
mod evaluate;
pub mod feed;
pub mod files;
pub mod hot;
mod idempotency;
pub mod job;
pub mod keyring;
mod lapse;
pub mod lease;
pub mod live;
pub mod load;
pub mod migration;
mod missing_target;
pub mod moving;
pub mod operation;
pub mod outbox;
pub mod partita;
mod pattern;
mod place;
mod planner;
pub mod preview;
pub mod purged;
mod react;
mod request;
mod room;
pub mod ruling;
mod running;
mod shown;
mod sidecar;
mod table;
pub mod typed;
mod verification;
mod write;

pub use account::{
    Account, AskedBy, AttemptLimit, BCRYPT, Claims, EndedSessions, KeptPromise, LinkKind, LinkUse,
    LinkedProvider, NewSession, Promise, Session, SignUp, SignedUp, Standing, Unlinked, folded,
    salt_of,
};
pub use browse::{Browse, Browsed, BrowsedRow};
pub use commit::run::Patience;
pub use compared::{TableDifference, table_differences};
pub use error::{BATCH_OPERATIONS_MAX, FAULTS_MAX, Fault, FaultRule, PlanError, Refused};
pub use files::{Copied, Objects, ObjectsError, Readable, Sending, Swept, Upload, UploadLimits};
pub use hot::{HotCause, HotSpot};
pub use job::{DroppedJob, JobState, JobStatus, ScheduleMeters};
pub use keyring::KeyRing;
pub use lease::ServerLease;
pub use live::{DesignError, Recorded, recorded_designs, running_migration};
pub use migration::{Current, Gate, Migration, MigrationError, Stage};
pub use operation::{Answer, Caller, Operation, Record, Reply};
pub use partita::{Partita, Surroundings};
pub use pattern::ReadBound;
pub use preview::{Left, Preview, ReadPreview, ReadRequest};
pub use request::rules::Verdict;
pub use request::token::Verb;
pub use ruling::{Decision, Ruling};
pub use running::Running;
pub use table::{prepare as prepare_tables, prepare_adoption, schemas as table_schemas};
pub use typed::{Typed, TypedError};
