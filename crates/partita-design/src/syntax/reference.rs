//! Reference lines: `User(userId = authorId), on delete cascade`.
//!
//! ```text
//! line   = ( Entity | constants ) [ "(" arg { "," arg } ")" ] [ "via" pattern ] { "," clause }
//! arg    = part [ ( "=" | "in" ) path ]
//! clause = "on delete" ( "keep" | "cascade" | "refuse" | "clear" name { name } )
//!        | "live" | "active" | "unchecked"
//! ```

use partita_core::expression::Span;

use super::Word;
use super::lexer::{Cursor, Token};
use super::value::{self, RawPath};
use crate::codes::Code;
use crate::document::Text;

const CODE: Code = Code::RefSyntax;
const CLAUSES: [&str; 4] = ["on delete", "live", "active", "unchecked"];

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
    pub(crate) active: Option<Span>,
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
pub(crate) fn parse(text: &Text) -> Option<Line> {
    let mut cursor = Cursor::new(text, CODE);
    let mut line = target(&mut cursor)?;
    end_of_clause(&mut cursor);
    while cursor.take(",") {
        clause(&mut cursor, &mut line);
        end_of_clause(&mut cursor);
    }
    Some(line)
}

/// Reads `Entity(part = path)` alone, the target of an effect.
pub(crate) fn parse_target(text: &Text) -> Option<Line> {
    let mut cursor = Cursor::new(text, CODE);
    let line = target(&mut cursor)?;
    if !cursor.is_at_end() {
        cursor.expected("the end");
        return None;
    }
    Some(line)
}

fn target(cursor: &mut Cursor<'_>) -> Option<Line> {
    let Some((target, span)) = cursor.word() else {
        cursor.expected("the name of an entity");
        return None;
    };
    let mut line = Line {
        target: (target.to_owned(), span),
        arguments: Vec::new(),
        via: None,
        on_delete: None,
        live: None,
        active: None,
        unchecked: None,
        broken: false,
    };
    if cursor.take("(") {
        line.broken = arguments(cursor, &mut line.arguments).is_none();
    }
    if cursor.take_word("via") {
        match cursor.word() {
            Some((pattern, span)) => line.via = Some((pattern.to_owned(), span)),
            None => {
                cursor.expected("the name of a pattern");
                line.broken = true;
                cursor.skip_clause();
            }
        }
    }
    Some(line)
}

/// The arguments behind `(`; after a mistake everything up to the next clause is skipped.
fn arguments(cursor: &mut Cursor<'_>, arguments: &mut Vec<RawArgument>) -> Option<()> {
    loop {
        let Some(argument) = argument(cursor) else {
            skip_arguments(cursor);
            return None;
        };
        arguments.push(argument);
        if cursor.take(")") {
            return Some(());
        }
        if !cursor.take(",") {
            cursor.expected("`,` or `)`");
            skip_arguments(cursor);
            return None;
        }
    }
}

fn argument(cursor: &mut Cursor<'_>) -> Option<RawArgument> {
    let Some((part, span)) = cursor.word() else {
        cursor.expected("a part of the target's identity");
        return None;
    };
    let many = cursor.take_word("in");
    // `Entity(part)` is short for `Entity(part = part)`.
    let path = if many || cursor.take("=") {
        value::path(cursor)?
    } else {
        RawPath {
            names: vec![part.to_owned()],
            span,
        }
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

fn clause(cursor: &mut Cursor<'_>, line: &mut Line) {
    let start = cursor.range().start;
    let Some((word, span)) = cursor.word() else {
        cursor.expected("a clause such as `live`");
        return cursor.skip_clause();
    };
    let is_repeated = match word {
        "live" => line.live.replace(span).is_some(),
        "active" => line.active.replace(span).is_some(),
        "unchecked" => line.unchecked.replace(span).is_some(),
        "on" => match on_delete(cursor) {
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
            cursor.unknown(span, "clause", word, CLAUSES);
            return cursor.skip_clause();
        }
    };
    if is_repeated {
        let message = format!("`{word}` stands here twice");
        cursor.report(CODE, span, message);
    }
}

fn on_delete(cursor: &mut Cursor<'_>) -> Option<RawOnDelete> {
    const WORDS: [&str; 4] = ["keep", "cascade", "refuse", "clear"];
    if !cursor.take_word("delete") {
        cursor.expected("`delete`");
        return None;
    }
    let Some((word, span)) = cursor.word() else {
        cursor.expected("`keep`, `cascade`, `refuse` or `clear`");
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
                cursor.expected("the attributes that are removed");
                return None;
            }
            RawOnDelete::Clear(names)
        }
        _ => {
            let message = format!("there is no `on delete {word}`");
            cursor
                .report(Code::UnknownWord, span, message)
                .suggest(word, WORDS);
            return None;
        }
    })
}

fn end_of_clause(cursor: &mut Cursor<'_>) {
    match cursor.peek() {
        None | Some(Token::Symbol(",")) => {}
        Some(_) => {
            cursor.expected("`,` or the end of the line");
            cursor.skip_clause();
        }
    }
}
