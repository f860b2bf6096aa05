//! One item of the draft.

use std::collections::BTreeMap;
use std::rc::Rc;

use partita_core::{Item, Map, Number, Value};
use partita_design::design::{Access, Record};
use partita_design::nested;

use super::guards::{Guards, Refusal};
use crate::error::{Fault, FaultRule, PlanError};
use crate::evaluate::Lookup;
use crate::place::Address;
use crate::react::Reacted;

/// An item as it was before the write.
pub(crate) type Before = Lookup<Rc<Map>>;

/// One item that a write touches.
pub(crate) struct Entry<'a> {
    pub(crate) record: &'a Record,
    pub(crate) address: Address,
    /// Where the item will be, if it moves.
    pub(super) moves_to: Option<Address>,
    pub(crate) before: Before,
    /// The item as it will be, where that is known.
    pub(crate) after: Option<Rc<Map>>,
    /// What must hold of the item for the write to pass.
    pub(crate) guards: Guards<'a>,
    /// What is done to the item, where that is more than numbers and copies that follow.
    pub(crate) operation: Option<Access>,
    /// Attributes that the write computes. They are written even if they come out as they were:
    /// another writer may have changed what they are computed from, and them with it.
    computed: Vec<&'a str>,
    /// Numbers that are added whatever they are.
    adds: BTreeMap<&'a str, Number>,
    /// Numbers that were added to and copies that were set since the item's values were computed.
    followed: Vec<&'a str>,
    /// Which reactions to the item have run.
    pub(crate) reacted: Reacted,
    /// Whether what is done to it follows from the removal of an item that it refers to, directly
    /// or by effects.
    pub(crate) is_released: bool,
    /// Whether what the item lacks of another design is filled in.
    pub(crate) is_refilled: bool,
    /// Whether it is in the draft only to be read: nothing is done to it, and it is not guarded.
    is_read_only: bool,
}

impl<'a> Entry<'a> {
    pub(super) fn new(record: &'a Record, address: Address, before: Before) -> Self {
        let now = match &before {
            Before::Found(map) => Some(map.clone()),
            Before::Missing | Before::Unread => None,
        };
        Entry {
            record,
            address,
            moves_to: None,
            before,
            after: now.clone(),
            guards: Guards::default(),
            operation: None,
            computed: Vec::new(),
            adds: BTreeMap::new(),
            followed: Vec::new(),
            reacted: Reacted::to(now),
            is_released: false,
            is_refilled: false,
            is_read_only: false,
        }
    }

    /// The item as it was, if it was there.
    pub(crate) fn old(&self) -> Option<&Rc<Map>> {
        match &self.before {
            Before::Found(map) => Some(map),
            Before::Missing | Before::Unread => None,
        }
    }

    /// The item as others refer to it: as it was, or as it will be if it is new.
    pub(crate) fn named(&self) -> Option<&Rc<Map>> {
        self.old().or(self.after.as_ref())
    }

    /// Where the item will be, if it is elsewhere then.
    pub(crate) fn destination(&self) -> Option<&Address> {
        self.moves_to.as_ref().filter(|_| self.after.is_some())
    }

    /// Whether the item was not read, and nothing is known of it but what is added.
    pub(crate) fn is_unread(&self) -> bool {
        matches!(self.before, Before::Unread) && self.after.is_none()
    }

    /// What is added to a number.
    pub(crate) fn added(&self, name: &str) -> Number {
        self.adds.get(name).copied().unwrap_or(Number::ZERO)
    }

    /// Takes back what the write does to the item, unless an operation does it.
    pub(crate) fn retract(&mut self) {
        if self.operation.is_none() {
            self.after = self.old().cloned();
            self.moves_to = None;
            self.adds.clear();
        }
    }

    /// Removes the item, which must still be there.
    pub(crate) fn remove(&mut self) {
        self.after = None;
        self.guards.require_present(Refusal::Stale);
    }

    /// Puts the item into its place, which must still be free.
    pub(crate) fn put(&mut self, item: Map) {
        self.after = Some(Rc::new(item));
        self.guards.require_absent(Refusal::Stale);
    }

    /// The item as it will be, to be changed.
    pub(crate) fn edit(&mut self) -> Option<&mut Map> {
        self.after.as_mut().map(Rc::make_mut)
    }

    /// Leaves the item in the draft only to be read.
    pub(crate) fn set_read_only(&mut self) {
        self.is_read_only = true;
    }

    /// Whether the item is in the draft only to be read.
    pub(crate) fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// The item as it will be, its place, and where it goes if it moves. What was reacted to is
    /// let go before, so that the item need not be copied.
    pub(crate) fn into_parts(self) -> (Option<Rc<Map>>, Address, Option<Address>) {
        drop(self.reacted);
        (self.after, self.address, self.moves_to)
    }

