//! What the tests of several crates need. Nothing that ships depends on it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`conformance`] | the suite that every store passes |
//! | [`faulty`] | [`FaultyStore`]: wraps a store and injects conflicts, throttling and unknown outcomes |
//! | [`dynamodb_local`] | AWS's DynamoDB Local for the length of a test |

pub mod conformance;
pub mod dynamodb_local;
pub mod faulty;

pub use dynamodb_local::DynamoDbLocal;
pub use faulty::{Faults, FaultyStore};
