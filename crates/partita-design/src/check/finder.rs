//! How the items that refer to a target are found from it.
//!
//! A cascade, a cleared attribute and a copy go from the target back to the items that refer to
//! it. That takes a key, of those items or of a view of them, that begins with what the ref holds.

use super::key::{Case, Key};
use super::world::{Record, World};
use crate::design::{Finder, KeyCase, KeyValue, RefTarget};
use crate::syntax::Word;
use crate::template::{DELIMITER, Part, Template};

/// A way back over the keys of a record or one of its views, the record's own first.
pub(crate) fn find(
    record: &Record,
    by: Option<&Word>,
    target: &RefTarget,
    world: &World,
) -> Option<Finder> {
    let arguments: Vec<&str> = target
        .arguments
        .iter()
        .filter(|argument| !argument.many)
        .map(|argument| argument.path.as_str())
        .collect();
    if arguments.is_empty() || arguments.len() < target.arguments.len() {
        return None;
    }
    let known = Known {
        arguments,
        by: by.map(|(name, _)| name.as_str()),
    };
    let is_view_of = |other: &&Record| {
        let view = other.view.as_ref();
        let source = view.and_then(|view| view.source);
        source.is_some_and(|source| world.records[source].name == record.name)
            && view.is_some_and(|view| !view.history)
    };
    let views = world.records.iter().filter(is_view_of);
    std::iter::once(record)
        .chain(views)
        .find_map(|holder| over_keys(holder, &known))
}

/// What a ref holds.
struct Known<'r> {
    arguments: Vec<&'r str>,
    /// The attribute that chooses the target, whose value is known.
    by: Option<&'r str>,
}

fn over_keys(holder: &Record, known: &Known<'_>) -> Option<Finder> {
    let primary = holder.keys.partition.as_ref().map(|partition| {
        let sort = holder.keys.sort.as_ref();
        (None, partition, sort)
    });
    let indexes = holder.indexes.iter().map(|keys| {
        (
            Some(keys.index.clone()),
            &keys.partition,
            keys.sort.as_ref(),
        )
    });
    primary
        .into_iter()
        .chain(indexes)
        .find_map(|(index, partition, sort)| over_key(holder, index, partition, sort, known))
}

fn over_key(
    holder: &Record,
    index: Option<String>,
    partition: &Key,
    sort: Option<&Key>,
    known: &Known<'_>,
) -> Option<Finder> {
    let case = partition.only()?;
    let mut covered: Vec<&str> = Vec::new();
    let mut enumerate = Vec::new();
    for hole in &case.holes {
        let attribute = hole.attribute.as_deref()?;
        if let Some(argument) = known.arguments.iter().find(|one| **one == attribute) {
            covered.push(argument);
        } else if hole
            .kind
            .as_ref()
            .is_some_and(|kind| kind.words().is_some())
        {
            enumerate.push(attribute.to_owned());
        } else if known.by != Some(attribute) {
            return None;
        }
    }
    let prefix = sort
        .and_then(|sort| sort.only())
        .and_then(|sort| prefix(sort, known, &mut covered));
    if known
        .arguments
        .iter()
        .any(|argument| !covered.contains(argument))
    {
        return None;
    }
    Some(Finder {
        record: holder.name.clone(),
        index,
        partition: match partition.native {
            true => KeyValue::Native(partition.written.clone()),
            false => KeyValue::Cases(vec![KeyCase {
                when: case.when.clone(),
                is: case.template.clone(),
            }]),
        },
        whole: match (&prefix, sort.and_then(Key::only)) {
            (Some(prefix), Some(sort)) => *prefix == sort.template,
            _ => false,
        },
        prefix,
        enumerate,
    })
}

/// The beginning of the sort key up to the first value that the ref does not hold.
fn prefix<'k>(sort: &Case, known: &Known<'k>, covered: &mut Vec<&'k str>) -> Option<Template> {
    let mut template = Template::default();
    for part in &sort.template.parts {
        match part {
            Part::Text(_) => template.parts.push(part.clone()),
            Part::Value(hole) => {
                let name = hole.name();
                let argument = known
                    .arguments
                    .iter()
                    .find(|one| Some(**one) == name.as_deref());
                match argument {
                    Some(argument) => covered.push(argument),
                    None if known.by == name.as_deref() => {}
                    None => break,
                }
                template.parts.push(part.clone());
            }
        }
    }
    // A prefix ends at a delimiter, or it would find neighbours.
    if let Some(Part::Text(text)) = template.parts.last_mut() {
        let end = text.rfind(DELIMITER).map_or(0, |end| end + 1);
        text.truncate(end);
    }
    template
        .parts
        .retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
    (!template.parts.is_empty()).then_some(template)
}
