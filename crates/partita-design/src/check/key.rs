//! The key templates of entities and views.

use partita_core::expression::Span;

use super::condition;
use super::names::Names;
use super::shape::Shape;
use super::table::{self, Discriminator};
use super::value::{self, Sort, Values};
use super::world::Record;
use crate::codes::Code;
use crate::design::{KeyCase, KeyTemplates, KeyValue, RecordIndex};
use crate::diagnostic::Report;
use crate::document::{Content, Field, Node, Section, Text};
use crate::expression::{Predicate, Reading};
use crate::syntax::Word;
use crate::syntax::template;
use crate::template::{Format, Hole, Part, Template};
use crate::types::AttributeType;

/// One key of a record: a template, cases of templates, or an attribute.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) cases: Vec<Case>,
    /// Whether it is an attribute of the record.
    pub(crate) native: bool,
    /// As the file has it.
    pub(crate) written: String,
    /// Its place.
    pub(crate) span: Span,
}

/// One case of a key.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) when: Option<Predicate>,
    /// With the names under which attributes are stored.
    pub(crate) template: Template,
    pub(crate) shape: Shape,
    pub(crate) holes: Vec<Placeholder>,
    pub(crate) reads: Vec<Reading>,
}

/// A placeholder of a key.
#[derive(Clone, Debug)]
pub(crate) struct Placeholder {
    /// As it is written.
    pub(crate) written: String,
    /// The attribute, if it is one as it is stored.
    pub(crate) attribute: Option<String>,
    pub(crate) span: Span,
    pub(crate) kind: Option<AttributeType>,
    pub(crate) optional: bool,
    pub(crate) format: Format,
}

/// The primary key of a record; each is `None` after a report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    pub(crate) partition: Option<Key>,
    pub(crate) sort: Option<Key>,
}

/// The keys of a record in an index.
#[derive(Clone, Debug)]
pub(crate) struct IndexKeys {
    pub(crate) index: String,
    /// The names of the key attributes.
    pub(crate) names: (String, Option<String>),
    pub(crate) partition: Key,
    pub(crate) sort: Option<Key>,
}

impl Key {
    /// The template, if there is only one.
    pub(crate) fn only(&self) -> Option<&Case> {
        match self.cases.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }

    pub(crate) fn holes(&self) -> impl Iterator<Item = &Placeholder> {
        self.cases.iter().flat_map(|case| &case.holes)
    }

    pub(crate) fn shapes(&self) -> impl Iterator<Item = &Shape> {
        self.cases.iter().map(|case| &case.shape)
    }

    /// Whether it has no placeholders.
    pub(crate) fn is_constant(&self) -> bool {
        self.holes().next().is_none()
    }

    fn compile(&self) -> KeyValue {
        if self.native {
            return KeyValue::Native(self.written.clone());
        }
        let cases = self.cases.iter().map(|case| KeyCase {
            when: case.when.clone(),
            is: case.template.clone(),
        });
        KeyValue::Cases(cases.collect())
    }

    fn reads(&self) -> impl Iterator<Item = &Reading> {
        self.cases.iter().flat_map(|case| {
            let when = case.when.iter().flat_map(|when| &when.reads);
            case.reads.iter().chain(when)
        })
    }
}

impl Keys {
    pub(crate) fn both(&self) -> Option<(&Case, &Case)> {
        let (partition, sort) = (self.partition.as_ref()?, self.sort.as_ref()?);
        Some((partition.only()?, sort.only()?))
    }

    pub(crate) fn compile(&self) -> Option<KeyTemplates> {
        let (partition, sort) = self.both()?;
        Some(KeyTemplates {
            partition: partition.template.clone(),
            sort: sort.template.clone(),
        })
    }

    /// The placeholders of both keys, in order.
    pub(crate) fn holes(&self) -> impl Iterator<Item = &Placeholder> {
        let keys = self.partition.iter().chain(&self.sort);
        keys.flat_map(Key::holes)
    }
}

