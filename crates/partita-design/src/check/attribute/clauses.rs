//! The parts of an attribute's line against each other, and which parts of the language they are.

use partita_core::expression::Span;

use super::super::world::{Declared, Record, Uses, World};
use crate::codes::Code;
use crate::design::{Computed, Construct, Source, Timing};
use crate::diagnostic::Report;
use crate::syntax::attribute::{Head, LineValue};
use crate::types::AttributeType;

/// Holds the parts of a line against each other.
pub(super) fn agree(
    declared: &Declared,
    record: &Record,
    world: &World,
    report: &mut Report,
) -> bool {
    let line = &declared.line;
    let before = report.findings().len();
    generated(declared, report);
    let kind = declared.kind.as_ref();
    let is_counter = matches!(kind, Some(AttributeType::Counter | AttributeType::Version));
    let is_state = matches!(kind, Some(AttributeType::State(_)));
    let is_typed = matches!(line.head, Some(Head::Typed(_)));
    let is_computed = matches!(
        line.value,
        Some((LineValue::Computed(..) | LineValue::CasesComputed, _))
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
            report.add(Code::ConflictingClauses, span, message);
        }
    }
    if let Some((_, (name, span))) = &line.per
        && let Some(time) = record.resolve(name, *span, report)
        && time
            .kind
            .as_ref()
            .is_some_and(|kind| kind.time_form().is_none())
    {
        let message = format!("`{name}` is no time");
        report
            .add(Code::ValueType, *span, message)
            .related(time.span, "declared here");
    }
    if let Some((prefix, span)) = &line.file_in
        && !world.prefixes.contains(prefix)
        && !world.is_broken
    {
        let message = format!("no bucket has a prefix `{prefix}`");
        report
            .add(Code::UnknownRecord, *span, message)
            .suggest(prefix, world.prefixes.iter().map(String::as_str));
    }
    report.findings().len() == before
}

pub(super) fn generated(declared: &Declared, report: &mut Report) {
    let Some(span) = declared.line.generated else {
        return;
    };
    let kind = declared.kind.as_ref();
    if !matches!(kind, Some(AttributeType::Ulid | AttributeType::Uuid) | None) {
        report
            .add(
                Code::CannotGenerate,
                span,
                "only a `ulid` or a `uuid` can be generated",
            )
            .help(match kind.and_then(AttributeType::time_form) {
                Some(_) => "write `timestamp = now on create`",
                None => "write `ulid, generated`, or leave `generated` out",
            });
    } else if let Some((_, value)) = &declared.line.value {
        report
            .add(
                Code::ConflictingClauses,
                span,
                "a generated value has no default and is not computed",
            )
            .related(*value, "the other value");
    }
}

/// Notes the parts of the language that an attribute uses.
pub(super) fn note(declared: &Declared, source: &Source, record: &Record, uses: &mut Uses) {
    let line = &declared.line;
    let name = &declared.name;
    let span = declared.span;
    let mut note =
        |construct, words: &str| uses.note(construct, format!("{words} (`{name}`)"), span);
    if name.contains('.') {
        note(Construct::NestedAttribute, "an attribute inside a map");
    }
    match &declared.kind {
        Some(AttributeType::State(_)) => note(Construct::State, "`state`"),
        Some(AttributeType::Version) => note(Construct::Version, "`version`"),
        Some(AttributeType::Expiry) => note(Construct::Expiry, "`expiry`"),
        Some(AttributeType::Counter) if matches!(line.head, Some(Head::Typed(_))) => {
            note(Construct::Counter, "`counter`");
        }
        Some(AttributeType::Uuid) if line.generated.is_some() => {
            note(Construct::GeneratedUuid, "a generated `uuid`");
        }
        _ => {}
    }
    match source {
        Source::Aggregate(_) => note(Construct::Aggregate, "`count of` or `sum of`"),
        Source::Copy(_) => note(Construct::Copy, "`copy`"),
        Source::Computed(Computed { value, timing }) => {
            let is_plain = value.is_now()
                && matches!(timing, Timing::Create | Timing::Write)
                && declared.kind == Some(AttributeType::timestamp());
            if !is_plain {
                note(Construct::ComputedValue, "a computed value");
            }
        }
        Source::Given {
            default: Some(default),
        } if default.literal().is_none() => {
            note(Construct::ComputedDefault, "a default with cases");
        }
        _ => {}
    }
    let is_part = record.is_identity(name);
    let flags = [
        (line.fixed.filter(|_| !is_part), Construct::Fixed, "`fixed`"),
        (line.movable, Construct::Movable, "`movable`"),
        (line.secret, Construct::Secret, "`secret`"),
        (line.is_virtual, Construct::Virtual, "`virtual`"),
        (
            line.file_in.as_ref().map(|(_, span)| *span),
            Construct::File,
            "`file in`",
        ),
        (line.per.as_ref().map(|_| span), Construct::Period, "`per`"),
    ];
    for (span, construct, words) in flags {
        if span.is_some() {
            note(construct, words);
        }
    }
}
