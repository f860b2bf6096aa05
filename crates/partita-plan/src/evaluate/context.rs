//! What all scopes of one plan share: the design, what was read, the caller, and the time.

use std::borrow::Cow;

use partita_core::Value;

use super::reads::{Known, Listed, Listing, Reads};
use crate::batch::earlier::Earlier;
use crate::blueprint::Blueprint;
use crate::operation::Caller;
use crate::outbox::seal::TextSeal;
use crate::place::Address;

/// What all scopes of one plan share.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) blueprint: &'a Blueprint,
    pub(crate) reads: &'a Reads,
    /// What the operations before this one leave behind, where it is one of a batch.
    pub(crate) earlier: Option<&'a Earlier>,
    pub(crate) caller: &'a Caller,
    /// Seals the texts of mails.
    pub(crate) seal: &'a TextSeal,
    /// The time of the write, as a timestamp.
    pub(crate) now: &'a Value,
    pub(crate) now_millis: i64,
}

/// What was read, and over it what earlier operations of the same batch did.
impl<'a> Context<'a> {
    /// The item, without asking for it.
    pub(crate) fn peek(&self, address: &Address) -> Known<'a> {
        if self.reads.is_hidden(address) {
            return Known::Missing;
        }
        let earlier = self.earlier.and_then(|earlier| earlier.item(address));
        earlier.unwrap_or_else(|| self.reads.peek(address))
    }

    /// The item; one that was not read yet will be.
    pub(crate) fn item(&self, address: &Address) -> Known<'a> {
        if self.reads.is_hidden(address) {
            return Known::Missing;
        }
        let earlier = self.earlier.and_then(|earlier| earlier.item(address));
        earlier.unwrap_or_else(|| self.reads.item(address))
    }

    /// The rows of a list; one that was not read yet will be.
    pub(crate) fn list(&self, listing: &Listing) -> Option<Cow<'a, Listed>> {
        match self.earlier {
            Some(earlier) => earlier.amended(self.blueprint, self.reads, listing),
            None => self.reads.list(listing).map(Cow::Borrowed),
        }
    }
}
