//! What expressions looked at, so that it can be guarded.

use partita_design::design::Record;
use std::cell::RefCell;

use crate::place::Address;

/// What a scene's expressions looked at.
#[derive(Default)]
pub(crate) struct Trace<'a> {
    pub(super) seen: RefCell<Seen<'a>>,
    /// The items of others that were looked at, whatever of them. The caller's own are not among
    /// them.
    pub(super) around: RefCell<Vec<(Address, &'a Record)>>,
}

#[derive(Clone, Default)]
pub(crate) struct Seen<'a> {
    /// Attributes of the item as it will be.
    pub(crate) own: Vec<&'a str>,
    /// Attributes of the item as it was.
    pub(crate) old: Vec<&'a str>,
    /// What was seen of other items.
    pub(crate) foreign: Vec<(Address, &'a Record, Glimpse<'a>)>,
}

/// What was seen of another item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Glimpse<'a> {
    /// An attribute of it.
    Attribute(&'a str),
    /// That it is there.
    Presence,
    /// That it is not there.
    Absence,
}

impl<'a> Trace<'a> {
    /// Whether something depends on items of others.
    pub(crate) fn has_looked_around(&self) -> bool {
        !self.around.borrow().is_empty()
    }

    /// The items of others that something depends on.
    pub(crate) fn into_around(self) -> Vec<(Address, &'a Record)> {
        self.around.into_inner()
    }

    pub(crate) fn into_seen(self) -> Seen<'a> {
        self.seen.into_inner()
    }
}
