//! An entity's item by itself: keys, computed values, ranges, copies, references.

use partita_core::Value;
use partita_core::expression::{Found, Scope as _};
use partita_design::design::{
    Attribute, Computed, Entity, OnDelete, Ref, RefTarget, Source, TargetName, Timing,
};
use partita_design::expression::Reading;
use partita_design::types::AttributeType;

use super::{Findings, ITEM, Mend, Subject, drift, is_own, shown};
use crate::jobs::Work;
use crate::layout::Record;
use crate::nested;
use crate::reads::Known;
use crate::report::DriftKind;
use crate::scene::{Lead, Scene};

/// Judges an item by what it says itself, and by what its refs lead to.
pub(crate) fn judge<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Entity,
    scene: &Scene<'_, 'd>,
    findings: &mut Findings,
) {
    primary_key(subject, entity, scene, findings);
    index_keys(subject, entity, scene, findings);
    for attribute in entity.attributes.iter().filter(|one| !one.is_virtual) {
        range(subject, entity, attribute, scene, findings);
        match &attribute.source {
            Source::Computed(computed) => {
                self::computed(subject, entity, attribute, computed, scene, findings);
            }
            Source::Copy(reading) => copy(subject, entity, attribute, reading, scene, findings),
            _ => {}
        }
    }
    requirement(subject, entity, scene, findings);
    for reference in &entity.refs {
        dangling(subject, entity, reference, scene, findings);
    }
}

/// What is stored beside the key must be what the key says.
fn primary_key<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Entity,
    scene: &Scene<'_, 'd>,
    findings: &mut Findings,
) {
    let expected = subject.world.layout.address(scene.record, scene);
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
        let says = format!("entity.{}.{name}", entity.name);
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
    entity: &'d Entity,
    scene: &Scene<'_, 'd>,
    findings: &mut Findings,
) {
    let mut indexes = entity.indexes.iter();
    if !indexes.all(|index| is_own(scene.record, &index.reads)) {
        return;
    }
    let layout = subject.world.layout;
    let expected = layout.index_keys(scene.record, scene);
    for name in layout.made_keys(&subject.address.table) {
        let (stored, expected) = (subject.stored.get(name), expected.get(name));
        if stored == expected || findings.own.set.iter().any(|(known, _)| known == name) {
            continue;
        }
        let says = format!("entity.{}.{name}", entity.name);
        let kind = DriftKind::IndexKey;
        let mut drift = drift(kind, &entity.name, subject.address, Some(name), says);
        drift.stored = stored.cloned();
        drift.expected = expected.cloned();
        findings.push(drift, Mend::Own);
        findings.assign(name, expected.cloned());
    }
}

/// Numbers are whole where they must be, and in their range. Who is wrong, nobody knows.
fn range<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Entity,
    attribute: &'d Attribute,
    scene: &Scene<'_, 'd>,
    findings: &mut Findings,
) {
    let is_number = matches!(
        attribute.kind,
        AttributeType::Number(_) | AttributeType::Int(_) | AttributeType::Counter
    );
    let Some(stored) = nested::get(scene.item, &attribute.name).filter(|_| is_number) else {
        return;
    };
    if let Err(expected) = attribute.kind.check(stored) {
        let says = declaration(entity, attribute);
        let name = Some(attribute.name.as_str());
        let kind = DriftKind::Range;
        let mut drift = drift(kind, &entity.name, subject.address, name, says);
        drift.stored = shown(Some(attribute), Some(stored));
        let shown = drift.stored.as_ref().map(partita_core::plain::to_json);
        let shown = shown.unwrap_or_default();
        drift.note = Some(format!("is {shown}, must be {expected}"));
        findings.push(drift, Mend::Nobody);
    }
}

/// A value that always follows its own item.
fn computed<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Entity,
    attribute: &'d Attribute,
    computed: &'d Computed,
    scene: &Scene<'_, 'd>,
    findings: &mut Findings,
) {
    if computed.timing != Timing::Always || !is_own(scene.record, &computed.value.reads) {
        return;
    }
    let expected = computed.value.value(scene);
    let expected = expected.map(|value| attribute.kind.adopt(value));
    value(
        subject,
        entity,
        attribute,
        expected,
        DriftKind::Computed,
        Mend::Own,
        scene,
        findings,
    );
}

/// A value that follows one of another item. Where that item is gone, the last value stays.
fn copy<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Entity,
    attribute: &'d Attribute,
    reading: &'d Reading,
    scene: &Scene<'_, 'd>,
    findings: &mut Findings,
) {
    let [hop] = reading.hops.as_slice() else {
        return;
    };
    let Some(reference) = entity.reference(&hop.reference) else {
        return;
    };
    let (expected, mend) = match scene.lead(reference) {
        Lead::Nowhere => (None, Mend::Own),
        Lead::To(targets) => {
            let Some(target) = targets.first() else {
                return;
            };
            let is_there = matches!(subject.world.reads.item(&target.address), Known::Found(_));
            if !is_there {
                return;
            }
            let expected = match scene.find(&reading.path) {
                Found::Value(value) => Some(attribute.kind.adopt(value.into_owned())),
                Found::Missing => None,
                Found::Unknown => return,
            };
            let place = Some(&target.address);
            let job = subject.jobs.awaited(
                subject.world.layout,
                Work::Follow,
                &entity.name,
                &reference.name,
                place,
            );
            (expected, job.map_or(Mend::Own, Mend::Job))
        }
        Lead::Constants(_) | Lead::Lost | Lead::Unknown => return,
    };
    let kind = DriftKind::Copy;
    value(
        subject, entity, attribute, expected, kind, mend, scene, findings,
    );
}

