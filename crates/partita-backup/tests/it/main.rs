//! Backups as their users see them: a store that is written, a target that fails, and what is
//! restored.

#![expect(
    clippy::unwrap_used,
    reason = "tests, also in what their functions share"
)]

mod damage;
mod files;
mod load;
mod moments;
mod stage;
mod trouble;
