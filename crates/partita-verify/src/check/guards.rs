//! Guards of unique values: one owner each, and none left behind.

use partita_core::{Item, Map};
use partita_design::design::{Record, Unique};
use partita_store::request::{ItemAddress, PutItem, TransactAction};

use super::sound::has_sound;
use super::{Findings, ITEM, Mend, Subject, drift};
use crate::mend;
use crate::reads::Known;
use crate::report::{Drift, DriftKind};
use crate::scope::StoredScope;
use partita_design::nested;

/// Whose a guard is, as far as that is known.
enum Owner {
    /// Its owner has the value.
    Is(Map),
    /// Its owner is there and has another value now, as far as that can be said.
    Without { is_sound: bool },
    /// Its owner is gone.
    Gone,
    /// The owner is not read yet.
    Unread,
}

/// Judges the guards of all unique values of an item.
pub(crate) fn judge_all<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Record,
    scope: &StoredScope<'_, 'd>,
    findings: &mut Findings,
) {
    for unique in &entity.unique {
        if let Some(place) = subject.state.layout.guard(entity, unique, scope) {
            judge(subject, entity, unique, &place, scope.item, findings);
            findings.derived.push(place);
        }
    }
}

fn judge<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Record,
    unique: &'d Unique,
    place: &ItemAddress,
    item: &Map,
    findings: &mut Findings,
) {
    let layout = subject.state.layout;
    let Some(owner) = entity.identity_of(item) else {
        return;
    };
    let stored = match subject.state.reads.item(place) {
        Known::Unread => return,
        Known::Missing => None,
        Known::Found(stored) => Some(stored),
    };
    let mut drift = told(entity, unique, place);
    drift.expected = Some(ITEM.into());
    let expiry = layout.expiry(entity);
    let until = expiry.and_then(|name| Some((name, nested::get(item, name)?)));
    if let Some(stored) = stored {
        match owner_of(subject, entity, unique, place, stored) {
            Owner::Unread => return,
            Owner::Is(other) if other == owner => {
                let expires = expiry.and_then(|name| stored.get(name));
                if expires == until.map(|(_, until)| until) {
                    return;
                }
                drift.attribute = expiry.map(str::to_owned);
                drift.stored = expires.cloned();
                drift.expected = until.map(|(_, until)| until.clone());
                drift.note = Some("a guard expires with its owner".to_owned());
            }
            Owner::Is(_) => {
                let name = &unique.name;
                drift.record.clone_from(&entity.name);
                drift.key.clone_from(&subject.address.key);
                drift.attribute = unique.attributes.first().cloned();
                drift.expected = None;
                drift.note = Some(format!("is another item's too: the guard `{name}` is its"));
                findings.push(drift, Mend::Nobody);
                return;
            }
            found => {
                drift.note = Some("names an owner that does not have the value".to_owned());
                drift.stored = Some(ITEM.into());
                let mend = found.kept(subject, entity, stored);
                if mend != Mend::Own {
                    findings.push(drift, mend);
                    return;
                }
            }
        }
    }
    // What else is in it is not ours to remove.
    let mut guard: Item = stored.cloned().unwrap_or_else(|| place.key.clone());
    if let Some(name) = expiry {
        guard.remove(name);
    }
    guard.extend(owner);
    guard.extend(until.map(|(name, until)| (name.to_owned(), until.clone())));
    let put = PutItem {
        condition: Some(mend::as_read(subject.state, place)),
        ..PutItem::new(place.table.clone(), guard)
    };
    findings.push(drift, Mend::Other(findings.others.len()));
    findings.others.push(TransactAction::Put(put));
}

/// Judges whether a guard should be there.
pub(crate) fn judge_guard<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Record,
    unique: &'d Unique,
    findings: &mut Findings,
) {
    let owner = owner_of(subject, entity, unique, subject.address, subject.stored);
    if let Owner::Without { .. } | Owner::Gone = owner {
        let mut drift = told(entity, unique, subject.address);
        drift.stored = Some(ITEM.into());
        drift.note = Some(
            if subject.state.layout.is_only_guard(entity, subject.stored) {
                format!("is left behind: no `{}` has the value", entity.name)
            } else {
                "has attributes that no guard has: it may be another item".to_owned()
            },
        );
        let mend = owner.kept(subject, entity, subject.stored);
        findings.own.delete |= mend == Mend::Own;
        findings.push(drift, mend);
    }
}

impl Owner {
    /// Why a guard that is not its owner's stays; it goes where there is no reason.
    fn kept<'d>(&self, subject: Subject<'_, 'd>, entity: &'d Record, guard: &Item) -> Mend {
        match self {
            // It may be an item that a caller gave.
            _ if !subject.state.layout.is_only_guard(entity, guard) => Mend::Nobody,
            // The owner may be an item that the design does not recognise.
            Owner::Gone if subject.rights.is_held() => Mend::Held,
            Owner::Without { is_sound: false } => Mend::Nobody,
            _ => Mend::Own,
        }
    }
}

fn owner_of<'d>(
    subject: Subject<'_, 'd>,
    entity: &'d Record,
    unique: &'d Unique,
    place: &ItemAddress,
    guard: &Item,
) -> Owner {
    let layout = subject.state.layout;
    let record = entity;
    let Some(owner) = entity.identity_of(guard) else {
        return Owner::Gone;
    };
    let Some(home) = layout.address(record, &owner) else {
        return Owner::Gone;
    };
    let stored = match subject.state.reads.item(&home) {
        Known::Unread => return Owner::Unread,
        Known::Missing => return Owner::Gone,
        Known::Found(stored) => stored,
    };
    let Some(item) = layout.attributes(record, &home.table, stored) else {
        return Owner::Gone;
    };
    let item = subject.at(&home, stored).expected(record, &item);
    let scope = StoredScope {
        state: subject.state,
        record,
        item: &item,
        names: &[],
    };
    if layout.guard(entity, unique, &scope).as_ref() == Some(place) {
        return Owner::Is(owner);
    }
    let mut names = unique.attributes.iter();
    let is_sound = names.all(|name| has_sound(&scope, name));
    Owner::Without { is_sound }
}

fn told(entity: &Record, unique: &Unique, place: &ItemAddress) -> Drift {
    let says = format!("entity.{}.unique.{}", entity.name, unique.name);
    let record = format!("guard of {}", entity.name);
    drift(DriftKind::Unique, &record, place, None, says)
}