    /// The numbers that are added to, whatever they are.
    pub(crate) fn adds(&self) -> &BTreeMap<&'a str, Number> {
        &self.adds
    }

    /// Sets an attribute that follows another item. It is written even if it is that already:
    /// another writer may have changed both.
    pub(crate) fn follow(&mut self, name: &'a str, value: Option<&Value>) {
        let Some(after) = self.after.as_mut().map(Rc::make_mut) else {
            return;
        };
        match value {
            Some(value) => nested::set(after, name, value.clone()),
            None => nested::remove(after, name),
        }
        self.note_computed(name);
        self.followed.push(name);
    }

    /// What has followed others since the item's values were computed, which they are now.
    pub(crate) fn take_followed(&mut self) -> Vec<&'a str> {
        std::mem::take(&mut self.followed)
    }

    /// Adds to a record what is added to the item that it is kept of.
    pub(crate) fn repeat_adds(&mut self, source: &BTreeMap<&'a str, Number>) {
        for (name, amount) in source {
            if self.record.kept().any(|kept| kept.name == *name) {
                self.adds.insert(name, *amount);
            }
        }
    }

    /// Notes that the write computes an attribute.
    pub(crate) fn note_computed(&mut self, name: &'a str) {
        if !self.computed.contains(&name) {
            self.computed.push(name);
        }
    }

    /// The attributes that the write computes.
    pub(crate) fn computed(&self) -> &[&'a str] {
        &self.computed
    }

    /// Whether this write creates the item.
    pub(crate) fn is_new(&self) -> bool {
        self.old().is_none() && self.after.is_some()
    }

    /// Whether this write removes the item.
    pub(crate) fn is_removed(&self) -> bool {
        self.old().is_some() && self.after.is_none()
    }

    /// Whether the write leaves something else than it found.
    pub(crate) fn is_rewritten(&self) -> bool {
        let is_same = match (self.old(), &self.after) {
            (Some(old), Some(after)) => Rc::ptr_eq(old, after) || old == after,
            (None, None) => true,
            _ => false,
        };
        !is_same && !self.is_read_only
    }

    /// Whether the write changes the item or depends on it.
    pub(crate) fn is_touched(&self) -> bool {
        self.is_rewritten() || !self.adds.is_empty() || !self.guards.is_empty()
    }

    /// A record of which the draft knows only a part, as it will be over what is stored.
    pub(crate) fn over(&self, stored: &Item) -> Item {
        let mut record = stored.clone();
        let (Some(old), Some(after)) = (self.old(), &self.after) else {
            return record;
        };
        for name in old.keys().filter(|name| !after.contains_key(name)) {
            record.remove(name);
        }
        for (name, value) in after
            .iter()
            .filter(|(name, value)| old.get(name) != Some(value))
        {
            record.insert(name.clone(), value.clone());
        }
        for (name, amount) in &self.adds {
            let now = self.record.number(stored, name).unwrap_or(Number::ZERO);
            if let Ok(sum) = now.checked_add(*amount) {
                nested::set(&mut record, name, Value::N(sum));
            }
        }
        record
    }

    /// A number of the item with what this write adds to it, also of an item that it removes.
    pub(crate) fn number_left(&self, name: &str) -> Number {
        let old = self.old().and_then(|old| self.record.number(old, name));
        let old = old.unwrap_or(Number::ZERO);
        old.checked_add(self.added(name)).unwrap_or(old)
    }

    /// Guards a value that was read. What a new item holds needs no guard.
    pub(crate) fn guard(&mut self, name: &'a str) {
        if let Before::Found(before) = &self.before {
            self.guards.guard(name, nested::get(before, name).cloned());
        }
    }

    /// Guards a value that was read, unless the write replaces it.
    pub(crate) fn guard_unless_replaced(&mut self, name: &'a str) {
        if !self.replaces(name) {
            self.guard(name);
        }
    }

    /// Whether the write says what an attribute becomes, and does not only add to it.
    pub(crate) fn replaces(&self, name: &str) -> bool {
        let (Some(old), Some(new)) = (self.old(), &self.after) else {
            return true;
        };
        !self.adds.contains_key(name) && nested::get(old, name) != nested::get(new, name)
    }

    /// Adds to a number.
    pub(crate) fn add(&mut self, name: &'a str, amount: Number) -> Result<(), PlanError> {
        let record = self.record;
        let sum = |one: Number| {
            one.checked_add(amount).map_err(|_| PlanError::Invalid {
                faults: vec![out_of_range(&record.name, name)],
            })
        };
        if let Some(after) = &mut self.after {
            let after = Rc::make_mut(after);
            let now = record.number(after, name).unwrap_or(Number::ZERO);
            nested::set(after, name, Value::N(sum(now)?));
        }
        self.followed.push(name);
        // An item that is written whole has the sum already.
        if !self.is_new() {
            let added = self.adds.entry(name).or_insert(Number::ZERO);
            *added = sum(*added)?;
        }
        Ok(())
    }
}

/// That a number would be larger or smaller than any can be.
pub(crate) fn out_of_range(record: &str, name: &str) -> Fault {
    Fault::of(record, name, FaultRule::Value, "would be out of range")
}
