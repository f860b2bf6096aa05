//! The unit of work: every item that a write touches, as it was and as it will be.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use partita_core::expression::Condition;
use partita_core::{Item, Map, Number, Value};
use partita_design::design::{Access, Record, TriggerId};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::batch::earlier::Earlier;
use crate::error::{Fault, FaultRule, PlanError};
use crate::evaluate::{Context, ItemScope, Known, Listed, Listing};
use crate::place::Address;
use partita_design::nested;

/// What a failed condition means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refusal {
    /// The operation is refused. Shared, because a refusal is made for every plan and read for
    /// hardly any.
    Final(Arc<PlanError>),
    /// Something changed since it was read: read again and plan again.
    Stale,
}

impl Refusal {
    pub(crate) fn last(error: PlanError) -> Self {
        Refusal::Final(Arc::new(error))
    }
}

/// An item as it was before the write.
#[derive(Clone, Debug)]
pub(crate) enum Before {
    /// Nobody looked.
    Unread,
    Missing,
    Found(Rc<Map>),
}

/// Whether an item must be there for the write to pass.
#[derive(Clone, Debug)]
pub(crate) enum Presence {
    /// It does not matter.
    Any,
    Present(Refusal),
    Absent(Refusal),
}

/// One item that a write touches.
pub(crate) struct Entry<'a> {
    pub(crate) shape: &'a Record,
    pub(crate) address: Address,
    /// Where the item will be, if it moves.
    pub(crate) moves_to: Option<Address>,
    pub(crate) before: Before,
    /// The item as it will be, where that is known.
    pub(crate) after: Option<Rc<Map>>,
    /// Numbers that are added whatever they are.
    pub(crate) adds: BTreeMap<&'a str, Number>,
    /// Numbers that were added to in an item that this write creates, since its values were computed.
    pub(crate) added_new: Vec<&'a str>,
    /// What must still stand there: the values, as stored, that something was decided on.
    pub(crate) guards: BTreeMap<&'a str, Option<Value>>,
    /// Whether nothing at all may have changed since the item was read.
    pub(crate) is_whole: bool,
    /// What else must hold.
    pub(crate) conditions: Vec<Condition>,
    pub(crate) presence: Presence,
    /// What is done to the item, where that is more than numbers and copies that follow.
    pub(crate) operation: Option<Access>,
    /// The state whose consequences are in the draft already.
    pub(crate) told: Option<Rc<Map>>,
    /// The triggers that this write of the item has set off.
    pub(crate) fired: Vec<TriggerId>,
    /// The records of its views.
    pub(crate) views: Vec<usize>,
    /// Whether it only tells what a job was caused by: nothing is done to it, nothing rests on it.
    pub(crate) is_witness: bool,
}

/// The items that a write touches, each once.
pub(crate) struct Draft<'a> {
    #[expect(clippy::vec_box, reason = "entries are large, and the list grows")]
    pub(crate) entries: Vec<Box<Entry<'a>>>,
    places: FxHashMap<Address, usize>,
    /// Items whose consequences are to be looked at.
    queue: VecDeque<usize>,
}

impl<'a> Draft<'a> {
    /// Nothing yet, with room for what most writes touch.
    pub(crate) fn new() -> Self {
        const ROOM: usize = 8;
        Draft {
            entries: Vec::with_capacity(ROOM),
            places: FxHashMap::with_capacity_and_hasher(ROOM, FxBuildHasher),
            queue: VecDeque::with_capacity(ROOM),
        }
    }

    /// The place of an item in the draft.
    pub(crate) fn find(&self, address: &Address) -> Option<usize> {
        self.places.get(address).copied()
    }

