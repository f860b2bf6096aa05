//! The key conditions of patterns: `PK = 'USER#{userId}' AND begins_with(SK, 'STORY#')`.

use partita_core::Value;
use partita_core::expression::{Bindings, Comparator, Condition, Operand, Path, Span};

use super::template::{self, Piece};
use crate::codes::Code;
use crate::document::Text;

const CODE: Code = Code::PatternSyntax;

/// One requirement of a key condition.
#[derive(Debug)]
pub(crate) struct Clause {
    /// The key attribute, and its place.
    pub(crate) attribute: (String, Span),
    pub(crate) test: Test,
}

/// What is required of a key.
#[derive(Debug)]
pub(crate) enum Test {
    Compare(Comparator, Bound),
    BeginsWith(Bound),
    Between(Bound, Bound),
}

/// A text that a key is compared with.
#[derive(Debug)]
pub(crate) struct Bound {
    /// The template; `None` after a report.
    pub(crate) pieces: Option<Vec<Piece>>,
    /// The template as it is written, without its quotes.
    pub(crate) written: String,
    /// The place of the template.
    pub(crate) span: Span,
    /// Whether it is a number and not a text.
    pub(crate) is_number: bool,
}

/// Reads a key condition; `None` after a report.
pub(crate) fn parse(text: &Text) -> Option<Vec<Clause>> {
    let condition = match Condition::parse(text.as_str(), &Bindings::Literals) {
        Ok(condition) => condition,
        Err(error) => {
            text.report(CODE, text.locate(error.span), error.message);
            return None;
        }
    };
    let parts = match condition {
        Condition::All(parts) => parts,
        one => vec![one],
    };
    // Every part is looked at, so that each wrong one is reported.
    let clauses: Vec<_> = parts.into_iter().map(|part| clause(text, part)).collect();
    clauses.into_iter().collect()
}

fn clause(text: &Text, part: Condition) -> Option<Clause> {
    let (path, test) = match part {
        Condition::Compare(Operand::Path(path), comparator, operand)
            if comparator != Comparator::NotEqual =>
        {
            (path, Test::Compare(comparator, bound(text, operand)?))
        }
        Condition::BeginsWith(Operand::Path(path), operand) => {
            (path, Test::BeginsWith(bound(text, operand)?))
        }
        Condition::Between(Operand::Path(path), low, high) => {
            let (low, high) = (bound(text, low), bound(text, high));
            (path, Test::Between(low?, high?))
        }
        _ => {
            text.report_here(CODE, "this cannot be asked of keys")
                .help("write `PK = '…'`, perhaps with `AND begins_with(SK, '…')`");
            return None;
        }
    };
    Some(Clause {
        attribute: key_name(text, path)?,
        test,
    })
}

fn key_name(text: &Text, path: Path) -> Option<(String, Span)> {
    let span = text.locate(path.span);
    if path.steps.is_empty() {
        return Some((path.root.into(), span));
    }
    let message = format!("`{path}` is inside an attribute; a key is a whole one");
    text.report(CODE, span, message);
    None
}

fn bound(text: &Text, operand: Operand) -> Option<Bound> {
    let (span, problem) = match operand {
        Operand::Value(Value::S(_), span) => {
            let inside = text.unquote(span.start..span.end);
            let pieces = match inside.as_str() {
                "" => {
                    text.report(CODE, inside.span(), "this key is empty");
                    None
                }
                _ => template::parse(&inside).filter(|pieces| template::is_separated(pieces, text)),
            };
            return Some(Bound {
                pieces,
                written: inside.as_str().to_owned(),
                span: inside.span(),
                is_number: false,
            });
        }
        Operand::Value(Value::N(number), span) => {
            let written = number.to_string();
            return Some(Bound {
                pieces: Some(vec![Piece::Text(written.clone())]),
                written,
                span: text.locate(span),
                is_number: true,
            });
        }
        Operand::Value(_, span) => (span, "keys are strings or numbers".to_owned()),
        Operand::Path(path) | Operand::Size(path) => (
            path.span,
            format!("`{path}` is not a text; a parameter stands inside one"),
        ),
    };
    text.report(CODE, text.locate(span), problem)
        .help("write a text with placeholders, such as `'USER#{userId}'`");
    None
}
