//! Expressions that are read one by one, without a cache.

use std::collections::BTreeMap;

use super::bind::{Binder, ValueSource};
use super::parser::{self, Parsed, Parser};
use super::token::Dialect;
use super::{AttributeNames, Condition, Update};
use crate::Value;

/// Where the names and values of an expression's text come from.
#[derive(Clone, Copy, Debug)]
pub enum Bindings<'a> {
    /// A design: literals are in the text.
    Literals,
    /// A request: `#name` and `:value` are looked up.
    Placeholders {
        /// The request's ExpressionAttributeNames.
        names: &'a AttributeNames,
        /// The request's ExpressionAttributeValues.
        values: &'a BTreeMap<String, Value>,
    },
}

impl<'a> Bindings<'a> {
    pub(super) fn condition(&self, text: &str) -> Parsed<Condition> {
        let node = Parser::new(text, self.dialect()).finish(parser::condition)?;
        self.binder().condition(&node)
    }

    pub(super) fn update(&self, text: &str) -> Parsed<Update> {
        let clauses = Parser::new(text, self.dialect()).finish(parser::update)?;
        self.binder().update(&clauses)
    }

    fn dialect(&self) -> Dialect {
        match self {
            Bindings::Literals => Dialect::Literals,
            Bindings::Placeholders { .. } => Dialect::Request,
        }
    }

    fn binder(&self) -> Binder<'a> {
        match *self {
            Bindings::Literals => Binder::default(),
            Bindings::Placeholders { names, values } => Binder {
                names: Some(names),
                values: ValueSource::Plain(values),
                ..Binder::default()
            },
        }
    }
}
