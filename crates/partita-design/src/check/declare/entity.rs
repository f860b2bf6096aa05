//! `[entity.X]` and `[every]`: attributes first, then keys.

use partita_core::Value;
use partita_core::expression::{Comparator, Condition, Operand};

use crate::check::declare::symbols::{DeclaredAttribute, DeclaredRecord, Symbols};
use crate::check::declare::{attribute, index, key, path, table, unique};
use crate::check::resolve::condition;
use crate::check::resolve::names::Names;
use crate::codes::Code;
use crate::design::{RecordId, SoftDelete};
use crate::document::{Field, Name, Section, Text};
use crate::expression::Reading;
use crate::syntax::attribute::{Head, LineValue};
use crate::types::{AttributeType, Shape};

/// What an entity says that deletes for good, whatever `[every]` says.
const NO_SOFT_DELETE: &str = "none";

/// What every entity has.
#[derive(Default)]
pub(crate) struct Every<'d> {
    attributes: Vec<DeclaredAttribute>,
    soft_delete: Option<&'d Text>,
    open: Option<bool>,
    pub(crate) is_broken: bool,
}

/// Reads `[every]`.
pub(crate) fn every<'d>(
    root: &mut Section<'d>,
    table: &table::Draft,
    shapes: &[Shape],
) -> Every<'d> {
    let Some(mut section) = root.section("every") else {
        return Every {
            is_broken: root.key_span("every").is_some(),
            ..Every::default()
        };
    };
    let every = Every {
        attributes: attribute::declare(section.section("attributes"), table, shapes),
        soft_delete: section.text("soft-delete").given(),
        open: section.bool("open").given(),
        is_broken: false,
    };
    section.finish();
    every
}

/// Reads which attributes an entity has.
pub(crate) fn declare(
    name: &Name,
    section: &mut Section<'_>,
    every: &Every<'_>,
    symbols: &Symbols,
) -> DeclaredRecord {
    // The order in which a message lists the keys that are known here.
    section.touch(&["about", "table", "attributes", "soft-delete"]);
    let table = section.text("table").given();
    let table = table.and_then(|text| index::find_table(text, &symbols.tables));
    let table = table.unwrap_or(0);
    let inner = section.section("attributes");
    let is_broken = inner.is_none() && section.key_span("attributes").is_some();
    let mut attributes = attribute::declare(inner, &symbols.tables[table], &symbols.shapes);
    attribute::unique_names(&attributes, section);
    for common in &every.attributes {
        if attributes.iter().all(|own| own.name != common.name) {
            attributes.push(common.clone());
        }
    }
    symbols.rename(&name.text, &mut attributes);
    DeclaredRecord {
        table,
        attributes,
        open: section.bool("open").given().or(every.open).unwrap_or(false),
        path: path::read(section),
        is_broken: is_broken || every.is_broken,
        ..DeclaredRecord::new(symbols.records.len(), name, section)
    }
}

/// Reads the keys and what else does not need other records.
pub(crate) fn keys(
    id: RecordId,
    section: &mut Section<'_>,
    every: &Every<'_>,
    symbols: &mut Symbols,
) {
    let record = &symbols[id];
    let table = symbols.table(record);
    let names = Names::own(symbols, record);
    let keys = key::check(section, table, Some(&names));
    let native = |name: &str| {
        let found = record.attributes.iter().find(|one| one.name == name)?;
        let kind = found.kind.clone().unwrap_or(AttributeType::Any);
        Some((kind, found.optional, found.span))
    };
    let indexes = key::check_indexes(section, table, Some(&names), &native);
    let discriminator = key::discriminator(section, table, (record.title(), record.span));
    let soft_delete = match section.text("soft-delete") {
        Field::Absent => every.soft_delete.map_or(Field::Absent, Field::Given),
        Field::Given(text) if text.as_str() == NO_SOFT_DELETE => Field::Absent,
        own => own,
    };
    let mut purge_after_days = None;
    let soft_delete = soft_delete.and_then(|text| {
        let (soft_delete, after_days) = read_soft_delete(text, record)?;
        purge_after_days = after_days;
        Some(soft_delete)
    });
    let unique = unique::check(section, &names);
    let record = &mut symbols[id];
    record.keys = keys;
    record.indexes = indexes.keys;
    record.broken_indexes = indexes.broken;
    record.discriminator = discriminator;
    record.soft_delete = soft_delete;
    record.purge_after_days = purge_after_days;
    record.unique = unique;
    key::check_identity(record);
    attribute::lost(record);
}

