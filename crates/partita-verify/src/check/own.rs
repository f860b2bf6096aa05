//! What is derived in an entity's item: keys, computed values, copies.

use std::borrow::Cow;

use partita_core::expression::{Found, Scope as _};
use partita_core::{Map, Value};
use partita_design::design::{Attribute, Computed, Record, Ref, Source, Timing};
use partita_design::expression::Reading;

use super::sound::{has_sound, is_sound};
use super::{Findings, Mend, Subject, drift, is_own, shown};
use crate::derivation::{attribute_place, key_place};
use crate::jobs::Work;
use crate::reads::Known;
use crate::report::DriftKind;
use crate::scope::{RefEnd, StoredScope};
use partita_design::nested;

/// Judges an item by what it says itself, and by what its refs lead to. The answer is the item as
/// it should be: whatever is derived from it is judged by that.
pub(crate) fn judge<'i, 'd>(
    subject: Subject<'_, 'd>,
    entity: &'d Record,
    item: &'i Map,
    findings: &mut Findings,
) -> Cow<'i, Map> {
    let mut expected = Cow::Borrowed(item);
    // Each comes behind those that it is computed from.
    let own = subject.state.layout.design.reactions.own(entity.id);
    for attribute in own.computed(entity) {
        let scope = StoredScope {
            state: subject.state,
            record: entity,
            item: &expected,
            names: &[],
        };
        let found = match &attribute.source {
            Source::Computed(computed) => self::computed(subject, attribute, computed, &scope),
            Source::Copy(reading) => copy(subject, entity, attribute, reading, &scope),
            _ => None,
        };
        let Some((value, mend)) = found else {
            continue;
        };
        if value_drifts(subject, entity, attribute, &value, mend, item, findings) {
            match value {
                Some(value) => nested::set(expected.to_mut(), &attribute.name, value),
                None => nested::remove(expected.to_mut(), &attribute.name),
            }
        }
    }
    let scope = StoredScope {
        state: subject.state,
        record: entity,
        item: &expected,
        names: &[],
    };
    primary_key(subject, entity, &scope, findings);
    index_keys(subject, entity, &scope, findings);
    native_keys(subject, entity, item, findings);
    expected
}

/// What is stored beside the key must be what the key says.
fn primary_key<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Record,
    scope: &StoredScope<'_, 'd>,
    findings: &mut Findings,
) {
    let expected = subject.state.layout.address(scope.record, scope);
    if expected.as_ref() == Some(subject.address) {
        return;
    }
    let names = subject.address.key.keys();
    for name in names {
        let stored = subject.address.key.get(name);
        let expected = expected.as_ref().and_then(|one| one.key.get(name));
        if stored == expected {
            continue;
        }
        let says = key_place(entity, name);
        let kind = DriftKind::PrimaryKey;
        let mut drift = drift(kind, &entity.name, subject.address, Some(name), says);
        drift.stored = stored.cloned();
        drift.expected = expected.cloned();
        // The key or the attribute may be the one that is wrong.
        findings.push(drift, Mend::Nobody);
    }
}

fn index_keys<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Record,
    scope: &StoredScope<'_, 'd>,
    findings: &mut Findings,
) {
    let mut indexes = entity.indexes.iter();
    if !indexes.all(|index| is_own(scope.record, &index.reads)) {
        return;
    }
    let layout = subject.state.layout;
    let expected = layout.index_keys(scope.record, scope);
    for name in layout.made_keys(&subject.address.table) {
        let (stored, expected) = (subject.stored.get(name), expected.get(name));
        if stored == expected || findings.own.set.iter().any(|(known, _)| known == name) {
            continue;
        }
        let says = key_place(entity, name);
        let kind = DriftKind::IndexKey;
        let mut drift = drift(kind, &entity.name, subject.address, Some(name), says);
        drift.stored = stored.cloned();
        drift.expected = expected.cloned();
        let is_said = expected.is_some() || can_be_missing(subject, scope, name);
        if !subject.rights.may_clear(is_said) {
            findings.push(drift, Mend::Nobody);
            continue;
        }
        findings.push(drift, Mend::Own);
        findings.assign(name, expected.cloned());
    }
}

/// An attribute that an index holds by itself is stored: the item is read as having its default, but
/// without it it is not in the index.
fn native_keys(subject: Subject<'_, '_>, entity: &Record, item: &Map, findings: &mut Findings) {
    let indexes = subject.state.layout.design[entity.table].indexes.iter();
    let keys = indexes.flat_map(|index| [Some(&index.partition), index.sort.as_ref()]);
    for key in keys.flatten().filter(|key| key.native) {
        let name = key.name.as_str();
        let is_known = findings.own.set.iter().any(|(known, _)| known == name);
        if is_known || nested::get(item, name).is_some() {
            continue;
        }
        let Some(attribute) = entity.stored(name) else {
            continue;
        };
        let Some(expected) = entity.when_missing(item, name) else {
            continue;
        };
        let says = attribute_place(entity, attribute);
        let kind = DriftKind::IndexKey;
        let mut drift = drift(kind, &entity.name, subject.address, Some(name), says);
        drift.expected = Some(expected.clone());
        findings.push(drift, Mend::Own);
        findings.assign(name, Some(expected));
    }
}

