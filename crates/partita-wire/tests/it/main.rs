//! The endpoint from outside: case by case from a text corpus, and hostile.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod case;
mod corpus;
mod differential;
mod fuzzed;
mod hostile;
mod local;
mod sizes;
