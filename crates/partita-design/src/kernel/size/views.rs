//! How many records of a view a change writes.

use super::super::Reaction;
use super::change::Change;
use crate::design::{EachOver, Record, View};
use crate::expression::{Formula, Origin};

/// How many actions the records of a view take for a change of their item: each is written not at
/// all, in its place, or deleted and put. A view has at most as many as its list has elements;
/// without a bound there is no design.
pub(super) fn records(record: &Record, reaction: &Reaction, change: &Change) -> usize {
    let Some(view) = &record.view else {
        return 0;
    };
    let list = view.each.as_ref().map(|each| &each.over);
    let records = match list {
        Some(EachOver::List { max, .. }) => max.unwrap_or(1),
        _ => 1,
    };
    let times = if change.is_whole() {
        1
    } else if is_key_changed(record, view, change) {
        2
    } else {
        usize::from(change.concerns(reaction))
    };
    records * times
}

/// Whether a change can move records: their keys are made of attributes of the item, also by way
/// of derived attributes, and of the elements of its list.
fn is_key_changed(record: &Record, view: &View, change: &Change) -> bool {
    let list = match view.each.as_ref().map(|each| (&each.name, &each.over)) {
        Some((element, EachOver::List { reading, .. })) => Some((element, &reading.attribute)),
        _ => None,
    };
    let mut names = Vec::new();
    for name in record.key.names() {
        match record.derived().find(|(known, _)| known.name == name) {
            Some((_, value)) => names.extend(names_in(value)),
            None => names.push(name),
        }
    }
    names.iter().any(|name| {
        let element = list.filter(|(element, _)| name.split('.').next() == Some(element));
        let read = element.map_or(name, |(_, attribute)| attribute);
        change.changed.contains(read) || change.changed.contains(name)
    })
}

/// What a value reads: attributes of the item, and the element.
fn names_in(value: &Formula) -> impl Iterator<Item = String> {
    let reads = value.reads.iter();
    reads.filter_map(|reading| match &reading.origin {
        Origin::Item if reading.hops.is_empty() => Some(reading.attribute.clone()),
        Origin::Element(name) => Some(name.clone()),
        _ => None,
    })
}
