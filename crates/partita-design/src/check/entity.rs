//! `[entity.X]` and `[every]`: declarations first, then keys, then everything that reads names.

use partita_core::expression::{Comparator, Condition, Operand, Span};

use super::Compiled;
use super::about;
use super::attribute::{self, Declarations};
use super::condition;
use super::key;
use super::names::Names;
use super::reference;
use super::rules;
use super::table;
use super::unique;
use super::url;
use super::world::{Declared, Record, World};
use crate::codes::Code;
use crate::design::{self, RecordId, Repeat, SoftDelete, TableId};
use crate::diagnostic::Report;
use crate::document::section::Excuse;
use crate::document::{Field, Name, Node, Section, Text};
use crate::syntax::attribute::{Head, LineValue};
use crate::types::AttributeType;

/// An entity's section while it is being read.
pub(crate) struct Pending<'d> {
    pub(crate) section: Section<'d>,
    /// The cases of its attributes.
    cases: Vec<(String, &'d [Node])>,
    about: Option<String>,
    /// The text of `soft-delete`, its own or that of `[every]`.
    soft_delete: Field<&'d Text>,
    open: bool,
}

/// What every entity has.
#[derive(Default)]
pub(crate) struct Every<'d> {
    declared: Vec<Declared>,
    cases: Vec<(String, &'d [Node])>,
    soft_delete: Option<&'d Text>,
    open: Option<bool>,
    pub(crate) is_broken: bool,
}

/// Reads `[every]`.
pub(crate) fn every<'d>(
    root: &mut Section<'d>,
    table: &table::Draft,
    shapes: &[String],
    report: &mut Report,
) -> Every<'d> {
    let Some((_, _)) = root.entry("every") else {
        return Every::default();
    };
    let Some(mut section) = root.section("every", report) else {
        return Every {
            is_broken: true,
            ..Every::default()
        };
    };
    let attributes = section.section("attributes", report);
    let Declarations { declared, cases } = match attributes {
        Some(mut section) => attribute::declare(&mut section, table, shapes, report),
        None => Declarations {
            declared: Vec::new(),
            cases: Vec::new(),
        },
    };
    let every = Every {
        declared,
        cases,
        soft_delete: section.text("soft-delete", report).given(),
        open: section.bool("open", report).given(),
        is_broken: false,
    };
    section.finish(|_| Excuse::None, report);
    every
}

/// Reads what an entity declares.
pub(crate) fn declare<'d>(
    name: &Name,
    mut section: Section<'d>,
    every: &Every<'d>,
    world: &World,
    report: &mut Report,
) -> (Record, Pending<'d>) {
    let about = about(&mut section, report);
    let table_name = section.text("table", report).given();
    let table = match table_name {
        Some(text) => super::index::find_table(text, &world.tables, report),
        None => Some(0),
    };
    let draft = &world.tables[table.unwrap_or(0)];
    let attributes = section.section("attributes", report);
    let is_broken = attributes.is_none() && section.key_span("attributes").is_some();
    let shapes: Vec<String> = world
        .shapes
        .iter()
        .map(|shape| shape.name.clone())
        .collect();
    let Declarations {
        mut declared,
        mut cases,
    } = match attributes {
        Some(mut section) => attribute::declare(&mut section, draft, &shapes, report),
        None => Declarations {
            declared: Vec::new(),
            cases: Vec::new(),
        },
    };
    attribute::unique_names(&declared, report);
    for common in &every.declared {
        if declared.iter().all(|own| own.name != common.name) {
            declared.push(common.clone());
            let with_cases = every.cases.iter().filter(|(name, _)| *name == common.name);
            cases.extend(with_cases.cloned());
        }
    }
    let soft_delete = match section.text("soft-delete", report) {
        Field::Absent => every.soft_delete.map_or(Field::Absent, Field::Given),
        own => own,
    };
    let open = section.bool("open", report).given();
    let record = Record {
        id: RecordId::new(world.records.len()),
        name: name.text.clone(),
        place: section.place.clone(),
        span: name.span,
        table: table.unwrap_or(0),
        attributes: declared,
        refs: Vec::new(),
        keys: key::Keys::default(),
        indexes: Vec::new(),
        broken_indexes: Vec::new(),
        discriminator: None,
        soft_delete: Field::Absent,
        unique: None,
        view: None,
        path: url::read(&mut section, report),
        is_broken: is_broken || every.is_broken,
    };
    let pending = Pending {
        section,
        cases,
        about,
        soft_delete,
        open: open.or(every.open).unwrap_or(false),
    };
    (record, pending)
}

