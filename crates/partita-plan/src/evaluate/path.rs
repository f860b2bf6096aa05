//! What an expression finds at a path: in the item, behind its refs, or of the caller.

use std::borrow::Cow;

use partita_core::expression::{Found, Path, Scope, Step};
use partita_core::{Map, Number, Value};
use partita_design::design::{Attribute, CallerSource, Record, Ref};
use partita_design::nested;
use partita_design::stored::{self, is_path};
use partita_design::template::dotted;

use super::reads::Known;
use super::reference::{Resolved, Target};
use super::scope::{Fact, ItemScope, Named, Others, ReadSet};
use crate::draft::Entry;
use crate::lapse::lapsed;
use crate::place::Address;

/// The item that a path is followed in.
#[derive(Clone, Copy)]
pub(super) struct Subject<'f, 'p, 'a> {
    pub(super) record: &'a Record,
    pub(super) item: &'f Map,
    pub(super) whose: Whose<'p>,
}

#[derive(Clone, Copy)]
pub(super) enum Whose<'p> {
    /// The item that the scope is about.
    Own,
    /// The same, as it was.
    Old,
    /// An item beside it.
    Other(&'p Address),
}

impl<'f, 'p, 'a> Subject<'f, 'p, 'a> {
    fn other(record: &'a Record, item: &'f Map, address: &'p Address) -> Self {
        Subject {
            record,
            item,
            whose: Whose::Other(address),
        }
    }
}

impl Scope for ItemScope<'_, '_> {
    fn find(&self, path: &Path) -> Found<'_> {
        self.look(&path.root, &path.steps)
    }
}

