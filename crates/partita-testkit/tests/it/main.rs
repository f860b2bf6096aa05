//! The stores of the test kit, from outside.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

mod amazon;
mod capacity;
mod conflicts;
mod connection;
mod faulty;
mod simulation;
mod streams;
mod table_states;
