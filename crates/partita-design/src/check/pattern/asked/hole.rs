//! The placeholders of patterns: parameters, and functions of them.

use super::Call;
use crate::codes::Code;
use crate::diagnostic::Report;
use crate::expression::{Expr, Function};
use crate::syntax::template::Piece;
use crate::syntax::value::Raw;
use crate::template::dotted;

/// The functions of parameters. Others have results that are no part of a key.
const FUNCTIONS: [Function; 3] = [Function::Lower, Function::Trim, Function::Time];

/// Refuses what is neither a parameter nor a function of one; `None` after a report.
pub(in crate::check::pattern) fn check<'p>(
    pieces: impl Iterator<Item = &'p Piece>,
    report: &mut Report,
) -> Option<()> {
    let mut checked = Some(());
    for piece in pieces {
        let Piece::Hole(hole) = piece else { continue };
        if value(&hole.value).is_none() {
            let message = format!("`{}` is no parameter", hole.written);
            report.add(Code::PatternSyntax, hole.span, message).help(
                "write the name of a parameter, perhaps in `lower(…)`, `trim(…)` or, of a ulid, `time(…)`",
            );
            checked = None;
        }
    }
    checked
}

/// A placeholder over parameters.
pub(in crate::check::pattern) fn value(raw: &Raw) -> Option<Expr> {
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
