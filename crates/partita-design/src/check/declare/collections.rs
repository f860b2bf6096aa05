//! Lists that may grow without end.
//!
//! An item holds 400 KB, and a write that would make it larger fails, however small its part in
//! it was. What grows without a bound belongs into items of its own.

use partita_core::expression::Span;

use crate::check::declare::symbols::{DeclaredAttribute, Symbols};
use crate::codes::Code;
use crate::diagnostic::Report;
use crate::syntax::attribute::{Head, LineValue};
use crate::types::AttributeType;

/// Warns of attributes that are lists without a bound.
pub(crate) fn check(symbols: &Symbols) {
    // Those of `[every]` are declared once, and are in all entities.
    let mut seen: Vec<usize> = Vec::new();
    for record in &symbols.records {
        for declared in &record.attributes {
            let is_new = !seen.contains(&declared.span.start);
            if is_new && is_given(declared) && !has_records(symbols, record.title(), declared) {
                seen.push(declared.span.start);
                let place = format!("{}.{}", record.place, declared.name);
                let kind = declared.kind.as_ref();
                warn(&declared.name, kind, place, declared.span, &symbols.report);
            }
        }
    }
}

/// Warns of a field of a shape or an attribute, if it is a list without a bound.
pub(crate) fn warn(
    name: &str,
    kind: Option<&AttributeType>,
    place: String,
    span: Span,
    report: &Report,
) {
    if kind.is_some_and(is_unbounded) {
        let message = format!("nothing bounds `{name}`, and an item holds 400 KB");
        report
            .add(Code::UnboundedList, span, message)
            .help("write how many there are at most, such as `list of string ..100`, or make each an item")
            .acceptable(vec![vec![place]]);
    }
}

fn is_unbounded(kind: &AttributeType) -> bool {
    match kind {
        AttributeType::List { element, count } => count.max.is_none() || is_unbounded(element),
        _ => false,
    }
}

/// Whether callers and effects write it; what is computed is as long as what it is computed from.
fn is_given(declared: &DeclaredAttribute) -> bool {
    let is_typed = matches!(declared.line.head, Some(Head::Typed(_)));
    let is_computed = matches!(
        declared.line.value,
        Some((LineValue::Computed(..) | LineValue::CasesComputed(_), _))
    );
    declared.is_own && is_typed && !is_computed
}

/// Whether a view has a record for each element, which needs a bound anyway.
fn has_records(symbols: &Symbols, of: &str, declared: &DeclaredAttribute) -> bool {
    symbols.records.iter().any(|record| {
        let view = record.view.as_ref();
        let source = view.and_then(|view| view.source);
        let element = view.and_then(|view| view.element.as_ref());
        source.is_some_and(|source| symbols[source].title() == of)
            && element.is_some_and(|element| element.list == declared.name)
    })
}
