//! `[view.X]`: records that are kept for the items of an entity.

mod element;
mod existence;
mod identity;
mod kept;

use partita_core::expression::{Bindings, Condition, Path, Span, Step};

use super::about;
use super::attribute::{self, Assigned};
use super::condition;
use super::each;
use super::key;
use super::names::{Meaning, Names};
use super::reference::DeclaredRef;
use super::rules;
use super::value::{Sort, Values};
use super::world::{Declared, Element, Record, ViewOf, World};
use crate::codes::Code;
use crate::design::record::SOURCE;
use crate::design::{
    self, Action, Argument, Attribute, Each, OnDelete, RecordId, Ref, RefTarget, RefTo, Repeat,
    Source, TableId, View,
};
use crate::diagnostic::Report;
use crate::document::{Field, Name, Node, Section, Text};
use crate::expression::{Formula, Origin};
use crate::syntax::attribute::{Head, Line, LineValue};
use crate::types::AttributeType;
use element::{list_of, unbounded, with_element};
use existence::{hidden_by, while_live};
use identity::Check;
use kept::{keep, stored};

/// A view's section while it is being read.
pub(crate) struct Pending<'d> {
    pub(crate) section: Section<'d>,
    about: Option<String>,
    /// The attributes that its own section declares.
    own: Vec<Declared>,
    cases: Vec<(String, &'d [Node])>,
    each: Field<Each>,
    /// What it copies, by stored names; `None` after a report.
    keep: Option<Vec<String>>,
    /// The values of the attributes that are computed from the source.
    derived: Vec<(String, Formula)>,
}

/// Reads which entity a view is of.
pub(crate) fn declare<'d>(
    name: &Name,
    mut section: Section<'d>,
    world: &World,
    report: &mut Report,
) -> (Record, Pending<'d>) {
    if let Some(entity) = world.entities().find(|entity| entity.title() == name.text) {
        let message = format!("`{}` is an entity already", name.text);
        report
            .add(Code::DuplicateName, name.span, message)
            .related(entity.span, "the entity");
    }
    let about = about(&mut section, report);
    let history = section.text("history-of", report);
    let of = match &history {
        Field::Absent => section.required_text("of", "\"Story\"", report).given(),
        other => {
            if let Some(span) = section.key_span("of") {
                let message = "a view is either `of` or `history-of` an entity";
                report
                    .add(Code::NeedlessKey, span, message)
                    .help("leave one of the two out");
            }
            section.touch(&["of"]);
            other.clone().given()
        }
    };
    let source = of.and_then(|of| source(of, world, report));
    let refs = source.map(|source| DeclaredRef::source(source, section.span));
    let record = Record {
        id: RecordId::new(world.records.len()),
        name: name.text.clone(),
        place: section.place.clone(),
        span: name.span,
        table: source.map_or(0, |source| world[source].table),
        attributes: Vec::new(),
        refs: refs.into_iter().collect(),
        keys: key::Keys::default(),
        indexes: Vec::new(),
        broken_indexes: Vec::new(),
        discriminator: None,
        soft_delete: Field::Absent,
        unique: Some(Vec::new()),
        view: Some(ViewOf {
            source,
            history: !history.is_absent(),
            element: None,
            when: peek_when(&section),
        }),
        path: None,
        is_broken: source.is_none(),
    };
    let pending = Pending {
        section,
        about,
        own: Vec::new(),
        cases: Vec::new(),
        each: Field::Absent,
        keep: None,
        derived: Vec::new(),
    };
    (record, pending)
}

/// The condition of a view, before anything in it is resolved. One that cannot be read is reported
/// later, and might be any.
fn peek_when(section: &Section<'_>) -> Option<Condition> {
    let text = section.peek_text("when")?;
    let parsed = Condition::parse(text, &Bindings::Literals);
    Some(parsed.unwrap_or(Condition::Any(Vec::new())))
}

fn source(of: &Text, world: &World, report: &mut Report) -> Option<RecordId> {
    let found = world.entities().find(|one| one.title() == of.as_str());
    if found.is_none() {
        let message = format!("there is no entity `{}`", of.as_str());
        report
            .add(Code::UnknownRecord, of.span(), message)
            .suggest(of.as_str(), world.entities().map(Record::title));
    }
    found.map(|record| record.id)
}

