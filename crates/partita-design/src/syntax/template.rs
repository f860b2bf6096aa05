//! Templates: text with placeholders in braces.
//!
//! ```text
//! template = { text | "{" value [ ":" format ] "}" }
//! format   = "0" width [ "." decimals ] | a form of time such as "%Y/%m/%d"
//! ```

use std::ops::Range;

use partita_core::expression::Span;

use super::lexer::{Cursor, Token};
use super::value::{self, Raw};
use crate::codes::Code;
use crate::document::Text;
use crate::template::DELIMITER;
use crate::time;

/// Digits that a padded number has at most: DynamoDB's numbers have no more.
const WIDTH_MAX: usize = 40;

/// Placeholders of a template. A value has as many parts.
const HOLES_MAX: usize = 100;

/// One piece of a template.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// Literal text.
    Text(String),
    /// A placeholder.
    Hole(RawHole),
}

/// A placeholder as it is written.
#[derive(Clone, Debug)]
pub(crate) struct RawHole {
    pub(crate) value: Raw,
    pub(crate) format: Option<(RawFormat, Span)>,
    /// The text between the braces.
    pub(crate) written: String,
    /// The place of the value.
    pub(crate) span: Span,
}

/// How a value is written.
#[derive(Clone, Debug)]
pub(crate) enum RawFormat {
    Digits { width: usize, decimals: usize },
    Time(String),
}

/// Reads a template such as `USER#{userId}`; `None` after a report.
pub(crate) fn parse(text: &Text) -> Option<Vec<Piece>> {
    let chunks = chunks(text)?;
    let mut holes = chunks.iter().filter_map(|chunk| match chunk {
        Chunk::Braced(range) => Some(range.clone()),
        Chunk::Text(_) => None,
    });
    if let Some(beyond) = holes.nth(HOLES_MAX) {
        let message = format!("a template has at most {HOLES_MAX} placeholders");
        text.report(Code::TooLarge, text.at(beyond), message);
        return None;
    }
    let mut pieces = Vec::new();
    let mut is_good = true;
    for chunk in chunks {
        match chunk {
            Chunk::Text(range) => {
                let written = &text.as_str()[range.clone()];
                if written.ends_with('$') && text.as_str()[range.end..].starts_with('{') {
                    let span = text.at(range.end - 1..range.end);
                    let message = "a placeholder is written without `$`";
                    text.report(Code::TemplateSyntax, span, message)
                        .help("write `{name}`, not `${name}`");
                    is_good = false;
                }
                pieces.push(Piece::Text(written.to_owned()));
            }
            Chunk::Braced(range) => match hole(text, range) {
                Some(hole) => pieces.push(Piece::Hole(hole)),
                None => is_good = false,
            },
        }
    }
    is_good.then_some(pieces)
}

/// A part of a text with braces.
pub(crate) enum Chunk {
    /// Text outside of braces.
    Text(Range<usize>),
    /// The text between two braces.
    Braced(Range<usize>),
}

/// Splits a text at its braces; `None` after a report.
pub(crate) fn chunks(text: &Text) -> Option<Vec<Chunk>> {
    let value = text.as_str();
    let mut chunks = Vec::new();
    let mut at = 0;
    while at < value.len() {
        let open = value[at..].find(['{', '}']).map_or(value.len(), |i| at + i);
        if open > at {
            chunks.push(Chunk::Text(at..open));
        }
        if open == value.len() {
            break;
        }
        let inside = open + 1;
        let close = value[inside..].find(['{', '}']).map(|i| inside + i);
        match close {
            Some(close) if value[open..].starts_with('{') && value[close..].starts_with('}') => {
                chunks.push(Chunk::Braced(inside..close));
                at = close + 1;
            }
            _ => {
                let which = if value[open..].starts_with('{') {
                    "this `{` is never closed"
                } else {
                    "this `}` closes nothing"
                };
                text.report(Code::TemplateSyntax, text.at(open..inside), which);
                return None;
            }
        }
    }
    Some(chunks)
}

/// Whether a text is a name: letters, digits and `_`, not a digit first.
pub(crate) fn is_name(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.chars().all(is_letter)
        && !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

fn hole(text: &Text, range: Range<usize>) -> Option<RawHole> {
    let around = text.at(range.start - 1..range.end + 1);
    let written = text.as_str()[range.clone()].trim().to_owned();
    let refuse = |message: String| {
        text.report(Code::TemplateSyntax, around, message)
            .help("write the name of an attribute, such as `{userId}`");
        None
    };
    if written.is_empty() {
        return refuse("this placeholder is empty".to_owned());
    }
    let inside = text.slice(range);
    let mut cursor = Cursor::new(&inside, Code::TemplateSyntax);
    let is_odd = |token: Option<&Token<'_>>| matches!(token, Some(Token::Stray(_)));
    if is_odd(cursor.peek()) || is_odd(cursor.peek_second()) {
        return refuse(format!("`{written}` is not a name"));
    }
    let value = value::parse(&mut cursor)?;
    let span = value.span();
    let format = if cursor.take(":") {
        Some(format(&inside, &cursor)?)
    } else if cursor.is_at_end() {
        None
    } else {
        return refuse(format!("`{written}` is not a name"));
    };
    Some(RawHole {
        value,
        format,
        written,
        span,
    })
}

/// The format behind the colon.
fn format(inside: &Text, cursor: &Cursor<'_>) -> Option<(RawFormat, Span)> {
    let start = cursor.range().start;
    let written = inside.as_str()[start..].trim_end();
    let span = inside.at(start..start + written.len());
    if written.contains('%') {
        if time::is_form(written) && !written.contains(DELIMITER) {
            return Some((RawFormat::Time(written.to_owned()), span));
        }
        let message = format!("times cannot be written as `{written}`");
        inside
            .report(Code::TemplateSyntax, span, message)
            .help("write a form such as `%Y/%m/%d`");
        return None;
    }
    let (width, decimals) = written.split_once('.').unwrap_or((written, "0"));
    let digits = width
        .strip_prefix('0')
        .and_then(|width| width.parse::<usize>().ok());
    let decimals = decimals.parse::<usize>().ok();
    if let (Some(width @ 1..=WIDTH_MAX), Some(decimals)) = (digits, decimals)
        && (decimals == 0 || decimals + 1 < width)
    {
        return Some((RawFormat::Digits { width, decimals }, span));
    }
    let message = format!("`{written}` is no format");
    inside.report(Code::TemplateSyntax, span, message).help(
        "write `:010` for 10 digits, `:023.2` for 23 characters with two decimals, `:%Y/%m/%d` for a time",
    );
    None
}

/// Two values of a key are separated by the one character that values do not have; else two
/// different pairs of values give one key.
pub(crate) fn is_separated(pieces: &[Piece], whole: &Text) -> bool {
    let mut last: Option<&str> = None;
    let mut is_good = true;
    for piece in pieces {
        match piece {
            Piece::Text(text) if text.contains(DELIMITER) => last = None,
            Piece::Text(_) => {}
            Piece::Hole(hole) => {
                let name = &hole.written;
                if let Some(before) = last {
                    let message =
                        format!("nothing tells where `{{{before}}}` ends and `{{{name}}}` begins");
                    whole
                        .report(Code::AdjacentPlaceholders, hole.span, message)
                        .help(format!("write `{{{before}}}{DELIMITER}{{{name}}}`"));
                    is_good = false;
                }
                last = Some(name);
            }
        }
    }
    is_good
}
