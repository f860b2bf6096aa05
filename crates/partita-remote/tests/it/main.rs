//! The remote store against DynamoDB Local, and against servers that misbehave.

mod conformance;
