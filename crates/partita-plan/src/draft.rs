//! The unit of work: every item that a write touches, as it was and as it will be.

mod entry;
mod guards;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use partita_core::{Item, Map, Value};
use partita_design::design::Record;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::batch::earlier::Earlier;
use crate::evaluate::{Context, ItemScope, Known, Listed, Listing};
use crate::place::Address;

pub(crate) use entry::{Before, Entry, out_of_range};
pub(crate) use guards::{Guards, Presence, Refusal};

/// One of the items of a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntryId(usize);

/// The items that a write touches, each once.
pub(crate) struct Draft<'a> {
    #[expect(clippy::vec_box, reason = "entries are large, and the list grows")]
    pub(crate) entries: Vec<Box<Entry<'a>>>,
    places: FxHashMap<Address, EntryId>,
    /// Items whose consequences are to be looked at.
    queue: VecDeque<EntryId>,
    /// Removed items, until those that refer to them are released.
    removed: VecDeque<EntryId>,
}

impl<'a> Draft<'a> {
    /// Nothing yet, with room for what most writes touch.
    pub(crate) fn new() -> Self {
        const ROOM: usize = 8;
        Draft {
            entries: Vec::with_capacity(ROOM),
            places: FxHashMap::with_capacity_and_hasher(ROOM, FxBuildHasher),
            queue: VecDeque::with_capacity(ROOM),
            removed: VecDeque::new(),
        }
    }

    /// The items that are in the draft by now.
    pub(crate) fn ids(&self) -> impl Iterator<Item = EntryId> + use<> {
        (0..self.entries.len()).map(EntryId)
    }

    /// The item of an address, if it is in the draft.
    pub(crate) fn find(&self, address: &Address) -> Option<EntryId> {
        self.places.get(address).copied()
    }

    /// The item that the write leaves at a place, if it is in the draft.
    pub(crate) fn left_at(&self, address: &Address) -> Option<&Entry<'a>> {
        let entry = &self[self.find(address)?];
        let place = entry.destination().unwrap_or(&entry.address);
        let is_left = entry.after.is_some() && !entry.is_read_only() && place == address;
        is_left.then_some(entry)
    }

    /// Whether the write leaves another item at a place than it found.
    pub(crate) fn is_rewritten(&self, address: &Address) -> bool {
        let entry = self.left_at(address);
        entry.is_some_and(Entry::is_rewritten)
    }

    /// Whether the write removes the item at a place.
    pub(crate) fn is_removed(&self, address: &Address) -> bool {
        let at = self.find(address);
        at.is_some_and(|at| self[at].is_removed())
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
        let mut item = match (&entry.record.view, entry.old(), context.peek(place)) {
            (Some(_), Some(_), Known::Found(stored)) => entry.over(stored),
            _ => blueprint.stored(entry.record, place, after.clone()),
        };
        // The keys of views are part of their records.
        if entry.record.is_entity() {
            let scope = ItemScope::unguarded(*context, entry.record, after).during(self);
            for index in &entry.record.indexes {
                // What cannot be part of a key is refused where the key is written.
                for (name, key) in blueprint
                    .index_keys(entry.record, index, &scope)
                    .unwrap_or_default()
                {
                    item.insert(name, Value::S(key));
                }
            }
        }
        item
    }

    /// Puts an item into the draft that is not in it yet.
    pub(crate) fn insert(
        &mut self,
        record: &'a Record,
        address: Address,
        before: Before,
    ) -> EntryId {
        let at = EntryId(self.entries.len());
        self.places.insert(address.clone(), at);
        self.entries
            .push(Box::new(Entry::new(record, address, before)));
        at
    }

    /// Has an item move. It is found at both places from then on. Says whether that is new.
    ///
    /// What is put in one place is all that stood in the other, so none of it may change meanwhile.
    pub(crate) fn relocate(&mut self, at: EntryId, address: Address) -> bool {
        let entry = &mut self.entries[at.0];
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
        entry.guards.require_unchanged();
        // What was required of the place before, the move requires itself.
        if let Some(other) = self.places.insert(place, at).filter(|other| *other != at) {
            self.entries[other.0].guards = Guards::default();
        }
        true
    }

    /// Has the consequences of an item looked at.
    pub(crate) fn enqueue(&mut self, at: EntryId) {
        let entry = &mut self[at];
        if entry.is_removed() && !entry.reacted.has_released {
            entry.reacted.has_released = true;
            self.removed.push_back(at);
        }
        if !self.queue.contains(&at) {
            self.queue.push_back(at);
        }
    }

    /// The next removed item whose referring items are not released yet.
    pub(crate) fn next_removed(&mut self) -> Option<EntryId> {
        self.removed.pop_front()
    }

    /// The next item whose consequences are to be looked at.
    pub(crate) fn next(&mut self) -> Option<EntryId> {
        self.queue.pop_front()
    }
}

impl<'a> Index<EntryId> for Draft<'a> {
    type Output = Entry<'a>;

    fn index(&self, at: EntryId) -> &Entry<'a> {
        &self.entries[at.0]
    }
}

impl<'a> IndexMut<EntryId> for Draft<'a> {
    fn index_mut(&mut self, at: EntryId) -> &mut Entry<'a> {
        &mut self.entries[at.0]
    }
}