impl IndexKeys {
    pub(crate) fn compile(&self) -> RecordIndex {
        let mut reads: Vec<Reading> = Vec::new();
        for key in self.keys() {
            for reading in key.reads() {
                if !reads.contains(reading) {
                    reads.push(reading.clone());
                }
            }
        }
        RecordIndex {
            index: self.index.clone(),
            partition: self.partition.compile(),
            sort: self.sort.as_ref().map(Key::compile),
            reads,
        }
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        std::iter::once(&self.partition).chain(&self.sort)
    }

    /// Whether the record writes this key attribute from a template.
    pub(crate) fn writes(&self, name: &str) -> bool {
        let (partition, sort) = &self.names;
        let is_partition = partition == name && !self.partition.native;
        let is_sort = sort.as_deref() == Some(name);
        is_partition || is_sort && self.sort.as_ref().is_some_and(|key| !key.native)
    }
}

/// Reads the primary key of a section; without names it is only parsed.
pub(crate) fn check(
    section: &mut Section<'_>,
    table: &table::Draft,
    names: Option<&Names<'_>>,
    report: &mut Report,
) -> Keys {
    let Some(keys) = &table.keys else {
        return Keys::default();
    };
    let [partition, sort] = keys.each_ref().map(|name| {
        let native = names.and_then(|names| names.record?.find(name));
        match (section.node(name), native) {
            (Some(node), _) => read(name, node, names, Cases::Refused, report),
            // An attribute under the name of a key was reported where it is declared.
            (None, Some(_)) => None,
            (None, None) => {
                section.missing(name, "\"STORY#{storyId}\"", report);
                None
            }
        }
    });
    Keys { partition, sort }
}

/// An attribute that can be a native key: its type, whether it may be missing, and its place.
pub(crate) type Native = (AttributeType, bool, Span);

/// The keys of a record in the indexes of its table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Indexed {
    pub(crate) keys: Vec<IndexKeys>,
    /// The indexes in which it has a key with a mistake.
    pub(crate) broken: Vec<String>,
}

/// Reads the keys that a record has in the indexes of its table. `attribute` finds a native key.
pub(crate) fn check_indexes(
    section: &mut Section<'_>,
    table: &table::Draft,
    names: Option<&Names<'_>>,
    attribute: &dyn Fn(&str) -> Option<Native>,
    report: &mut Report,
) -> Indexed {
    let mut found: Vec<(String, Option<Key>)> = Vec::new();
    for name in table.index_keys() {
        if found.iter().any(|(known, _)| known == name) {
            continue;
        }
        let native = attribute(name);
        let key = match (section.node(name), native) {
            (Some(_), Some((_, _, span))) => {
                let written = section.key_span(name).unwrap_or(section.span);
                let message = format!("`{name}` is an attribute, and so is its own index key");
                report
                    .add(Code::DuplicateName, written, message)
                    .help("leave this line out, or call the attribute by another name")
                    .related(span, "the attribute");
                None
            }
            (Some(node), None) => read(name, node, names, Cases::Allowed, report),
            (None, Some((kind, optional, span))) => Some(native_key(name, kind, optional, span)),
            (None, None) => None,
        };
        let is_written = section.key_span(name).is_some();
        if key.is_some() || is_written {
            found.push((name.to_owned(), key));
        }
    }
    let mut indexes = Vec::new();
    let mut broken = Vec::new();
    for index in &table.indexes {
        let is_broken = |name: &str| {
            found
                .iter()
                .any(|(known, key)| known == name && key.is_none())
        };
        if index.names().any(is_broken) {
            broken.push(index.name.clone());
        }
        let key = |name: &str| found.iter().find(|(known, _)| known == name);
        let partition = key(&index.partition.0);
        let sort = index.sort.as_ref().map(|(name, _)| (name, key(name)));
        match (partition, sort) {
            (Some((_, partition)), None) => {
                indexes.extend(partition.clone().map(|partition| (index, partition, None)));
            }
            (Some((_, Some(partition))), Some((_, Some((_, Some(sort)))))) => {
                indexes.push((index, partition.clone(), Some(sort.clone())));
            }
            (Some((_, Some(partition))), Some((name, None))) if !partition.native => {
                half_key(&index.partition.0, name, partition.span, report);
                broken.push(index.name.clone());
            }
            (None, Some((_, Some((name, Some(sort)))))) if !sort.native => {
                half_key(name, &index.partition.0, sort.span, report);
                broken.push(index.name.clone());
            }
            _ => {}
        }
    }
    let indexes = indexes
        .into_iter()
        .map(|(index, partition, sort)| IndexKeys {
            index: index.name.clone(),
            names: (
                index.partition.0.clone(),
                index.sort.as_ref().map(|(name, _)| name.clone()),
            ),
            partition,
            sort,
        });
    Indexed {
        keys: indexes.collect(),
        broken,
    }
}

