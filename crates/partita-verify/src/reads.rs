//! What was read to judge some items, and what that turned out to need.
//!
//! Items are judged over what was read before. Where something else is needed, that is noted down
//! and the value is unknown for now; then all of it is read at once, and they are judged again.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use partita_core::expression::KeyCondition;
use partita_core::{Item, Value};
use partita_design::time::TimeForm;
use partita_store::StoreResult;
use partita_store::request::{ItemAddress, Query};
use partita_store::table::TableName;

use crate::layout::Layout;
use crate::reader::Reader;

/// A query by which a reference finds its target.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Listing {
    pub(crate) table: TableName,
    pub(crate) index: Option<String>,
    pub(crate) keys: KeyCondition,
}

/// What was read, and what is needed.
#[derive(Default)]
pub(crate) struct Reads {
    now_millis: i64,
    items: HashMap<ItemAddress, Option<Item>>,
    /// Of items that count as missing and are stored, when their time was over.
    over: HashMap<ItemAddress, Value>,
    lists: HashMap<Listing, Vec<Item>>,
    needs: Mutex<Needs>,
}

#[derive(Default)]
struct Needs {
    items: BTreeSet<(TableName, Vec<String>)>,
    addresses: Vec<ItemAddress>,
    lists: Vec<Listing>,
}

/// An item as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Known<'r> {
    Found(&'r Item),
    Missing,
    Unread,
}

impl Reads {
    /// Nothing read yet. Items whose time is over by then count as missing, swept or not.
    pub(crate) fn new(now_millis: i64) -> Reads {
        Reads {
            now_millis,
            ..Reads::default()
        }
    }

    /// Notes down an item that somebody has read.
    pub(crate) fn insert(&mut self, layout: &Layout<'_>, address: ItemAddress, item: Option<Item>) {
        let found = item.as_ref();
        let over = found.filter(|item| self.is_over(layout, &address.table, item));
        let until = over.and_then(|item| item.get(layout.ttl(&address.table)?));
        match until.cloned() {
            Some(until) => {
                self.over.insert(address.clone(), until);
                self.items.insert(address, None);
            }
            None => {
                self.items.insert(address, item);
            }
        }
    }

    /// When the time of an item was over that counts as missing and is still stored.
    pub(crate) fn over(&self, address: &ItemAddress) -> Option<&Value> {
        self.over.get(address)
    }

    /// Whether an item counts as missing because its time is over.
    pub(crate) fn is_over(&self, layout: &Layout<'_>, table: &TableName, item: &Item) -> bool {
        let name = layout.ttl(table);
        let until = name.and_then(|name| TimeForm::Epoch.read(item.get(name)?));
        until.is_some_and(|until| until < self.now_millis)
    }

    /// The item; one that was not read yet will be.
    pub(crate) fn item(&self, address: &ItemAddress) -> Known<'_> {
        match self.items.get(address) {
            Some(Some(item)) => Known::Found(item),
            Some(None) => Known::Missing,
            None => {
                self.needs().add(address);
                Known::Unread
            }
        }
    }

    /// The rows of a list; one that was not read yet will be.
    pub(crate) fn list(&self, listing: &Listing) -> Option<&Vec<Item>> {
        let found = self.lists.get(listing);
        let mut needs = self.needs();
        if found.is_none() && !needs.lists.contains(listing) {
            needs.lists.push(listing.clone());
        }
        found
    }

    /// Every item that was looked at.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &ItemAddress> {
        self.items.keys()
    }

    /// Whether everything that was asked for is read.
    pub(crate) fn is_complete(&self) -> bool {
        let needs = self.needs();
        needs.addresses.is_empty() && needs.lists.is_empty()
    }

    /// Reads what was asked for.
    pub(crate) async fn fill(
        &mut self,
        layout: &Layout<'_>,
        reader: Reader<'_>,
    ) -> StoreResult<()> {
        let needs = std::mem::take(&mut *self.needs());
        let items = reader.items(&needs.addresses).await?;
        for (address, item) in needs.addresses.into_iter().zip(items) {
            self.insert(layout, address, item);
        }
        for listing in needs.lists {
            let rows = reader.list(query(&listing)).await?;
            self.put_list(layout, listing, rows);
        }
        Ok(())
    }

    /// The same items and lists, read again.
    pub(crate) async fn again(
        &self,
        layout: &Layout<'_>,
        reader: Reader<'_>,
    ) -> StoreResult<Reads> {
        let mut reads = Reads::new(self.now_millis);
        let addresses: Vec<ItemAddress> = self.items.keys().cloned().collect();
        let items = reader.items(&addresses).await?;
        for (address, item) in addresses.into_iter().zip(items) {
            reads.insert(layout, address, item);
        }
        let listings: Vec<Listing> = self.lists.keys().cloned().collect();
        for listing in listings {
            let rows = reader.list(query(&listing)).await?;
            reads.put_list(layout, listing, rows);
        }
        Ok(reads)
    }

    /// Whether two readings of the same places saw the same.
    pub(crate) fn is_same(&self, other: &Reads) -> bool {
        self.items == other.items && self.lists == other.lists
    }

    /// Never contended: the lock only lets readings go from thread to thread.
    fn needs(&self) -> MutexGuard<'_, Needs> {
        self.needs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put_list(&mut self, layout: &Layout<'_>, listing: Listing, mut rows: Vec<Item>) {
        rows.retain(|row| !self.is_over(layout, &listing.table, row));
        self.lists.insert(listing, rows);
    }
}

impl Needs {
    /// Pages ask for thousands of items, many of them more than once.
    fn add(&mut self, address: &ItemAddress) {
        let values = address.key.values();
        let texts = values.map(|value| value.as_str().unwrap_or_default().to_owned());
        let mark = (address.table.clone(), texts.collect());
        if self.items.insert(mark) {
            self.addresses.push(address.clone());
        }
    }
}

fn query(listing: &Listing) -> Query {
    Query {
        index: listing.index.clone(),
        // A global index is never read consistently.
        consistent: listing.index.is_none(),
        ..Query::new(listing.table.clone(), listing.keys.clone())
    }
}