/// Whether what a key of an index is made of can say that it should be missing.
fn can_be_missing<'d>(subject: Subject<'_, 'd>, scope: &StoredScope<'_, 'd>, key: &str) -> bool {
    let layout = subject.state.layout;
    let mut indexes = scope.record.indexes.iter().filter(|index| {
        let schema = layout.design.index_of(scope.record, index.index);
        schema.made_keys().any(|made| made == key)
    });
    indexes.all(|index| is_sound(scope, &index.reads))
}

/// A value that always follows its own item, and how it is mended.
fn computed<'d>(
    subject: Subject<'_, 'd>,
    attribute: &'d Attribute,
    computed: &'d Computed,
    scope: &StoredScope<'_, 'd>,
) -> Option<(Option<Value>, Mend)> {
    if computed.timing != Timing::Always || !is_own(scope.record, &computed.value.reads) {
        return None;
    }
    let expected = computed.value.value(scope);
    let expected = expected.map(|value| attribute.kind.adopt(value));
    let is_said = expected.is_some() || is_sound(scope, &computed.value.reads);
    let mend = removal(subject, attribute, expected.as_ref(), is_said, Mend::Own);
    Some((expected, mend))
}

/// A value that follows one of another item, and how it is mended. Where that item is gone, the last
/// value stays.
fn copy<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Record,
    attribute: &'d Attribute,
    reading: &'d Reading,
    scope: &StoredScope<'_, 'd>,
) -> Option<(Option<Value>, Mend)> {
    let [hop] = reading.hops.as_slice() else {
        return None;
    };
    let reference = subject.state.layout.design.reference(hop)?;
    let (expected, is_said, mend) = match scope.resolve(reference) {
        RefEnd::Nowhere => (None, is_unset(scope, reference), Mend::Own),
        RefEnd::To(targets) => {
            let target = targets.first()?;
            let Known::Found(_) = subject.state.reads.item(&target.address) else {
                return None;
            };
            let expected = match scope.find(&reading.path) {
                Found::Value(value) => Some(attribute.kind.adopt(value.into_owned())),
                Found::Missing => None,
                Found::Unknown => return None,
            };
            let place = Some(&target.address);
            let job = subject.jobs.awaited(
                subject.state.layout,
                Work::Follow,
                &entity.name,
                &reference.name,
                place,
            );
            let source = target.record.stored(&reading.attribute);
            let is_said = source.is_some_and(|source| source.optional);
            (expected, is_said, job.map_or(Mend::Own, Mend::Job))
        }
        RefEnd::Constants(_) | RefEnd::Lost | RefEnd::Unknown => return None,
    };
    let mend = removal(subject, attribute, expected.as_ref(), is_said, mend);
    Some((expected, mend))
}

/// Whether an attribute copies from an item that is gone. It keeps what it had; one that came to the
/// design later has nothing.
pub(super) fn has_lost_source<'d>(
    subject: Subject<'_, 'd>,
    attribute: &'d Attribute,
    scope: &StoredScope<'_, 'd>,
) -> bool {
    let Source::Copy(reading) = &attribute.source else {
        return false;
    };
    let reference = reading.hops.first();
    let reference = reference.and_then(|hop| subject.state.layout.design.reference(hop));
    let end = reference.map(|reference| scope.resolve(reference));
    end.is_some_and(|end| match end {
        RefEnd::Lost => true,
        RefEnd::To(targets) => targets.first().is_some_and(|target| {
            matches!(subject.state.reads.item(&target.address), Known::Missing)
        }),
        RefEnd::Constants(_) | RefEnd::Nowhere | RefEnd::Unknown => false,
    })
}

/// Whether a ref leads nowhere because something that it is made of is not set, and need not be.
fn is_unset(scope: &StoredScope<'_, '_>, reference: &Ref) -> bool {
    let arguments = reference
        .targets
        .iter()
        .flat_map(|target| &target.arguments);
    let names = arguments.map(|argument| &argument.path);
    names
        .chain(&reference.by)
        .all(|name| has_sound(scope, name))
}

/// How a derived value is mended. One that should be missing is removed only if it may be missing
/// at all and its sources say so.
fn removal(
    subject: Subject<'_, '_>,
    attribute: &Attribute,
    expected: Option<&Value>,
    is_said: bool,
    mend: Mend,
) -> Mend {
    let is_said = expected.is_some() || (attribute.optional && is_said);
    match mend {
        Mend::Own if !subject.rights.may_clear(is_said) => Mend::Nobody,
        mend => mend,
    }
}

/// Compares a value of an item with what it should be; true where the item itself is to get that.
fn value_drifts<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Record,
    attribute: &'d Attribute,
    expected: &Option<Value>,
    mend: Mend,
    item: &Map,
    findings: &mut Findings,
) -> bool {
    let name = attribute.name.as_str();
    let stored = nested::get(item, name);
    // What is stored in the key only is right if the key is.
    if stored == expected.as_ref() || attribute.key_only {
        return false;
    }
    let kind = if matches!(attribute.source, Source::Copy(_)) {
        DriftKind::Copy
    } else {
        DriftKind::Computed
    };
    let says = attribute_place(entity, attribute);
    let mut drift = drift(kind, &entity.name, subject.address, Some(name), says);
    drift.stored = shown(Some(attribute), stored);
    drift.expected = shown(Some(attribute), expected.as_ref());
    let is_own = mend == Mend::Own;
    if is_own {
        findings.assign(name, expected.clone());
    }
    findings.push(drift, mend);
    is_own
}