#[expect(
    clippy::too_many_arguments,
    reason = "one value and everything about it"
)]
fn value<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Entity,
    attribute: &'d Attribute,
    expected: Option<Value>,
    kind: DriftKind,
    mend: Mend,
    scene: &Scene<'_, 'd>,
    findings: &mut Findings,
) {
    let name = attribute.name.as_str();
    let stored = nested::get(scene.item, name);
    // What stands in the key only is right if the key is.
    if stored == expected.as_ref() || attribute.key_only {
        return;
    }
    let says = declaration(entity, attribute);
    let mut drift = drift(kind, &entity.name, subject.address, Some(name), says);
    drift.stored = shown(Some(attribute), stored);
    drift.expected = shown(Some(attribute), expected.as_ref());
    if mend == Mend::Own {
        findings.assign(name, expected);
    }
    findings.push(drift, mend);
}

/// What the design requires of every item of the entity.
fn requirement<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Entity,
    scene: &Scene<'_, 'd>,
    findings: &mut Findings,
) {
    let Some(require) = &entity.require else {
        return;
    };
    if !is_own(scene.record, &require.reads) || require.tree.decide(scene) != Some(false) {
        return;
    }
    let says = format!("entity.{}.require", entity.name);
    let kind = DriftKind::Range;
    let mut drift = drift(kind, &entity.name, subject.address, None, says);
    drift.stored = Some(ITEM.into());
    drift.note = Some(format!("breaks the rule `{}`", require.text));
    findings.push(drift, Mend::Nobody);
}

/// A reference to an item that is gone: this one should have gone with it, or been cleared of it.
fn dangling<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Entity,
    reference: &'d Ref,
    scene: &Scene<'_, 'd>,
    findings: &mut Findings,
) {
    if reference.unchecked || reference.is_many() {
        return;
    }
    let target = scene.chosen(reference);
    let Some(target) = target.filter(|target| is_released(subject, target)) else {
        return;
    };
    let place = match scene.lead(reference) {
        Lead::To(targets) => match targets.into_iter().next() {
            Some(target) => match subject.world.reads.item(&target.address) {
                Known::Missing => Some(target.address),
                Known::Found(_) | Known::Unread => return,
            },
            None => return,
        },
        Lead::Lost => None,
        Lead::Constants(_) | Lead::Nowhere | Lead::Unknown => return,
    };
    let job = subject.jobs.awaited(
        subject.world.layout,
        Work::Release,
        &entity.name,
        &reference.name,
        place.as_ref(),
    );
    let mend = job.map_or(Mend::Own, Mend::Job);
    let says = format!("entity.{}.refs.{}", entity.name, reference.name);
    let make = |name: Option<&str>| {
        let kind = DriftKind::Dangling;
        drift(kind, &entity.name, subject.address, name, says.clone())
    };
    match &target.on_delete {
        OnDelete::Cascade => {
            let mut drift = make(None);
            drift.stored = Some(ITEM.into());
            let name = &reference.name;
            drift.note = Some(format!("should have gone with its `{name}`"));
            findings.own.delete |= mend == Mend::Own;
            findings.push(drift, mend);
        }
        OnDelete::Clear(names) => {
            for name in names {
                let Some(stored) = nested::get(scene.item, name) else {
                    continue;
                };
                let mut drift = make(Some(name));
                drift.stored = shown(entity.attribute(name), Some(stored));
                if mend == Mend::Own {
                    findings.assign(name, None);
                }
                findings.push(drift, mend.clone());
            }
        }
        OnDelete::Keep | OnDelete::Refuse { .. } => {}
    }
}

/// Whether items that refer so do not outlive their target. One that expires goes unseen, and
/// one that moves is not followed.
fn is_released(subject: Subject<'_, '_>, target: &RefTarget) -> bool {
    let TargetName::Record(name) = &target.to else {
        return false;
    };
    let releases = matches!(target.on_delete, OnDelete::Cascade | OnDelete::Clear(_));
    match subject.world.layout.record(name) {
        Some(Record::Entity(entity)) => {
            let moves = entity.attributes.iter().any(|attribute| attribute.movable);
            releases && entity.expiry().is_none() && !moves
        }
        _ => false,
    }
}

fn declaration(entity: &Entity, attribute: &Attribute) -> String {
    format!("entity.{}.attributes.{}", entity.name, attribute.name)
}
