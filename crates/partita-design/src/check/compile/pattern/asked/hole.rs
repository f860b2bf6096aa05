//! The placeholders of patterns: parameters, and functions of them.

use super::Call;
use crate::codes::Code;
use crate::document::Text;
use crate::expression::{Expr, Function};
use crate::syntax::template::{Piece, RawFormat, RawHole};
use crate::syntax::value::{Raw, RawPath};
use crate::template::{Format, Hole, Part, Template, dotted};

/// The functions of parameters. Others have results that are no part of a key.
const FUNCTIONS: [Function; 3] = [Function::Lower, Function::Trim, Function::Time];

/// Refuses what is neither a parameter nor a function of one; `None` after a report.
pub(in crate::check::compile::pattern) fn check<'p>(
    pieces: impl Iterator<Item = &'p Piece>,
    text: &Text,
) -> Option<()> {
    let mut checked = Some(());
    for piece in pieces {
        let Piece::Hole(hole) = piece else { continue };
        if let Some((message, help)) = mistake(hole) {
            text.report(Code::PatternSyntax, hole.span, message)
                .help(help);
            checked = None;
        }
    }
    checked
}

/// What is wrong with a placeholder, and what to write.
fn mistake(hole: &RawHole) -> Option<(String, String)> {
    let written = &hole.written;
    if let Some(path) = inside_of(&hole.value) {
        let last = path.names.last().map_or("", String::as_str);
        return Some((
            format!("`{}` is no name of a parameter", path.names.join(".")),
            format!("write a name without dots, such as `{last}`"),
        ));
    }
    if value(&hole.value).is_none() {
        return Some((
            format!("`{written}` is no parameter"),
            "write the name of a parameter, perhaps in `lower(…)`, `trim(…)` or, of a ulid, `time(…)`"
                .to_owned(),
        ));
    }
    let is_call = matches!(hole.value, Raw::Call(..));
    let (call, format) = written.split_once(':').filter(|_| is_call)?;
    let call = call.trim_end();
    Some((
        format!("`{call}` takes no format, and `:{format}` is one"),
        format!("write `{{{call}}}`, or a parameter alone that has the format"),
    ))
}

/// The first path with several names, which leads inside of something.
fn inside_of(raw: &Raw) -> Option<&RawPath> {
    match raw {
        Raw::Path(path) => Some(path).filter(|path| path.names.len() > 1),
        Raw::Call(_, arguments, _) => arguments.iter().find_map(inside_of),
        _ => None,
    }
}

/// Refuses formats in a filter, which compares values and not how they are written; `None` after a
/// report.
pub(in crate::check::compile::pattern) fn check_unformatted(
    pieces: &[Piece],
    text: &Text,
) -> Option<()> {
    let mut checked = Some(());
    for piece in pieces {
        if let Piece::Hole(hole) = piece
            && let Some((_, span)) = &hole.format
        {
            let (value, _) = hole.written.split_once(':').unwrap_or_default();
            text.report(
                Code::PatternSyntax,
                *span,
                "a filter compares values, which have no format",
            )
            .help(format!("write `{{{}}}`", value.trim_end()));
            checked = None;
        }
    }
    checked
}

/// A placeholder over parameters.
pub(in crate::check::compile::pattern) fn value(raw: &Raw) -> Option<Expr> {
    match raw {
        Raw::Path(path) => Some(Expr::Path(dotted(&path.names.join(".")))),
        Raw::Call(function, arguments, _) if FUNCTIONS.contains(function) => {
            let [argument] = arguments.as_slice() else {
                return None;
            };
            // A ULID is upper-case and has no spaces around it, so that `time` is taken of it alone.
            let argument = match (function, argument) {
                (Function::Time, Raw::Path(_)) => value(argument)?,
                (Function::Time, _) => return None,
                _ => value(argument)?,
            };
            Some(Expr::Call(*function, vec![argument]))
        }
        _ => None,
    }
}

/// A template over parameters; `None` if it was reported.
pub(in crate::check::compile::pattern) fn template(pieces: &[Piece]) -> Option<Template> {
    let parts = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => Some(Part::Text(text.clone())),
        Piece::Hole(hole) => Some(Part::Value(Hole {
            value: value(&hole.value)?,
            format: match &hole.format {
                Some((RawFormat::Digits { width, decimals }, _)) => {
                    Format::digits(*width, *decimals)
                }
                _ => Format::Plain,
            },
        })),
    });
    let parts = parts.collect::<Option<_>>()?;
    Some(Template { parts })
}

/// The parameter that a function is taken of.
pub(super) fn call(value: &Expr) -> Option<Call> {
    let mut parameter = None;
    value.visit_paths(&mut |path| parameter = Some(path.to_string()));
    Some(Call {
        parameter: parameter?,
        is_time: has_time(value),
    })
}

fn has_time(value: &Expr) -> bool {
    match value {
        Expr::Call(Function::Time, _) => true,
        Expr::Call(_, arguments) => arguments.iter().any(has_time),
        _ => false,
    }
}
