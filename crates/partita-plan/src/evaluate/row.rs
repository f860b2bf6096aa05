//! The rows of a list: which items a pattern means.
//!
//! A row says where an item is. Whether the pattern means the item is decided on the item itself
//! once that is read: an index may be behind, and the item may have changed since the list was
//! read. What decides is noted as read of the item, so that an item is written because of a
//! pattern only while the pattern means it.
//!
//! Rows that a pattern passes over are not guarded, nor is what only a list has shown of an item.
//! An item that begins to be meant, or that changes without being written here, does so after the
//! write.

use partita_core::{Item, Map};
use partita_design::design::{KeyValue, Pattern, Record, RecordIndex};

use super::reads::{Known, Listing};
use super::scope::{Fact, ItemScope, Named, ReadSet};
use crate::error::PlanError;
use crate::pattern::passes;
use crate::place::Address;
use crate::planner::Planner;

/// An item that a list has shown.
pub(crate) struct ListedItem<'a> {
    pub(crate) record: &'a Record,
    pub(crate) item: Map,
    pub(crate) address: Address,
}

impl<'a> ListedItem<'a> {
    /// The item as what an expression calls it by a name.
    pub(crate) fn named(&self) -> Named<'_, 'a> {
        Named::Item {
            record: self.record,
            item: &self.item,
            address: self.address.clone(),
        }
    }
}

/// A pattern, and what it is asked with.
#[derive(Clone, Copy)]
pub(super) struct AskedPattern<'s, 'a> {
    pub(super) pattern: &'a Pattern,
    pub(super) values: &'s Map,
    pub(super) listing: &'s Listing,
    /// Whether soft-deleted items are meant too.
    pub(super) with_deleted: bool,
}

impl<'a> Planner<'a> {
    /// The items among some rows that a pattern means.
    pub(crate) fn meant_among(
        &mut self,
        pattern: &'a Pattern,
        values: &Map,
        rows: &[Item],
    ) -> Result<Vec<ListedItem<'a>>, PlanError> {
        let mut meant = Vec::new();
        for row in rows {
            meant.extend(self.meant(pattern, values, row)?);
        }
        Ok(meant)
    }

    /// The first item among some rows that a pattern means.
    pub(crate) fn first_meant(
        &mut self,
        pattern: &'a Pattern,
        values: &Map,
        rows: &[Item],
    ) -> Result<Option<ListedItem<'a>>, PlanError> {
        for (at, row) in rows.iter().enumerate() {
            if let Some(item) = self.meant(pattern, values, row)? {
                self.context.read_on(&item.address.table, rows, at);
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    /// The item of a row, if a pattern means it, no live ref hides it, and this write does not
    /// remove it.
    fn meant(
        &mut self,
        pattern: &'a Pattern,
        values: &Map,
        row: &Item,
    ) -> Result<Option<ListedItem<'a>>, PlanError> {
        let blueprint = self.context.blueprint;
        let Some(listing) = blueprint.listing(pattern, values)? else {
            return Ok(None);
        };
        let Some((record, item)) = blueprint.recognise(&pattern.returns, row) else {
            return Ok(None);
        };
        let address = blueprint.keys.place(&listing.table, row);
        let is_expired = self.context.reads.is_expired(&listing.table, row);
        // Nothing is left to be done to what this write removes.
        if is_expired || self.draft.is_removed(&address) {
            return Ok(None);
        }
        let asked = AskedPattern {
            pattern,
            values,
            listing: &listing,
            with_deleted: pattern.with_deleted,
        };
        let meant = self.watch(None, |planner, reads| {
            let known = planner.context.peek(&address);
            let scope = planner.scope(record, &item, reads);
            scope.meant(asked, row, address, known)
        })?;
        match meant {
            Some(listed) if self.is_hidden(listed.record, &listed.item)? => Ok(None),
            meant => Ok(meant),
        }
    }
}

impl<'a> ItemScope<'_, 'a> {
    /// The item of a row, if a pattern means it as it is known. The scope is that of the row.
    pub(super) fn meant(
        &self,
        asked: AskedPattern<'_, 'a>,
        row: &Item,
        address: Address,
        known: Known<'_>,
    ) -> Option<ListedItem<'a>> {
        let record = self.record;
        let stored = match known {
            _ if self.is_rewritten(&address) => row,
            Known::Unread => row,
            Known::Found(stored) if asked.listing.has(stored) => stored,
            Known::Found(_) | Known::Missing => return None,
        };
        let item = self.context.blueprint.attributes(record, stored).ok()?;
        let decisive = ReadSet::new();
        let scope = ItemScope {
            item: &item,
            reads: self.reads.map(|_| &decisive),
            ..*self
        };
        let is_shown = asked.with_deleted || !scope.is_seen_deleted(record, &item, &address);
        if !is_shown || !passes(asked.pattern, asked.values, &scope, stored) {
            return None;
        }
        if let Some(reads) = self.reads {
            reads.note_all_of(decisive, &address, record);
            self.note_keys(asked, &address);
        }
        Some(ListedItem {
            record,
            item,
            address,
        })
    }

    /// Notes the keys that a pattern asks for, where they can change while the item stays.
    fn note_keys(&self, asked: AskedPattern<'_, 'a>, address: &Address) {
        let design = &self.context.blueprint.design;
        if self.is_rewritten(address) {
            return;
        }
        for index in &self.record.indexes {
            let values = std::iter::once(&index.partition).chain(&index.sort);
            let keys = design.index_of(self.record, index.index).keys();
            for (key, value) in keys.zip(values) {
                if asked.names(&key.name) && self.can_change(index, value) {
                    self.note_fact(address, self.record, Fact::Key(&key.name));
                }
            }
        }
    }

    /// Whether a key of the item in an index can change while the item stays where it is.
    fn can_change(&self, index: &RecordIndex, key: &KeyValue) -> bool {
        let source = self.context.blueprint.design.source(self.record);
        match key {
            KeyValue::Native(name) => !source.is_lasting(name),
            KeyValue::Cases(_) => {
                let mut reads = index.reads.iter();
                reads.any(|one| !one.hops.is_empty() || !source.is_lasting(&one.attribute))
            }
        }
    }
}

impl AskedPattern<'_, '_> {
    /// Whether the pattern asks for a key, or its filter looks at it.
    fn names(&self, key: &str) -> bool {
        let mut is_named = self.listing.names(key);
        if let Some(filter) = &self.pattern.filter {
            filter
                .tree
                .visit_paths(&mut |path| is_named |= path.root == key);
        }
        is_named
    }

    /// Whether the pattern means an item for more than its primary key, which it always has.
    pub(super) fn looks_inside(&self) -> bool {
        self.pattern.filter.is_some() || self.listing.index.is_some()
    }
}