/// Reads what marks a deleted item, and after how many days it is purged.
fn read_soft_delete(text: &Text, record: &DeclaredRecord) -> Option<(SoftDelete, Option<u32>)> {
    let Some((name, age)) = purge_clause(text.as_str()) else {
        return Some((read_mark(text, text.as_str().trim(), record)?, None));
    };
    let Some(days) = purge_days(age) else {
        let message = format!("`{age}` is no age of whole days");
        text.report_here(Code::SoftDeleteFlag, message)
            .help("write `purge after 30 days`: 1 to 36500");
        return None;
    };
    if !name.contains([' ', '='])
        && let SoftDelete::Time(name) = read_mark(text, name, record)?
    {
        return Some((SoftDelete::Time(name), Some(days)));
    }
    let message = "nothing says when an item was deleted, so it has no age to be purged by";
    text.report_here(Code::SoftDeleteFlag, message)
        .help("let a `timestamp?` mark what is deleted, or leave out `purge after`");
    None
}

/// What marks a deleted item, and the age in `, purge after 30 days` behind it.
fn purge_clause(text: &str) -> Option<(&str, &str)> {
    let (mark, clause) = text.rsplit_once(',')?;
    let age = clause.trim().strip_prefix("purge after ")?;
    Some((mark.trim(), age.trim()))
}

fn purge_days(age: &str) -> Option<u32> {
    let (count, unit) = age.split_once(' ')?;
    let days = count
        .parse()
        .ok()
        .filter(|days| (1..=36_500).contains(days))?;
    let is_unit = if days == 1 {
        unit == "day"
    } else {
        unit == "days"
    };
    is_unit.then_some(days)
}

fn read_mark(text: &Text, name: &str, record: &DeclaredRecord) -> Option<SoftDelete> {
    if name.contains([' ', '=']) {
        return soft_delete_value(text, record);
    }
    let flag = record.resolve(name, text.span())?;
    let kind = flag.kind.as_ref()?;
    let starts_clear = matches!(
        flag.line.value,
        Some((LineValue::Default(Value::Bool(false)), _))
    );
    if *kind == AttributeType::Bool && starts_clear && !flag.optional {
        return Some(SoftDelete::Flag(flag.name.clone()));
    }
    if kind.time_form().is_some() && flag.optional && flag.line.value.is_none() {
        return Some(SoftDelete::Time(flag.name.clone()));
    }
    let help = match kind.time_form() {
        Some(_) => format!("write `{name} = \"timestamp?\"`, without a value"),
        None => format!("write `{name} = \"bool default false\"`"),
    };
    let message = format!("`{name}` cannot be the flag of a soft delete");
    text.report_here(Code::SoftDeleteFlag, message)
        .help(help)
        .related(flag.span, "declared here");
    None
}

