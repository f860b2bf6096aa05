//! Evaluation: what an expression sees, where references lead, and which guards follow.
//!
//! | module | what it has |
//! |---|---|
//! | `scope` | [`ItemScope`], what an expression sees: an item, what its refs lead to, the time, the caller; and the guards of what it has read |
//! | `context` | what all scopes of one plan share |
//! | `path` | what is found at a path of an item, behind a ref, or of the caller |
//! | `reference` | where a ref leads |
//! | `row` | which items a pattern means, of those that a list shows |
//! | `reads` | what was read from the store, and what is to be read next |
//!
//! [`Planner::evaluate`] is the way to evaluate something that a write depends on: everything that
//! the evaluation reads is guarded when it returns. [`Planner::unguarded`] and
//! [`ItemScope::unguarded`] are for evaluations that decide nothing that is written, such as what a
//! caller is shown or why a write is refused.
//!
//! [`Planner::evaluate`]: crate::planner::Planner::evaluate
//! [`Planner::unguarded`]: crate::planner::Planner::unguarded

mod context;
mod path;
pub(crate) mod reads;
mod reference;
mod row;
mod scope;

pub(crate) use context::Context;
pub(crate) use reads::{Known, LISTED_MAX, Listed, Listing, Lookup, Noted, Reads, keys};
pub(crate) use reference::{Resolved, Target};
pub(crate) use row::ListedItem;
pub(crate) use scope::{Composed, ItemScope, Named, OtherItem, ReadSet};
