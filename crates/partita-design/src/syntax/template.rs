//! Templates: text with placeholders in braces.

use std::ops::Range;

use partita_core::expression::Span;

use crate::codes::Code;
use crate::diagnostic::Report;
use crate::document::Text;
use crate::template::DELIMITER;

/// One piece of a template.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// Text that stands for itself.
    Text(String),
    /// `{name}`, and the place of the name.
    Hole(String, Span),
}

/// Reads a key template such as `USER#{userId}`; `None` after a report.
pub(crate) fn parse(text: &Text, report: &mut Report) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut is_good = true;
    for chunk in chunks(text, report)? {
        match chunk {
            Chunk::Text(range) => {
                let written = &text.as_str()[range.clone()];
                if written.ends_with('$') && text.as_str()[range.end..].starts_with('{') {
                    let span = text.at(range.end - 1..range.end);
                    report
                        .add(
                            Code::TemplateSyntax,
                            span,
                            "a placeholder is written without `$`",
                        )
                        .help("write `{name}`, not `${name}`");
                    is_good = false;
                }
                pieces.push(Piece::Text(written.to_owned()));
            }
            Chunk::Braced(range) => match hole(text, range, report) {
                Some(piece) => pieces.push(piece),
                None => is_good = false,
            },
        }
    }
    is_good &= is_separated(&pieces, report);
    is_good.then_some(pieces)
}

/// A part of a text with braces.
pub(crate) enum Chunk {
    /// What stands outside of braces.
    Text(Range<usize>),
    /// What stands between two braces.
    Braced(Range<usize>),
}

/// Splits a text at its braces; `None` after a report.
pub(crate) fn chunks(text: &Text, report: &mut Report) -> Option<Vec<Chunk>> {
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
                let which = match value[open..].starts_with('{') {
                    true => "this `{` is never closed",
                    false => "this `}` closes nothing",
                };
                report.add(Code::TemplateSyntax, text.at(open..inside), which);
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

fn hole(text: &Text, range: Range<usize>, report: &mut Report) -> Option<Piece> {
    let written = &text.as_str()[range.clone()];
    let name = written.trim();
    let start = range.start + (written.len() - written.trim_start().len());
    let span = text.at(start..start + name.len());
    if is_name(name) {
        return Some(Piece::Hole(name.to_owned(), span));
    }
    let around = text.at(range.start - 1..range.end + 1);
    if name.contains([':', '|', '(', '.', '+']) {
        report.not_supported(
            around,
            "a placeholder with a format, a fallback, a function or a path",
        );
    } else {
        let message = match name {
            "" => "this placeholder is empty".to_owned(),
            name => format!("`{name}` is not a name"),
        };
        report
            .add(Code::TemplateSyntax, around, message)
            .help("write the name of an attribute, such as `{userId}`");
    }
    None
}

/// Between two values must stand the one character that values do not have; else two different
/// pairs of values give one key.
fn is_separated(pieces: &[Piece], report: &mut Report) -> bool {
    let mut last: Option<&str> = None;
    let mut is_good = true;
    for piece in pieces {
        match piece {
            Piece::Text(text) if text.contains(DELIMITER) => last = None,
            Piece::Text(_) => {}
            Piece::Hole(name, span) => {
                if let Some(before) = last {
                    report
                        .add(
                            Code::AdjacentPlaceholders,
                            *span,
                            format!(
                                "nothing tells where `{{{before}}}` ends and `{{{name}}}` begins"
                            ),
                        )
                        .help(format!("write `{{{before}}}{DELIMITER}{{{name}}}`"));
                    is_good = false;
                }
                last = Some(name);
            }
        }
    }
    is_good
}
