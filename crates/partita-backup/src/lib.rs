//! Backups of the embedded store: taken while it is written, restored to any commit.
//!
//! A backup is made of **chains**. A chain is the history of one store without a gap: every commit
//! from some commit on, in *segments*, and now and then a *base*, a copy of everything. A base is
//! read in pieces, each of its own moment; with the commits since its first moment it comes to the
//! state at its last, and at any later commit of the chain. What was lost before it could be
//! shipped, or a store that is not the one that was shipped before, begins another chain, which
//! says why. So a gap within a chain is always damage.
//!
//! ```text
//! chains/000001/chain.json                       which chain it is, when and why it began, which key seals it
//! chains/000001/bases/00..042-9f3a61c2/000000    a piece of the base that begins at commit 42
//! chains/000001/bases/00..042-9f3a61c2/base      written last: the base is whole
//! chains/000001/segments/00..043                 the commits from 43 on
//! chains/000001/placings/00..4                   files that came and went, and from which commit on
//! chains/000001/placings/00..5-whole             all files that there were
//! chains/000001/files/00..4-SHA-256/000000       the bytes of a file that came with placing 4, in parts
//! chains/000001/secret                           the secret of the server, if the chain is sealed
//! ```
//!
//! The next segment of a chain has one possible name, and no object is ever written over another.
//! So of two servers that would continue the same chain one is refused, and begins another.
//!
//! | module | what it holds |
//! |---|---|
//! | [`target`] | where objects are: a directory, or S3 |
//! | [`sealing`] | an object's bytes: its checksum, or its encryption |
//! | `names` | what objects are called |
//! | `records` | what is in them |
//! | [`catalog`] | what a target has |
//! | [`files`] | the files of buckets, beside the commits of the items that name them |
//! | [`shipping`] | a store's commits and bases on their way to a target |
//! | [`restoring`] | a store as it was |
//! | `later` | what a backup knows of the time after a moment |
//! | [`retention`] | what a target need not keep any more |
//!
//! It never writes to the store that it backs up, never blocks its writers, and never changes an
//! object of a target. It removes objects only when retention is asked for.

pub mod catalog;
pub mod error;
pub mod files;
mod later;
mod names;
mod records;
pub mod restoring;
pub mod retention;
pub mod sealing;
pub mod shipping;
pub mod target;

pub use catalog::Catalog;
pub use error::BackupError;
pub use later::Later;
pub use restoring::{Restored, Wanted};
pub use sealing::BackupKey;
pub use shipping::{Shipper, Shipping};
pub use target::{DirectoryTarget, Target};
