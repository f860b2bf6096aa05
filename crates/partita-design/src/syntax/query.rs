//! The key conditions of patterns: `PK = 'USER#{userId}' AND begins_with(SK, 'STORY#')`.

use partita_core::Value;
use partita_core::expression::{Bindings, Comparator, Condition, Operand, Path, Span};

use super::template::{self, Piece};
use crate::codes::Code;
use crate::diagnostic::Report;
use crate::document::Text;

/// One requirement of a key condition.
#[derive(Debug)]
pub(crate) struct Clause {
    /// The key attribute, and its place.
    pub(crate) attribute: (String, Span),
    pub(crate) is_prefix: bool,
    /// The template; `None` after a report.
    pub(crate) pieces: Option<Vec<Piece>>,
    /// The template as it is written, without its quotes.
    pub(crate) written: String,
    /// The place of the template.
    pub(crate) span: Span,
}

/// Reads a key condition; `None` after a report.
pub(crate) fn parse(text: &Text, report: &mut Report) -> Option<Vec<Clause>> {
    let condition = match Condition::parse(text.as_str(), &Bindings::Literals) {
        Ok(condition) => condition,
        Err(error) => {
            report.add(Code::PatternSyntax, text.locate(error.span), error.message);
            return None;
        }
    };
    let parts = match condition {
        Condition::All(parts) => parts,
        one => vec![one],
    };
    // Every part is looked at, so that each wrong one is reported.
    let clauses: Vec<_> = parts
        .into_iter()
        .map(|part| clause(text, part, report))
        .collect();
    clauses.into_iter().collect()
}

fn clause(text: &Text, part: Condition, report: &mut Report) -> Option<Clause> {
    let (path, operand, is_prefix) = match part {
        Condition::Compare(Operand::Path(path), Comparator::Equal, operand) => {
            (path, operand, false)
        }
        Condition::BeginsWith(Operand::Path(path), operand) => (path, operand, true),
        Condition::Compare(Operand::Path(path), comparator, _)
            if comparator != Comparator::NotEqual =>
        {
            let what = format!("a range with `{}`", comparator.symbol());
            report.not_supported(text.locate(path.span), &what);
            return None;
        }
        Condition::Between(Operand::Path(path), ..) => {
            report.not_supported(text.locate(path.span), "a range with `BETWEEN`");
            return None;
        }
        _ => {
            report
                .add(
                    Code::PatternSyntax,
                    text.span(),
                    "this cannot be asked of keys",
                )
                .help("write `PK = '…'`, perhaps with `AND begins_with(SK, '…')`");
            return None;
        }
    };
    let attribute = key_name(text, path, report);
    let (pieces, written, span) = template(text, operand, report)?;
    Some(Clause {
        attribute: attribute?,
        is_prefix,
        pieces,
        written,
        span,
    })
}

fn key_name(text: &Text, path: Path, report: &mut Report) -> Option<(String, Span)> {
    let span = text.locate(path.span);
    if path.steps.is_empty() {
        return Some((path.root, span));
    }
    report.add(
        Code::PatternSyntax,
        span,
        format!("`{path}` is inside an attribute; a key is a whole one"),
    );
    None
}

type Template = (Option<Vec<Piece>>, String, Span);

fn template(text: &Text, operand: Operand, report: &mut Report) -> Option<Template> {
    let (span, problem) = match operand {
        Operand::Value(Value::S(_), span) => {
            let inside = text.unquote(span.start..span.end);
            let pieces = match inside.as_str() {
                "" => {
                    report.add(Code::PatternSyntax, inside.span(), "this key is empty");
                    None
                }
                _ => template::parse(&inside, report),
            };
            return Some((pieces, inside.as_str().to_owned(), inside.span()));
        }
        Operand::Value(_, span) => (span, "the keys of the table are strings".to_owned()),
        Operand::Path(path) | Operand::Size(path) => (
            path.span,
            format!("`{path}` is not a text; a parameter stands inside one"),
        ),
    };
    report
        .add(Code::PatternSyntax, text.locate(span), problem)
        .help("write a text with placeholders, such as `'USER#{userId}'`");
    None
}
