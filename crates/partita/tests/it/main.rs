//! The whole product: scenarios on every store, faults, crashes, the README, the command line.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod command_line;
mod crash;
#[cfg(feature = "dynamodb")]
mod dynamodb;
mod faults;
mod http;
mod layers;
mod numbers;
mod readme;
mod scenario;
mod scenarios;
mod server;
mod stage;
