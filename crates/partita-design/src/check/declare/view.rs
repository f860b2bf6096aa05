//! `[view.X]`: which entity a view is of, then its attributes and keys.

mod element;
mod kept;

use partita_core::expression::{Bindings, Condition};

use crate::check::declare::reference::DeclaredRef;
use crate::check::declare::symbols::{DeclaredAttribute, DeclaredRecord, Element, Symbols, ViewOf};
use crate::check::declare::{attribute, key, table};
use crate::check::resolve::each;
use crate::check::resolve::names::{Meaning, Names};
use crate::check::resolve::value::{Sort, Values};
use crate::codes::Code;
use crate::design::RecordId;
use crate::document::{Field, Name, Section, Text};
use crate::expression::{Formula, Origin};
use crate::syntax::attribute::{Head, Line, LineValue};
use crate::types::AttributeType;
pub(crate) use element::with_element;
use element::{list_of, unbounded};
use kept::{implied_expiry, keep, mark_implied, stored};

/// Reads which entity a view is of.
pub(crate) fn declare(name: &Name, section: &mut Section<'_>, symbols: &Symbols) -> DeclaredRecord {
    if let Some(entity) = symbols
        .entities()
        .find(|entity| entity.title() == name.text)
    {
        let message = format!("`{}` is an entity already", name.text);
        name.report(Code::DuplicateName, message)
            .related(entity.span, "the entity");
    }
    section.touch(&["about"]);
    let history = section.text("history-of");
    let of = match &history {
        Field::Absent => section.required_text("of", "\"Story\"").given(),
        other => {
            if let Some(span) = section.key_span("of") {
                let message = "a view is either `of` or `history-of` an entity";
                section
                    .report(Code::NeedlessKey, span, message)
                    .help("leave one of the two out");
            }
            section.touch(&["of"]);
            other.clone().given()
        }
    };
    let source = of.and_then(|of| source(of, symbols));
    let refs = source.map(|source| DeclaredRef::source(source, section.span));
    DeclaredRecord {
        table: source.map_or(0, |source| symbols[source].table),
        refs: refs.into_iter().collect(),
        unique: Some(Vec::new()),
        view: Some(ViewOf {
            source,
            history: !history.is_absent(),
            when: peek_when(section),
            ..ViewOf::default()
        }),
        is_broken: source.is_none(),
        ..DeclaredRecord::new(symbols.records.len(), name, section)
    }
}

/// The condition of a view, before anything in it is resolved. One that cannot be read is reported
/// later, and might be any.
fn peek_when(section: &Section<'_>) -> Option<Condition> {
    let text = section.peek_text("when")?;
    let parsed = Condition::parse(text, &Bindings::Literals);
    Some(parsed.unwrap_or(Condition::Any(Vec::new())))
}

fn source(of: &Text, symbols: &Symbols) -> Option<RecordId> {
    let found = symbols.entities().find(|one| one.title() == of.as_str());
    if found.is_none() {
        let known = symbols.entities().map(DeclaredRecord::title);
        of.unknown(Code::UnknownRecord, "entity", known);
    }
    found.map(|record| record.id)
}

/// Reads the attributes and keys of a view, whose source is known.
pub(crate) fn keys(id: RecordId, section: &mut Section<'_>, symbols: &mut Symbols) {
    let record = &symbols[id];
    let table = symbols.table(record);
    let inner = section.section("attributes");
    let mut own = attribute::declare(inner, table, &symbols.shapes);
    symbols.rename(record.title(), &mut own);
    let Some(source) = record.view.as_ref().and_then(|view| view.source) else {
        return parse_only(section, table);
    };
    let source = &symbols[source];
    let outer = Names::of_source(symbols, source);
    let each = section.text("each");
    let each = each.and_then(|text| each::over_list(text, &outer));
    if matches!(each, Field::Broken) {
        // Without the element, its name would be taken for a misspelt attribute.
        parse_only(section, table);
        symbols[id].is_broken = true;
        return;
    }
    let element = match &each {
        Field::Given((each, kind)) => {
            unbounded(each, section);
            Some(Element {
                name: each.name.clone(),
                kind: kind.clone(),
                list: list_of(each),
            })
        }
        _ => None,
    };
    let names = with_element(outer, element.as_ref());
    let derived = derive(&mut own, &names);
    let inner = inner_names(&own, names);
    let keys = key::check(section, table, Some(&inner));
    let kept = section.peek_texts("keep");
    let native = |name: &str| stored(name, &own, &kept, source);
    let indexes = key::check_indexes(section, table, Some(&inner), &native);
    let discriminator = key::discriminator(section, table, (record.title(), record.span));
    let keep = match section.texts("keep", false) {
        Field::Given(names) => keep(&names, source),
        Field::Absent => Some(Vec::new()),
        Field::Broken => None,
    };
    let is_broken = keep.is_none() || source.is_broken;
    let is_history = record.view.as_ref().is_some_and(|view| view.history);
    let ttl = table.ttl.as_ref().filter(|_| !is_history);
    let implied = ttl.and_then(|(ttl, _)| implied_expiry(ttl, &own, keep.as_deref()?, source));
    let keep = keep.map(|kept| kept.into_iter().chain(implied.clone()).collect::<Vec<_>>());
    let mut attributes = attributes(own, source, &keys, keep.as_deref(), element.as_ref());
    if let Some(implied) = &implied {
        mark_implied(implied, &mut attributes, &keys);
    }
    let record = &mut symbols[id];
    record.keys = keys;
    record.indexes = indexes.keys;
    record.broken_indexes = indexes.broken;
    record.discriminator = discriminator;
    record.attributes = attributes;
    record.is_broken |= is_broken;
    if let Some(view) = &mut record.view {
        view.element = element;
        view.each = each.and_then(|(each, _)| Some(each));
        view.keep = keep;
        view.derived = derived;
    }
}

