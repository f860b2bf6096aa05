//! The read set of an evaluation, and the guards that it becomes.
//!
//! Only this folder makes read sets, and only this module turns them into guards. Elsewhere a read
//! set is borrowed while an evaluation runs, or part of a new item until that is in the draft, so
//! that no guard can be forgotten.

use std::cell::RefCell;

use partita_core::Map;
use partita_design::design::Record;
use partita_design::nested;

use super::reads::Known;
use super::scope::{ItemScope, Others};
use crate::draft::{EntryId, Refusal};
use crate::error::PlanError;
use crate::place::Address;
use crate::planner::Planner;

/// What an evaluation has read.
pub(crate) struct ReadSet<'a>(RefCell<Noted<'a>>);

#[derive(Default)]
struct Noted<'a> {
    /// Attributes of the item as it will be.
    own: Vec<&'a str>,
    /// Attributes of the item as it was.
    old: Vec<&'a str>,
    foreign: Vec<(Address, &'a Record, Fact<'a>)>,
}

/// What was read of another item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fact<'a> {
    Attribute(&'a str),
    /// A key of an index, as it is stored.
    Key(&'a str),
    /// That it exists.
    Presence,
    /// That it does not exist.
    Absence,
}

impl<'a> ReadSet<'a> {
    pub(super) fn new() -> Self {
        ReadSet(RefCell::default())
    }

    pub(super) fn note_own(&self, attribute: &'a str) {
        self.0.borrow_mut().own.push(attribute);
    }

    pub(super) fn note_old(&self, attribute: &'a str) {
        self.0.borrow_mut().old.push(attribute);
    }

    pub(super) fn note_foreign(&self, address: &Address, record: &'a Record, fact: Fact<'a>) {
        let read = (address.clone(), record, fact);
        self.0.borrow_mut().foreign.push(read);
    }

    /// Takes over what an evaluation about another item has read.
    pub(super) fn note_all_of(&self, inner: ReadSet<'a>, address: &Address, record: &'a Record) {
        let inner = inner.0.into_inner();
        for name in inner.own {
            self.note_foreign(address, record, Fact::Attribute(name));
        }
        let mut seen = self.0.borrow_mut();
        seen.old.extend(inner.old);
        seen.foreign.extend(inner.foreign);
    }

    /// Takes over what an evaluation about the item as it was has read.
    pub(super) fn note_all_as_old(&self, inner: ReadSet<'a>) {
        let inner = inner.0.into_inner();
        let mut seen = self.0.borrow_mut();
        seen.old.extend(inner.own);
        seen.old.extend(inner.old);
        seen.foreign.extend(inner.foreign);
    }
}

/// A new item that has no place in the draft yet, with what its values and the rules on it were
/// decided on. Both are guarded when the item is put into the draft.
#[must_use = "it is to be put into the draft"]
pub(crate) struct Composed<'a> {
    pub(crate) record: &'a Record,
    pub(crate) item: Map,
    values: ReadSet<'a>,
    rules: ReadSet<'a>,
}

impl<'a> Planner<'a> {
    /// Evaluates something about an item of the draft that the write depends on. Whatever is read
    /// in it is guarded.
    ///
    /// Other items are seen as this write leaves them, as far as it is evaluated.
    pub(crate) fn evaluate<T>(
        &mut self,
        at: EntryId,
        item: &Map,
        look: impl FnOnce(ItemScope<'_, 'a>) -> T,
    ) -> Result<T, PlanError> {
        let record = self.entry(at).record;
        self.watch(Some(at), |planner, reads| {
            look(planner.scope(record, item, reads))
        })
    }

    /// As [`Planner::evaluate`], for what changes the draft while it is evaluated: its scopes are
    /// made by [`Planner::scope`].
    pub(crate) fn watch<T>(
        &mut self,
        own: Option<EntryId>,
        look: impl FnOnce(&mut Self, &ReadSet<'a>) -> T,
    ) -> Result<T, PlanError> {
        let reads = ReadSet::new();
        let made = look(self, &reads);
        self.guard_reads(own, reads)?;
        Ok(made)
    }

    /// What expressions see of an item, with everything that they read in a read set.
    pub(crate) fn scope<'s>(
        &'s self,
        record: &'a Record,
        item: &'s Map,
        reads: &'s ReadSet<'a>,
    ) -> ItemScope<'s, 'a> {
        ItemScope {
            reads: Some(reads),
            ..self.unguarded(record, item)
        }
    }

