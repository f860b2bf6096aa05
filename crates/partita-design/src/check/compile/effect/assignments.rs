//! What an effect or an action writes: `with`, `set`, `add` and `remove`.

use partita_core::expression::Span;
use partita_core::wording::one;

use crate::check::declare::symbols::{DeclaredAttribute, DeclaredRecord};
use crate::check::resolve::names::Names;
use crate::check::resolve::value;
use crate::codes::Code;
use crate::design::{Assignments, EffectKind, RecordId};
use crate::document::{Content, Field, Name, Node, Section, Text};
use crate::expression::{Expr, Formula};
use crate::spelling;
use crate::syntax::attribute::Head;
use crate::types::AttributeType;

/// Reads what an effect writes into its target, which is one of some records.
pub(super) fn changes(
    section: &mut Section<'_>,
    kind: EffectKind,
    records: &[RecordId],
    span: Span,
    names: &Names<'_>,
) -> Option<Assignments> {
    let records: Vec<&DeclaredRecord> = records
        .iter()
        .map(|record| &names.symbols[*record])
        .collect();
    let keys: &[&str] = match kind {
        EffectKind::Create | EffectKind::Upsert => &["with"],
        EffectKind::Update => &["set", "add", "remove"],
        EffectKind::Delete | EffectKind::Mail | EffectKind::Send => &[],
    };
    let is_new = matches!(kind, EffectKind::Create | EffectKind::Upsert);
    for key in ["with", "set", "add", "remove"] {
        if let Some(span) = section.key_span(key).filter(|_| !keys.contains(&key)) {
            let message = format!("`{key}` has no effect here");
            section
                .report(Code::NeedlessKey, span, message)
                .help(match kind {
                    EffectKind::Delete => "leave it out",
                    EffectKind::Update => "write `set`, `add` or `remove`",
                    _ => "write `with`",
                });
        }
        section.touch(&[key]);
    }
    let assigned = assignments(section, keys, &records, names, is_new)?;
    if is_new {
        given(&assigned, &records, span, names)?;
        if kind == EffectKind::Upsert {
            identified(&assigned, &records, span, names)?;
        }
    } else if assigned.names().next().is_none() && kind == EffectKind::Update {
        section.missing("set", "{ status = \"done\" }");
        return None;
    }
    Some(assigned)
}

/// Reads `with`, `set`, `add` and `remove` over the attributes of some records.
pub(crate) fn assignments(
    section: &mut Section<'_>,
    keys: &[&str],
    records: &[&DeclaredRecord],
    names: &Names<'_>,
    is_new: bool,
) -> Option<Assignments> {
    let mut assigned = Assignments::default();
    let mut is_good = true;
    for key in keys {
        if *key == "remove" {
            match section.texts("remove", true) {
                Field::Absent => {}
                Field::Broken => is_good = false,
                Field::Given(texts) => {
                    let removed = remove(&texts, records);
                    is_good &= removed.is_some();
                    assigned.remove = removed.unwrap_or_default();
                }
            }
            continue;
        }
        if section.key_span(key).is_none() {
            section.touch(&[key]);
            continue;
        }
        let Some(mut values) = section.section(key) else {
            is_good = false;
            continue;
        };
        let mut leaves = Vec::new();
        flatten(String::new(), values.all(), &mut leaves);
        for (name, span, node) in leaves {
            let how = match *key {
                "add" => How::Add,
                _ if is_new => How::Create,
                _ => How::Set,
            };
            match assignment(&name, span, node, how, records, names) {
                Some(pair) if how == How::Add => assigned.add.push(pair),
                Some(pair) => assigned.set.push(pair),
                None => is_good = false,
            }
        }
    }
    twice(&assigned, section);
    is_good.then_some(assigned)
}

/// Values by their names, with dots inside maps. A list of cases is a value.
pub(crate) fn flatten<'d>(
    outer: String,
    entries: &'d [(Name, Node)],
    leaves: &mut Vec<(String, Span, &'d Node)>,
) {
    for (name, node) in entries {
        let whole = if outer.is_empty() {
            name.text.clone()
        } else {
            format!("{outer}.{}", name.text)
        };
        match &node.content {
            Content::Table(inner) => flatten(whole, inner, leaves),
            _ => leaves.push((whole, name.span, node)),
        }
    }
}

/// What is done to an attribute.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Create,
    Set,
    Add,
}

fn assignment(
    name: &str,
    span: Span,
    node: &Node,
    how: How,
    records: &[&DeclaredRecord],
    names: &Names<'_>,
) -> Option<(String, Formula)> {
    let mut kind: Option<AttributeType> = None;
    let mut stored = None;
    let mut may_be_missing = false;
    let mut declared = span;
    for record in records {
        let attribute = record.resolve_used(name, span)?;
        writable(record, attribute, how, span)?;
        may_be_missing = attribute.optional || attribute.has_initial() && how == How::Create;
        kind = attribute.kind.clone();
        stored = Some(attribute.name.clone());
        declared = attribute.span;
    }
    // Something is added to a number; whether the sum is in range is decided in the write.
    let target = match how {
        How::Add => Some(AttributeType::Number(Default::default())),
        _ => kind,
    };
    let (formula, optional) = value::formula(name, node, target.as_ref(), names)?;
    reachable(&formula, target.as_ref(), how, (node.span, declared), names)?;
    if optional && !may_be_missing && how != How::Add {
        let message = format!("`{name}` is required, but this may be missing");
        names
            .report(Code::MissingValue, node.span, message)
            .help("write what to take then, such as `{name | ''}`, or a `when` that excludes it");
        return None;
    }
    Some((stored?, formula))
}

