//! DynamoDB's expressions: conditions, key conditions and updates.
//!
//! One grammar serves two dialects, told apart by [`Bindings`]: in requests values and awkward
//! names come in as placeholders (`#n = :v`); in designs they are written out
//! (`status <> 'DRAFT'`). Both give the same trees, in which only names and values are left.
//! Programs may also build a tree by hand; [`Renderer`] turns it back into a request's text.
//!
//! | module | what it holds |
//! |---|---|
//! | `token`, `parser` | text to tokens, and what every grammar needs of them |
//! | `path` | [`Path`]: where a value stands inside an item |
//! | `condition` | [`Condition`] and its evaluation over a [`Scope`] |
//! | `check` | what is wrong with a condition, whatever item it meets |
//! | `key_condition` | [`KeyCondition`]: what a query asks of the keys |
//! | `update` | [`Update`] and its application to an item |
//! | `render` | trees back to text with placeholders |

mod check;
mod condition;
mod key_condition;
mod parser;
mod path;
mod projection;
mod render;
mod token;
mod update;

use std::collections::BTreeMap;

pub use condition::{Comparator, Condition, Found, Operand, Scope, Truth};
pub use key_condition::{KeyCondition, KeyRange};
pub use path::{Path, Span, Step};
pub use projection::Projection;
pub use render::Renderer;
pub use update::{SetOperand, SetValue, Update, UpdateError};

use crate::Value;

/// Where the names and values of an expression's text come from.
#[derive(Clone, Copy, Debug)]
pub enum Bindings<'a> {
    /// A design: literals stand in the text.
    Literals,
    /// A request: `#name` and `:value` are looked up.
    Placeholders {
        /// The request's ExpressionAttributeNames.
        names: &'a BTreeMap<String, String>,
        /// The request's ExpressionAttributeValues.
        values: &'a BTreeMap<String, Value>,
    },
}

/// What is wrong with an expression's text, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExpressionError {
    /// A sentence with the names in backticks.
    pub message: String,
    /// The part of the text that is meant.
    pub span: Span,
}

impl ExpressionError {
    pub(crate) fn new(message: impl Into<String>, span: Span) -> Self {
        ExpressionError {
            message: message.into(),
            span,
        }
    }
}

#[cfg(test)]
mod tests;