    /// The item that the write leaves at a place, if it is in the draft.
    pub(crate) fn left_at(&self, address: &Address) -> Option<&Entry<'a>> {
        let entry = &self.entries[self.find(address)?];
        let place = entry.destination().unwrap_or(&entry.address);
        let is_left = entry.after.is_some() && !entry.is_witness && place == address;
        is_left.then_some(entry)
    }

    /// Whether the write removes the item at a place.
    pub(crate) fn is_removed(&self, address: &Address) -> bool {
        let at = self.find(address);
        at.is_some_and(|at| self.entries[at].is_removed())
    }

    /// The rows of a list as the write leaves them, as far as it is evaluated; what it removes as
    /// it was.
    pub(crate) fn list(&self, context: &Context<'a>, listing: &Listing) -> Option<Cow<'a, Listed>> {
        let mut left = match context.earlier {
            Some(earlier) => earlier.clone(),
            None => Earlier::default(),
        };
        for entry in self.entries.iter().filter(|entry| entry.is_rewritten()) {
            if let Some(after) = &entry.after
                && entry.address.table == listing.table
            {
                let place = entry.destination().unwrap_or(&entry.address);
                let item = self.stored(context, entry, place, after);
                left.replace(&entry.address, None);
                left.replace(place, Some(item));
            }
        }
        left.amended(context.blueprint, context.reads, listing)
    }

    /// An item as it will be stored.
    fn stored(
        &self,
        context: &Context<'a>,
        entry: &Entry<'a>,
        place: &Address,
        after: &Map,
    ) -> Item {
        let blueprint = context.blueprint;
        let mut item = match (&entry.shape.view, entry.old(), context.peek(place)) {
            (Some(_), Some(_), Known::Found(stored)) => entry.over(stored),
            _ => blueprint.stored(entry.shape, place, after.clone()),
        };
        // The keys of views are part of their records.
        if entry.shape.is_entity() {
            let scope = ItemScope::unguarded(*context, entry.shape, after).during(self);
            for index in &entry.shape.indexes {
                // What cannot be part of a key is refused where the key is written.
                for (name, key) in blueprint
                    .index_keys(entry.shape, index, &scope)
                    .unwrap_or_default()
                {
                    item.insert(name, Value::S(key));
                }
            }
        }
        item
    }

    /// Puts an item into the draft that is not in it yet.
    pub(crate) fn insert(&mut self, shape: &'a Record, address: Address, before: Before) -> usize {
        let at = self.entries.len();
        let now = match &before {
            Before::Found(map) => Some(map.clone()),
            Before::Missing | Before::Unread => None,
        };
        self.places.insert(address.clone(), at);
        self.entries.push(Box::new(Entry {
            shape,
            address,
            moves_to: None,
            before,
            after: now.clone(),
            adds: BTreeMap::new(),
            added_new: Vec::new(),
            guards: BTreeMap::new(),
            is_whole: false,
            conditions: Vec::new(),
            presence: Presence::Any,
            operation: None,
            told: now,
            fired: Vec::new(),
            views: Vec::new(),
            is_witness: false,
        }));
        at
    }

    /// Has an item move. It is found at both places from then on. Says whether that is new.
    ///
    /// What is put in one place is all that stood in the other, so none of it may change meanwhile.
    pub(crate) fn relocate(&mut self, at: usize, address: Address) -> bool {
        let entry = &mut self.entries[at];
        let goes = (entry.address != address).then_some(address);
        if entry.moves_to == goes {
            return false;
        }
        if let Some(left) = std::mem::replace(&mut entry.moves_to, goes.clone()) {
            self.places.remove(&left);
        }
        let Some(place) = goes else {
            return false;
        };
        entry.is_whole = true;
        // Somebody may have looked whether the place is free; the move says so itself.
        if let Some(other) = self.places.insert(place, at).filter(|other| *other != at) {
            let other = &mut self.entries[other];
            other.presence = Presence::Any;
            other.guards.clear();
            other.conditions.clear();
        }
        true
    }

    /// Has the consequences of an item looked at.
    pub(crate) fn enqueue(&mut self, at: usize) {
        if !self.queue.contains(&at) {
            self.queue.push_back(at);
        }
    }

    /// The next item whose consequences are to be looked at.
    pub(crate) fn next(&mut self) -> Option<usize> {
        self.queue.pop_front()
    }
}

impl<'a> Entry<'a> {
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

    /// Whether nothing that follows from this write's changes of the item is in the draft yet.
    pub(crate) fn is_first_told(&self) -> bool {
        match (self.old(), &self.told) {
            (Some(old), Some(told)) => Rc::ptr_eq(old, told),
            (old, told) => old.is_none() && told.is_none(),
        }
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
    fn is_rewritten(&self) -> bool {
        let is_same = match (self.old(), &self.after) {
            (Some(old), Some(after)) => Rc::ptr_eq(old, after) || old == after,
            (None, None) => true,
            _ => false,
        };
        !is_same && !self.is_witness
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
            let now = self
                .shape
                .number(stored, name)
                .unwrap_or_else(|| Number::from(0_i64));
            if let Ok(sum) = now.checked_add(*amount) {
                nested::set(&mut record, name, Value::N(sum));
            }
        }
        record
    }

    /// A number of the item with what this write adds to it, also of an item that it removes.
    pub(crate) fn number_left(&self, name: &str) -> Number {
        let old = self.old().and_then(|old| self.shape.number(old, name));
        let old = old.unwrap_or(Number::ZERO);
        let added = self.adds.get(name).copied().unwrap_or(Number::ZERO);
        old.checked_add(added).unwrap_or(old)
    }

    /// Lets the write pass only if the item is there. A reason to refuse outweighs the suspicion
    /// that something changed.
    pub(crate) fn must_be_present(&mut self, refusal: Refusal) {
        match &self.presence {
            Presence::Present(Refusal::Final(_)) => {}
            _ => self.presence = Presence::Present(refusal),
        }
    }

    /// Guards a value that was read. What a new item holds needs no guard.
    pub(crate) fn guard(&mut self, name: &'a str) {
        if let Before::Found(before) = &self.before {
            let value = nested::get(before, name).cloned();
            self.guards.entry(name).or_insert(value);
        }
    }

    /// Whether an attribute was written, and not only added to.
    pub(crate) fn is_written(&self, name: &str) -> bool {
        let (Some(old), Some(new)) = (self.old(), &self.after) else {
            return true;
        };
        !self.adds.contains_key(name) && nested::get(old, name) != nested::get(new, name)
    }

    /// Adds to a number.
    pub(crate) fn add(&mut self, name: &'a str, amount: Number) -> Result<(), PlanError> {
        let shape = self.shape;
        let sum = |one: Number| {
            one.checked_add(amount).map_err(|_| PlanError::Invalid {
                faults: vec![out_of_range(&shape.name, name)],
            })
        };
        let zero = Number::from(0_i64);
        if let Some(after) = &mut self.after {
            let after = Rc::make_mut(after);
            let now = shape.number(after, name).unwrap_or(zero);
            nested::set(after, name, Value::N(sum(now)?));
        }
        // In an item that is written whole the sum stands already.
        if self.is_new() {
            self.added_new.push(name);
        } else {
            let added = self.adds.entry(name).or_insert(zero);
            *added = sum(*added)?;
        }
        Ok(())
    }
}

/// That a number would be larger or smaller than any can be.
pub(crate) fn out_of_range(record: &str, name: &str) -> Fault {
    Fault::of(record, name, FaultRule::Value, "would be out of range")
}
