//! What the earlier operations of a batch leave behind, for those that come after them to see.
//!
//! Only what was read is known here: a number that was added to an item that was not read is not.
//! An operation that looks for such an item has it read, and the batch is evaluated again.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

use partita_core::{Item, Value};
use partita_store::request::TransactAction;

use crate::blueprint::Blueprint;
use crate::commit::Step;
use crate::error::PlanError;
use crate::evaluate::{Known, LISTED_MAX, Listed, Listing, Reads};
use crate::place::Address;

/// Items as earlier operations left them, and those that they removed.
#[derive(Clone, Default)]
pub(crate) struct Earlier {
    items: HashMap<Address, Option<Item>>,
}

impl Earlier {
    /// The item, if an earlier operation wrote it.
    pub(crate) fn item(&self, address: &Address) -> Option<Known<'_>> {
        let item = self.items.get(address)?;
        Some(item.as_ref().map_or(Known::Missing, Known::Found))
    }

    /// Takes an item as it is left at a place, or that none is.
    pub(crate) fn replace(&mut self, address: &Address, item: Option<Item>) {
        self.items.insert(address.clone(), item);
    }

    /// Takes what the transaction of an operation does, as far as the items are known.
    pub(crate) fn learn(&mut self, blueprint: &Blueprint, reads: &Reads, steps: &[Step]) {
        for step in steps {
            let address = blueprint.place_of(&step.action);
            let left = match &step.action {
                TransactAction::Put(put) => Some(put.item.clone()),
                TransactAction::Delete(_) => None,
                TransactAction::Check(_) => continue,
                TransactAction::Update(update) => {
                    let known = self.item(&address);
                    let Known::Found(item) = known.unwrap_or_else(|| reads.peek(&address)) else {
                        continue;
                    };
                    let mut item = item.clone();
                    // What the store would refuse, it refuses when the whole is committed.
                    if update.update.apply(&mut item).is_err() {
                        continue;
                    }
                    Some(item)
                }
            };
            let left = left.filter(|item| !reads.is_expired(&address.table, item));
            self.items.insert(address, left);
        }
    }

    /// The rows of a list with what earlier operations did to them.
    pub(crate) fn amended<'r>(
        &self,
        blueprint: &Blueprint,
        reads: &'r Reads,
        listing: &Listing,
    ) -> Option<Cow<'r, Listed>> {
        let listed = reads.list(listing)?;
        if !self.items.keys().any(|place| place.table == listing.table) {
            return Some(Cow::Borrowed(listed));
        }
        let is_known = |row: &Item| {
            let place = blueprint.keys.place(&listing.table, row);
            self.items.contains_key(&place)
        };
        if listing.last_only && listed.rows.iter().any(is_known) {
            return self.last_of_all(blueprint, reads, listing);
        }
        let mut listed = listed.clone();
        listed.rows.retain(|row| !is_known(row));
        listed.rows.extend(self.rows(blueprint, listing).cloned());
        if let Some(sort) = sort_of(blueprint, listing) {
            listed
                .rows
                .sort_by(|one, other| order(one.get(&sort), other.get(&sort)));
        }
        if listing.last_only {
            let last = listed.rows.pop();
            listed.rows = last.into_iter().collect();
            return Some(Cow::Owned(listed));
        }
        let most = listing.rows_max.unwrap_or(LISTED_MAX);
        if listed.rows.len() > most {
            listed.rows.truncate(most);
            listed.has_more = true;
        }
        Some(Cow::Owned(listed))
    }

    /// The last row, where the one that was read is no longer there or no longer the same: the one
    /// before it may be the last now.
    fn last_of_all<'r>(
        &self,
        blueprint: &Blueprint,
        reads: &'r Reads,
        listing: &Listing,
    ) -> Option<Cow<'r, Listed>> {
        let all = Listing {
            last_only: false,
            ..listing.clone()
        };
        let mut all = self.amended(blueprint, reads, &all)?.into_owned();
        if all.has_more {
            reads.give_up(PlanError::TooDeep);
        }
        let last = all.rows.pop();
        all.rows = last.into_iter().collect();
        Some(Cow::Owned(all))
    }

    /// The items that a list would find.
    fn rows<'e>(
        &'e self,
        blueprint: &Blueprint,
        listing: &'e Listing,
    ) -> impl Iterator<Item = &'e Item> {
        let sort = sort_of(blueprint, listing);
        let items = self.items.iter();
        let items = items.filter(|(place, _)| place.table == listing.table);
        items
            .filter_map(|(_, item)| item.as_ref())
            // An index holds only what has its keys.
            .filter(move |item| sort.as_ref().is_none_or(|sort| item.contains_key(sort)))
            .filter(|item| listing.has(item))
    }
}

/// The key that a list is in the order of.
fn sort_of(blueprint: &Blueprint, listing: &Listing) -> Option<String> {
    let mut tables = blueprint.tables();
    let table = tables.find(|(_, name)| **name == listing.table);
    let mut indexes = table.into_iter().flat_map(|(table, _)| &table.indexes);
    let name = listing.index.as_ref();
    match name.and_then(|name| indexes.find(|index| index.name == *name)) {
        Some(index) => index.sort.as_ref().map(|sort| sort.name.clone()),
        None => Some(blueprint.keys.of(&listing.table)[1].to_owned()),
    }
}

/// The order of two sort keys, which are of one type.
fn order(one: Option<&Value>, other: Option<&Value>) -> Ordering {
    match (one, other) {
        (Some(Value::N(one)), Some(Value::N(other))) => one.cmp(other),
        (Some(Value::B(one)), Some(Value::B(other))) => one.cmp(other),
        (one, other) => {
            let one = one.and_then(Value::as_str);
            one.cmp(&other.and_then(Value::as_str))
        }
    }
}
