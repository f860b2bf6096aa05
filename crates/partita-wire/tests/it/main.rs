//! The endpoint from outside: over a socket with AWS's SDK, and case by case from a text corpus.

mod sdk;
mod server;
