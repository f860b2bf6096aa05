//! What names mean, in conditions and values.
//!
//! | module | what it resolves |
//! |---|---|
//! | [`names`] | a path: where it begins, over which refs it leads, what it ends in |
//! | [`condition`], [`outcome`] | conditions, and those that do not say what they seem to |
//! | [`value`] | values and templates |
//! | [`each`] | `each = "tag in tags"` |

pub(crate) mod condition;
pub(crate) mod each;
pub(crate) mod names;
pub(crate) mod outcome;
pub(crate) mod value;
