//! Records of views: each that should be there is, with the right content, and no other.

use partita_core::expression::{Found, Scope as _};
use partita_core::wording::one;
use partita_core::{Item, Map, Number, Value};
use partita_design::design::{EachOver, Record, Source, View};
use partita_store::request::{ItemAddress, PutItem, TransactAction};

use super::sound::{has_sound, is_sound};
use super::{Findings, ITEM, Mend, Subject, drift, given, is_own};
use crate::derivation::view_place;
use crate::layout::Stored;
use crate::mend;
use crate::reads::Known;
use crate::report::{Drift, DriftKind};
use crate::scope::{RefEnd, StoredScope};
use partita_design::nested;

/// A record that should be there.
struct Row {
    address: ItemAddress,
    /// What is derived, under names with dots; `None` where nothing should be.
    leaves: Vec<(String, Option<Value>)>,
    /// Its keys in indexes, if they follow from the source.
    keys: Option<Map>,
    /// What belongs to the record, as it is when the record comes into being.
    initial: Map,
}

/// Judges the records of all views of an item.
pub(crate) fn judge_all<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Record,
    scope: &StoredScope<'_, 'd>,
    findings: &mut Findings,
) {
    let views = subject.state.layout.design.views_of(entity.id);
    for (record, view) in views.filter(|(_, view)| is_verifiable(view, entity)) {
        for row in rows(record, view, scope) {
            match subject.state.reads.item(&row.address) {
                Known::Unread => {}
                Known::Missing => missing(subject, record, &row, findings),
                Known::Found(stored) if is_of(subject, record, &row, stored) => {
                    compare(subject, record, scope, &row, stored, findings);
                }
                Known::Found(_) => occupied(subject, record, &row, findings),
            }
            findings.derived.push(row.address);
        }
    }
}

/// Whether an item is a record of the view, and may be written as one.
fn is_of(subject: Subject<'_, '_>, view: &Record, row: &Row, stored: &Item) -> bool {
    let found = subject.state.layout.recognise(&row.address.table, stored);
    let is_of_view = matches!(found, Stored::Record(known, _) if known.id == view.id);
    subject.rights.may_write_over(is_of_view)
}

/// Another item is where a record should be. Its owner is unknown.
fn occupied(subject: Subject<'_, '_>, view: &Record, row: &Row, findings: &mut Findings) {
    let says = view_place(view);
    let mut drift = drift(DriftKind::View, &view.name, &row.address, None, says);
    drift.expected = Some(ITEM.into());
    drift.note = Some(format!(
        "is missing: the item there is no record of `{}`",
        view.name
    ));
    // It is reported with the item that the record is of.
    drift.table = subject.address.table.to_string();
    findings.push(drift, Mend::Nobody);
}

