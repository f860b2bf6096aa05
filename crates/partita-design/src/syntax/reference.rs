//! Reference lines: `User(userId = authorId), on delete cascade`.
//!
//! ```text
//! line   = ( Entity | constants ) [ "(" arg { "," arg } ")" ] [ "via" pattern ] { "," clause }
//! arg    = part [ ( "=" | "in" ) path ]
//! clause = "on delete" ( "keep" | "cascade" | "refuse" | "clear" name { name } )
//!        | "live" | "unchecked"
//! ```

use partita_core::expression::Span;

use super::Word;
use super::lexer::{Cursor, Token};
use super::value::{self, RawPath};
use crate::codes::Code;
use crate::diagnostic::Report;
use crate::document::Text;

const CODE: Code = Code::RefSyntax;
const CLAUSES: [&str; 3] = ["on delete", "live", "unchecked"];

/// A reference line.
#[derive(Debug)]
pub(crate) struct Line {
    /// What it leads to.
    pub(crate) target: Word,
    /// Parts of the target's identity, each with what holds it.
    pub(crate) arguments: Vec<RawArgument>,
    pub(crate) via: Option<Word>,
    pub(crate) on_delete: Option<(RawOnDelete, Span)>,
    pub(crate) live: Option<Span>,
    pub(crate) unchecked: Option<Span>,
    /// Whether a mistake in the arguments was reported.
    pub(crate) broken: bool,
}

/// One argument.
#[derive(Debug)]
pub(crate) struct RawArgument {
    pub(crate) part: Word,
    pub(crate) path: RawPath,
    /// Whether it is `part in list`.
    pub(crate) many: bool,
}

/// What becomes of an item when its target is deleted.
#[derive(Debug)]
pub(crate) enum RawOnDelete {
    Keep,
    Cascade,
    Refuse,
    Clear(Vec<Word>),
}

/// Reads a line; `None` after a report when not even the target is known.
pub(crate) fn parse(text: &Text, report: &mut Report) -> Option<Line> {
    let mut cursor = Cursor::new(text);
    let mut line = target(&mut cursor, report)?;
    end_of_clause(&mut cursor, report);
    while cursor.take(",") {
        clause(&mut cursor, &mut line, report);
        end_of_clause(&mut cursor, report);
    }
    Some(line)
}

/// Reads `Entity(part = path)` alone, the target of an effect.
pub(crate) fn parse_target(text: &Text, report: &mut Report) -> Option<Line> {
    let mut cursor = Cursor::new(text);
    let line = target(&mut cursor, report)?;
    if !cursor.is_at_end() {
        value::expected(&cursor, CODE, "the end", report);
        return None;
    }
    Some(line)
}

fn target(cursor: &mut Cursor<'_>, report: &mut Report) -> Option<Line> {
    let Some((target, span)) = cursor.word() else {
        value::expected(cursor, CODE, "the name of an entity", report);
        return None;
    };
    let mut line = Line {
        target: (target.to_owned(), span),
        arguments: Vec::new(),
        via: None,
        on_delete: None,
        live: None,
        unchecked: None,
        broken: false,
    };
    if cursor.take("(") {
        line.broken = arguments(cursor, &mut line.arguments, report).is_none();
    }
    if cursor.take_word("via") {
        match cursor.word() {
            Some((pattern, span)) => line.via = Some((pattern.to_owned(), span)),
            None => {
                value::expected(cursor, CODE, "the name of a pattern", report);
                line.broken = true;
                cursor.skip_clause();
            }
        }
    }
    Some(line)
}

/// The arguments behind `(`; after a mistake everything up to the next clause is skipped.
fn arguments(
    cursor: &mut Cursor<'_>,
    arguments: &mut Vec<RawArgument>,
    report: &mut Report,
) -> Option<()> {
    loop {
        let Some(argument) = argument(cursor, report) else {
            skip_arguments(cursor);
            return None;
        };
        arguments.push(argument);
        if cursor.take(")") {
            return Some(());
        }
        if !cursor.take(",") {
            value::expected(cursor, CODE, "`,` or `)`", report);
            skip_arguments(cursor);
            return None;
        }
    }
}

fn argument(cursor: &mut Cursor<'_>, report: &mut Report) -> Option<RawArgument> {
    let Some((part, span)) = cursor.word() else {
        value::expected(cursor, CODE, "a part of the target's identity", report);
        return None;
    };
    let many = cursor.take_word("in");
    // `Entity(part)` is short for `Entity(part = part)`.
    let path = match many || cursor.take("=") {
        true => value::path(cursor, CODE, report)?,
        false => RawPath {
            names: vec![part.to_owned()],
            span,
        },
    };
    Some(RawArgument {
        part: (part.to_owned(), span),
        path,
        many,
    })
}

fn skip_arguments(cursor: &mut Cursor<'_>) {
    while !matches!(cursor.next(), None | Some(Token::Symbol(")"))) {}
}

fn clause(cursor: &mut Cursor<'_>, line: &mut Line, report: &mut Report) {
    let start = cursor.range().start;
    let Some((word, span)) = cursor.word() else {
        value::expected(cursor, CODE, "a clause such as `live`", report);
        return cursor.skip_clause();
    };
    let is_repeated = match word {
        "live" => line.live.replace(span).is_some(),
        "unchecked" => line.unchecked.replace(span).is_some(),
        "on" => match on_delete(cursor, report) {
            Some(what) => {
                let span = cursor.since(start);
                line.on_delete.replace((what, span)).is_some()
            }
            None => {
                line.broken = true;
                return cursor.skip_clause();
            }
        },
        _ => {
            report
                .add(
                    Code::UnknownWord,
                    span,
                    format!("there is no clause `{word}`"),
                )
                .suggest(word, CLAUSES);
            return cursor.skip_clause();
        }
    };
    if is_repeated {
        let message = format!("`{word}` stands here twice");
        report.add(CODE, span, message);
    }
}

fn on_delete(cursor: &mut Cursor<'_>, report: &mut Report) -> Option<RawOnDelete> {
    const WORDS: [&str; 4] = ["keep", "cascade", "refuse", "clear"];
    if !cursor.take_word("delete") {
        value::expected(cursor, CODE, "`delete`", report);
        return None;
    }
    let Some((word, span)) = cursor.word() else {
        value::expected(
            cursor,
            CODE,
            "`keep`, `cascade`, `refuse` or `clear`",
            report,
        );
        return None;
    };
    Some(match word {
        "keep" => RawOnDelete::Keep,
        "cascade" => RawOnDelete::Cascade,
        "refuse" => RawOnDelete::Refuse,
        "clear" => {
            let mut names = Vec::new();
            while let Some((name, span)) = cursor.word() {
                names.push((name.to_owned(), span));
            }
            if names.is_empty() {
                value::expected(cursor, CODE, "the attributes that are removed", report);
                return None;
            }
            RawOnDelete::Clear(names)
        }
        _ => {
            let message = format!("there is no `on delete {word}`");
            report
                .add(Code::UnknownWord, span, message)
                .suggest(word, WORDS);
            return None;
        }
    })
}

fn end_of_clause(cursor: &mut Cursor<'_>, report: &mut Report) {
    match cursor.peek() {
        None | Some(Token::Symbol(",")) => {}
        Some(_) => {
            value::expected(cursor, CODE, "`,` or the end of the line", report);
            cursor.skip_clause();
        }
    }
}
