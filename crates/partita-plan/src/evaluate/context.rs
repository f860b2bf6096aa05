//! What all scopes of one plan share: the design, what was read, the caller, and the time.

use std::borrow::Cow;

use partita_core::{Item, Value};
use partita_store::table::TableName;

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

    /// Has rows behind one read with it, as many as were read in vain before it. An index that is far
    /// behind shows many items that are gone: one in each round would be too many rounds.
    pub(crate) fn read_on(&self, table: &TableName, rows: &[Item], at: usize) {
        let place = |row: &Item| self.blueprint.keys.place(table, row);
        let is_unread = |row: &Item| matches!(self.peek(&place(row)), Known::Unread);
        let (before, on) = rows.split_at(at);
        let Some((first, behind)) = on.split_first() else {
            return;
        };
        if before.is_empty() || !is_unread(first) {
            return;
        }
        let in_vain = before.iter().filter(|row| !is_unread(row)).count();
        for row in behind.iter().take(in_vain) {
            self.reads.need(place(row));
        }
    }
}