/// Judges whether a record should be there, and what is its own. What it repeats is judged with
/// its source.
pub(crate) fn judge_record<'d>(
    subject: Subject<'_, 'd>,
    view: &'d View,
    scope: &StoredScope<'_, 'd>,
    findings: &mut Findings,
) {
    given::judge_record(subject, scope, findings);
    let stored = scope.record.attributes.iter();
    let stored = stored.filter(|one| one.kept || one.is_declared());
    let names = stored.map(|one| one.name.as_str());
    let strange = subject.strange(subject.stored, subject.address, names);
    let name = &scope.record.name;
    let strange = strange.into_iter().map(|strange| (name.clone(), strange));
    findings.unrecognised.extend(strange);
    let layout = subject.state.layout;
    let source = &layout.design[view.of];
    let end = scope
        .record
        .refs
        .first()
        .map(|to_source| scope.resolve(to_source));
    // Its source is unknown.
    let Some(RefEnd::To(targets)) = end else {
        return;
    };
    let Some(place) = targets.into_iter().next().map(|target| target.address) else {
        return;
    };
    match subject.state.reads.item(&place) {
        Known::Unread => {}
        // It is on its way to where the item went, or away with it.
        Known::Missing if view.history && subject.jobs.has_history(layout, &place) => {}
        // Nothing sees an item expire, and what was kept of it stays.
        Known::Missing if view.history && source.expiry().is_some() => {}
        Known::Missing => {
            let reason = format!("is left behind by {} that is gone", one(&source.name));
            left_behind(subject, (scope.record, view), reason, findings);
        }
        Known::Found(_) if view.history || !is_verifiable(view, source) => {}
        Known::Found(stored) => {
            let Some(item) = layout.attributes(source, &place.table, stored) else {
                return;
            };
            let item = subject.at(&place, stored).expected(source, &item);
            let of = StoredScope {
                record: source,
                item: &item,
                ..*scope
            };
            surplus(subject, (scope.record, view), &of, findings);
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
    source: &StoredScope<'_, 'd>,
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
    let says = view_place(view);
    let mut drift = drift(kind, &view.name, subject.address, None, says);
    drift.stored = Some(ITEM.into());
    drift.note = Some(reason);
    drift
}

/// Whether an item can say that it has no record of the view.
fn can_be_missing((record, view): (&Record, &View), source: &StoredScope<'_, '_>) -> bool {
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

/// Whether the records follow from the source alone.
fn is_verifiable(view: &View, record: &Record) -> bool {
    let when = view.when.iter().all(|when| is_own(record, &when.reads));
    let each = view.each.iter().all(|each| match &each.over {
        EachOver::List { reading, .. } => is_own(record, std::slice::from_ref(&**reading)),
        EachOver::Pattern { .. } => false,
    });
    !view.history && when && each
}

/// The records that an item should have in a view; none where a pattern gives the elements, which
/// cannot be verified.
fn rows<'d>(record: &'d Record, view: &'d View, scope: &StoredScope<'_, 'd>) -> Vec<Row> {
    let Some(each) = &view.each else {
        return row(record, view, scope).into_iter().collect();
    };
    let EachOver::List { reading, .. } = &each.over else {
        return Vec::new();
    };
    let elements = match scope.find(&reading.path) {
        Found::Value(list) => members(&list),
        Found::Missing | Found::Unknown => Vec::new(),
    };
    let mut rows: Vec<Row> = Vec::new();
    let mut seen = Vec::new();
    for element in elements {
        let names = [(each.name.clone(), Some(element))];
        let scope = StoredScope {
            names: &names,
            ..*scope
        };
        if let Some(distinct) = &view.distinct {
            let names = own_names(record, &scope);
            let value = distinct.value(&StoredScope {
                names: &names,
                ..scope
            });
            if seen.contains(&value) {
                continue;
            }
            seen.push(value);
        }
        // Two elements that give one key have one record, the first's.
        let found = row(record, view, &scope);
        rows.extend(found.filter(|row| rows.iter().all(|one| one.address != row.address)));
    }
    rows
}

/// The record of an item, or of one element; none while the view's condition does not hold or a
/// part of its key is missing.
fn row<'d>(record: &'d Record, view: &'d View, scope: &StoredScope<'_, 'd>) -> Option<Row> {
    if view.when.as_ref().is_some_and(|when| !when.holds(scope)) {
        return None;
    }
    let source = scope.record;
    let kept = record.kept().map(|one| &one.name);
    let kept = kept.map(|name| (name.clone(), nested::get(scope.item, name).cloned()));
    let mut leaves: Vec<_> = kept.collect();
    let names = own_names(record, scope);
    let scope = StoredScope {
        names: &names,
        ..*scope
    };
    let layout = scope.state.layout;
    let mut initial = initial(record, &scope);
    for (attribute, value) in record.derived() {
        let name = &attribute.name;
        let known = names.iter().find(|(known, _)| known == name);
        let made = known.and_then(|(_, value)| value.clone());
        // What is read through a ref is taken when the record is written, and may be older later.
        if is_own(source, &value.reads) {
            leaves.push((name.clone(), made));
        } else if let Some(made) = made {
            nested::set(&mut initial, name, made);
        }
    }
    let keys = layout.index_keys(record, &scope);
    let mut indexes = record.indexes.iter();
    let has_own_keys = indexes.all(|index| is_own(source, &index.reads));
    if !has_own_keys {
        initial.extend(keys.clone());
    }
    Some(Row {
        address: layout.address(record, &scope)?,
        leaves,
        keys: has_own_keys.then_some(keys),
        initial,
    })
}

/// The names that a view adds to its source's: its derived attributes, and the element.
fn own_names(record: &Record, scope: &StoredScope<'_, '_>) -> Vec<(String, Option<Value>)> {
    let mut names = Vec::new();
    for (attribute, value) in record.derived() {
        let value = value.value(scope);
        let value = value.map(|value| attribute.kind.adopt(value));
        names.push((attribute.name.clone(), value));
    }
    names.extend(scope.names.iter().cloned());
    names
}

fn initial(record: &Record, scope: &StoredScope<'_, '_>) -> Map {
    let mut initial = Map::new();
    for own in record.own() {
        let value = match &own.source {
            Source::Given {
                default: Some(default),
            } => default.value(scope),
            Source::Computed(computed) => computed.value.value(scope),
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
    let says = view_place(record);
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
    let layout = subject.state.layout;
    let table = layout.table(&row.address.table);
    let mark = table.and_then(|table| table.discriminator.clone());
    let mark = mark.zip(record.discriminator.as_deref().map(Value::from));
    item.extend(mark);
    let put = PutItem {
        condition: Some(mend::as_read(subject.state, &row.address)),
        ..PutItem::new(row.address.table.clone(), item)
    };
    findings.push(drift, Mend::Other(findings.others.len()));
    findings.others.push(TransactAction::Put(put));
}

/// Compares a record with what it should be, name by name.
fn compare<'d>(
    subject: Subject<'_, 'd>,
    record: &'d Record,
    source: &StoredScope<'_, 'd>,
    row: &Row,
    stored: &Item,
    findings: &mut Findings,
) {
    let layout = subject.state.layout;
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
        let says = view_place(record);
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
fn says_missing(record: &Record, source: &StoredScope<'_, '_>, name: &str) -> bool {
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
