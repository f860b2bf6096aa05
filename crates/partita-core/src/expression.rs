//! DynamoDB's expressions: conditions, key conditions, updates and projections.
//!
//! One grammar serves three dialects. [`Bindings`] distinguish two of them: in requests values and awkward
//! names come in as placeholders (`#n = :v`); in designs they are written out
//! (`status <> 'DRAFT'`). PartiQL is the third, with statements around ([`Statement`]). All give the same trees, in which only names and values are left.
//! Programs may also build a tree by hand; [`Renderer`] turns it back into a request's text.
//!
//! A text is read in two steps. Its syntax depends on nothing but the text, so it is parsed once
//! and kept ([`ExpressionCache`]); binding then puts in the names and values of one request
//! ([`RequestExpressions`]).
//!
//! | module | what it holds |
//! |---|---|
//! | `token`, `parser`, `syntax` | text to tokens to trees with placeholders |
//! | `bindings` | [`Bindings`]: the two dialects |
//! | `cache` | [`ExpressionCache`]: syntax trees by their text |
//! | `bind` | names and values put into them, with DynamoDB's checks |
//! | `request` | [`RequestExpressions`]: all expressions of one request |
//! | `messages`, `reserved`, `java_order` | DynamoDB's words, and how it lists things |
//! | `path`, `path_tree` | [`Path`]: the place of a value inside an item; paths that touch |
//! | `condition` | [`Condition`] and its evaluation over a [`Scope`] |
//! | `check` | what is wrong with a condition, whatever item it meets |
//! | `key_condition` | [`KeyCondition`]: what a query asks of the keys |
//! | `update` | [`Update`] and its application to an item |
//! | `partiql` | [`Statement`]: PartiQL |
//! | `projection` | [`Projection`]: parts of an item |
//! | `render` | trees back to text with placeholders |

mod bind;
mod bindings;
mod cache;
mod check;
mod condition;
mod java_order;
mod key_condition;
mod messages;
mod parser;
mod partiql;
mod path;
mod path_tree;
mod projection;
mod render;
mod request;
mod reserved;
mod syntax;
mod token;
mod update;

pub use bindings::Bindings;
pub use cache::ExpressionCache;
pub use condition::{Comparator, Condition, Found, Operand, Scope, Truth};
pub use java_order::listed;
pub use key_condition::{KeyCondition, KeyRange};
pub use partiql::{Returning, Select, SelectSource, Statement};
pub use path::{Path, Span, Step};
pub use projection::Projection;
pub use render::Renderer;
pub use request::{
    AttributeNames, AttributeValues, ExpressionKind, PendingKeyCondition, RequestExpressions,
};
pub use update::{SetOperand, SetValue, Update, UpdateError};

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
    fn fault(fault: messages::ExpressionFault, span: Span) -> Self {
        ExpressionError::new(fault.to_string(), span)
    }

    pub(crate) fn new(message: impl Into<String>, span: Span) -> Self {
        ExpressionError {
            message: message.into(),
            span,
        }
    }
}

#[cfg(test)]
mod tests;
