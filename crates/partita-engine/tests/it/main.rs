//! The engine as its users see it.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests, also in what their functions share"
)]

mod bench;
mod commit_log;
mod concurrency;
mod conformance;
mod crash;
mod history;
mod reopen;
mod sync;
