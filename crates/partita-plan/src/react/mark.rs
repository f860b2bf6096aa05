//! Marks: each item counts once for a number that is being filled.
//!
//! While a migration fills a number over items that exist, two kinds of writers meet at every item:
//! the backfill, which counts it, and whoever changes it. A mark in the sidecar, for an item and a
//! number, says that the item is counted. Whoever writes an item first counts it as it will be, a
//! deletion counts nothing, and sets the mark in the same transaction, on condition that it is not
//! set. From then on writers add differences, as to any number.
//!
//! An item that moves is marked in both places. When everything is filled nobody asks for marks, and
//! they are removed.

use partita_core::Value;
use partita_core::expression::{Condition, Path, Update};
use partita_store::request::{PutItem, TransactAction, UpdateItem};

use super::number::Total;
use crate::commit::Step;
use crate::draft::EntryId;
use crate::evaluate::Known;
use crate::place::Address;
use crate::planner::Planner;
use crate::sidecar;

/// The numbers that were asked for marks in a write.
#[derive(Default)]
pub(crate) struct Marks<'a> {
    asked: Vec<Asked<'a>>,
}

struct Asked<'a> {
    at: EntryId,
    total: Total<'a>,
    /// Whether the mark was not set.
    is_first: bool,
}

impl Marks<'_> {
    /// Whether the write needs none.
    pub(crate) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }
}

impl<'a> Planner<'a> {
    /// Whether an item does not count yet for a number that is being filled, so that it counts in
    /// full now. Asked for the first reaction to the item; what follows are differences.
    pub(super) fn is_uncounted(&mut self, at: EntryId, total: Total<'a>) -> bool {
        if !self.context.blueprint.is_filled_by(total.reaction) {
            return false;
        }
        let is_same = |one: &Asked<'a>| one.at == at && one.total.is(total);
        if self.marks.asked.iter().any(is_same) {
            return false;
        }
        let mark = self.mark_address(&self.entry(at).address);
        let is_first = match self.context.item(&mark) {
            Known::Found(mark) => !mark.contains_key(&total.mark()),
            Known::Missing | Known::Unread => true,
        };
        #[cfg(test)]
        if self
            .context
            .blueprint
            .has(crate::migration::Mistake::CountedTwice)
        {
            return true;
        }
        self.marks.asked.push(Asked {
            at,
            total,
            is_first,
        });
        is_first
    }

    /// The actions that set marks, one for each place.
    pub(crate) fn counted_steps(&mut self) -> Vec<Step> {
        let asked = std::mem::take(&mut self.marks.asked);
        let mut marked: Vec<(Address, Vec<String>)> = Vec::new();
        let mut mark = |place: &Address, total: Total<'_>| {
            let address = self.mark_address(place);
            let name = total.mark();
            match marked.iter_mut().find(|(known, _)| *known == address) {
                Some((_, names)) => names.push(name),
                None => marked.push((address, vec![name])),
            }
        };
        for one in &asked {
            let entry = self.entry(one.at);
            if one.is_first {
                mark(&entry.address, one.total);
            }
            if let Some(place) = entry.destination() {
                mark(place, one.total);
            }
        }
        let marked = marked.into_iter();
        let steps = marked.filter_map(|(mark, names)| match self.context.item(&mark) {
            Known::Found(row) => {
                let names = names.into_iter().filter(|name| !row.contains_key(name));
                add_marks(&mark, names.collect())
            }
            Known::Missing | Known::Unread => Some(first_marks(&mark, names)),
        });
        steps.collect()
    }

    fn mark_address(&self, place: &Address) -> Address {
        let blueprint = self.context.blueprint;
        let migration = blueprint.filling().map_or(0, |beside| beside.migration);
        sidecar::mark(&blueprint.sidecar, migration, place)
    }
}

/// Marks of an item that has none. Later operations of a batch see a row that is put whole.
fn first_marks(mark: &Address, names: Vec<String>) -> Step {
    let mut row = sidecar::key_at(mark);
    for name in names {
        row.insert(name, Value::Bool(true));
    }
    Step::or_stale(TransactAction::Put(PutItem {
        condition: Some(sidecar::is_missing()),
        ..PutItem::new(mark.table.clone(), row)
    }))
}

/// Sets marks that must not be set: another writer may have counted the item since.
fn add_marks(mark: &Address, names: Vec<String>) -> Option<Step> {
    let mut update = Update::default();
    let mut unset = Vec::new();
    for name in names {
        let path = Path::attribute(name);
        unset.push(Condition::NotExists(path.clone()));
        update = update.setting(path, Value::Bool(true));
    }
    let condition = unset.into_iter().reduce(Condition::and)?;
    Some(Step::or_stale(TransactAction::Update(UpdateItem {
        table: mark.table.clone(),
        key: sidecar::key_at(mark),
        update,
        condition: Some(condition),
        return_item_on_failure: false,
    })))
}
