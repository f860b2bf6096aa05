//! Reference lines: `User(userId = authorId), live`.
//!
//! ```text
//! line   = Entity [ "(" arg { "," arg } ")" ] { "," clause }
//! arg    = part "=" attribute
//! clause = "live"
//! ```

use partita_core::expression::Span;

use super::later;
use super::lexer::{Cursor, Token};
use crate::codes::Code;
use crate::diagnostic::Report;
use crate::document::Text;

/// A word and its place.
pub(crate) type Word = (String, Span);

/// A reference line.
#[derive(Debug)]
pub(crate) struct Line {
    /// The entity that it leads to.
    pub(crate) target: Word,
    /// Parts of the target's identity, each with the own attribute that holds it.
    pub(crate) arguments: Vec<(Word, Word)>,
    pub(crate) live: bool,
    /// Whether a mistake in the arguments was reported.
    pub(crate) broken: bool,
}

/// Reads a line; `None` after a report when not even the target is known.
pub(crate) fn parse(text: &Text, report: &mut Report) -> Option<Line> {
    let mut cursor = Cursor::new(text);
    let Some((target, span)) = cursor.word() else {
        expected(&cursor, "the name of an entity", report);
        return None;
    };
    let mut line = Line {
        target: (target.to_owned(), span),
        arguments: Vec::new(),
        live: false,
        broken: false,
    };
    if cursor.take("(") {
        line.broken = arguments(&mut cursor, &mut line.arguments, report).is_none();
    }
    if let Some(Token::Word("via")) = cursor.peek() {
        report.not_supported(cursor.here(), "`via`");
        line.broken = true;
        cursor.skip_clause();
    }
    end_of_clause(&mut cursor, report);
    while cursor.take(",") {
        clause(&mut cursor, &mut line, report);
        end_of_clause(&mut cursor, report);
    }
    Some(line)
}

/// The arguments behind `(`; after a mistake everything up to the next clause is skipped.
fn arguments(
    cursor: &mut Cursor<'_>,
    arguments: &mut Vec<(Word, Word)>,
    report: &mut Report,
) -> Option<()> {
    loop {
        let found = argument(cursor, report);
        let Some(argument) = found else {
            skip_arguments(cursor);
            return None;
        };
        arguments.push(argument);
        if cursor.take(")") {
            return Some(());
        }
        if !cursor.take(",") {
            expected(cursor, "`,` or `)`", report);
            skip_arguments(cursor);
            return None;
        }
    }
}

fn argument(cursor: &mut Cursor<'_>, report: &mut Report) -> Option<(Word, Word)> {
    let Some((part, part_span)) = cursor.word() else {
        expected(cursor, "a part of the target's identity", report);
        return None;
    };
    let part = (part.to_owned(), part_span);
    if let Some(Token::Word("in")) = cursor.peek() {
        report.not_supported(cursor.here(), "a reference to many, with `in`,");
        return None;
    }
    // `Entity(part)` is short for `Entity(part = part)`.
    if !cursor.take("=") {
        return Some((part.clone(), part));
    }
    let Some((attribute, span)) = cursor.word() else {
        expected(cursor, "the attribute that holds it", report);
        return None;
    };
    if let Some(Token::Symbol(".")) = cursor.peek() {
        report.not_supported(cursor.here(), "a path through a reference");
        return None;
    }
    Some((part, (attribute.to_owned(), span)))
}

fn skip_arguments(cursor: &mut Cursor<'_>) {
    while !matches!(cursor.next(), None | Some(Token::Symbol(")"))) {}
}

fn clause(cursor: &mut Cursor<'_>, line: &mut Line, report: &mut Report) {
    let Some((word, span)) = cursor.word() else {
        expected(cursor, "a clause such as `live`", report);
        return cursor.skip_clause();
    };
    if word == "live" {
        line.live = true;
        return;
    }
    if later::REF_CLAUSES.contains(&word) {
        let what = match word {
            "on" => "the clause `on delete`".to_owned(),
            word => format!("the clause `{word}`"),
        };
        report.not_supported(span, &what);
    } else {
        report
            .add(
                Code::UnknownWord,
                span,
                format!("there is no clause `{word}`"),
            )
            .suggest(word, ["live"]);
    }
    cursor.skip_clause();
}

fn end_of_clause(cursor: &mut Cursor<'_>, report: &mut Report) {
    match cursor.peek() {
        None | Some(Token::Symbol(",")) => {}
        Some(_) => {
            expected(cursor, "`,` or the end of the line", report);
            cursor.skip_clause();
        }
    }
}

fn expected(cursor: &Cursor<'_>, what: &str, report: &mut Report) {
    let message = format!("expected {what}, {}", cursor.found());
    report.add(Code::RefSyntax, cursor.here(), message);
}