    /// What expressions see of an item, for an evaluation that decides nothing that is written.
    pub(crate) fn unguarded<'s>(&'s self, record: &'a Record, item: &'s Map) -> ItemScope<'s, 'a> {
        ItemScope {
            others: Others::During(&self.draft),
            ..ItemScope::unguarded(self.context, record, item)
        }
    }

    /// Computes the values of a new item.
    pub(crate) fn composed(
        &self,
        record: &'a Record,
        mut item: Map,
        compute: impl FnOnce(ItemScope<'_, 'a>, &mut Map),
    ) -> Composed<'a> {
        let values = ReadSet::new();
        compute(self.scope(record, &Map::new(), &values), &mut item);
        Composed {
            record,
            item,
            values,
            rules: ReadSet::new(),
        }
    }

    /// What rules see of a new item.
    pub(crate) fn scope_of_new<'s>(&'s self, new: &'s Composed<'a>) -> ItemScope<'s, 'a> {
        self.scope(new.record, &new.item, &new.rules)
    }

    /// Guards what the values of a new item were computed from.
    pub(crate) fn guard_values(&mut self, new: &mut Composed<'a>) -> Result<(), PlanError> {
        let values = std::mem::replace(&mut new.values, ReadSet::new());
        self.guard_reads(None, values)
    }

    /// Guards what the rules on a new item were decided on, now that it has a place.
    pub(crate) fn guard_rules(&mut self, at: EntryId, new: Composed<'a>) -> Result<(), PlanError> {
        self.guard_reads(Some(at), new.rules)
    }

    fn guard_reads(&mut self, own: Option<EntryId>, reads: ReadSet<'a>) -> Result<(), PlanError> {
        let seen = reads.0.into_inner();
        if let Some(at) = own {
            let entry = self.entry_mut(at);
            for name in seen.own {
                // What this write says does not depend on what was there.
                if !entry.replaces(name) {
                    entry.guard(name);
                }
            }
            seen.old.into_iter().for_each(|name| entry.guard(name));
        }
        for (address, record, fact) in seen.foreign {
            self.guard_fact(record, address, fact)?;
        }
        Ok(())
    }

    fn guard_fact(
        &mut self,
        record: &'a Record,
        address: Address,
        fact: Fact<'a>,
    ) -> Result<(), PlanError> {
        let at = self.touch(record, address)?;
        let entry = self.entry_mut(at);
        match fact {
            // What only a list has shown of an item is not guarded: see `row`.
            Fact::Attribute(_) | Fact::Key(_) if entry.is_unread() => {}
            Fact::Attribute(name) if entry.replaces(name) => {}
            Fact::Attribute(name) => self.guard_stored(at, name),
            Fact::Key(name) => {
                if let Known::Found(stored) = self.context.peek(&self.entry(at).address) {
                    let key = stored.get(name).cloned();
                    self.entry_mut(at).guards.guard(name, key);
                }
            }
            Fact::Presence if entry.old().is_some() => entry.guards.require_present(Refusal::Stale),
            Fact::Absence if entry.old().is_none() && entry.after.is_none() => {
                entry.guards.expect_absent();
            }
            Fact::Presence | Fact::Absence => {}
        }
        Ok(())
    }

    /// Guards a value that was read, also one that is a view's record's own.
    pub(crate) fn guard_stored(&mut self, at: EntryId, name: &'a str) {
        let stored = self.context.peek(&self.entry(at).address);
        let entry = self.entry_mut(at);
        match (&entry.record.view, stored) {
            // The draft does not know what is the record's own.
            (Some(_), Known::Found(stored)) => {
                let value = nested::get(stored, name).cloned();
                entry.guards.guard(name, value);
            }
            _ => entry.guard(name),
        }
    }
}
