//! An expression's text as tokens with their places.
//!
//! This never fails: a character without a meaning becomes a token of its own, and the grammar
//! refuses it where it stands.

use super::Span;

/// Which of the two ways of writing expressions is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// A design: literals stand in the text.
    Literals,
    /// A request: `#name` and `:value` stand for names and values.
    Request,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A bare word: an attribute, a function or a keyword.
    Word,
    /// `#name`.
    Name,
    /// `:value`.
    Value,
    /// `'text'`, with `''` for a quote.
    Text,
    /// A text without its closing quote.
    UnclosedText,
    /// Digits; in designs perhaps with a fraction.
    Digits,
    /// Punctuation and comparators.
    Symbol,
    /// A character that has no meaning.
    Unknown,
    /// After the last token.
    End,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    pub(super) span: Span,
}

// Longer symbols stand before their prefixes.
const SYMBOLS: [&str; 14] = [
    "<>", "<=", ">=", "=", "<", ">", "(", ")", "[", "]", ",", ".", "+", "-",
];

pub(super) fn tokens(text: &str, dialect: Dialect) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if matches!(first, ' ' | '\t' | '\n' | '\r') {
            at += 1;
            continue;
        }
        let (kind, length) = next(&text[at..], first, dialect);
        found.push(Token {
            kind,
            text: &text[at..at + length],
            span: Span::new(at, at + length),
        });
        at += length;
    }
    found
}

fn next(rest: &str, first: char, dialect: Dialect) -> (Kind, usize) {
    let word_length = |from: usize| {
        from + rest[from..]
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len() - from)
    };
    let is_literal = dialect == Dialect::Literals;
    match first {
        'a'..='z' | 'A'..='Z' => return (Kind::Word, word_length(0)),
        '_' if is_literal => return (Kind::Word, word_length(0)),
        '\'' if is_literal => return quoted(rest),
        // In a request a number starts with 0 only if it is 0: `01` are two tokens.
        '0' if !is_literal => return (Kind::Digits, 1),
        '0'..='9' => {
            let goes_on = |c: char| c.is_ascii_digit() || is_literal && c == '.';
            let length = rest.find(|c| !goes_on(c)).unwrap_or(rest.len());
            return (Kind::Digits, length);
        }
        '#' if word_length(1) > 1 => return (Kind::Name, word_length(1)),
        ':' if word_length(1) > 1 => return (Kind::Value, word_length(1)),
        _ => {}
    }
    match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
        Some(symbol) => (Kind::Symbol, symbol.len()),
        None => (Kind::Unknown, first.len_utf8()),
    }
}

fn quoted(rest: &str) -> (Kind, usize) {
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((index, character)) = characters.next() {
        if character == '\'' && characters.next_if(|(_, next)| *next == '\'').is_none() {
            return (Kind::Text, index + 1);
        }
    }
    (Kind::UnclosedText, rest.len())
}
