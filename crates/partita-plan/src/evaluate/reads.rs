//! What was read from the store for a plan, and what is to be read next.
//!
//! A plan is evaluated over items that were read before. Where it needs one that was not, it says
//! so and goes on as if the value were unknown; when it comes to its end, everything that it
//! asked for is read at once, and it is evaluated again from the beginning. It is good when
//! nothing was missing.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use partita_core::expression::{Comparator, Condition, KeyCondition, KeyRange, Operand, Path};
use partita_core::{Item, Value};
use partita_design::design::RecordId;
use partita_design::time::TimeForm;
use partita_store::request::Query;
use partita_store::table::TableName;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::PlanError;
use crate::place::Address;
use crate::room::{READS_MEMORY_MAX, Room};

/// Rows of a list that a plan goes through at most: more than one transaction can write.
pub(crate) const LISTED_MAX: usize = 100;

/// Items that are asked for in a round by most plans.
const FEW: usize = 32;

/// Targets of refs that are remembered.
const LED_MAX: usize = 16;

/// A query that a plan depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Listing {
    pub(crate) table: TableName,
    pub(crate) index: Option<String>,
    pub(crate) keys: KeyCondition,
    /// Whether only the row with the largest sort key is asked for.
    pub(crate) last_only: bool,
    /// How many rows are read at most, where one is looked for among them; otherwise it is as many
    /// as a plan goes through.
    pub(crate) rows_max: Option<usize>,
}

impl Listing {
    /// The request for its rows, from the first or from the last.
    pub(crate) fn query(&self, descending: bool) -> Query {
        Query {
            index: self.index.clone(),
            // A global index is never read consistently.
            consistent: self.index.is_none(),
            descending,
            ..Query::new(self.table.clone(), self.keys.clone())
        }
    }

    /// Whether an item has the keys that are asked for.
    pub(crate) fn has(&self, item: &Item) -> bool {
        let mut equals = self.keys.equals.iter();
        equals.all(|(name, value)| item.get(name) == Some(value))
            && self.keys.range.as_ref().is_none_or(|(name, range)| {
                let key = Operand::Path(Path::attribute(name));
                in_range(key, range).holds(item)
            })
    }

    /// Whether a key is asked for.
    pub(super) fn names(&self, key: &str) -> bool {
        let range = self.keys.range.iter().map(|(name, _)| name);
        let equals = self.keys.equals.iter().map(|(name, _)| name);
        equals.chain(range).any(|name| name == key)
    }
}

/// The rows of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listed {
    pub(crate) rows: Vec<Item>,
    /// Whether there are more than a plan can go through.
    pub(crate) has_more: bool,
}

/// What was read, and what is needed.
pub(crate) struct Reads {
    /// For tables whose items expire, the attribute that says when.
    expiry: Vec<(TableName, String)>,
    now_millis: i64,
    items: FxHashMap<Address, Option<Item>>,
    lists: FxHashMap<Listing, Listed>,
    needs: RefCell<Needs>,
    /// Where refs led to: a plan follows the same few again and again.
    led: RefCell<Vec<Led>>,
    /// Rows of a list that are gone through at most.
    listed_max: usize,
    /// For the items and rows that are read.
    pub(crate) room: Room,
    /// The refusal, if something that matters is in a list behind what is read of it.
    given_up: RefCell<Option<PlanError>>,
    /// Items that are taken for missing, because the caller may not know of them.
    hidden: RefCell<Vec<Address>>,
    /// Whether of other items only the caller's own are read.
    only_own: bool,
    /// What is looked at, while somebody wants to know.
    noted: RefCell<Option<Noted>>,
}

/// What an evaluation has looked at, whether it was there or not.
#[derive(Default)]
pub(crate) struct Noted {
    pub(crate) items: Vec<Address>,
    pub(crate) lists: Vec<Listing>,
}

/// An item that a ref led to: the record, the values of its identity, and where it is.
struct Led {
    record: RecordId,
    values: Arc<[Value]>,
    address: Address,
}

/// What is to be read next.
#[derive(Default)]
pub(crate) struct Needs {
    pub(crate) items: Vec<Address>,
    /// The same items, once they are more than a few.
    many: FxHashSet<Address>,
    pub(crate) lists: Vec<Listing>,
}

