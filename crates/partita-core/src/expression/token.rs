//! An expression's text as tokens with their places.
//!
//! This never fails: a character without a meaning becomes a token of its own, and the grammar
//! refuses it at its place.

use super::Span;

/// Which way of writing expressions is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// A design: literals are in the text.
    Literals,
    /// A request: `#name` and `:value` are placeholders of names and values.
    Request,
    /// A PartiQL statement: literals are in the text, `?` is a parameter, and names may be in double
    /// quotes.
    PartiQl,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A bare word: an attribute, a function or a keyword.
    Word,
    /// `#name`.
    Name,
    /// `:value`.
    Value,
    /// `"name"`, with `""` for a quote; in PartiQL only.
    Quoted,
    /// `?`, in PartiQL only.
    Parameter,
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
    pub(super) kind: TokenKind,
    pub(super) text: &'a str,
    pub(super) span: Span,
}

// Longer symbols come before their prefixes.
const SYMBOLS: [&str; 14] = [
    "<>", "<=", ">=", "=", "<", ">", "(", ")", "[", "]", ",", ".", "+", "-",
];

/// What PartiQL has besides.
const PARTIQL_SYMBOLS: [&str; 8] = ["<<", ">>", "!=", "{", "}", ":", "*", ";"];

pub(super) fn tokens(text: &str, dialect: Dialect) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if matches!(first, ' ' | '\t' | '\n' | '\r') {
            at += 1;
            continue;
        }
        if dialect == Dialect::PartiQl
            && let Some(length) = comment(&text[at..])
        {
            at += length;
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

fn next(rest: &str, first: char, dialect: Dialect) -> (TokenKind, usize) {
    let word_length = |from: usize| {
        from + rest[from..]
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len() - from)
    };
    let is_literal = dialect == Dialect::Literals;
    if dialect == Dialect::PartiQl {
        return next_of_partiql(rest, first, word_length);
    }
    match first {
        'a'..='z' | 'A'..='Z' => return (TokenKind::Word, word_length(0)),
        '_' if is_literal => return (TokenKind::Word, word_length(0)),
        '\'' if is_literal => return quoted(rest, TokenKind::Text),
        // In a request a number starts with 0 only if it is 0: `01` are two tokens.
        '0' if !is_literal => return (TokenKind::Digits, 1),
        '0'..='9' => {
            let goes_on = |c: char| c.is_ascii_digit() || is_literal && c == '.';
            let length = rest.find(|c| !goes_on(c)).unwrap_or(rest.len());
            return (TokenKind::Digits, length);
        }
        '#' if word_length(1) > 1 => return (TokenKind::Name, word_length(1)),
        ':' if word_length(1) > 1 => return (TokenKind::Value, word_length(1)),
        _ => {}
    }
    match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
        Some(symbol) => (TokenKind::Symbol, symbol.len()),
        None => (TokenKind::Unknown, first.len_utf8()),
    }
}

fn next_of_partiql(
    rest: &str,
    first: char,
    word_length: impl Fn(usize) -> usize,
) -> (TokenKind, usize) {
    match first {
        'a'..='z' | 'A'..='Z' | '_' | '$' => return (TokenKind::Word, word_length(1)),
        '\'' => return quoted(rest, TokenKind::Text),
        '"' => return quoted(rest, TokenKind::Quoted),
        '?' => return (TokenKind::Parameter, 1),
        '0'..='9' => return (TokenKind::Digits, number_length(rest)),
        _ => {}
    }
    let mut symbols = PARTIQL_SYMBOLS.iter().chain(&SYMBOLS);
    match symbols.find(|symbol| rest.starts_with(**symbol)) {
        Some(symbol) => (TokenKind::Symbol, symbol.len()),
        None => (TokenKind::Unknown, first.len_utf8()),
    }
}

/// Digits, perhaps with a fraction and an exponent.
fn number_length(rest: &str) -> usize {
    let digits = |from: usize| {
        let end = rest[from..].find(|c: char| !c.is_ascii_digit());
        end.map_or(rest.len(), |length| from + length)
    };
    let mut length = digits(0);
    if rest[length..].starts_with('.') {
        length = digits(length + 1);
    }
    let exponent = rest[length..].strip_prefix(['e', 'E']);
    let signed = exponent.map(|rest| rest.strip_prefix(['+', '-']).unwrap_or(rest));
    match signed {
        Some(signed) if signed.starts_with(|c: char| c.is_ascii_digit()) => {
            digits(rest.len() - signed.len())
        }
        _ => length,
    }
}

/// The length of a comment, if the text begins with one. One that is not closed ends with the
/// text.
fn comment(rest: &str) -> Option<usize> {
    let (opening, closing) = match rest.get(..2)? {
        "--" => ("--", "\n"),
        "/*" => ("/*", "*/"),
        _ => return None,
    };
    let end = rest[opening.len()..].find(closing);
    Some(end.map_or(rest.len(), |end| opening.len() + end + closing.len()))
}

/// A text in quotes of the first character's kind, which is doubled inside.
fn quoted(rest: &str, kind: TokenKind) -> (TokenKind, usize) {
    let mut characters = rest.char_indices().peekable();
    let quote = characters.next().map(|(_, quote)| quote);
    while let Some((index, character)) = characters.next() {
        let is_quote = |(_, next): &(usize, char)| Some(*next) == quote;
        if Some(character) == quote && characters.next_if(is_quote).is_none() {
            return (kind, index + 1);
        }
    }
    (TokenKind::UnclosedText, rest.len())
}
