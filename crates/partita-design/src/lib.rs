//! The design language: from a TOML file to plain data.
//!
//! | module | what it holds |
//! |---|---|
//! | [`design`] | [`Design`]: the compiled design, which the planner uses without looking at text again |
//! | [`template`] | key templates: rendered from values, and read back from keys |
//! | [`types`] | the types of attributes and what they accept |
//! | [`time`] | the one form of a timestamp |
//!
//! This crate does no I/O, never waits and never asks for the time.

mod check;
pub mod codes;
pub mod design;
pub mod diagnostic;
mod document;
pub mod shipped;
mod spelling;
mod syntax;
pub mod template;
pub mod time;
pub mod types;

pub use check::check;
pub use codes::{Code, Severity};
pub use design::Design;
pub use diagnostic::{Diagnostic, Related};