impl Needs {
    /// Asks for an item, once.
    fn item(&mut self, address: Address) {
        let is_new = match self.items.len() {
            // To compare a few is quicker than to find them.
            0..FEW => !self.items.contains(&address),
            FEW => {
                self.many = self.items.iter().cloned().collect();
                self.many.insert(address.clone())
            }
            _ => self.many.insert(address.clone()),
        };
        if is_new {
            self.items.push(address);
        }
    }
}

/// What is known of an item.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lookup<T> {
    Found(T),
    Missing,
    /// Not read yet.
    Unread,
}

/// An item as it is stored.
pub(crate) type Known<'r> = Lookup<&'r Item>;

impl Reads {
    /// Nothing read yet. Items whose time is over will count as missing, swept or not.
    pub(crate) fn new(expiry: Vec<(TableName, String)>, now_millis: i64) -> Reads {
        Reads {
            expiry,
            now_millis,
            items: FxHashMap::default(),
            lists: FxHashMap::default(),
            needs: RefCell::default(),
            led: RefCell::default(),
            listed_max: LISTED_MAX,
            room: Room::new(READS_MEMORY_MAX),
            given_up: RefCell::default(),
            hidden: RefCell::default(),
            only_own: false,
            noted: RefCell::default(),
        }
    }

    /// Of other items only the caller's own are read; what depends on others stays open.
    pub(crate) fn with_only_own(mut self) -> Reads {
        self.only_own = true;
        self
    }

    /// Items may take so many bytes of memory.
    pub(crate) fn with_room(mut self, bytes: usize) -> Reads {
        self.room = Room::new(bytes);
        self
    }

    /// These items are read already.
    pub(crate) fn with_items(mut self, items: &[(Address, Option<Item>)]) -> Reads {
        self.items.extend(items.iter().cloned());
        self
    }

    /// The items that were read.
    pub(crate) fn into_items(self) -> Vec<(Address, Option<Item>)> {
        self.items.into_iter().collect()
    }

    /// Whether of other items only the caller's own are read.
    pub(crate) fn reads_only_own(&self) -> bool {
        self.only_own
    }

    /// Takes items for missing from now on.
    pub(crate) fn hide(&self, addresses: impl IntoIterator<Item = Address>) {
        self.hidden.borrow_mut().extend(addresses);
    }

    /// Takes every item for what it is again.
    pub(crate) fn show_all(&self) {
        self.hidden.borrow_mut().clear();
    }

    /// Whether an item is taken for missing.
    pub(crate) fn is_hidden(&self, address: &Address) -> bool {
        self.hidden.borrow().contains(address)
    }

    /// Lists are read to their end: for evaluations that write nothing.
    pub(crate) fn with_whole_lists(mut self) -> Reads {
        self.listed_max = usize::MAX;
        self
    }

    /// Notes what is looked at from now on.
    pub(crate) fn note_from_now(&self) {
        self.noted.replace(Some(Noted::default()));
    }

    /// What was looked at since.
    pub(crate) fn take_noted(&self) -> Noted {
        self.noted.take().unwrap_or_default()
    }

    /// Whether an item of a table counts as missing because its time is over.
    pub(crate) fn is_expired(&self, table: &TableName, item: &Item) -> bool {
        let until = self.until_millis(table, item);
        until.is_some_and(|until| until < self.now_millis)
    }

    /// The last millisecond at which an item of a table is there, if it expires.
    pub(crate) fn until_millis(&self, table: &TableName, item: &Item) -> Option<i64> {
        let (_, name) = self.expiry.iter().find(|(known, _)| known == table)?;
        item.get(name).and_then(|value| TimeForm::Epoch.read(value))
    }

