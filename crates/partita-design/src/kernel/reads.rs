//! Which attributes of the written item reactions depend on, as far as these can change.

use super::When;
use crate::Design;
use crate::design::{Aggregate, EachOver, Record, Ref, Source, Unique, View};

/// What decides whether an item counts, where, and how much.
pub(super) fn counted_by(design: &Design, aggregate: &Aggregate) -> Vec<String> {
    let counted = &design[aggregate.of];
    let sum = aggregate.sum.as_deref();
    let only = aggregate.only.iter().flat_map(|only| only.own_attributes());
    let own = sum.into_iter().chain(only);
    // A view's record comes and goes with its source.
    if !counted.is_entity() {
        return own.map(str::to_owned).collect();
    }
    let soft_delete = counted.soft_delete.as_ref().map(|one| one.attribute());
    let by = reference_inputs(&design[(aggregate.of, aggregate.by)]);
    changeable(counted, own.chain(by).chain(soft_delete))
}

/// What a copy follows: the attribute, or what its default is made of while it is missing.
pub(super) fn copied_by(record: &Record, attribute: &str) -> Vec<String> {
    let source = record.stored(attribute).map(|one| &one.source);
    let default = match source {
        Some(Source::Given { default }) => default.as_ref(),
        _ => None,
    };
    let default = default.into_iter().flat_map(|one| one.own_attributes());
    changeable(record, std::iter::once(attribute).chain(default))
}

/// What the records of a view are made of.
pub(super) fn kept_by(design: &Design, record: &Record, view: &View) -> Vec<String> {
    let when = view.when.iter().flat_map(|when| when.own_attributes());
    let derived = record
        .derived()
        .flat_map(|(_, value)| value.own_attributes());
    let keys = record.identity.iter().map(|part| part.attribute.as_str());
    let indexes = record.indexes.iter().flat_map(|index| &index.reads);
    let indexes = indexes.map(|reading| reading.attribute.as_str());
    let each = view.each.iter().filter_map(|each| match &each.over {
        EachOver::List { reading, .. } => Some(reading.attribute.as_str()),
        EachOver::Pattern { .. } => None,
    });
    let kept = record.kept().map(|one| one.name.as_str());
    let names = kept.chain(when).chain(derived).chain(keys);
    changeable(&design[view.of], names.chain(indexes).chain(each))
}

/// What the guard of a unique value holds: the value, its owner, and when that expires.
pub(super) fn guarded_by(entity: &Record, unique: &Unique) -> Vec<String> {
    let value = unique.attributes.iter().map(String::as_str);
    let owner = entity.identity.iter().map(|part| part.attribute.as_str());
    let expiry = entity.expiry().map(|one| one.name.as_str());
    changeable(entity, value.chain(owner).chain(expiry))
}

/// What a condition reads of the item itself.
pub(super) fn decided_by(when: &When) -> Vec<String> {
    let (turns, holds) = match when {
        When::While(holds) | When::If(holds) => (None, holds),
        When::Turns(turns, holds) => (Some(turns), holds),
    };
    let conditions = turns.into_iter().chain(holds);
    let names = conditions.flat_map(|condition| condition.own_attributes());
    names.map(str::to_owned).collect()
}

/// The attributes that decide where a ref leads.
pub fn reference_inputs(reference: &Ref) -> impl Iterator<Item = &str> {
    let targets = reference.targets.iter();
    let arguments = targets.flat_map(|target| &target.arguments);
    let paths = arguments.map(|argument| argument.path.as_str());
    reference.by.as_deref().into_iter().chain(paths)
}

/// Those of some attributes that can change. So can one that is movable: its item is elsewhere
/// then.
fn changeable<'n>(record: &Record, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let can_change = |name: &&str| {
        let attribute = record.stored(name);
        attribute.is_none_or(|attribute| !attribute.lasting || attribute.movable)
    };
    let mut found: Vec<String> = Vec::new();
    for name in names.filter(can_change) {
        if found.iter().all(|known| known != name) {
            found.push(name.to_owned());
        }
    }
    found
}
