//! What expressions looked at, so that it can be guarded.

use std::cell::{Cell, RefCell};

use crate::place::Address;
use crate::shape::Shape;

/// What a scene's expressions looked at.
#[derive(Default)]
pub(crate) struct Trace<'a> {
    pub(super) seen: RefCell<Seen<'a>>,
    /// Whether another item was looked at, fixed attributes included.
    pub(super) has_looked_around: Cell<bool>,
}

#[derive(Default)]
pub(crate) struct Seen<'a> {
    /// Attributes of the item as it will be.
    pub(crate) own: Vec<&'a str>,
    /// Attributes of the item as it was.
    pub(crate) old: Vec<&'a str>,
    /// Attributes of other items; none of a name where the item was found missing.
    pub(crate) foreign: Vec<(Address, Shape<'a>, Option<&'a str>)>,
}

impl<'a> Trace<'a> {
    /// Whether something depends on other items.
    pub(crate) fn has_looked_around(&self) -> bool {
        self.has_looked_around.get()
    }

    pub(crate) fn into_seen(self) -> Seen<'a> {
        self.seen.into_inner()
    }
}