impl Pending<'_> {
    /// Reads the keys and what else does not need other records.
    pub(crate) fn keys(&mut self, id: RecordId, world: &mut World, report: &mut Report) {
        let record = &world[id];
        let table = world.table(record);
        let names = Names::own(world, record);
        let keys = key::check(&mut self.section, table, Some(&names), report);
        let native = |name: &str| {
            let found = record.attributes.iter().find(|one| one.name == name)?;
            let kind = found.kind.clone().unwrap_or(AttributeType::Any);
            Some((kind, found.optional, found.span))
        };
        let indexes = key::check_indexes(&mut self.section, table, Some(&names), &native, report);
        let discriminator = key::discriminator(
            &mut self.section,
            table,
            (record.title(), record.span),
            report,
        );
        let soft_delete = self.soft_delete.clone();
        let soft_delete = soft_delete.and_then(|text| self.read_soft_delete(text, record, report));
        let unique = unique::check(&mut self.section, &names, report);
        let record = &mut world[id];
        record.keys = keys;
        record.indexes = indexes.keys;
        record.broken_indexes = indexes.broken;
        record.discriminator = discriminator;
        record.soft_delete = soft_delete;
        record.unique = unique;
        key::check_identity(record, report);
        attribute::lost(record, report);
    }

    fn read_soft_delete(
        &self,
        text: &Text,
        record: &Record,
        report: &mut Report,
    ) -> Option<SoftDelete> {
        let name = text.as_str().trim();
        if name.contains([' ', '=']) {
            return soft_delete_value(text, record, report);
        }
        let flag = record.resolve(name, text.span(), report)?;
        let kind = flag.kind.as_ref()?;
        let starts_clear = matches!(
            flag.line.value,
            Some((LineValue::Default(partita_core::Value::Bool(false)), _))
        );
        if *kind == AttributeType::Bool && starts_clear && !flag.optional {
            return Some(SoftDelete::Flag(flag.name.clone()));
        }
        if kind.time_form().is_some() && flag.optional && flag.line.value.is_none() {
            return Some(SoftDelete::Time(flag.name.clone()));
        }
        soft_delete_flag(name, text.span(), flag, kind, report);
        None
    }

    /// Compiles everything that reads names.
    pub(crate) fn compile(
        mut self,
        id: RecordId,
        world: &World,
        compiled: &Compiled<'_>,
        report: &mut Report,
    ) -> Option<design::Record> {
        let record = &world[id];
        let names = Names::of(world, record);
        let section = &mut self.section;
        let assigned = compiled.assigned;
        let attributes = attribute::compile(record, &self.cases, world, assigned, report);
        let patterns = compiled.patterns;
        let refs = reference::compile(record, &names, &record.refs, patterns, report);
        let require = section.text("require", report);
        let require = require.and_then(|text| condition::check(text, &names, report));
        let repeat = repeat(section, report);
        let rules = rules::check(section, record, world, compiled.actions, report);
        section.touch(&["refs", "allow", "attributes"]);
        let excuse = world.table(record).excuse();
        self.section.finish(|_| excuse, report);
        Some(design::Record {
            id,
            name: record.name.clone(),
            about: self.about,
            path: url::of_entity(record, world, report),
            table: TableId::new(record.table),
            key: record.keys.compile()?,
            indexes: record.indexes.iter().map(key::IndexKeys::compile).collect(),
            discriminator: record
                .discriminator
                .as_ref()
                .map(|(value, _)| value.clone()),
            identity: record.identity()?,
            attributes: attributes?,
            open: self.open,
            soft_delete: match &record.soft_delete {
                Field::Absent => None,
                Field::Broken => return None,
                Field::Given(soft_delete) => Some(soft_delete.clone()),
            },
            require: match require {
                Field::Absent => None,
                Field::Broken => return None,
                Field::Given(require) => Some(require),
            },
            repeat,
            refs: refs?,
            unique: record.unique.clone()?,
            rules: rules?,
            view: None,
        })
    }
}

