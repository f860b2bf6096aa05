//! The whole product: scenarios on every store, faults, crashes, the README, the command line.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod crash;
mod faults;
mod scenario;
mod scenarios;
mod server;
mod stage;
