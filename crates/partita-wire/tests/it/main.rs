//! The endpoint from outside: over a socket with AWS's SDK, and case by case from a text corpus.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod case;
mod corpus;
mod hostile;
mod local;
mod sdk;
mod sdk_indexes;
mod server;
