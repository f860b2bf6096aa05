//! The remote store against DynamoDB Local, and against servers that misbehave.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

mod conformance;
mod keeping;
mod outcomes;
