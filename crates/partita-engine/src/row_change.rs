//! The change of one item in a commit, as its rows elsewhere see it.

use partita_core::Item;

use crate::tables::Table;

/// An item before and after a commit, in its table before and after it.
pub(crate) struct RowChange<'a> {
    /// The table as it was; none if it was created in the same commit.
    pub(crate) then: Option<&'a Table>,
    pub(crate) now: &'a Table,
    pub(crate) stored_key: &'a [u8],
    pub(crate) before: Option<&'a Item>,
    pub(crate) after: Option<&'a Item>,
    /// The item after the commit, as it is stored.
    pub(crate) after_bytes: &'a [u8],
}

impl<'a> RowChange<'a> {
    /// The old item, if the index or expiry `id` has a row for it.
    pub(crate) fn before_in(&self, id: u32) -> Option<&'a Item> {
        let then = self.then?;
        let has_row = then.ids().any(|known| known == id) && then.covers(id, self.stored_key);
        self.before.filter(|_| has_row)
    }

    /// The item as it is, if an index or expiry is to have a row of it.
    pub(crate) fn after_in(&self, id: u32) -> Option<&'a Item> {
        self.after.filter(|_| self.now.covers(id, self.stored_key))
    }
}
