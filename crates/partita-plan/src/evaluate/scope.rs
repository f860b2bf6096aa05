//! What an expression sees: an item, what its refs lead to, the time, and the caller; and the guards
//! that follow from what it has read.
//!
//! Only this folder makes read sets, and only this module turns them into guards. Elsewhere a read
//! set is borrowed while an evaluation runs, or part of a new item until that is in the draft, so
//! that no guard can be forgotten.

use std::borrow::Cow;
use std::cell::RefCell;

use partita_core::{Map, Value};
use partita_design::design::{Record, Ref};
use partita_design::nested;

use super::context::Context;
use super::reads::{Known, Listed, Listing};
use crate::draft::{Draft, EntryId, Refusal};
use crate::error::PlanError;
use crate::place::Address;
use crate::planner::Planner;

/// The scope of an expression: one item, and everything that can be read from it.
#[derive(Clone, Copy)]
pub(crate) struct ItemScope<'s, 'a> {
    pub(crate) context: Context<'a>,
    pub(crate) record: &'a Record,
    /// The item as it will be.
    pub(crate) item: &'s Map,
    /// The item as it was.
    pub(crate) old: Option<&'s Map>,
    /// Whether these are all attributes, or only those known before the item is read.
    pub(crate) complete: bool,
    /// Elements and parameters.
    pub(crate) names: &'s [(String, Named<'s, 'a>)],
    /// References over parameters.
    pub(crate) refs: &'a [Ref],
    pub(super) others: Others<'s, 'a>,
    /// Whether the item itself is the one before the write.
    pub(super) is_past: bool,
    /// Where what is read is noted, to be guarded.
    pub(super) reads: Option<&'s ReadSet<'a>>,
    /// Where the other items that are read are noted, the caller's own left aside.
    pub(super) around: Option<&'s RefCell<Vec<OtherItem<'a>>>>,
}

/// An item beside the one that an expression is about.
pub(crate) type OtherItem<'a> = (Address, &'a Record);

/// How the items that refs lead to are seen.
///
/// What a write removes is seen as it was, like the item that an effect of its removal is caused
/// by.
#[derive(Clone, Copy)]
pub(super) enum Others<'s, 'a> {
    /// As they were before the write.
    Before,
    /// As the write leaves them, as far as it is evaluated. Rules see them as they were even so:
    /// a write cannot bring the right that it needs.
    During(&'s Draft<'a>),
    /// As the write leaves them, also by rules: for what a caller is shown of it.
    After(&'s Draft<'a>),
}

/// The value of a name that is not an attribute.
#[derive(Clone)]
pub(crate) enum Named<'s, 'a> {
    Value(Option<Value>),
    Item {
        record: &'a Record,
        item: &'s Map,
        address: Address,
    },
}

impl<'s, 'a> ItemScope<'s, 'a> {
    /// The scope of an evaluation that decides nothing that is written. Other items are as they are
    /// stored.
    pub(crate) fn unguarded(context: Context<'a>, record: &'a Record, item: &'s Map) -> Self {
        ItemScope {
            context,
            record,
            item,
            old: None,
            complete: true,
            names: &[],
            refs: &[],
            others: Others::Before,
            is_past: false,
            reads: None,
            around: None,
        }
    }

    /// The same, of another state of the item.
    pub(crate) fn over(self, item: &'s Map) -> Self {
        ItemScope { item, ..self }
    }

    /// The same, with the item as it was before.
    pub(crate) fn was(self, old: Option<&'s Map>) -> Self {
        ItemScope { old, ..self }
    }

    /// The same, with names for elements and parameters.
    pub(crate) fn naming(self, names: &'s [(String, Named<'s, 'a>)]) -> Self {
        ItemScope { names, ..self }
    }

    /// The same, with references over parameters.
    pub(crate) fn with_refs(self, refs: &'a [Ref]) -> Self {
        ItemScope { refs, ..self }
    }

    /// The same, before the item is read: what it lacks is unknown.
    pub(crate) fn known_so_far(self) -> Self {
        ItemScope {
            complete: false,
            ..self
        }
    }

    /// The same, with other items as they were before the write.
    pub(crate) fn before(self) -> Self {
        ItemScope {
            others: Others::Before,
            ..self
        }
    }

    /// The same, with other items as the write leaves them, as far as it is evaluated.
    pub(crate) fn during(self, draft: &'s Draft<'a>) -> Self {
        ItemScope {
            others: Others::During(draft),
            ..self
        }
    }

    /// The same, with other items as the write leaves them, for rules too.
    pub(crate) fn after(self, draft: &'s Draft<'a>) -> Self {
        ItemScope {
            others: Others::After(draft),
            ..self
        }
    }

    /// The same, where the item is the one before the write: what is read of it is guarded even if
    /// the write changes it.
    pub(crate) fn of_old(self) -> Self {
        ItemScope {
            is_past: true,
            ..self
        }
    }

    /// The same, with other items as rules see them: as they were before the write, or else a write
    /// could bring the right that it needs, as by a member who becomes an administrator.
    pub(crate) fn as_rules_see(self) -> Self {
        match self.others {
            Others::During(_) => self.before(),
            Others::Before | Others::After(_) => self,
        }
    }

    /// Evaluates, and says which other items that depends on. The caller's own are not among them.
    pub(crate) fn with_others_read<T>(
        &self,
        look: impl FnOnce(ItemScope<'_, 'a>) -> T,
    ) -> (T, Vec<OtherItem<'a>>) {
        let around = RefCell::default();
        let made = look(ItemScope {
            around: Some(&around),
            ..*self
        });
        (made, around.into_inner())
    }

    /// The rows of a list; one that was not read yet will be.
    pub(super) fn list(&self, listing: &Listing) -> Option<Cow<'a, Listed>> {
        match self.others {
            Others::Before => self.context.list(listing),
            Others::During(draft) | Others::After(draft) => draft.list(&self.context, listing),
        }
    }
}

/// What an evaluation has read.
pub(crate) struct ReadSet<'a>(RefCell<Seen<'a>>);

#[derive(Default)]
struct Seen<'a> {
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
