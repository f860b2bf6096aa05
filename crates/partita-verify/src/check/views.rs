//! Records of views: each that should be there is, with the right content, and no other.

use partita_core::expression::{Found, Scope as _};
use partita_core::{Item, Map, Number, Value};
use partita_design::design::{EachOver, Entity, Source, View, ViewAttribute};
use partita_design::expression::Expr;
use partita_store::request::{ItemAddress, PutItem, TransactAction};

use super::sound::{has_sound, is_sound};
use super::{Findings, ITEM, Mend, Subject, drift, given, is_own};
use crate::layout::{Record, Stored, begins_with_zero};
use crate::mend;
use crate::nested;
use crate::reads::Known;
use crate::report::{Drift, DriftKind};
use crate::scene::Scene;

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
    entity: &'d Entity,
    scene: &Scene<'_, 'd>,
    findings: &mut Findings,
) {
    let views = subject.world.layout.design.views_of(&entity.name);
    for view in views.filter(|view| is_verifiable(view, entity)) {
        let record = Record::View(view, entity);
        for row in rows(record, view, scene) {
            match subject.world.reads.item(&row.address) {
                Known::Unread => {}
                Known::Missing => missing(subject, record, &row, findings),
                Known::Found(stored) if is_of(subject, view, &row, stored) => {
                    compare(subject, record, (view, scene), &row, stored, findings);
                }
                Known::Found(_) => occupied(subject, view, &row, findings),
            }
            findings.derived.push(row.address);
        }
    }
}

/// Whether an item is a record of the view, and may be written as one.
fn is_of(subject: Subject<'_, '_>, view: &View, row: &Row, stored: &Item) -> bool {
    let found = subject.world.layout.recognise(&row.address.table, stored);
    let is_of_view =
        matches!(found, Stored::Record(Record::View(known, _), _) if known.name == view.name);
    subject.rights.may_write_over(is_of_view)
}

/// Another item stands where a record should be. Whose it is, only somebody else knows.
fn occupied(subject: Subject<'_, '_>, view: &View, row: &Row, findings: &mut Findings) {
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
    given::judge_record(subject, view, scene, findings);
    let names = view.keep.iter().map(String::as_str);
    let names = names.chain(view.attributes.iter().map(ViewAttribute::name));
    let strange = subject.strange(subject.stored, subject.address, names);
    let strange = strange.into_iter().map(|name| (view.name.clone(), name));
    findings.unrecognised.extend(strange);
    let layout = subject.world.layout;
    let source = scene.record.source();
    let entity = Record::Entity(source);
    let identity = source_identity(scene.record, scene.item);
    let place = identity.and_then(|identity| layout.address(entity, &identity));
    // Nobody can say whose record it is.
    let Some(place) = place else {
        return;
    };
    match subject.world.reads.item(&place) {
        Known::Unread => {}
        // It is on its way to where the item went, or away with it.
        Known::Missing if view.history && subject.jobs.has_history(layout, &place) => {}
        Known::Missing => {
            let reason = format!("is left behind by a `{}` that is gone", source.name);
            left_behind(subject, view, reason, findings);
        }
        Known::Found(_) if view.history || !is_verifiable(view, source) => {}
        Known::Found(stored) => {
            let Some(item) = layout.attributes(entity, &place.table, stored) else {
                return;
            };
            let scene = Scene {
                record: entity,
                item: &item,
                ..*scene
            };
            surplus(subject, view, &scene, findings);
        }
    }
}