/// An item without one of an index's keys is not in the index.
fn half_key(given: &str, missing: &str, span: Span, report: &mut Report) {
    let message = format!("an item with `{given}` but without `{missing}` is not in the index");
    report
        .add(Code::IncompleteIndexKey, span, message)
        .help(format!("write `{missing} = \"…\"` too"));
}

/// The key that is the attribute of the same name.
fn native_key(name: &str, kind: AttributeType, optional: bool, span: Span) -> Key {
    let template = Template {
        parts: vec![Part::Value(Hole::attribute(name))],
    };
    let case = Case {
        when: None,
        shape: Shape::new(&template, |_| Some(kind.clone())),
        template,
        holes: vec![Placeholder {
            written: name.to_owned(),
            attribute: Some(name.to_owned()),
            span,
            kind: Some(kind),
            optional,
            format: Format::Plain,
        }],
        reads: Vec::new(),
    };
    Key {
        cases: vec![case],
        native: true,
        written: name.to_owned(),
        span,
    }
}

/// Reads the value of the discriminator, which is the record's name when it is not written.
pub(crate) fn discriminator(
    section: &mut Section<'_>,
    table: &table::Draft,
    (name, span): (&str, Span),
    report: &mut Report,
) -> Option<Word> {
    let Discriminator::Named(attribute) = &table.discriminator else {
        return None;
    };
    match section.text(attribute, report) {
        Field::Absent => Some((name.to_owned(), span)),
        Field::Broken => None,
        Field::Given(text) => Some(super::spot(text)),
    }
}

/// Whether a key may have cases.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cases {
    Allowed,
    /// A primary key is what it is: an item whose key changed with its values would be lost.
    Refused,
}

fn read(
    name: &str,
    node: &Node,
    names: Option<&Names<'_>>,
    cases: Cases,
    report: &mut Report,
) -> Option<Key> {
    let list = match &node.content {
        Content::Text(text) => {
            let case = one(None, text, names, report)?;
            return Some(Key {
                cases: vec![case],
                native: false,
                written: text.as_str().to_owned(),
                span: text.span(),
            });
        }
        Content::List(list) if cases == Cases::Allowed => list,
        other => {
            let expected = match cases {
                Cases::Allowed => "a string or a list of cases",
                Cases::Refused => "a string",
            };
            crate::document::section::report_type(report, node.span, name, expected, other);
            return None;
        }
    };
    let mut read = Vec::new();
    let mut is_good = true;
    let mut written = String::new();
    for (when, is) in value::open_cases(name, list, report)? {
        let when = match (when, names) {
            (Some(when), Some(names)) => match condition::check(when, names, report) {
                Some(when) => Some(when),
                None => {
                    is_good = false;
                    None
                }
            },
            _ => None,
        };
        let Content::Text(text) = &is.content else {
            let key = "is";
            crate::document::section::report_type(report, is.span, key, "a string", &is.content);
            is_good = false;
            continue;
        };
        written = text.as_str().to_owned();
        match one(when, text, names, report) {
            Some(case) => read.push(case),
            None => is_good = false,
        }
    }
    (is_good && !read.is_empty()).then_some(Key {
        cases: read,
        native: false,
        written,
        span: node.span,
    })
}