impl Pending<'_> {
    /// Reads the attributes and keys of a view, whose source is known.
    pub(crate) fn keys(&mut self, id: RecordId, world: &mut World, report: &mut Report) {
        let shapes: Vec<String> = world
            .shapes
            .iter()
            .map(|shape| shape.name.clone())
            .collect();
        let table = &world.tables[world[id].table];
        if let Some(mut section) = self.section.section("attributes", report) {
            let found = attribute::declare(&mut section, table, &shapes, report);
            (self.own, self.cases) = (found.declared, found.cases);
        }
        let record = &world[id];
        let Some(source) = record.view.as_ref().and_then(|view| view.source) else {
            return self.parse_only(table, report);
        };
        let source = &world[source];
        let outer = inside(world, source);
        let each = self.section.text("each", report);
        let each = each.and_then(|text| each::over_list(text, &outer, report));
        if matches!(each, Field::Broken) {
            // Without the element, its name would be taken for a misspelt attribute.
            self.parse_only(table, report);
            world[id].is_broken = true;
            return;
        }
        let element = match &each {
            Field::Given((each, kind)) => Some(Element {
                name: each.name.clone(),
                kind: kind.clone(),
                list: list_of(each),
            }),
            _ => None,
        };
        if let Field::Given((each, _)) = &each {
            unbounded(each, &self.section, report);
        }
        let names = with_element(outer, element.as_ref());
        self.derive(&names, report);
        let inner = self.inner_names(names);
        let keys = key::check(&mut self.section, world.table(record), Some(&inner), report);
        let kept = self.section.peek_texts("keep");
        let own = &self.own;
        let native = |name: &str| stored(name, own, &kept, source);
        let table = world.table(record);
        let indexes = key::check_indexes(&mut self.section, table, Some(&inner), &native, report);
        let title = record.title().to_owned();
        let spot = (title.as_str(), record.span);
        let discriminator = key::discriminator(&mut self.section, table, spot, report);
        let keep = match self.section.texts("keep", false, report) {
            Field::Given(names) => keep(&names, source, report),
            Field::Absent => Some(Vec::new()),
            Field::Broken => None,
        };
        let attributes = self.attributes(source, &keys, keep.as_deref(), element.as_ref());
        let is_broken = keep.is_none() || source.is_broken;
        self.each = each.and_then(|(each, _)| Some(each));
        self.keep = keep;
        let record = &mut world[id];
        record.keys = keys;
        record.indexes = indexes.keys;
        record.broken_indexes = indexes.broken;
        record.discriminator = discriminator;
        record.attributes = attributes;
        record.is_broken |= is_broken;
        if let Some(view) = &mut record.view {
            view.element = element;
        }
    }

    fn parse_only(&mut self, table: &super::table::Draft, report: &mut Report) {
        key::check(&mut self.section, table, None, report);
        key::check_indexes(&mut self.section, table, None, &|_| None, report);
        self.section
            .touch(&["each", "keep", "when", "distinct", "allow"]);
        let spot = ("", self.section.span);
        key::discriminator(&mut self.section, table, spot, report);
    }

    /// Computes the types of the attributes that begin with `=`.
    fn derive(&mut self, names: &Names<'_>, report: &mut Report) {
        for declared in &mut self.own {
            let (Some(Head::Untyped), Some((value, span))) =
                (&declared.line.head, &declared.line.value)
            else {
                continue;
            };
            let LineValue::Computed(raw, _) = value else {
                if !matches!(value, LineValue::Broken) {
                    let message = "a value with cases needs a type";
                    report.add(Code::AttributeSyntax, *span, message);
                }
                continue;
            };
            let mut values = Values::new(names);
            let Some(typed) = values.resolve(raw, report) else {
                continue;
            };
            declared.kind = match typed.sort {
                Sort::Kind(kind) => Some(kind),
                Sort::Span | Sort::Unknown => Some(AttributeType::Any),
            };
            declared.optional = typed.optional;
            let formula = Formula::plain(typed.expr, values.reads);
            self.derived.push((declared.name.clone(), formula));
        }
    }

    /// The names of the keys: the view's own attributes stand in front of the source's.
    fn inner_names<'w>(&self, names: Names<'w>) -> Names<'w> {
        let with_own = self.own.iter().rev().fold(names, |names, declared| {
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

    /// Everything that a record of the view has: what it keeps, its own, and what its key holds.
    fn attributes(
        &self,
        source: &Record,
        keys: &key::Keys,
        keep: Option<&[String]>,
        element: Option<&Element>,
    ) -> Vec<Declared> {
        let mut attributes: Vec<Declared> = self.own.clone();
        for name in keep.unwrap_or_default() {
            if let Some(kept) = source.find(name)
                && attributes.iter().all(|one| one.name != kept.name)
            {
                attributes.push(Declared {
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
            let in_source = source
                .find(name)
                .filter(|_| element.is_none_or(|element| element.name != *name));
            match in_source {
                Some(found) => attributes.push(Declared {
                    key_only: true,
                    is_own: false,
                    ..found.clone()
                }),
                None => attributes.push(Declared {
                    kind: hole.kind.clone(),
                    key_only: true,
                    is_own: false,
                    ..attribute::declared(name.clone(), hole.span, Line::default())
                }),
            }
        }
        attributes
    }

    /// Compiles everything that reads names.
    pub(crate) fn compile(
        mut self,
        id: RecordId,
        world: &World,
        (source, actions): (Option<&design::Record>, &[Option<Action>]),
        report: &mut Report,
    ) -> Option<design::Record> {
        let record = &world[id];
        let excuse = world.table(record).excuse();
        let view = record.view.as_ref()?;
        let Some(declared) = view.source.map(|source| &world[source]) else {
            self.section.finish(|_| excuse, report);
            return None;
        };
        let names = with_element(inside(world, declared), view.element.as_ref());
        let when = self.section.text("when", report);
        // A record exists while its condition holds, and a write to another item does not look at
        // it. A state is kept once, when it is replaced.
        let alone = Names {
            with_refs: view.history,
            ..names.clone()
        };
        let when = when.and_then(|when| condition::check(when, &alone, report));
        let distinct = self.section.text("distinct", report);
        let inner = self.inner_names(names.clone());
        let distinct = distinct.and_then(|text| each::distinct(text, &inner, report));
        let rules = rules::of_view(&mut self.section, record, world, actions, report);
        self.section.finish(|_| excuse, report);
        let check = Check {
            record,
            source: declared,
            derived: &self.derived,
            report,
        };
        check.all(&when);
        let hidden_by = hidden_by(&when, declared, view.history);
        let own = self.own_attributes(record, &names, report);
        let source = source?;
        let rules = rules?;
        let mut attributes = own?;
        self.add_from_source(record, source, &mut attributes)?;
        let identity = record.identity()?;
        for attribute in &mut attributes {
            // Whatever stands at a key has the values of the key.
            let mut parts = identity.iter();
            attribute.lasting = parts.any(|part| part.attribute == attribute.name);
        }
        Some(design::Record {
            id,
            name: record.name.clone(),
            about: self.about,
            path: None,
            table: TableId::new(record.table),
            key: record.keys.compile()?,
            indexes: record.indexes.iter().map(key::IndexKeys::compile).collect(),
            discriminator: record
                .discriminator
                .as_ref()
                .map(|(value, _)| value.clone()),
            identity,
            refs: refs(source, &attributes),
            attributes,
            open: false,
            soft_delete: None,
            require: None,
            repeat: Repeat::Refuse,
            unique: Vec::new(),
            view: Some(View {
                of: source.id,
                history: view.history,
                when: while_live(when, hidden_by.as_ref(), declared)?,
                each: optional(self.each)?,
                distinct: optional(distinct)?,
                has_rules: rules.is_some(),
                hidden_by,
            }),
            rules: rules.unwrap_or_else(|| source.rules.clone()),
        })
    }

    /// Adds what a record has beyond its own attributes: what it keeps, what its key holds, and
    /// what is computed from these as in the source.
    fn add_from_source(
        &self,
        record: &Record,
        source: &design::Record,
        attributes: &mut Vec<Attribute>,
    ) -> Option<()> {
        for declared in record.attributes.iter().filter(|one| !one.is_own) {
            let found = source.stored(&declared.name);
            let is_kept = self.keep.as_ref()?.contains(&declared.name);
            let attribute = match found {
                Some(found) => found.clone(),
                None => Attribute::element(&declared.name, declared.kind.clone()),
            };
            attributes.push(Attribute {
                inherited: true,
                kept: is_kept,
                key_only: !is_kept,
                ..attribute
            });
        }
        let is_new = |one: &&Attribute| attributes.iter().all(|known| known.name != one.name);
        let is_virtual = |one: &&Attribute| one.is_virtual;
        let computed = source.attributes.iter().filter(is_virtual).filter(is_new);
        let computed = computed.map(|one| Attribute {
            inherited: true,
            ..one.clone()
        });
        let computed: Vec<Attribute> = computed.collect();
        attributes.extend(computed);
        Some(())
    }

    /// The attributes that the view declares.
    fn own_attributes(
        &self,
        record: &Record,
        names: &Names<'_>,
        report: &mut Report,
    ) -> Option<Vec<Attribute>> {
        let mut attributes = Vec::new();
        let mut is_good = true;
        for declared in &self.own {
            if let Some((name, value)) =
                self.derived.iter().find(|(name, _)| *name == declared.name)
            {
                attributes.push(Attribute {
                    kind: declared.kind.clone()?,
                    optional: declared.optional,
                    secret: declared.secret,
                    ..Attribute::new(name, Source::Derived(value.clone()))
                });
                continue;
            }
            let cases = self.cases.iter().find(|(name, _)| *name == declared.name);
            let cases = cases.map(|(_, list)| *list);
            // Own values are computed from the source, but belong to the record.
            let names = Names {
                record: Some(record),
                ..names.clone()
            };
            match attribute::one(declared, cases, record, &names, &Assigned::new(), report) {
                Some(attribute) => attributes.push(attribute),
                None => is_good = false,
            }
        }
        is_good.then_some(attributes)
    }
}

fn optional<T>(field: Field<T>) -> Option<Option<T>> {
    match field {
        Field::Absent => Some(None),
        Field::Broken => None,
        Field::Given(value) => Some(Some(value)),
    }
}

/// The refs of a view's records: the one to the source, and those of the source.
fn refs(source: &design::Record, attributes: &[Attribute]) -> Vec<Ref> {
    let arguments = source.identity.iter().map(|part| {
        let name = part.attribute.as_str();
        let renamed = attributes.iter().find(|one| one.renames() == Some(name));
        let same = attributes
            .iter()
            .find(|one| one.name == name && one.inherited);
        Some(Argument {
            part: name.to_owned(),
            path: renamed.or(same)?.name.clone(),
            many: false,
        })
    });
    // A record without a part of the identity leads nowhere.
    let arguments: Option<Vec<Argument>> = arguments.collect();
    let to_source = arguments.map(|arguments| RefTarget {
        when: None,
        to: RefTo::Record(source.id),
        arguments,
        via: None,
        on_delete: OnDelete::Keep,
        finder: None,
    });
    let to_source = Ref {
        name: SOURCE.to_owned(),
        by: None,
        targets: to_source.into_iter().collect(),
        live: false,
        unchecked: true,
        optional: false,
    };
    std::iter::once(to_source)
        .chain(source.refs.iter().cloned())
        .collect()
}

/// The names of a view's source. Nobody calls when a record follows its source.
fn inside<'w>(world: &'w World, source: &'w Record) -> Names<'w> {
    Names {
        with_caller: false,
        ..Names::of(world, source)
    }
}

/// A path of plain names.
pub(crate) fn path_of(names: &[String], span: Span) -> Option<Path> {
    let (root, rest) = names.split_first()?;
    Some(Path {
        root: root.into(),
        steps: rest.iter().map(|name| Step::Field(name.into())).collect(),
        span,
    })
}
