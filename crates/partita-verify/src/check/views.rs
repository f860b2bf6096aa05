//! Records of views: each that should be there is, with the right content, and no other.

use partita_core::expression::{Found, Scope as _};
use partita_core::{Item, Map, Number, Value};
use partita_design::design::{EachOver, Record, Source, View};
use partita_store::request::{ItemAddress, PutItem, TransactAction};

use super::sound::{has_sound, is_sound};
use super::{Findings, ITEM, Mend, Subject, drift, given, is_own};
use crate::layout::Stored;
use crate::mend;
use crate::reads::Known;
use crate::report::{Drift, DriftKind};
use crate::scene::{Lead, Scene};
use partita_design::nested;

/// A record that should be there.
struct Row {
    address: ItemAddress,
    /// What is derived, under names with dots; `None` where nothing should be.
    leaves: Vec<(String, Option<Value>)>,
    /// Its keys in indexes, if they can be told from the source.
    keys: Option<Map>,
    /// What belongs to the record, as it is when the record comes into being.
    initial: Map,
}

/// Judges the records of all views of an item.
pub(crate) fn judge_all<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Record,
    scene: &Scene<'_, 'd>,
    findings: &mut Findings,
) {
    let views = subject.world.layout.design.views_of(entity.id);
    for (record, view) in views.filter(|(_, view)| is_verifiable(view, entity)) {
        for row in rows(record, view, scene) {
            match subject.world.reads.item(&row.address) {
                Known::Unread => {}
                Known::Missing => missing(subject, record, &row, findings),
                Known::Found(stored) if is_of(subject, record, &row, stored) => {
                    compare(subject, record, scene, &row, stored, findings);
                }
                Known::Found(_) => occupied(subject, record, &row, findings),
            }
            findings.derived.push(row.address);
        }
    }
}

/// Whether an item is a record of the view, and may be written as one.
fn is_of(subject: Subject<'_, '_>, view: &Record, row: &Row, stored: &Item) -> bool {
    let found = subject.world.layout.recognise(&row.address.table, stored);
    let is_of_view = matches!(found, Stored::Record(known, _) if known.id == view.id);
    subject.rights.may_write_over(is_of_view)
}

/// Another item stands where a record should be. Whose it is, only somebody else knows.
fn occupied(subject: Subject<'_, '_>, view: &Record, row: &Row, findings: &mut Findings) {
    let says = format!("view.{}", view.name);
    let mut drift = drift(DriftKind::View, &view.name, &row.address, None, says);
    drift.expected = Some(ITEM.into());
    drift.note = Some(format!(
        "is missing: the item there is no record of `{}`",
        view.name
    ));
    // It is told with the item that the record is of.
    drift.table = subject.address.table.to_string();
    findings.push(drift, Mend::Nobody);
}

/// Judges whether a record should be there, and what is its own. What it repeats is judged with
/// its source.
pub(crate) fn judge_record<'d>(
    subject: Subject<'_, 'd>,
    view: &'d View,
    scene: &Scene<'_, 'd>,
    findings: &mut Findings,
) {
    given::judge_record(subject, scene, findings);
    let stored = scene.record.attributes.iter();
    let stored = stored.filter(|one| one.kept || one.is_declared());
    let names = stored.map(|one| one.name.as_str());
    let strange = subject.strange(subject.stored, subject.address, names);
    let name = &scene.record.name;
    let strange = strange.into_iter().map(|strange| (name.clone(), strange));
    findings.unrecognised.extend(strange);
    let layout = subject.world.layout;
    let source = &layout.design[view.of];
    let lead = scene
        .record
        .refs
        .first()
        .map(|to_source| scene.lead(to_source));
    // Whose record it is cannot be told.
    let Some(Lead::To(targets)) = lead else {
        return;
    };
    let Some(place) = targets.into_iter().next().map(|target| target.address) else {
        return;
    };
    match subject.world.reads.item(&place) {
        Known::Unread => {}
        // It is on its way to where the item went, or away with it.
        Known::Missing if view.history && subject.jobs.has_history(layout, &place) => {}
        Known::Missing => {
            let reason = format!("is left behind by a `{}` that is gone", source.name);
            left_behind(subject, (scene.record, view), reason, findings);
        }
        Known::Found(_) if view.history || !is_verifiable(view, source) => {}
        Known::Found(stored) => {
            let Some(item) = layout.attributes(source, &place.table, stored) else {
                return;
            };
            let of = Scene {
                record: source,
                item: &item,
                ..*scene
            };
            surplus(subject, (scene.record, view), &of, findings);
        }
    }
}

