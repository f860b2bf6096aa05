//! What callers gave: values that their attributes allow, and references that lead somewhere.
//!
//! None of it is derived, so a repair leaves it as it is. Only what should have gone or been
//! cleared with the target of a reference is removed, where an operator names that reference.

use partita_core::Value;
use partita_design::design::{Attribute, OnDelete, Record, Ref, RefTarget, SoftDelete};

use super::{Findings, ITEM, Mend, Subject, drift, is_own, own, shown};
use crate::derivation::{attribute_place, ref_place};
use crate::jobs::Work;
use crate::reads::Known;
use crate::report::DriftKind;
use crate::scope::{RefEnd, StoredScope};
use partita_design::nested;

/// Judges what an entity's item was given. What was found about its derived values is known.
pub(crate) fn judge<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Record,
    scope: &StoredScope<'_, 'd>,
    findings: &mut Findings,
) {
    for attribute in entity.attributes.iter().filter(|one| !one.is_virtual) {
        let is_lost = nested::get(scope.item, &attribute.name).is_none()
            && own::has_lost_source(subject, attribute, scope);
        if !findings.has(&attribute.name) && !is_lost {
            let says = attribute_place(entity, attribute);
            value(subject, attribute, says, scope, findings);
        }
    }
    unknown_attributes(subject, entity, findings);
    requirement(subject, entity, scope, findings);
}

/// Judges where the refs of an item lead, as it should be.
pub(crate) fn judge_refs<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Record,
    expected: &StoredScope<'_, 'd>,
    findings: &mut Findings,
) {
    for reference in &entity.refs {
        target_of(subject, entity, reference, expected, findings);
    }
}

/// Judges the attributes of a view's record that are its own.
pub(crate) fn judge_record<'d>(
    subject: Subject<'_, 'd>,
    scope: &StoredScope<'_, 'd>,
    findings: &mut Findings,
) {
    for own in scope.record.own() {
        let says = format!("view.{}.attributes.{}", scope.record.name, own.name);
        value(subject, own, says, scope, findings);
    }
}

/// A value is one that its attribute allows, and a required one is there.
fn value<'d>(
    subject: Subject<'_, 'd>,
    attribute: &'d Attribute,
    says: String,
    scope: &StoredScope<'_, 'd>,
    findings: &mut Findings,
) {
    let name = attribute.name.as_str();
    let stored = nested::get(scope.item, name);
    let note = match stored {
        None if attribute.optional || attribute.when_missing(scope).is_some() => return,
        None => "is missing, and is required".to_owned(),
        Some(Value::Null) if is_time_of_deletion(scope.record, name) => return,
        Some(stored) => match attribute.kind.check(stored) {
            Ok(()) => return,
            Err(expected) => {
                let shown = shown(Some(attribute), Some(stored));
                let shown = shown.as_ref().map(partita_core::plain::to_json);
                format!("is {}, must be {expected}", shown.unwrap_or_default())
            }
        },
    };
    let (record, kind) = (&scope.record.name, DriftKind::Value);
    let mut drift = drift(kind, record, subject.address, Some(name), says);
    drift.stored = shown(Some(attribute), stored);
    drift.note = Some(note);
    findings.push(drift, Mend::Nobody);
}

/// Whether a null in an attribute means a missing time, as others write it.
fn is_time_of_deletion(record: &Record, name: &str) -> bool {
    matches!(&record.soft_delete, Some(SoftDelete::Time(time)) if time == name)
}

/// Attributes that the entity does not have.
fn unknown_attributes<'d>(subject: Subject<'_, 'd>, entity: &'d Record, findings: &mut Findings) {
    if entity.open {
        expiry(subject, entity, findings);
        return;
    }
    let names = entity.attributes.iter().map(|one| one.name.as_str());
    let strange = subject.strange(subject.stored, subject.address, names);
    let strange = strange.into_iter().map(|name| (entity.name.clone(), name));
    findings.unrecognised.extend(strange);
}

/// A time by which the store deletes an item of an entity that does not expire. It goes only where
/// an operator says so: somebody gave it.
fn expiry<'d>(subject: Subject<'_, 'd>, entity: &'d Record, findings: &mut Findings) {
    let Some(ttl) = subject.state.layout.ttl(&subject.address.table) else {
        return;
    };
    let stored = subject.stored.get(ttl);
    let Some(stored) = stored.filter(|_| entity.stored(ttl).is_none()) else {
        return;
    };
    let says = format!("entity.{}.open", entity.name);
    let kind = DriftKind::Value;
    let mut drift = drift(kind, &entity.name, subject.address, Some(ttl), says);
    drift.stored = Some(stored.clone());
    drift.note = Some("lets the store delete the item, which the design does not".to_owned());
    let mend = if subject.rights.is_named(&drift.says) {
        findings.assign(ttl, None);
        Mend::Own
    } else {
        Mend::Named
    };
    findings.push(drift, mend);
}

