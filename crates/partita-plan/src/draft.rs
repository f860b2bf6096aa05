//! The unit of work: every item that a write touches, as it was and as it will be.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use partita_core::expression::Condition;
use partita_core::{Map, Number, Value};
use partita_design::design::Access;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::error::{Fault, FaultRule, PlanError};
use crate::nested;
use crate::place::Address;
use crate::shape::Shape;

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
    pub(crate) shape: Shape<'a>,
    pub(crate) address: Address,
    /// Where the item will be, if it moves.
    pub(crate) moves_to: Option<Address>,
    pub(crate) before: Before,
    /// The item as it will be, where that is known.
    pub(crate) after: Option<Rc<Map>>,
    /// Numbers that are added whatever they are.
    pub(crate) adds: BTreeMap<&'a str, Number>,
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
    pub(crate) fired: Vec<usize>,
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

    /// Puts an item into the draft that is not in it yet.
    pub(crate) fn insert(&mut self, shape: Shape<'a>, address: Address, before: Before) -> usize {
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

    /// Where the item will be, if it is elsewhere then.
    pub(crate) fn destination(&self) -> Option<&Address> {
        self.moves_to.as_ref().filter(|_| self.after.is_some())
    }

    /// Whether this write creates the item.
    pub(crate) fn is_new(&self) -> bool {
        self.old().is_none() && self.after.is_some()
    }

    /// Whether this write removes the item.
    pub(crate) fn is_removed(&self) -> bool {
        self.old().is_some() && self.after.is_none()
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
                faults: vec![out_of_range(shape.name(), name)],
            })
        };
        let zero = Number::from(0_i64);
        if let Some(after) = &mut self.after {
            let after = Rc::make_mut(after);
            let now = match nested::get(after, name) {
                Some(Value::N(now)) => *now,
                _ => zero,
            };
            nested::set(after, name, Value::N(sum(now)?));
        }
        // In an item that is written whole the sum stands already.
        if !self.is_new() {
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
