//! What a write causes: the effects of triggers and actions.

mod assignments;
mod outgoing;

use crate::check::compile::reference;
use crate::check::declare::symbols::DeclaredRecord;
use crate::check::resolve::condition;
use crate::check::resolve::each::{self, Element};
use crate::check::resolve::names::{Meaning, Names};
use crate::codes::Code;
use crate::design::{Assignments, Effect, EffectKind, EffectTarget, Pattern, RecordId, RefTo};
use crate::document::{Field, Section, Text};
use crate::expression::Predicate;
use crate::syntax::reference as syntax;
use assignments::changes;
pub(crate) use assignments::{assignments, flatten};

/// Reads an effect; `None` after a report. `names` is the scope of the item that causes it.
pub(crate) fn check(
    section: &mut Section<'_>,
    names: &Names<'_>,
    patterns: &[Option<Pattern>],
) -> Option<Effect> {
    let each = section.text("each");
    let element = each.and_then(|text| each::over_any(text, names, patterns));
    let inner = match &element {
        Field::Given(Element { each, meaning }) => names.clone().with(&each.name, meaning.clone()),
        Field::Absent => names.clone(),
        // Without the element, its name would be taken for a misspelt attribute.
        Field::Broken => return touch_all(section),
    };
    let distinct = section.text("distinct");
    let distinct = distinct.and_then(|text| each::distinct(text, &inner));
    let when = predicate(section, "when", &inner);
    let require = predicate(section, "require", &inner);
    let known = [&when, &require]
        .into_iter()
        .filter_map(|field| match field {
            Field::Given(predicate) => Some(predicate),
            _ => None,
        });
    let inner = inner.given(known);
    let operation = operation(section);
    if let Some((kind, text)) = operation
        && kind.is_outgoing()
    {
        let target = outgoing::target(section, kind, text, &inner);
        return Some(Effect {
            kind,
            each: element.optional()?.map(|element| element.each),
            distinct: distinct.optional()?,
            when: when.optional()?,
            require: require.optional()?,
            target: target?,
            changes: Assignments::default(),
        });
    }
    let target = operation.and_then(|(kind, text)| {
        let target = target(kind, text, &inner)?;
        Some((kind, text, target))
    });
    let Some((kind, text, target)) = target else {
        return touch_all(section);
    };
    let changes = changes(section, kind, target.records(), text.span(), &inner);
    Some(Effect {
        kind,
        target,
        each: element.optional()?.map(|element| element.each),
        distinct: distinct.optional()?,
        when: when.optional()?,
        require: require.optional()?,
        changes: changes?,
    })
}

fn touch_all(section: &mut Section<'_>) -> Option<Effect> {
    section.touch(&[
        "each", "distinct", "when", "require", "create", "upsert", "update", "delete", "with",
        "set", "add", "remove", "mail", "subject", "text", "send",
    ]);
    None
}

/// Reads a condition of a section.
pub(crate) fn predicate(
    section: &mut Section<'_>,
    key: &str,
    names: &Names<'_>,
) -> Field<Predicate> {
    let text = section.text(key);
    text.and_then(|text| condition::check_at(&section.place, text, names))
}

/// The one operation of an effect.
fn operation<'d>(section: &mut Section<'d>) -> Option<(EffectKind, &'d Text)> {
    let mut found: Option<(EffectKind, &Text)> = None;
    let mut is_broken = false;
    for (kind, word) in EffectKind::WORDS {
        // An action's own `delete = true` is no effect.
        if word == "delete" && !section.is_text("delete") && section.key_span("delete").is_some() {
            section.touch(&["delete"]);
            continue;
        }
        match section.text(word) {
            Field::Absent => {}
            Field::Broken => is_broken = true,
            Field::Given(text) if found.is_none() => found = Some((kind, text)),
            Field::Given(_) => {
                let span = section.key_span(word).unwrap_or(section.span);
                let message = "an effect does one thing";
                section
                    .report(Code::NeedlessKey, span, message)
                    .help("write another trigger, or another `then`, for the second");
            }
        }
    }
    if found.is_none() && !is_broken {
        section.missing("update", "\"user\"` or `create = \"Notification\"");
    }
    found
}

/// The item that an effect is done to, and what it can be.
fn target(kind: EffectKind, text: &Text, names: &Names<'_>) -> Option<EffectTarget> {
    let line = syntax::parse_target(text)?;
    if line.broken {
        return None;
    }
    let (name, span) = &line.target;
    let symbols = names.symbols;
    if matches!(kind, EffectKind::Create | EffectKind::Upsert) {
        let record = symbols.resolve(&line.target)?;
        if record.view.is_some() || !line.arguments.is_empty() {
            let message = match record.view {
                Some(_) => format!("`{name}` is a view, which follows its source"),
                None => "the identity of a new item is given by `with`".to_owned(),
            };
            text.report(Code::EffectTarget, *span, message);
            return None;
        }
        return Some(EffectTarget::Entity(record.id));
    }
    if let Some((_, Meaning::Item(record, _))) = names.extra.iter().find(|(known, _)| known == name)
    {
        return Some(EffectTarget::Element(*record));
    }
    let refs = names.record.into_iter().flat_map(|record| &record.refs);
    if let Some(found) = refs.chain(names.refs).find(|one| one.name.0 == *name) {
        let mut records: Vec<RecordId> = Vec::new();
        for target in &found.targets {
            match target.as_ref()?.to {
                RefTo::Record(record) => records.push(record),
                RefTo::Constants(_) => {
                    let message = format!("`{name}` leads to constants, which do not change");
                    text.report(Code::EffectTarget, *span, message);
                    return None;
                }
            }
        }
        return Some(EffectTarget::Ref {
            name: name.clone(),
            records,
        });
    }
    by_identity(&line, text, names)
}

/// `ConversationMember(userId = member)`.
fn by_identity(line: &syntax::Line, text: &Text, names: &Names<'_>) -> Option<EffectTarget> {
    let (name, span) = &line.target;
    let Some(record) = names.symbols.find(name) else {
        let refs = names.record.into_iter().flat_map(|record| &record.refs);
        let refs = refs.map(|one| one.name.0.as_str());
        let records = names.symbols.records.iter().map(DeclaredRecord::title);
        let (code, what) = (Code::UnknownRef, "ref, entity or view");
        text.report
            .unknown(code, *span, what, name, refs.chain(records));
        return None;
    };
    let identity = record.identity()?;
    let bound = reference::bind_readings(line, &identity, record, names, text.span())?;
    let parts = bound.into_iter().map(|(part, reading, _)| (part, reading));
    Some(EffectTarget::Identity {
        record: record.id,
        parts: parts.collect(),
    })
}
