//! How many records of a view a change writes.

use std::collections::BTreeSet;

use super::change::Change;
use crate::design::{EachOver, KeyValue, Record, View};
use crate::expression::{Formula, Origin, Predicate};

/// How many records a view has for an item at most. Without a bound there is no design.
pub(super) fn records(view: &View) -> usize {
    match view.each.as_ref().map(|each| &each.over) {
        Some(EachOver::List { max, .. }) => max.unwrap_or(1),
        _ => 1,
    }
}

/// How often each record of a view is written: not at all, in its place, or deleted and put.
pub(super) fn moved(record: &Record, view: &View, change: &Change) -> usize {
    if change.is_whole() {
        return 1;
    }
    let list = match view.each.as_ref().map(|each| (&each.name, &each.over)) {
        Some((element, EachOver::List { reading, .. })) => Some((element, reading)),
        _ => None,
    };
    let sources = |names: Vec<String>| {
        let mut found: BTreeSet<String> = BTreeSet::new();
        for name in names {
            let derived = record.derived().find(|(known, _)| known.name == name);
            match derived {
                Some((_, value)) => found.extend(all_names(value)),
                None => found.extend([name]),
            }
        }
        if let Some((element, reading)) = list {
            let root = |name: &String| name.split('.').next() == Some(element.as_str());
            if found.iter().any(root) {
                found.insert(reading.attribute.clone());
            }
        }
        found
    };
    let is_changed =
        |names: BTreeSet<String>| names.iter().any(|name| change.changed.contains(name));
    if is_changed(sources(record.key.names())) {
        return 2;
    }
    let derived = record.derived().map(|(attribute, _)| attribute);
    let kept = record.kept().chain(derived);
    let mut kept: Vec<String> = kept.map(|one| one.name.clone()).collect();
    kept.extend(
        view.when
            .iter()
            .flat_map(Predicate::own_attributes)
            .map(str::to_owned),
    );
    for index in &record.indexes {
        for value in [Some(&index.partition), index.sort.as_ref()]
            .into_iter()
            .flatten()
        {
            match value {
                KeyValue::Native(name) => kept.push(name.clone()),
                KeyValue::Cases(cases) => {
                    kept.extend(cases.iter().flat_map(|case| case.is.names()));
                }
            }
        }
    }
    kept.extend(list.map(|(_, reading)| reading.attribute.clone()));
    usize::from(is_changed(sources(kept)))
}

/// What a value reads: attributes of the item, and the element.
fn all_names(value: &Formula) -> impl Iterator<Item = String> {
    value
        .reads
        .iter()
        .filter_map(|reading| match &reading.origin {
            Origin::Item if reading.hops.is_empty() => Some(reading.attribute.clone()),
            Origin::Element(name) => Some(name.clone()),
            _ => None,
        })
}