/// `status = 'deleted'`.
fn soft_delete_value(text: &Text, record: &DeclaredRecord) -> Option<SoftDelete> {
    let tree = condition::parse(text)?;
    let Condition::Compare(Operand::Path(path), Comparator::Equal, Operand::Value(deleted, at)) =
        tree
    else {
        let message = "a soft delete is one attribute that has one value";
        text.report_here(Code::SoftDeleteFlag, message)
            .help("write `soft-delete = \"status = 'deleted'\"`");
        return None;
    };
    let name = path.to_string();
    let attribute = record.resolve_used(&name, text.locate(path.span))?;
    let kind = attribute.kind.as_ref()?;
    if let Err(expected) = kind.check(&deleted) {
        let message = format!("`{name}` is never this: it must be {expected}");
        text.report(Code::ComparisonType, text.locate(at), message);
        return None;
    }
    let first = match (kind, &attribute.line.value) {
        (_, Some((LineValue::Default(value), _))) => Some(value.clone()),
        // An item begins with the first state.
        (AttributeType::State(states), _) => states.names.first().map(|one| one.as_str().into()),
        _ => None,
    };
    let Some(restored) = first.filter(|value| *value != deleted) else {
        let message = format!("nothing says what `{name}` is after the item is restored");
        let help = match kind {
            AttributeType::State(_) => format!("let the first state of `{name}` be another one"),
            _ => format!("give `{name}` a default"),
        };
        text.report_here(Code::SoftDeleteFlag, message)
            .help(help)
            .related(attribute.span, "declared here");
        return None;
    };
    Some(SoftDelete::Value {
        attribute: attribute.name.clone(),
        deleted,
        restored,
    })
}

/// Copies of copies of copies.
const COPIES_MAX: usize = 16;

/// Gives attributes with `copy` the type of what they follow. Copies of copies take as many
/// rounds as they are long. What is left then follows a value of any type, or itself, which is
/// reported when the design is complete.
pub(crate) fn type_copies(symbols: &mut Symbols) {
    for _ in 0..COPIES_MAX {
        let found = typed_copies(symbols, |reading| reading.kind != AttributeType::Any);
        if found.is_empty() {
            let rest = typed_copies(symbols, |_| true);
            give_types(symbols, rest);
            return;
        }
        give_types(symbols, found);
    }
    for (index, place, ..) in typed_copies(symbols, |_| true) {
        let span = symbols.records[index].attributes[place].span;
        let message = format!("copies follow copies over at most {COPIES_MAX} items");
        symbols.report(Code::TooLarge, span, message);
    }
}

/// An attribute of a record, with its type and whether it may be missing.
type TypedCopy = (usize, usize, AttributeType, bool);

/// The copies that have no type so far and follow such values.
fn typed_copies(symbols: &Symbols, is_known: impl Fn(&Reading) -> bool) -> Vec<TypedCopy> {
    let mut found = Vec::new();
    for (index, record) in symbols.records.iter().enumerate() {
        for (place, declared) in record.attributes.iter().enumerate() {
            let (None, Some(Head::Copy(path))) = (&declared.kind, &declared.line.head) else {
                continue;
            };
            let names = Names::of(symbols, record);
            let reading = names.find_silently(&path.path());
            if let Some(reading) = reading.filter(|one| is_known(one)) {
                found.push((index, place, reading.kind, reading.optional));
            }
        }
    }
    found
}

fn give_types(symbols: &mut Symbols, found: Vec<TypedCopy>) {
    for (index, place, kind, optional) in found {
        let declared = &mut symbols.records[index].attributes[place];
        declared.kind = Some(kind);
        declared.optional |= optional;
    }
}

/// Makes copies optional whose refs may lead nowhere. Which attributes a ref is made of is known
/// only with the keys of its target. Copies of copies take as many rounds as they are long.
pub(crate) fn loosen_copies(symbols: &mut Symbols) {
    loop {
        let mut found = Vec::new();
        for (index, record) in symbols.records.iter().enumerate() {
            for (place, declared) in record.attributes.iter().enumerate() {
                let (false, Some(Head::Copy(path))) = (declared.optional, &declared.line.head)
                else {
                    continue;
                };
                let reading = Names::of(symbols, record).find_silently(&path.path());
                if reading.is_some_and(|reading| reading.optional) {
                    found.push((index, place));
                }
            }
        }
        if found.is_empty() {
            return;
        }
        for (index, place) in found {
            symbols.records[index].attributes[place].optional = true;
        }
    }
}
