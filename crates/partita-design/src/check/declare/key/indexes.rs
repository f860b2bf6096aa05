//! The keys that a record has in the indexes of its table.

use partita_core::expression::Span;

use super::templates::{self, Cases};
use super::{Case, IndexKeys, Key, Placeholder};
use crate::check::declare::key_shape::KeyShape;
use crate::check::declare::table;
use crate::check::resolve::names::Names;
use crate::codes::Code;
use crate::design::IndexId;
use crate::document::Section;
use crate::template::{Format, Hole, Part, Template};
use crate::types::AttributeType;

/// An attribute that can be a native key: its type, whether it may be missing, and its place.
pub(crate) type Native = (AttributeType, bool, Span);

/// The keys of a record in the indexes of its table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Indexed {
    pub(crate) keys: Vec<IndexKeys>,
    /// The indexes in which it has a key with a mistake.
    pub(crate) broken: Vec<IndexId>,
}

/// Reads the keys that a record has in the indexes of its table. `attribute` finds a native key.
pub(crate) fn check_indexes(
    section: &mut Section<'_>,
    table: &table::Draft,
    names: Option<&Names<'_>>,
    attribute: &dyn Fn(&str) -> Option<Native>,
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
                section
                    .report(Code::DuplicateName, written, message)
                    .help("leave this line out, or call the attribute by another name")
                    .related(span, "the attribute");
                None
            }
            (Some(node), None) => templates::read(name, node, names, Cases::Allowed),
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
            broken.push(index.id);
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
                half_key(&index.partition.0, name, partition.span, section);
                broken.push(index.id);
            }
            (None, Some((_, Some((name, Some(sort)))))) if !sort.native => {
                half_key(name, &index.partition.0, sort.span, section);
                broken.push(index.id);
            }
            _ => {}
        }
    }
    let indexes = indexes
        .into_iter()
        .map(|(index, partition, sort)| IndexKeys {
            index: index.id,
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
fn half_key(given: &str, missing: &str, span: Span, section: &Section<'_>) {
    let message = format!("an item with `{given}` but without `{missing}` is not in the index");
    section
        .report(Code::IncompleteIndexKey, span, message)
        .help(format!("write `{missing} = \"…\"` too"));
}

/// The key that is the attribute of the same name.
fn native_key(name: &str, kind: AttributeType, optional: bool, span: Span) -> Key {
    let template = Template {
        parts: vec![Part::Value(Hole::attribute(name))],
    };
    let case = Case {
        when: None,
        shape: KeyShape::new(&template, |_| Some(kind.clone())),
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