/// A record whose source is gone. What was kept of it is no derived data any more: nothing else
/// has it, so that it goes only where an operator says so.
fn left_behind(subject: Subject<'_, '_>, view: &View, reason: String, findings: &mut Findings) {
    let kind = if view.history {
        DriftKind::History
    } else {
        DriftKind::View
    };
    let drift = told(subject, view, kind, reason);
    let rights = subject.rights;
    let mend = if rights.is_held(&subject.address.table) {
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
    view: &'d View,
    source: &Scene<'_, 'd>,
    findings: &mut Findings,
) {
    let record = Record::View(view, source.record.source());
    let rows = rows(record, view, source);
    if rows.iter().any(|row| row.address == *subject.address) {
        return;
    }
    let reason = format!("should not be there, as its `{}` is now", view.of);
    let drift = told(subject, view, DriftKind::View, reason);
    if subject.rights.may_clear(can_be_missing(view, source)) {
        findings.own.delete = true;
        findings.push(drift, Mend::Own);
    } else {
        findings.push(drift, Mend::Nobody);
    }
}

fn told(subject: Subject<'_, '_>, view: &View, kind: DriftKind, reason: String) -> Drift {
    let says = format!("view.{}", view.name);
    let mut drift = drift(kind, &view.name, subject.address, None, says);
    drift.stored = Some(ITEM.into());
    drift.note = Some(reason);
    drift
}

/// Whether an item can say that it has no record of the view.
fn can_be_missing(view: &View, source: &Scene<'_, '_>) -> bool {
    let when = view.when.iter().all(|when| is_sound(source, &when.reads));
    let each = view.each.iter().all(|each| match &each.over {
        EachOver::List { reading, .. } => has_sound(source, &reading.attribute),
        EachOver::Pattern { .. } => true,
    });
    let mut derived = view.derived();
    let mut names = view.key.partition.names().chain(view.key.sort.names());
    when && each
        && derived.all(|(_, value)| is_sound(source, &value.reads))
        && names.all(|name| has_sound(source, &name))
}

/// The identity of the item that a view's record was derived from. The record has each part under
/// its own name, in its key, or under the name of a value that is nothing but this part.
pub(crate) fn source_identity(record: Record<'_>, item: &Map) -> Option<Map> {
    let Record::View(view, source) = record else {
        return None;
    };
    let mut identity = Map::new();
    for part in &source.identity {
        let name = &part.attribute;
        let derived = |name: &str| view.attributes.iter().any(|one| one.name() == name);
        let same = view.derived().find(|(_, formula)| {
            let [case] = formula.cases.as_slice() else {
                return false;
            };
            let path = match &case.is {
                Expr::Path(path) if case.when.is_none() => path.to_string(),
                _ => return false,
            };
            path == *name
        });
        let value = match same {
            Some((other, _)) => nested::get(item, other),
            None if derived(name) => None,
            None => nested::get(item, name),
        };
        nested::set(&mut identity, name, value?.clone());
    }
    Some(identity)
}

/// Whether the records can be told from the source alone.
fn is_verifiable(view: &View, source: &Entity) -> bool {
    let record = Record::Entity(source);
    let when = view.when.iter().all(|when| is_own(record, &when.reads));
    let each = view.each.iter().all(|each| match &each.over {
        EachOver::List { reading, .. } => is_own(record, std::slice::from_ref(&**reading)),
        EachOver::Pattern { .. } => false,
    });
    !view.history && when && each
}

/// The records that an item should have.
fn rows<'d>(record: Record<'d>, view: &'d View, scene: &Scene<'_, 'd>) -> Vec<Row> {
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
            let names = own_names(view, &scene);
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
fn row<'d>(record: Record<'d>, view: &'d View, scene: &Scene<'_, 'd>) -> Option<Row> {
    if view.when.as_ref().is_some_and(|when| !when.holds(scene)) {
        return None;
    }
    let source = Record::Entity(record.source());
    let kept = view.keep.iter();
    let kept = kept.map(|name| (name.clone(), nested::get(scene.item, name).cloned()));
    let mut leaves: Vec<_> = kept.collect();
    let names = own_names(view, scene);
    // What is read through a ref was taken when the record was written, and may be older.
    let derived = view
        .derived()
        .filter(|(_, value)| is_own(source, &value.reads));
    leaves.extend(derived.map(|(name, _)| {
        let value = names.iter().find(|(known, _)| known == name);
        (name.to_owned(), value.and_then(|(_, value)| value.clone()))
    }));
    let scene = Scene {
        names: &names,
        ..*scene
    };
    let layout = scene.world.layout;
    let mut indexes = view.indexes.iter();
    let has_own_keys = indexes.all(|index| is_own(source, &index.reads));
    Some(Row {
        address: layout.address(record, &scene)?,
        leaves,
        keys: has_own_keys.then(|| layout.index_keys(record, &scene)),
        initial: initial(view, &scene),
    })
}

/// The names that a view adds to its source's: its derived attributes, and the element.
fn own_names<'d>(view: &'d View, scene: &Scene<'_, 'd>) -> Vec<(String, Option<Value>)> {
    let mut names = Vec::new();
    for attribute in &view.attributes {
        if let ViewAttribute::Derived {
            name, kind, value, ..
        } = attribute
        {
            let value = value.value(scene).map(|value| kind.adopt(value));
            names.push((name.clone(), value));
        }
    }
    names.extend(scene.names.iter().cloned());
    names
}

fn initial(view: &View, scene: &Scene<'_, '_>) -> Map {
    let mut initial = Map::new();
    for attribute in &view.attributes {
        let ViewAttribute::Own(own) = attribute else {
            continue;
        };
        let value = match &own.source {
            Source::Given {
                default: Some(default),
            } => default.value(scene),
            Source::Computed(computed) => computed.value.value(scene),
            _ if begins_with_zero(own) && !own.optional => Some(Value::N(Number::from(0_i64))),
            _ => None,
        };
        if let Some(value) = value {
            nested::set(&mut initial, &own.name, own.kind.adopt(value));
        }
    }
    initial
}

/// A record that is not there is put, if it still is not.
fn missing<'d>(subject: Subject<'_, 'd>, record: Record<'d>, row: &Row, findings: &mut Findings) {
    let says = format!("view.{}", record.name());
    let kind = DriftKind::View;
    let mut drift = drift(kind, record.name(), &row.address, None, says);
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
    let mark = mark.zip(record.discriminator().map(Value::from));
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
    record: Record<'d>,
    (view, source): (&'d View, &Scene<'_, 'd>),
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
        let says = format!("view.{}", view.name);
        let kind = DriftKind::View;
        let mut drift = drift(kind, &view.name, &row.address, Some(&name), says);
        let attribute = record.attribute(&name);
        drift.stored = super::shown(attribute, now);
        drift.expected = super::shown(attribute, value.as_ref());
        let is_said = value.is_some() || says_missing(view, source, &name);
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
fn says_missing(view: &View, source: &Scene<'_, '_>, name: &str) -> bool {
    if view.keep.iter().any(|kept| kept == name) {
        return has_sound(source, name);
    }
    let mut derived = view.derived();
    match derived.find(|(known, _)| *known == name) {
        Some((_, value)) => is_sound(source, &value.reads),
        None => {
            let mut indexes = view.indexes.iter();
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
