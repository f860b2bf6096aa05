//! PartiQL's literals: texts, numbers, lists, tuples, bags and parameters.

use std::collections::BTreeSet;

use super::super::super::token::TokenKind;
use super::super::super::{ExpressionError, Span};
use super::super::{Dialect, Parsed, Parser};
use super::place;
use crate::json::ValueError;
use crate::limits::NESTING_MAX;
use crate::{Map, Value};

/// A field in brackets: `['name']`.
pub(in super::super) fn take_field(parser: &mut Parser<'_>) -> Option<String> {
    let token = parser.peek();
    if parser.dialect != Dialect::PartiQl || token.kind != TokenKind::Text {
        return None;
    }
    parser.at += 1;
    Some(unquoted(token.text))
}

/// The text between quotes, which are doubled inside.
pub(in super::super) fn unquoted(text: &str) -> String {
    let quote = &text[..1];
    text[1..text.len() - 1].replace(&quote.repeat(2), quote)
}

/// A literal or a parameter, if there is one.
pub(in super::super) fn take_value(parser: &mut Parser<'_>) -> Parsed<Option<(Value, Span)>> {
    let start = parser.peek();
    let value = value(parser, 0)?;
    let end = parser.at.checked_sub(1);
    let end = end.map_or(start, |at| parser.peek_at(at));
    Ok(value.map(|value| (value, start.span.to(end.span))))
}

/// INVARIANT: recursion ends with the nesting that an item may have.
fn value(parser: &mut Parser<'_>, depth: usize) -> Parsed<Option<Value>> {
    let token = parser.peek();
    if depth > NESTING_MAX {
        return Err(refused(&ValueError::TooDeep, token.span));
    }
    let value = match (token.kind, token.text) {
        (TokenKind::Symbol, "{") => return tuple(parser, depth + 1).map(|map| Some(Value::M(map))),
        (TokenKind::Symbol, "[") => {
            parser.at += 1;
            return elements(parser, "]", depth + 1).map(|list| Some(Value::L(list)));
        }
        (TokenKind::Symbol, "<<") => return bag(parser, depth + 1).map(Some),
        (TokenKind::Symbol, "-") => match parser.peek_at(parser.at + 1) {
            digits if digits.kind == TokenKind::Digits => {
                parser.at += 1;
                parser.number("-", digits)?
            }
            _ => return Ok(None),
        },
        (TokenKind::Digits, _) => parser.number("", token)?,
        (TokenKind::Text, text) => Value::S(unquoted(text)),
        (TokenKind::Parameter, _) => parser.parameters.pop().ok_or_else(|| {
            let message = "Number of parameters in request and statement don't match.";
            ExpressionError::new(message, token.span)
        })?,
        (TokenKind::Word, word) if word.eq_ignore_ascii_case("true") => Value::Bool(true),
        (TokenKind::Word, word) if word.eq_ignore_ascii_case("false") => Value::Bool(false),
        (TokenKind::Word, word) if word.eq_ignore_ascii_case("null") => Value::Null,
        _ => return Ok(None),
    };
    parser.at += 1;
    Ok(Some(value))
}

fn elements(parser: &mut Parser<'_>, closing: &str, depth: usize) -> Parsed<Vec<Value>> {
    let mut elements = Vec::new();
    if parser.take(closing) {
        return Ok(elements);
    }
    loop {
        match value(parser, depth)? {
            Some(value) => elements.push(value),
            None => return Err(parser.unexpected("a value")),
        }
        if parser.take(closing) {
            return Ok(elements);
        }
        parser.expect(",")?;
    }
}

pub(super) fn tuple(parser: &mut Parser<'_>, depth: usize) -> Parsed<Map> {
    parser.expect("{")?;
    let mut map = Map::new();
    if parser.take("}") {
        return Ok(map);
    }
    loop {
        let key = parser.peek();
        let at = || place(parser, key);
        match key.kind {
            TokenKind::Text => {}
            TokenKind::Word | TokenKind::Quoted => {
                let message = format!(
                    "Tuple keys must be of type String. Actual type: VariableReference under root at {}",
                    at()
                );
                return Err(ExpressionError::new(message, key.span));
            }
            _ => return Err(parser.unexpected("the name of an attribute")),
        }
        let name = unquoted(key.text);
        if map.contains_key(&name) {
            let message = format!(
                "Duplicate keys in tuple. Key: {name} under root at {}",
                at()
            );
            return Err(ExpressionError::new(message, key.span));
        }
        parser.at += 1;
        parser.expect(":")?;
        match value(parser, depth)? {
            Some(value) => map.insert(name, value),
            None => return Err(parser.unexpected("a value")),
        };
        if parser.take("}") {
            return Ok(map);
        }
        parser.expect(",")?;
    }
}

/// A set, whose members are all of one type.
fn bag(parser: &mut Parser<'_>, depth: usize) -> Parsed<Value> {
    let start = parser.peek();
    parser.at += 1;
    let members = elements(parser, ">>", depth)?;
    let refuse = |message: String| Err(ExpressionError::new(message, start.span));
    let count = members.len();
    let (mut texts, mut numbers, mut blobs) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for member in members {
        match member {
            Value::S(text) => drop(texts.insert(text)),
            Value::N(number) => drop(numbers.insert(number)),
            Value::B(bytes) => drop(blobs.insert(bytes)),
            _ => return refuse(MIXED_BAG.to_owned()),
        }
    }
    let kinds = [texts.is_empty(), numbers.is_empty(), blobs.is_empty()];
    if kinds.iter().all(|is_empty| *is_empty) {
        return refuse(format!(
            "Empty bags are not supported at {}",
            place(parser, start)
        ));
    }
    if kinds.iter().filter(|is_empty| !**is_empty).count() > 1 {
        return refuse(MIXED_BAG.to_owned());
    }
    if texts.len() + numbers.len() + blobs.len() < count {
        return Err(refused(&ValueError::NumberDuplicates, start.span));
    }
    Ok(match (texts.is_empty(), numbers.is_empty()) {
        (false, _) => Value::Ss(texts),
        (_, false) => Value::Ns(numbers),
        _ => Value::Bs(blobs),
    })
}

const MIXED_BAG: &str =
    "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags";

fn refused(error: &ValueError, span: Span) -> ExpressionError {
    ExpressionError::new(error.to_string(), span)
}