/// What the design requires of every item of the entity.
fn requirement<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Record,
    scope: &StoredScope<'_, 'd>,
    findings: &mut Findings,
) {
    let Some(require) = &entity.require else {
        return;
    };
    if !is_own(scope.record, &require.reads) || require.tree.decide(scope) != Some(false) {
        return;
    }
    let says = format!("entity.{}.require", entity.name);
    let kind = DriftKind::Value;
    let mut drift = drift(kind, &entity.name, subject.address, None, says);
    drift.stored = Some(ITEM.into());
    drift.note = Some(format!("breaks the rule `{}`", require.text));
    findings.push(drift, Mend::Nobody);
}

/// A reference to an item that is gone. What the ref says `on delete` decides whether that is so
/// by right.
fn target_of<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Record,
    reference: &'d Ref,
    scope: &StoredScope<'_, 'd>,
    findings: &mut Findings,
) {
    if reference.unchecked {
        return;
    }
    let Some(target) = scope.chosen(reference) else {
        return;
    };
    let gone = match scope.resolve(reference) {
        RefEnd::To(targets) => {
            let places = targets.into_iter().map(|target| target.address);
            let gone =
                places.filter(|place| matches!(subject.state.reads.item(place), Known::Missing));
            gone.map(Some).collect()
        }
        RefEnd::Lost => vec![None],
        RefEnd::Constants(_) | RefEnd::Nowhere | RefEnd::Unknown => return,
    };
    let Some(place) = gone.first() else {
        return;
    };
    let is_kept = match target.on_delete {
        OnDelete::Keep => true,
        // Not counted, so it did not keep its target.
        OnDelete::Refuse { .. } => entity.is_deleted(scope.item),
        OnDelete::Cascade | OnDelete::Clear(_) => false,
    };
    if is_kept || !is_watched(subject, target) {
        findings.kept_references += gone.len() as u64;
        return;
    }
    let job = subject.jobs.awaited(
        subject.state.layout,
        Work::Release,
        &entity.name,
        &reference.name,
        place.as_ref(),
    );
    dangling(subject, entity, (reference, target), job, scope, findings);
}

/// A reference that should not have lost its target.
fn dangling<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Record,
    (reference, target): (&'d Ref, &'d RefTarget),
    job: Option<String>,
    scope: &StoredScope<'_, 'd>,
    findings: &mut Findings,
) {
    let says = ref_place(entity, reference);
    let mend = match job {
        Some(job) => Mend::Job(job),
        None if subject.rights.is_held() => Mend::Held,
        None if subject.rights.is_named(&says) => Mend::Own,
        None => Mend::Named,
    };
    let make = |name: Option<&str>| {
        let kind = DriftKind::Dangling;
        drift(kind, &entity.name, subject.address, name, says.clone())
    };
    let name = &reference.name;
    match &target.on_delete {
        OnDelete::Cascade => {
            let mut drift = make(None);
            drift.stored = Some(ITEM.into());
            drift.note = Some(format!("should have gone with its `{name}`"));
            findings.own.delete |= mend == Mend::Own;
            findings.push(drift, mend);
        }
        OnDelete::Clear(attributes) => {
            for attribute in attributes.iter().map(|id| &entity.attributes[id.index()]) {
                let name = &attribute.name;
                let Some(stored) = nested::get(scope.item, name) else {
                    continue;
                };
                let mut drift = make(Some(name));
                drift.stored = shown(Some(attribute), Some(stored));
                if mend == Mend::Own {
                    findings.assign(name, None);
                }
                findings.push(drift, mend.clone());
            }
        }
        OnDelete::Refuse { .. } => {
            let mut drift = make(None);
            drift.stored = Some(ITEM.into());
            drift.note = Some(format!(
                "has lost its `{name}`, which cannot be deleted before it"
            ));
            findings.push(drift, Mend::Nobody);
        }
        OnDelete::Keep => {}
    }
}

/// Whether a deletion of the target is seen by those that refer to it. One that expires goes
/// unseen, and one that moves is not followed.
fn is_watched(subject: Subject<'_, '_>, target: &RefTarget) -> bool {
    target.record().is_some_and(|record| {
        let record = &subject.state.layout.design[record];
        let moves = record.attributes.iter().any(|attribute| attribute.movable);
        record.is_entity() && record.expiry().is_none() && !moves
    })
}