fn one(
    when: Option<Predicate>,
    text: &Text,
    names: Option<&Names<'_>>,
    report: &mut Report,
) -> Option<Case> {
    if text.as_str().is_empty() {
        report.add(Code::TemplateSyntax, text.span(), "a key may not be empty");
        return None;
    }
    let pieces = template::parse(text, report)?;
    let is_separated = template::is_separated(&pieces, report);
    let mut values = Values::new(names?);
    let (template, typed) = values.template(&pieces, report)?;
    if !is_separated {
        return None;
    }
    let raw = pieces.iter().filter_map(|piece| match piece {
        template::Piece::Hole(hole) => Some(hole),
        template::Piece::Text(_) => None,
    });
    let mut holes = Vec::new();
    let mut is_good = true;
    for ((raw, typed), hole) in raw.zip(&typed).zip(template.holes()) {
        let kind = match &typed.sort {
            Sort::Kind(kind) => Some(kind.clone()),
            Sort::Span | Sort::Unknown => None,
        };
        is_good &= is_part(&raw.written, &typed.sort, raw.span, report);
        holes.push(Placeholder {
            written: raw.written.clone(),
            attribute: hole.name(),
            span: raw.span,
            kind,
            optional: typed.optional,
            format: hole.format.clone(),
        });
    }
    let mut kinds = holes.iter();
    let shape = Shape::new(&template, |_| {
        kinds.next().and_then(|hole| hole.kind.clone())
    });
    is_good.then_some(Case {
        when,
        shape,
        template,
        holes,
        reads: values.reads,
    })
}

/// Whether values of this type can stand in a key.
fn is_part(name: &str, sort: &Sort, span: Span, report: &mut Report) -> bool {
    let what = match sort {
        Sort::Kind(kind) if kind.is_key_part() => return true,
        Sort::Kind(kind) => kind.noun(),
        Sort::Span => "a span of time",
        Sort::Unknown => "a value of any type",
    };
    let message = format!("`{name}` is {what} and cannot stand in a key");
    report
        .add(Code::KeyPartType, span, message)
        .help("use a `string`, `ulid`, `uuid`, `timestamp`, `number`, `enum` or `bool`");
    false
}

/// Numbers are written into keys as they are, and keys sort as text.
pub(crate) fn warn_of_numbers(record: &Record, sort_name: &str, report: &mut Report) {
    let primary = record.keys.sort.iter().map(|key| (sort_name, key));
    let indexes = record.indexes.iter().filter_map(|keys| {
        let name = keys.names.1.as_deref()?;
        Some((name, keys.sort.as_ref()?))
    });
    for (name, key) in primary.chain(indexes).filter(|(_, key)| !key.native) {
        for hole in key.holes() {
            let is_number = hole
                .kind
                .as_ref()
                .is_some_and(|kind| kind.stored_as() == Some(partita_core::Type::N));
            if !is_number || hole.format != Format::Plain {
                continue;
            }
            let written = &hole.written;
            let message =
                format!("`{written}` is a number, and keys sort as text: 10 comes before 9");
            report
                .add(Code::UnpaddedNumber, hole.span, message)
                .help(format!("write `{{{written}:010}}` for 10 digits"))
                .acceptable(vec![vec![format!("{}.{name}", record.place)]]);
        }
    }
}

/// Reports what a primary key of an entity may not have.
pub(crate) fn check_identity(record: &Record, report: &mut Report) {
    for hole in record.keys.holes() {
        let name = &hole.written;
        let Some(attribute) = hole.attribute.as_deref().and_then(|name| record.find(name)) else {
            let message = format!("`{{{name}}}` is computed, and an identity is what it is");
            report
                .add(Code::ComputedIdentity, hole.span, message)
                .help("store the value in an attribute, and write that");
            continue;
        };
        if attribute.optional {
            let message = format!("`{name}` may be missing, but it is part of the primary key");
            report
                .add(Code::OptionalKeyPart, hole.span, message)
                .help("take the `?` away")
                .related(attribute.span, "declared here");
        }
        if attribute.changes_with_writes() {
            let message = format!("`{name}` changes with every write, but it tells the item apart");
            report
                .add(Code::ChangingKeyPart, hole.span, message)
                .help("use an attribute that stays, such as one with `= now on create`")
                .related(attribute.span, "declared here");
        }
    }
}