/// A record whose source is gone. What was kept of it is no derived data any more: nothing else
/// has it, so that it goes only where an operator says so.
fn left_behind(
    subject: Subject<'_, '_>,
    (record, view): (&Record, &View),
    reason: String,
    findings: &mut Findings,
) {
    let kind = if view.history {
        DriftKind::History
    } else {
        DriftKind::View
    };
    let drift = told(subject, record, kind, reason);
    let rights = subject.rights;
    let mend = if rights.is_held() {
        Mend::Held
    } else if view.history && !rights.is_named(&drift.says) {
        Mend::Named
    } else {
        Mend::Own
    };
    findings.own.delete |= mend == Mend::Own;
    findings.push(drift, mend);
}

/// A record whose source is there and should not have it.
fn surplus<'d>(
    subject: Subject<'_, 'd>,
    (record, view): (&'d Record, &'d View),
    source: &Scene<'_, 'd>,
    findings: &mut Findings,
) {
    let rows = rows(record, view, source);
    if rows.iter().any(|row| row.address == *subject.address) {
        return;
    }
    let reason = format!(
        "should not be there, as its `{}` is now",
        source.record.name
    );
    let drift = told(subject, record, DriftKind::View, reason);
    if subject
        .rights
        .may_clear(can_be_missing((record, view), source))
    {
        findings.own.delete = true;
        findings.push(drift, Mend::Own);
    } else {
        findings.push(drift, Mend::Nobody);
    }
}

fn told(subject: Subject<'_, '_>, view: &Record, kind: DriftKind, reason: String) -> Drift {
    let says = format!("view.{}", view.name);
    let mut drift = drift(kind, &view.name, subject.address, None, says);
    drift.stored = Some(ITEM.into());
    drift.note = Some(reason);
    drift
}

/// Whether an item can say that it has no record of the view.
fn can_be_missing((record, view): (&Record, &View), source: &Scene<'_, '_>) -> bool {
    let when = view.when.iter().all(|when| is_sound(source, &when.reads));
    let each = view.each.iter().all(|each| match &each.over {
        EachOver::List { reading, .. } => has_sound(source, &reading.attribute),
        EachOver::Pattern { .. } => true,
    });
    let mut derived = record.derived();
    let mut names = record.key.names().into_iter();
    when && each
        && derived.all(|(_, value)| is_sound(source, &value.reads))
        && names.all(|name| has_sound(source, &name))
}

/// Whether the records can be told from the source alone.
fn is_verifiable(view: &View, record: &Record) -> bool {
    let when = view.when.iter().all(|when| is_own(record, &when.reads));
    let each = view.each.iter().all(|each| match &each.over {
        EachOver::List { reading, .. } => is_own(record, std::slice::from_ref(&**reading)),
        EachOver::Pattern { .. } => false,
    });
    !view.history && when && each
}

/// The records that an item should have.
fn rows<'d>(record: &'d Record, view: &'d View, scene: &Scene<'_, 'd>) -> Vec<Row> {
    let Some(each) = &view.each else {
        return row(record, view, scene).into_iter().collect();
    };
    let EachOver::List { reading, .. } = &each.over else {
        return Vec::new();
    };
    let elements = match scene.find(&reading.path) {
        Found::Value(list) => members(&list),
        Found::Missing | Found::Unknown => Vec::new(),
    };
    let mut rows: Vec<Row> = Vec::new();
    let mut seen = Vec::new();
    for element in elements {
        let names = [(each.name.clone(), Some(element))];
        let scene = Scene {
            names: &names,
            ..*scene
        };
        if let Some(distinct) = &view.distinct {
            let names = own_names(record, &scene);
            let value = distinct.value(&Scene {
                names: &names,
                ..scene
            });
            if seen.contains(&value) {
                continue;
            }
            seen.push(value);
        }
        // Two elements that give one key have one record, the first's.
        let found = row(record, view, &scene);
        rows.extend(found.filter(|row| rows.iter().all(|one| one.address != row.address)));
    }
    rows
}

/// The record of an item, or of one element; none while the view's condition does not hold or a
/// part of its key is missing.
fn row<'d>(record: &'d Record, view: &'d View, scene: &Scene<'_, 'd>) -> Option<Row> {
    if view.when.as_ref().is_some_and(|when| !when.holds(scene)) {
        return None;
    }
    let source = scene.record;
    let kept = record.kept().map(|one| &one.name);
    let kept = kept.map(|name| (name.clone(), nested::get(scene.item, name).cloned()));
    let mut leaves: Vec<_> = kept.collect();
    let names = own_names(record, scene);
    // What is read through a ref was taken when the record was written, and may be older.
    let derived = record
        .derived()
        .filter(|(_, value)| is_own(source, &value.reads));
    leaves.extend(derived.map(|(attribute, _)| {
        let name = &attribute.name;
        let value = names.iter().find(|(known, _)| known == name);
        (name.clone(), value.and_then(|(_, value)| value.clone()))
    }));
    let scene = Scene {
        names: &names,
        ..*scene
    };
    let layout = scene.world.layout;
    let mut indexes = record.indexes.iter();
    let has_own_keys = indexes.all(|index| is_own(source, &index.reads));
    Some(Row {
        address: layout.address(record, &scene)?,
        leaves,
        keys: has_own_keys.then(|| layout.index_keys(record, &scene)),
        initial: initial(record, &scene),
    })
}

