//! What the tests of several crates need. Nothing that ships depends on it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`conformance`] | the suite that every store passes |
//! | [`faulty`] | [`FaultyStore`]: wraps a store and injects conflicts, throttling and unknown outcomes |
//! | [`simulation`] | [`Simulation`]: many tasks on one thread under one seed, with a clock of their own |
//! | [`amazon`] | [`Amazon`]: DynamoDB as Amazon documents it, under a simulation |
//! | [`dynamodb_local`] | AWS's DynamoDB Local for the length of a test |

pub mod amazon;
pub mod conformance;
pub mod dynamodb_local;
pub mod faulty;
pub mod simulation;

pub use amazon::Amazon;
pub use dynamodb_local::DynamoDbLocal;
pub use faulty::{Faults, FaultyStore};
pub use simulation::Simulation;