fn parse_only(section: &mut Section<'_>, table: &table::Draft) {
    key::check(section, table, None);
    key::check_indexes(section, table, None, &|_| None);
    section.touch(&["each", "keep", "when", "distinct", "allow"]);
    let spot = ("", section.span);
    key::discriminator(section, table, spot);
}

/// Computes the types of the attributes that begin with `=`; gives their values.
fn derive(own: &mut [DeclaredAttribute], names: &Names<'_>) -> Vec<(String, Formula)> {
    let mut derived = Vec::new();
    for declared in own {
        let (Some(Head::Untyped), Some((value, span))) =
            (&declared.line.head, &declared.line.value)
        else {
            continue;
        };
        let LineValue::Computed(raw, _) = value else {
            if !matches!(value, LineValue::Broken) {
                let message = "a value with cases needs a type";
                names.report(Code::AttributeSyntax, *span, message);
            }
            continue;
        };
        let mut values = Values::new(names);
        let Some(typed) = values.resolve(raw) else {
            continue;
        };
        declared.kind = match typed.sort {
            Sort::Kind(kind) => Some(kind),
            Sort::Span | Sort::Unknown => Some(AttributeType::Any),
        };
        declared.optional = typed.optional;
        let formula = Formula::plain(typed.expr, values.reads);
        derived.push((declared.name.clone(), formula));
    }
    derived
}

/// The names of the keys: the view's own attributes hide the source's.
pub(crate) fn inner_names<'w>(own: &[DeclaredAttribute], names: Names<'w>) -> Names<'w> {
    let with_own = own.iter().rev().fold(names, |names, declared| {
        let meaning = Meaning::Value {
            kind: declared.kind.clone().unwrap_or(AttributeType::Any),
            optional: declared.optional,
            origin: Origin::Item,
            stored: Some(declared.name.clone()),
        };
        names.with(&declared.name, meaning)
    });
    Names {
        with_refs: false,
        with_old: false,
        with_caller: false,
        ..with_own
    }
}

/// Everything that a record of the view has: its own attributes, what it keeps, and what its key
/// holds.
fn attributes(
    own: Vec<DeclaredAttribute>,
    source: &DeclaredRecord,
    keys: &key::Keys,
    keep: Option<&[String]>,
    element: Option<&Element>,
) -> Vec<DeclaredAttribute> {
    let mut attributes = own;
    for name in keep.unwrap_or_default() {
        if let Some(kept) = source.find(name)
            && attributes.iter().all(|one| one.name != kept.name)
        {
            attributes.push(DeclaredAttribute {
                is_own: false,
                ..kept.clone()
            });
        }
    }
    for hole in keys.holes() {
        let Some(name) = &hole.attribute else {
            continue;
        };
        if attributes.iter().any(|one| one.name == *name) {
            continue;
        }
        let is_element = element.is_some_and(|element| element.name == *name);
        let found = match source.find(name).filter(|_| !is_element) {
            Some(found) => found.clone(),
            None => DeclaredAttribute {
                kind: hole.kind.clone(),
                ..DeclaredAttribute::new(name.clone(), hole.span, Line::default())
            },
        };
        attributes.push(DeclaredAttribute {
            key_only: true,
            is_own: false,
            ..found
        });
    }
    attributes
}