/// The names that a view adds to its source's: its derived attributes, and the element.
fn own_names(record: &Record, scene: &Scene<'_, '_>) -> Vec<(String, Option<Value>)> {
    let mut names = Vec::new();
    for (attribute, value) in record.derived() {
        let value = value.value(scene);
        let value = value.map(|value| attribute.kind.adopt(value));
        names.push((attribute.name.clone(), value));
    }
    names.extend(scene.names.iter().cloned());
    names
}

fn initial(record: &Record, scene: &Scene<'_, '_>) -> Map {
    let mut initial = Map::new();
    for own in record.own() {
        let value = match &own.source {
            Source::Given {
                default: Some(default),
            } => default.value(scene),
            Source::Computed(computed) => computed.value.value(scene),
            _ if own.begins_with_zero() && !own.optional => Some(Value::N(Number::from(0_i64))),
            _ => None,
        };
        if let Some(value) = value {
            nested::set(&mut initial, &own.name, own.kind.adopt(value));
        }
    }
    initial
}

/// A record that is not there is put, if it still is not.
fn missing<'d>(subject: Subject<'_, 'd>, record: &'d Record, row: &Row, findings: &mut Findings) {
    let says = format!("view.{}", &record.name);
    let kind = DriftKind::View;
    let mut drift = drift(kind, &record.name, &row.address, None, says);
    drift.expected = Some(ITEM.into());
    let mut item: Item = row.initial.clone();
    for (name, value) in &row.leaves {
        if let Some(value) = value {
            nested::set(&mut item, name, value.clone());
        }
    }
    item.extend(row.keys.clone().unwrap_or_default());
    item.extend(row.address.key.clone());
    let layout = subject.world.layout;
    let table = layout.table(&row.address.table);
    let mark = table.and_then(|table| table.discriminator.clone());
    let mark = mark.zip(record.discriminator.as_deref().map(Value::from));
    item.extend(mark);
    let put = PutItem {
        condition: Some(mend::as_read(layout, &row.address, None)),
        ..PutItem::new(row.address.table.clone(), item)
    };
    findings.push(drift, Mend::Other(findings.others.len()));
    findings.others.push(TransactAction::Put(put));
}

/// Compares a record with what it should be, name by name.
fn compare<'d>(
    subject: Subject<'_, 'd>,
    record: &'d Record,
    source: &Scene<'_, 'd>,
    row: &Row,
    stored: &Item,
    findings: &mut Findings,
) {
    let layout = subject.world.layout;
    let mut expected: Vec<(String, Option<Value>)> = row.leaves.clone();
    if let Some(keys) = &row.keys {
        let names = layout.made_keys(&row.address.table);
        expected.extend(names.map(|name| (name.to_owned(), keys.get(name).cloned())));
    }
    let other = findings.others.len();
    let mut after = stored.clone();
    for (name, value) in expected {
        let now = nested::get(stored, &name);
        if now == value.as_ref() {
            continue;
        }
        let says = format!("view.{}", record.name);
        let kind = DriftKind::View;
        let mut drift = drift(kind, &record.name, &row.address, Some(&name), says);
        let attribute = record.stored(&name);
        drift.stored = super::shown(attribute, now);
        drift.expected = super::shown(attribute, value.as_ref());
        let is_said = value.is_some() || says_missing(record, source, &name);
        if !subject.rights.may_clear(is_said) {
            findings.push(drift, Mend::Nobody);
            continue;
        }
        findings.push(drift, Mend::Other(other));
        match value {
            Some(value) => nested::set(&mut after, &name, value),
            None => nested::remove(&mut after, &name),
        }
    }
    if after != *stored {
        let update = mend::change(layout, &row.address, stored, &after);
        findings.others.push(update);
    }
}

/// Whether an item can say that a record of it lacks an attribute, or a key of an index.
fn says_missing(record: &Record, source: &Scene<'_, '_>, name: &str) -> bool {
    let attribute = record.stored(name);
    match attribute.map(|one| (one.kept, one.derived())) {
        Some((true, _)) => has_sound(source, name),
        Some((false, Some(value))) => is_sound(source, &value.reads),
        _ => {
            let mut indexes = record.indexes.iter();
            indexes.all(|index| is_sound(source, &index.reads))
        }
    }
}

fn members(value: &Value) -> Vec<Value> {
    match value {
        Value::L(list) => list.clone(),
        Value::Ss(set) => set.iter().map(|text| Value::S(text.clone())).collect(),
        Value::Ns(set) => set.iter().map(|number| Value::N(*number)).collect(),
        _ => Vec::new(),
    }
}
