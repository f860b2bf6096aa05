//! Items in terms of the one that is written.
//!
//! An item that is found by its identity is spelled with what it is found by, `Story(storyId).`, so
//! that two refs to one item look alike, and a part of its identity is what it was found by.

use partita_core::Value;

use crate::design::{Design, Each, EachOver, Read, Record, RecordId, Ref, RefTarget, SortRange};
use crate::expression::{Origin, Reading};
use crate::template::{Part, Template};

/// How the one who calls is spelled.
pub(super) const CALLER: &str = "caller";

/// An item, as the one that is written leads to it.
#[derive(Clone)]
pub(super) struct Item<'d> {
    design: &'d Design,
    pub(super) record: &'d Record,
    /// The entity, or the one that the view is derived from.
    pub(super) source: &'d Record,
    /// The path in front of its attributes.
    prefix: String,
    /// Attributes that are something else of the item that is written.
    known: Vec<(String, String)>,
}

impl<'d> Item<'d> {
    /// The item that is written.
    pub(super) fn written(design: &'d Design, record: RecordId) -> Item<'d> {
        Item::spelled(design, record, String::new(), Vec::new())
    }

    /// An item that is found by its identity.
    pub(super) fn identified(
        design: &'d Design,
        record: RecordId,
        known: Vec<(String, String)>,
    ) -> Item<'d> {
        let parts: Vec<&str> = known.iter().map(|(_, text)| text.as_str()).collect();
        let prefix = format!("{}({}).", design[record].name, parts.join(", "));
        Item::spelled(design, record, prefix, known)
    }

    /// A new item.
    pub(super) fn new(
        design: &'d Design,
        record: RecordId,
        known: Vec<(String, String)>,
    ) -> Item<'d> {
        Item::spelled(
            design,
            record,
            format!("new {}.", design[record].name),
            known,
        )
    }

    fn spelled(
        design: &'d Design,
        record: RecordId,
        prefix: String,
        known: Vec<(String, String)>,
    ) -> Item<'d> {
        let record = &design[record];
        Item {
            design,
            record,
            source: design.source(record),
            prefix,
            known,
        }
    }

    /// The element of an `each` over a pattern.
    pub(super) fn element(&self, design: &'d Design, record: RecordId, each: &Each) -> Item<'d> {
        let prefix = format!("{}.", each.name);
        let mut item = Item::spelled(design, record, prefix, Vec::new());
        if let EachOver::Pattern {
            pattern,
            parameters,
        } = &each.over
            && let Read::Query(query) = &design[*pattern].read
            && query.index.is_none()
        {
            let key = &design[record].key;
            let prefix = match &query.sort {
                SortRange::Equals(bound) | SortRange::BeginsWith(bound) => Some(&bound.value),
                _ => None,
            };
            let asked = [
                (&key.partition, Some(&query.partition.value)),
                (&key.sort, prefix),
            ];
            for (attribute, parameter) in asked.into_iter().flat_map(aligned) {
                let given = parameters.iter().find(|(name, _)| *name == parameter);
                if let Some((_, reading)) = given {
                    item.known.push((attribute, self.reading(reading)));
                }
            }
        }
        item
    }

    /// One of its attributes.
    pub(super) fn attribute(&self, name: &str) -> String {
        let known = self.known.iter().find(|(known, _)| known == name);
        match known {
            Some((_, text)) => text.clone(),
            None => format!("{}{name}", self.prefix),
        }
    }

    /// What a path of an expression over this item reads.
    pub(super) fn reading(&self, reading: &Reading) -> String {
        let mut item = match &reading.origin {
            Origin::Item => self.clone(),
            // An element of a pattern has attributes, and everything else is what it is called.
            _ => return reading.path.to_string(),
        };
        for hop in &reading.hops {
            let mut found = item.through(&hop.name, &[]);
            match (found.pop(), found.is_empty()) {
                (Some(only), true) => item = only,
                _ => return format!("{}{}", self.prefix, reading.path),
            }
        }
        item.attribute(&reading.attribute)
    }

    /// The items that a ref leads to, one for each target that it can have.
    pub(super) fn through(&self, name: &str, more: &'d [Ref]) -> Vec<Item<'d>> {
        let Some(reference) = more
            .iter()
            .chain(&self.record.refs)
            .find(|one| one.name == name)
        else {
            return Vec::new();
        };
        let targets = reference.targets.iter();
        targets
            .filter_map(|target| self.target(reference, target))
            .collect()
    }

    fn target(&self, reference: &Ref, target: &RefTarget) -> Option<Item<'d>> {
        let record = target.record()?;
        if target.via.is_some() || reference.is_many() {
            let prefix = format!("{}{}.", self.prefix, reference.name);
            return Some(Item::spelled(self.design, record, prefix, Vec::new()));
        }
        let arguments = target.arguments.iter();
        let known =
            arguments.map(|argument| (argument.part.clone(), self.argument(&argument.path)));
        Some(Item::identified(self.design, record, known.collect()))
    }

    /// What a ref is made of: an attribute, or a path through another ref.
    fn argument(&self, path: &str) -> String {
        if path == CALLER {
            return path.to_owned();
        }
        if let Some((first, rest)) = path.split_once('.')
            && let [only] = self.through(first, &[]).as_slice()
        {
            return only.argument(rest);
        }
        self.attribute(path)
    }
}

/// The attributes of a key, each with the parameter that a pattern has in its place.
fn aligned((key, asked): (&Template, Option<&Template>)) -> Vec<(String, String)> {
    let asked = asked.map_or(&[][..], |asked| &asked.parts);
    let mut pairs = Vec::new();
    for parts in key.parts.iter().zip(asked) {
        match parts {
            (Part::Value(attribute), Part::Value(parameter)) => {
                pairs.extend(attribute.name().zip(parameter.name()));
            }
            (Part::Text(one), Part::Text(two)) if one == two => {}
            _ => break,
        }
    }
    pairs
}

/// A value as it is spelled.
pub(super) fn literal(value: &Value) -> String {
    format!("{value:?}")
}
