//! DynamoDB's data model as plain Rust values.
//!
//! | module | what it holds |
//! |---|---|
//! | [`value`] | [`Value`] and [`Item`], the ten types |
//! | [`map`] | [`Map`]: attributes by name |
//! | [`number`] | [`Number`]: exact decimals of 38 digits |
//! | [`key`] | bytes that sort as their key values do |
//! | [`size`] | how many bytes DynamoDB counts for an item |
//! | [`json`] | DynamoDB JSON (`{"S": "text"}`), read and written without a tree between |
//! | [`plain`] | the JSON that people write (`"text"`) |
//! | [`expression`] | conditions, key conditions, updates and projections: parse, check, evaluate, render |
//! | [`limits`] | the numbers that DynamoDB sets |
//! | [`printable`] | foreign text that a terminal cannot be fooled by |
//! | [`excerpt`] | the beginning of a text, for errors |
//!
//! ```
//! use partita_core::{Item, Value, expression::{Bindings, Condition}};
//!
//! let item = Item::from([("title", Value::from("Dune")), ("pages", Value::from(612_i64))]);
//! let long = Condition::parse("pages > 500 AND begins_with(title, 'D')", &Bindings::Literals)?;
//! assert!(long.holds(&item));
//! # Ok::<(), partita_core::expression::ExpressionError>(())
//! ```
//!
//! This crate never does I/O, never waits and never asks for the time.

pub mod excerpt;
pub mod expression;
pub mod json;
pub mod key;
pub mod limits;
pub mod map;
pub mod number;
pub mod plain;
pub mod printable;
pub mod size;
pub mod value;
pub mod wording;

pub use map::{Map, Name};
pub use number::{Number, NumberError};
pub use value::{Item, Type, Value};
