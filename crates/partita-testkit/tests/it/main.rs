//! The faulty store, from outside.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

mod faulty;