    /// The item, without asking for it.
    pub(crate) fn peek(&self, address: &Address) -> Known<'_> {
        if let Some(noted) = &mut *self.noted.borrow_mut()
            && !noted.items.contains(address)
        {
            noted.items.push(address.clone());
        }
        match self.items.get(address) {
            None => Known::Unread,
            Some(None) => Known::Missing,
            Some(Some(item)) => Known::Found(item),
        }
    }

    /// The item; one that was not read yet will be.
    pub(super) fn item(&self, address: &Address) -> Known<'_> {
        let known = self.peek(address);
        if matches!(known, Known::Unread) {
            self.need(address.clone());
        }
        known
    }

    /// Where the item of an identity is, if a ref led there before; with the values, to share them.
    pub(crate) fn led_to(
        &self,
        record: RecordId,
        values: &[Cow<'_, Value>],
    ) -> Option<(Address, Arc<[Value]>)> {
        let led = self.led.borrow();
        let is_same = |one: &&Led| {
            let values = values.iter().map(|value| &**value);
            one.record == record && one.values.iter().eq(values)
        };
        let known = led.iter().find(is_same)?;
        Some((known.address.clone(), known.values.clone()))
    }

    /// Remembers where a ref led to. The first few are those that are asked for again.
    pub(crate) fn remember(&self, record: RecordId, values: &Arc<[Value]>, address: &Address) {
        let mut led = self.led.borrow_mut();
        if led.len() < LED_MAX {
            led.push(Led {
                record,
                values: values.clone(),
                address: address.clone(),
            });
        }
    }

    /// Says that a list is too long for what is looked for in it.
    pub(crate) fn give_up(&self, refusal: PlanError) {
        self.given_up.replace(Some(refusal));
    }

    /// Asks for an item.
    pub(crate) fn need(&self, address: Address) {
        if !self.items.contains_key(&address) {
            self.needs.borrow_mut().item(address);
        }
    }

    /// The rows of a list; one that was not read yet will be.
    pub(crate) fn list(&self, listing: &Listing) -> Option<&Listed> {
        if let Some(noted) = &mut *self.noted.borrow_mut()
            && !noted.lists.contains(listing)
        {
            noted.lists.push(listing.clone());
        }
        let found = self.lists.get(listing);
        let needs = &mut self.needs.borrow_mut().lists;
        if found.is_none() && !needs.contains(listing) {
            needs.push(listing.clone());
        }
        found
    }

    /// Whether nothing was asked for that is still to be read.
    pub(crate) fn is_complete(&self) -> bool {
        let needs = self.needs.borrow();
        needs.items.is_empty() && needs.lists.is_empty()
    }

    /// Takes what is to be read next; none when nothing is missing.
    pub(crate) fn take_needs(&mut self) -> Option<Needs> {
        let needs = self.needs.take();
        (!needs.items.is_empty() || !needs.lists.is_empty()).then_some(needs)
    }

    /// Takes the refusal, if something that matters is in a list behind what is read of it.
    pub(crate) fn take_refusal(&mut self) -> Option<PlanError> {
        self.given_up.take()
    }

    /// Keeps an item that was read.
    pub(crate) fn keep_item(&mut self, address: &Address, item: Option<Item>) {
        let item = item.filter(|item| !self.is_expired(&address.table, item));
        self.items.insert(address.clone(), item);
    }

    /// Keeps the rows of a list that was read.
    pub(crate) fn keep_list(&mut self, listing: Listing, mut listed: Listed) {
        let table = &listing.table;
        listed.rows.retain(|row| !self.is_expired(table, row));
        self.lists.insert(listing, listed);
    }

    /// How many rows of a list are read at most.
    pub(crate) fn rows_max(&self, listing: &Listing) -> usize {
        listing.rows_max.unwrap_or(self.listed_max)
    }
}

/// Equal keys, and perhaps the beginning of a sort key.
pub(crate) fn keys(equals: Vec<(String, Value)>, prefix: Option<(String, String)>) -> KeyCondition {
    let range = prefix.map(|(name, text)| (name, KeyRange::BeginsWith(text.into())));
    KeyCondition { equals, range }
}

fn in_range(key: Operand, range: &KeyRange) -> Condition {
    let value = |value: &Value| Operand::value(value.clone());
    let compared = |comparator, bound| Condition::Compare(key.clone(), comparator, value(bound));
    match range {
        KeyRange::Less(bound) => compared(Comparator::Less, bound),
        KeyRange::LessOrEqual(bound) => compared(Comparator::LessOrEqual, bound),
        KeyRange::Greater(bound) => compared(Comparator::Greater, bound),
        KeyRange::GreaterOrEqual(bound) => compared(Comparator::GreaterOrEqual, bound),
        KeyRange::Between(low, high) => Condition::Between(key, value(low), value(high)),
        KeyRange::BeginsWith(prefix) => Condition::BeginsWith(key, value(prefix)),
    }
}
