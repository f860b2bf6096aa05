//! The key templates of entities and views.
//!
//! | module | what it does |
//! |---|---|
//! | [`templates`] | reads the text of a key |
//! | [`indexes`] | finds the keys that a record has in each index |
//! | [`quality`] | reports what an identity may not have, and numbers that do not sort |

mod indexes;
mod quality;
mod templates;

use partita_core::expression::Span;

use crate::check::declare::key_shape::KeyShape;
use crate::check::declare::table::{self, Discriminator};
use crate::check::resolve::names::Names;
use crate::design::{IndexId, KeyCase, KeyTemplates, KeyValue, RecordIndex};
use crate::document::{Field, Section};
use crate::expression::{Predicate, Reading};
use crate::syntax::Word;
use crate::template::{Format, Template};
use crate::types::AttributeType;
pub(crate) use indexes::{Native, check_indexes};
pub(crate) use quality::{check_identity, warn_of_numbers};
use templates::Cases;

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
    pub(crate) shape: KeyShape,
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
    pub(crate) index: IndexId,
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

    pub(crate) fn shapes(&self) -> impl Iterator<Item = &KeyShape> {
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
            index: self.index,
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
) -> Keys {
    let Some(keys) = &table.keys else {
        return Keys::default();
    };
    let [partition, sort] = keys.each_ref().map(|name| {
        let native = names.and_then(|names| names.record?.find(name));
        match (section.node(name), native) {
            (Some(node), _) => templates::read(name, node, names, Cases::Refused),
            // An attribute under the name of a key was reported where it is declared.
            (None, Some(_)) => None,
            (None, None) => {
                section.missing(name, "\"STORY#{storyId}\"");
                None
            }
        }
    });
    Keys { partition, sort }
}

/// Reads the value of the discriminator, which is the record's name when it is not written.
pub(crate) fn discriminator(
    section: &mut Section<'_>,
    table: &table::Draft,
    (name, span): (&str, Span),
) -> Option<Word> {
    let Discriminator::Named(attribute) = &table.discriminator else {
        return None;
    };
    match section.text(attribute) {
        Field::Absent => Some((name.to_owned(), span)),
        Field::Broken => None,
        Field::Given(text) => Some(crate::check::declare::sections::spot(text)),
    }
}
