//! The parts of an attribute's line against each other.

use partita_core::expression::Span;

use crate::check::declare::symbols::{DeclaredAttribute, DeclaredRecord, Symbols};
use crate::codes::Code;
use crate::syntax::attribute::{Head, LineValue};
use crate::types::AttributeType;

/// Holds the parts of a line against each other.
pub(super) fn agree(
    declared: &DeclaredAttribute,
    record: &DeclaredRecord,
    symbols: &Symbols,
) -> bool {
    let line = &declared.line;
    let before = symbols.report.len();
    generated(declared, symbols);
    let kind = declared.kind.as_ref();
    let is_counter = matches!(kind, Some(AttributeType::Counter | AttributeType::Version));
    let is_state = matches!(kind, Some(AttributeType::State(_)));
    let is_typed = matches!(line.head, Some(Head::Typed(_)));
    let is_computed = matches!(
        line.value,
        Some((LineValue::Computed(..) | LineValue::CasesComputed(_), _))
    );
    let value_span = line.value.as_ref().map(|(_, span)| *span);
    let exclusive: [(Option<Span>, bool, &str); 7] = [
        (
            line.fixed,
            line.movable.is_some(),
            "what is `fixed` is not `movable`",
        ),
        (
            value_span,
            is_typed && is_counter,
            "a counter or version starts by itself and changes by itself",
        ),
        (
            value_span,
            is_state && !is_computed,
            "a state begins with its first name",
        ),
        (
            line.is_virtual,
            !is_computed,
            "only a computed value is `virtual`",
        ),
        (
            line.key_only,
            line.is_virtual.is_some(),
            "what is `virtual` is not stored in a key",
        ),
        (
            line.rising,
            kind.is_none_or(|kind| kind.time_form().is_none()) || !is_computed,
            "only a computed time is `rising`",
        ),
        (
            line.per.as_ref().map(|(_, (_, span))| *span),
            kind != Some(&AttributeType::Counter),
            "only a counter starts again",
        ),
    ];
    for (span, is_wrong, message) in exclusive {
        if let Some(span) = span.filter(|_| is_wrong) {
            symbols.report(Code::ConflictingClauses, span, message);
        }
    }
    if let Some((_, (name, span))) = &line.per
        && let Some(time) = record.resolve(name, *span)
        && time
            .kind
            .as_ref()
            .is_some_and(|kind| kind.time_form().is_none())
    {
        let message = format!("`{name}` is no time");
        symbols
            .report(Code::ValueType, *span, message)
            .related(time.span, "declared here");
    }
    if let Some((prefix, span)) = &line.file_in
        && !symbols.prefixes.contains(prefix)
        && !symbols.is_broken
    {
        let message = format!("no bucket has a prefix `{prefix}`");
        symbols
            .report(Code::UnknownRecord, *span, message)
            .suggest(prefix, symbols.prefixes.iter().map(String::as_str));
    }
    if let Some((name, span)) = &line.file_at {
        file_at(declared, name, *span, record);
    }
    symbols.report.len() == before
}

/// `file at` needs one text to put the object's name into, and another that says what that is.
fn file_at(declared: &DeclaredAttribute, name: &str, span: Span, record: &DeclaredRecord) {
    let is_text = |kind: &AttributeType| matches!(kind, AttributeType::String(_));
    if let Some((_, other)) = &declared.line.file_in {
        let message = "a file is `in` a prefix or `at` a name, not both";
        record.report(Code::ConflictingClauses, *other, message);
    }
    if !declared.kind.as_ref().is_none_or(is_text) {
        let message = "only a `string` names a file";
        record.report(Code::ConflictingClauses, span, message);
    }
    let Some(target) = record.resolve(name, span) else {
        return;
    };
    if target.name == declared.name || !target.kind.as_ref().is_none_or(is_text) {
        let message = format!("`{name}` does not say where the file is to be");
        record
            .report(Code::ValueType, span, message)
            .related(target.span, "declared here")
            .help("name another attribute, a `string`, that is the name of the object");
    }
}

fn generated(declared: &DeclaredAttribute, symbols: &Symbols) {
    let Some(span) = declared.line.generated else {
        return;
    };
    let kind = declared.kind.as_ref();
    let can_be = [AttributeType::Ulid, AttributeType::Uuid, AttributeType::Id];
    if !kind.is_none_or(|kind| can_be.contains(kind)) {
        symbols
            .report(
                Code::CannotGenerate,
                span,
                "only a `ulid`, a `uuid` or an `id` can be generated",
            )
            .help(match kind.and_then(AttributeType::time_form) {
                Some(_) => "write `timestamp = now on create`",
                None => "write `ulid, generated`, or leave `generated` out",
            });
    } else if let Some((_, value)) = &declared.line.value {
        symbols
            .report(
                Code::ConflictingClauses,
                span,
                "a generated value has no default and is not computed",
            )
            .related(*value, "the other value");
    }
}