fn repeat(section: &mut Section<'_>, report: &mut Report) -> Repeat {
    let Some(text) = section.text("repeat", report).given() else {
        return Repeat::default();
    };
    let words = Repeat::WORDS.map(|(_, word)| word);
    let Some(word) = table::word(text, &words, "repeat", report) else {
        return Repeat::default();
    };
    let found = Repeat::WORDS.iter().find(|(_, known)| *known == word);
    found.map_or(Repeat::default(), |(repeat, _)| *repeat)
}

/// `status = 'deleted'`.
fn soft_delete_value(text: &Text, record: &Record, report: &mut Report) -> Option<SoftDelete> {
    let tree = condition::parse(text, report)?;
    let Condition::Compare(Operand::Path(path), Comparator::Equal, Operand::Value(deleted, at)) =
        tree
    else {
        report
            .add(
                Code::SoftDeleteFlag,
                text.span(),
                "a soft delete is one attribute that has one value",
            )
            .help("write `soft-delete = \"status = 'deleted'\"`");
        return None;
    };
    let name = path.to_string();
    let attribute = record.resolve(&name, text.locate(path.span), report)?;
    let kind = attribute.kind.as_ref()?;
    if let Err(expected) = kind.check(&deleted) {
        let message = format!("`{name}` is never this: it must be {expected}");
        report.add(Code::ComparisonType, text.locate(at), message);
        return None;
    }
    let restored = match &attribute.line.value {
        Some((LineValue::Default(value), _)) if *value != deleted => value.clone(),
        _ => {
            let message = format!("nothing says what `{name}` is after the item is restored");
            report
                .add(Code::SoftDeleteFlag, text.span(), message)
                .help(format!("give `{name}` a default"))
                .related(attribute.span, "declared here");
            return None;
        }
    };
    Some(SoftDelete::Value {
        attribute: attribute.name.clone(),
        deleted,
        restored,
    })
}

fn soft_delete_flag(
    name: &str,
    span: Span,
    flag: &Declared,
    kind: &AttributeType,
    report: &mut Report,
) {
    let help = match kind.time_form() {
        Some(_) => format!("write `{name} = \"timestamp?\"`, without a value"),
        None => format!("write `{name} = \"bool default false\"`"),
    };
    report
        .add(
            Code::SoftDeleteFlag,
            span,
            format!("`{name}` cannot be the flag of a soft delete"),
        )
        .help(help)
        .related(flag.span, "declared here");
}

/// Gives attributes with `copy` the type of what they follow. Copies of copies take as many
/// rounds as they are long.
pub(crate) fn type_copies(world: &mut World) {
    loop {
        let mut found = Vec::new();
        let mut silent = Report::default();
        for (index, record) in world.records.iter().enumerate() {
            for (place, declared) in record.attributes.iter().enumerate() {
                let (None, Some(Head::Copy(path))) = (&declared.kind, &declared.line.head) else {
                    continue;
                };
                let path = crate::template::dotted(&path.names.join("."));
                let names = Names::of(world, record);
                let Some(reading) = names.resolve(&path, declared.span, &mut silent) else {
                    continue;
                };
                if reading.kind != AttributeType::Any {
                    found.push((index, place, reading.kind, reading.optional));
                }
            }
        }
        if found.is_empty() {
            return;
        }
        for (index, place, kind, optional) in found {
            let declared = &mut world.records[index].attributes[place];
            declared.kind = Some(kind);
            declared.optional |= optional;
        }
    }
}