impl<'s, 'a> ItemScope<'s, 'a> {
    /// The item that the scope is about.
    pub(super) fn subject(&self) -> Subject<'s, 'static, 'a> {
        Subject {
            record: self.record,
            item: self.item,
            whose: Whose::Own,
        }
    }

    pub(super) fn look(&self, root: &str, steps: &[Step]) -> Found<'_> {
        if let Some((_, named)) = self.names.iter().find(|(name, _)| name == root) {
            return self.named(named, steps);
        }
        match (root, steps) {
            ("now", []) => Found::Value(Cow::Borrowed(self.context.now)),
            ("caller", _) => self.caller(steps),
            ("old", [Step::Field(first), rest @ ..]) => match self.old {
                Some(item) => {
                    let old = Subject {
                        record: self.record,
                        item,
                        whose: Whose::Old,
                    };
                    self.inside(old, first, rest)
                }
                // A new item has no past: it has not changed, and was not otherwise either.
                None => Found::Unknown,
            },
            _ => self.inside(self.subject(), root, steps),
        }
    }

    fn named<'f>(&'f self, named: &'f Named<'_, 'a>, steps: &[Step]) -> Found<'f> {
        match (named, steps) {
            (Named::Value(None), _) => Found::Missing,
            (Named::Value(Some(value)), steps) => found(stored::inside(value, steps)),
            (
                Named::Item {
                    record,
                    item,
                    address,
                },
                [Step::Field(first), rest @ ..],
            ) => self.inside(Subject::other(record, item, address), first, rest),
            (Named::Item { .. }, _) => Found::Missing,
        }
    }

    /// Without a caller nothing is known of one, so that no comparison with it holds, `<>`
    /// included.
    pub(super) fn caller(&self, steps: &[Step]) -> Found<'_> {
        let caller = self.context.caller;
        let callers = &self.context.blueprint.design.callers;
        let Some(id) = &caller.id else {
            return Found::Unknown;
        };
        let (source, in_token) = match steps {
            [] => return owned_text(id),
            [Step::Field(name)] if name == "role" => {
                let role = caller.role.as_ref().map(|role| Value::S(role.clone()));
                (&callers.role, role)
            }
            [Step::Field(name)] if name == "groups" => {
                let groups = caller.groups.iter().map(|one| Value::S(one.clone()));
                (&callers.groups, Some(Value::L(groups.collect())))
            }
            _ => return Found::Missing,
        };
        match source {
            CallerSource::Token => value_or_missing(in_token),
            CallerSource::Attribute(attribute) => self.caller_attribute(id, attribute),
        }
    }

    /// What the caller's own item says of the caller.
    fn caller_attribute(&self, id: &str, attribute: &'a str) -> Found<'_> {
        let blueprint = self.context.blueprint;
        let Some(entity) = blueprint.design.callers.entity else {
            return Found::Missing;
        };
        let record = &blueprint.design[entity];
        let identity = record.identity.iter();
        let identity: Map = identity
            .map(|part| (part.attribute.clone(), Value::from(id)))
            .collect();
        let Ok(address) = blueprint.address(record, &identity) else {
            return Found::Missing;
        };
        match self.context.item(&address) {
            Known::Unread => Found::Unknown,
            // Who is not in the table, or deleted there, has no role and no groups.
            Known::Missing => Found::Missing,
            Known::Found(item) => {
                let caller = Subject::other(record, item, &address);
                if let Some(absent) = self.absence_of_own(caller, &address) {
                    return absent;
                }
                let path = dotted(attribute);
                self.inside(caller, &path.root, &path.steps)
            }
        }
    }

    /// What is found at a path of an item.
    pub(super) fn inside<'f>(
        &'f self,
        subject: Subject<'f, '_, 'a>,
        root: &str,
        steps: &[Step],
    ) -> Found<'f> {
        let Subject {
            record,
            item,
            whose,
        } = subject;
        if let Some(reference) = self.reference(subject, root)
            && !item.contains_key(root)
        {
            let resolved = self.resolve_from(subject, reference);
            return match whose {
                // What was before leads to what was before.
                Whose::Old => owned(self.before().through(resolved, steps)),
                Whose::Own | Whose::Other(_) => self.through(resolved, steps),
            };
        }
        let attribute = record.declared(root, steps);
        if let Some(attribute) = attribute {
            self.note(subject, attribute);
        }
        let now = self.context.now_millis;
        let is_lapsed = |one: &Attribute| lapsed(record, one, item, now).is_some();
        let value = item
            .get(root)
            .and_then(|value| stored::inside(value, steps));
        if value.is_some() {
            return if attribute.is_some_and(is_lapsed) {
                Found::Value(Cow::Owned(Value::N(Number::ZERO)))
            } else {
                found(value)
            };
        }
        if let Some(repeated) = repeated(record, item, root, steps) {
            return Found::Value(Cow::Borrowed(repeated));
        }
        if matches!(whose, Whose::Own) && !self.complete && !item.contains_key(root) {
            return Found::Unknown;
        }
        value_or_missing(attribute.and_then(|one| self.unstored(subject, one, steps)))
    }

    /// What is read of an attribute that is not stored: it is computed where it is needed, from
    /// the item that has it, or reads as its default.
    fn unstored(
        &self,
        subject: Subject<'_, '_, 'a>,
        attribute: &'a Attribute,
        steps: &[Step],
    ) -> Option<Value> {
        let Subject {
            record,
            item,
            whose,
        } = subject;
        // Something else is stored there, and nothing at the path inside of it.
        if nested::get(item, &attribute.name).is_some() {
            return None;
        }
        let read = ReadSet::new();
        let scope = ItemScope {
            record,
            item,
            names: &[],
            reads: match whose {
                Whose::Own => self.reads,
                Whose::Old | Whose::Other(_) => self.reads.map(|_| &read),
            },
            ..*self
        };
        let value = if attribute.is_virtual {
            attribute.virtual_value(&scope)
        } else {
            attribute.when_missing(&scope).and_then(|value| {
                let inside = steps.get(attribute.name.matches('.').count()..)?;
                stored::inside(&value, inside).cloned()
            })
        };
        match (self.reads, whose) {
            (Some(reads), Whose::Old) => reads.note_all_as_old(read),
            (Some(reads), Whose::Other(address)) => reads.note_all_of(read, address, record),
            _ => {}
        }
        value
    }

    fn reference(&self, subject: Subject<'_, '_, 'a>, name: &str) -> Option<&'a Ref> {
        let extra: &'a [Ref] = match subject.whose {
            Whose::Own => self.refs,
            Whose::Old | Whose::Other(_) => &[],
        };
        let mut refs = extra.iter().chain(&subject.record.refs);
        refs.find(|reference| reference.name == name)
    }

    /// What is found behind a ref.
    fn through(&self, resolved: Resolved<'a>, steps: &[Step]) -> Found<'_> {
        let Some((Step::Field(next), rest)) = steps.split_first() else {
            return Found::Missing;
        };
        let target = match resolved {
            Resolved::Unknown => return Found::Unknown,
            Resolved::Nowhere => return Found::Missing,
            Resolved::Constants(row) => {
                return found(row.get(next).and_then(|value| stored::inside(value, rest)));
            }
            Resolved::To(targets) => match targets.into_iter().next() {
                Some(target) => target,
                None => return Found::Missing,
            },
        };
        if target.is_callers {
            return self.through_own(&target, next, rest);
        }
        // A part of the identity is known without reading the item.
        if let Some(value) = target.identity.get(next, rest) {
            return Found::Value(Cow::Owned(value.clone()));
        }
        if let Some(around) = self.around {
            let other = (target.address.clone(), target.record);
            around.borrow_mut().push(other);
        }
        if self.context.reads.reads_only_own() {
            return Found::Unknown;
        }
        if let Some(entry) = self.changed(&target.address) {
            return self.inside_changed(entry, &target, next, rest);
        }
        match self.context.item(&target.address) {
            Known::Unread => Found::Unknown,
            Known::Missing => {
                self.note_fact(&target.address, target.record, Fact::Absence);
                Found::Missing
            }
            Known::Found(item) => self.inside_target(&target, item, next, rest),
        }
    }

    /// What is found in the item that a ref leads to.
    fn inside_target<'f>(
        &'f self,
        target: &Target<'a>,
        item: &'f Map,
        root: &str,
        steps: &[Step],
    ) -> Found<'f> {
        self.inside(
            Subject::other(target.record, item, &target.address),
            root,
            steps,
        )
    }

    /// Whether the write leaves another item at a place than it found.
    pub(super) fn is_rewritten(&self, address: &Address) -> bool {
        match self.others {
            Others::Before => false,
            Others::During(draft) | Others::After(draft) => draft.is_rewritten(address),
        }
    }

    /// The item that the write leaves at a place, if it is in the draft.
    fn changed(&self, address: &Address) -> Option<&Entry<'a>> {
        match self.others {
            Others::Before => None,
            Others::During(draft) | Others::After(draft) => draft.left_at(address),
        }
    }

    /// What is found at a path of an item that the write changes.
    fn inside_changed<'f>(
        &'f self,
        entry: &'f Entry<'a>,
        target: &Target<'a>,
        root: &str,
        steps: &[Step],
    ) -> Found<'f> {
        match (&entry.record.view, &entry.after, entry.old()) {
            // Of a record that stays only what is derived is in the draft.
            (Some(_), Some(_), Some(_)) => match self.context.item(&target.address) {
                Known::Unread => Found::Unknown,
                Known::Missing => Found::Missing,
                Known::Found(stored) => {
                    let record = entry.over(stored);
                    owned(self.inside_target(target, &record, root, steps))
                }
            },
            (_, Some(after), _) => self.inside_target(target, after, root, steps),
            (_, None, _) => Found::Missing,
        }
    }

    /// What is found in a record of the caller's own. Whether there is one is what is asked, so none
    /// of it is known before it is read, a deleted one is none, and that it is there is guarded.
    fn through_own(&self, target: &Target<'a>, next: &str, rest: &[Step]) -> Found<'_> {
        let identity = || target.identity.get(next, rest).cloned();
        if let Some(entry) = self.changed(&target.address) {
            let left = entry.after.as_deref();
            if left.is_none_or(|left| target.record.is_deleted(left)) {
                return Found::Missing;
            }
            return match identity() {
                Some(value) => Found::Value(Cow::Owned(value)),
                None => self.inside_changed(entry, target, next, rest),
            };
        }
        let item = match self.context.item(&target.address) {
            Known::Unread => return Found::Unknown,
            Known::Missing => {
                self.note_fact(&target.address, target.record, Fact::Absence);
                return Found::Missing;
            }
            Known::Found(item) => item,
        };
        self.note_fact(&target.address, target.record, Fact::Presence);
        let own = Subject::other(target.record, item, &target.address);
        if let Some(absent) = self.absence_of_own(own, &target.address) {
            return absent;
        }
        match identity() {
            Some(value) => Found::Value(Cow::Owned(value)),
            None => self.inside_target(target, item, next, rest),
        }
    }

    /// What a record of the caller's own counts as if it is deleted, or if a live reference of it
    /// leads to an item that is deleted or gone: a record that its caller cannot find gives no
    /// rights.
    fn absence_of_own(
        &self,
        own: Subject<'_, '_, 'a>,
        address: &Address,
    ) -> Option<Found<'static>> {
        if self.is_seen_deleted(own.record, own.item, address) {
            return Some(Found::Missing);
        }
        for reference in own.record.refs.iter().filter(|one| one.live) {
            let Resolved::To(targets) = self.resolve_from(own, reference) else {
                continue;
            };
            for target in targets {
                let Target {
                    record, address, ..
                } = &target;
                match self.context.item(address) {
                    Known::Unread => return Some(Found::Unknown),
                    Known::Missing => {
                        self.note_fact(address, record, Fact::Absence);
                        return Some(Found::Missing);
                    }
                    Known::Found(item) => {
                        self.note_fact(address, record, Fact::Presence);
                        if self.is_seen_deleted(record, item, address) {
                            return Some(Found::Missing);
                        }
                    }
                }
            }
        }
        None
    }

    /// Whether another item is deleted, which is noted as read.
    pub(super) fn is_seen_deleted(
        &self,
        record: &'a Record,
        item: &Map,
        address: &Address,
    ) -> bool {
        let Some(soft_delete) = &record.soft_delete else {
            return false;
        };
        self.note_fact(address, record, Fact::Attribute(soft_delete.attribute()));
        soft_delete.is_deleted(item)
    }

    pub(super) fn note_fact(&self, address: &Address, record: &'a Record, fact: Fact<'a>) {
        if let Some(reads) = self.reads {
            reads.note_foreign(address, record, fact);
        }
    }

    fn note(&self, subject: Subject<'_, '_, 'a>, attribute: &'a Attribute) {
        let Some(reads) = self.reads.filter(|_| !attribute.lasting) else {
            return;
        };
        match subject.whose {
            Whose::Own if !self.is_past => reads.note_own(&attribute.name),
            Whose::Own | Whose::Old => reads.note_old(&attribute.name),
            Whose::Other(address) => {
                let fact = Fact::Attribute(&attribute.name);
                reads.note_foreign(address, subject.record, fact);
            }
        }
    }
}

/// What a view's record has of its source under another name.
fn repeated<'v>(record: &Record, item: &'v Map, root: &str, steps: &[Step]) -> Option<&'v Value> {
    let mut attributes = record.attributes.iter();
    let is_copy = |one: &&Attribute| one.renames().is_some_and(|name| is_path(name, root, steps));
    nested::get(item, &attributes.find(is_copy)?.name)
}

/// The same, whatever it was borrowed from.
fn owned(found: Found<'_>) -> Found<'static> {
    match found {
        Found::Value(value) => Found::Value(Cow::Owned(value.into_owned())),
        Found::Missing => Found::Missing,
        Found::Unknown => Found::Unknown,
    }
}

fn owned_text(text: &str) -> Found<'static> {
    Found::Value(Cow::Owned(Value::from(text)))
}

fn value_or_missing(value: Option<Value>) -> Found<'static> {
    value.map_or(Found::Missing, |value| Found::Value(Cow::Owned(value)))
}

pub(super) fn found(value: Option<&Value>) -> Found<'_> {
    value.map_or(Found::Missing, |value| Found::Value(Cow::Borrowed(value)))
}
