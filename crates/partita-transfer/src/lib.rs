//! Items on their way from one store to another, whichever stores they are.
//!
//! | module | what it holds |
//! |---|---|
//! | [`copying`] | [`Copying`]: tables of one store in another, equal, also while they are written |
//! | [`exports`] | tables in files, in the form of DynamoDB's own exports |
//! | [`exporting`] | tables written to such files, and filled from them |
//! | `items` | many items written and read, however often a store asks for patience |
//! | [`error`] | [`TransferError`]: why something did not arrive |
//!
//! What it moves are tables; it knows no designs. Nothing is removed from a source.

pub mod copying;
pub mod error;
pub mod exporting;
pub mod exports;
mod items;

pub use copying::{Copied, Copying, Marks, Progress, Source, Stage};
pub use error::TransferError;
pub use exports::{Export, ExportError, Exported};
