//! The reference model, from outside.

mod model;