/// A state that is set needs a step that leads to it; a new item has the first.
fn reachable(
    formula: &Formula,
    kind: Option<&AttributeType>,
    how: How,
    (span, declared): (Span, Span),
    names: &Names<'_>,
) -> Option<()> {
    let Some(AttributeType::State(states)) = kind else {
        return Some(());
    };
    for case in &formula.cases {
        let Expr::Literal(value) = &case.is else {
            continue;
        };
        let place = states
            .names
            .iter()
            .position(|name| value.as_str() == Some(name));
        let Some(place) = place else { continue };
        let word = &states.names[place];
        let is_led_to = states.steps.iter().any(|(_, to)| *to == place);
        let (message, help) = match how {
            How::Set if !is_led_to => (
                format!("no step leads to `{word}`"),
                format!("write `… -> {word}` among the steps"),
            ),
            How::Create if place != 0 => (
                format!("a new item is `{}`, not `{word}`", states.names[0]),
                "leave it out, and set the state later".to_owned(),
            ),
            _ => continue,
        };
        names
            .report(Code::NoSuchStep, span, message)
            .help(help)
            .related(declared, "the steps");
        return None;
    }
    Some(())
}

/// Whether an effect may write the attribute.
fn writable(
    record: &DeclaredRecord,
    attribute: &DeclaredAttribute,
    how: How,
    span: Span,
) -> Option<()> {
    let name = &attribute.name;
    let is_number = attribute
        .kind
        .as_ref()
        .is_none_or(AttributeType::is_numeric);
    let is_typed = matches!(attribute.line.head, Some(Head::Typed(_)));
    let is_own = record.view.is_none() || is_typed && record.is_own(name);
    let problem = match how {
        _ if !is_own => "belongs to the view's source, and follows it",
        How::Add if !is_number => "is no number, so nothing can be added",
        _ if attribute.is_computed() => "is computed, and cannot be set",
        How::Set if record.is_identity(name) && attribute.line.movable.is_none() => {
            "is part of the identity and never changes"
        }
        How::Set | How::Add if attribute.line.fixed.is_some() => "is `fixed` and never changes",
        How::Create if attribute.kind == Some(AttributeType::Counter) => {
            "is a counter, which starts at 0"
        }
        _ => return Some(()),
    };
    record
        .report(Code::NotWritable, span, format!("`{name}` {problem}"))
        .related(attribute.span, "declared here");
    None
}

fn remove(texts: &[&Text], records: &[&DeclaredRecord]) -> Option<Vec<String>> {
    let mut removed = Vec::new();
    for text in texts {
        let mut stored = None;
        for record in records {
            let attribute = record.resolve_used(text.as_str(), text.span())?;
            writable(record, attribute, How::Set, text.span())?;
            if !attribute.optional {
                let message = format!("`{}` is required and cannot be removed", text.as_str());
                text.report(Code::NotWritable, text.span(), message)
                    .related(attribute.span, "declared here");
                return None;
            }
            stored = Some(attribute.name.clone());
        }
        removed.extend(stored);
    }
    Some(removed)
}

/// A new item needs everything that has no default.
fn given(
    assigned: &Assignments,
    records: &[&DeclaredRecord],
    span: Span,
    names: &Names<'_>,
) -> Option<()> {
    let record = records.first()?;
    let is_given = |name: &str| assigned.names().any(|given| given == name);
    let missing: Vec<&str> = record
        .attributes
        .iter()
        .filter(|attribute| !attribute.has_initial() && !is_given(&attribute.name))
        .map(|attribute| attribute.name.as_str())
        .collect();
    if missing.is_empty() || record.is_broken {
        return Some(());
    }
    let message = format!(
        "{} needs {}, which nothing gives",
        one(record.title()),
        spelling::list(&missing)
    );
    names
        .report(Code::MissingInput, span, message)
        .help(format!(
            "write `{} = …` in `with`",
            missing.join(" = …`, `")
        ));
    None
}

/// An upsert finds its item by its identity, so that nothing of that is generated.
fn identified(
    assigned: &Assignments,
    records: &[&DeclaredRecord],
    span: Span,
    names: &Names<'_>,
) -> Option<()> {
    let record = records.first()?;
    let is_given = |name: &str| assigned.names().any(|given| given == name);
    let identity = record.identity()?;
    let attributes = identity
        .iter()
        .filter_map(|part| record.find(&part.attribute));
    let mut generated = attributes.filter(|one| one.line.generated.is_some());
    let Some(missing) = generated.find(|one| !is_given(&one.name)) else {
        return Some(());
    };
    let (title, name) = (record.title(), &missing.name);
    let message = format!(
        "an upsert finds its `{title}` by `{name}`, which nothing gives: it would always be a new one"
    );
    names
        .report(Code::MissingInput, span, message)
        .help(format!(
            "write `{name} = …` in `with`, or `create = \"{title}\"` for a new item each time"
        ));
    None
}

/// One effect sets one attribute once.
fn twice(assigned: &Assignments, section: &Section<'_>) {
    let names: Vec<&str> = assigned.names().collect();
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            let message = format!("`{name}` is written twice");
            section.report(Code::TwoWrites, section.span, message);
        }
    }
}
