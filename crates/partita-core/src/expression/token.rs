//! An expression's text as tokens with their places.

use super::{ExpressionError, Span};
use crate::limits::EXPRESSION_BYTES_MAX;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A bare word: an attribute, a function or a keyword.
    Word(String),
    /// `#name`.
    Name(String),
    /// `:value`.
    Value(String),
    /// `'text'`, with `''` for a quote.
    Text(String),
    /// Digits, perhaps with a fraction.
    Digits(String),
    /// Punctuation and comparators.
    Symbol(&'static str),
}

impl Token {
    /// The token as the text had it, for messages.
    pub(super) fn describe(&self) -> String {
        match self {
            Token::Word(text) | Token::Name(text) | Token::Value(text) | Token::Digits(text) => {
                format!("`{text}`")
            }
            Token::Text(text) => format!("`'{text}'`"),
            Token::Symbol(symbol) => format!("`{symbol}`"),
        }
    }
}

// Longer symbols stand before their prefixes.
const SYMBOLS: [&str; 14] = [
    "<>", "<=", ">=", "=", "<", ">", "(", ")", "[", "]", ",", ".", "+", "-",
];

pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Span)>, ExpressionError> {
    if text.len() > EXPRESSION_BYTES_MAX {
        return Err(ExpressionError::new(
            format!("an expression has at most {EXPRESSION_BYTES_MAX} bytes"),
            Span::new(0, text.len()),
        ));
    }
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, length) = next(&text[at..], first, at)?;
        found.push((token, Span::new(at, at + length)));
        at += length;
    }
    Ok(found)
}

fn next(rest: &str, first: char, at: usize) -> Result<(Token, usize), ExpressionError> {
    let word_length = |from: usize| {
        from + rest[from..]
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len() - from)
    };
    if first == '\'' {
        return quoted(rest, at);
    }
    if first.is_ascii_digit() {
        let length = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        return Ok((Token::Digits(rest[..length].to_owned()), length));
    }
    if first.is_ascii_alphabetic() || first == '_' {
        let length = word_length(0);
        return Ok((Token::Word(rest[..length].to_owned()), length));
    }
    if first == '#' || first == ':' {
        let length = word_length(1);
        let word = rest[..length].to_owned();
        return match first {
            _ if length == 1 => Err(unexpected(first, at)),
            '#' => Ok((Token::Name(word), length)),
            _ => Ok((Token::Value(word), length)),
        };
    }
    SYMBOLS
        .iter()
        .find(|symbol| rest.starts_with(**symbol))
        .map(|symbol| (Token::Symbol(symbol), symbol.len()))
        .ok_or_else(|| unexpected(first, at))
}

fn quoted(rest: &str, at: usize) -> Result<(Token, usize), ExpressionError> {
    let mut content = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((index, character)) = characters.next() {
        if character != '\'' {
            content.push(character);
        } else if characters.next_if(|(_, next)| *next == '\'').is_some() {
            content.push('\'');
        } else {
            return Ok((Token::Text(content), index + 1));
        }
    }
    Err(ExpressionError::new(
        "this text has no closing `'`",
        Span::new(at, at + rest.len()),
    ))
}

fn unexpected(character: char, at: usize) -> ExpressionError {
    ExpressionError::new(
        format!("`{character}` has no meaning in an expression"),
        Span::new(at, at + character.len_utf8()),
    )
}
