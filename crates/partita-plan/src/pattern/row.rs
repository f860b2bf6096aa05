//! Rows as callers see them: what passes the filter, and what the rules say of it.

use std::collections::VecDeque;

use partita_core::{Item, Map, Value};
use partita_design::design::pattern::TEXTS;
use partita_design::design::{Access, Pattern, Record};
use partita_store::FoundItem;

use super::PatternRead;
use crate::blueprint::Blueprint;
use crate::error::PlanError;
use crate::evaluate::{Context, ItemScope, Known, Named, Resolved};
use crate::operation;
use crate::request::rules::{Asked, Verdict};
use crate::room::{READS_MEMORY_MAX, Room};
use crate::ruling::Row;
use crate::shown::Showing;

/// Bytes of memory of the rows that are looked at together, but for the last.
const ROWS_MEMORY_MAX: usize = 4 * 1_048_576;

/// Bytes of memory of what such rows lead to. A single row may lead to more.
const LED_MEMORY_MAX: usize = 16 * 1_048_576;

/// A row that was looked at.
pub(super) struct SeenRow {
    /// As it was found, which says where the next page begins.
    pub(super) row: Item,
    /// The item as it is now, where the pattern is fresh and the item still belongs.
    current: Option<Item>,
    /// What is shown, if the caller may see it.
    pub(super) record: Option<operation::Record>,
}

impl SeenRow {
    /// What decided on the row.
    pub(super) fn as_it_is(&self) -> &Item {
        self.current.as_ref().unwrap_or(&self.row)
    }
}

/// What a caller sees by a row.
pub(super) enum Sighting {
    /// The row itself.
    Row(Showing),
    /// What it leads to.
    Behind(operation::Record),
}

impl Sighting {
    /// The record that is shown, where the row is this item.
    pub(super) fn shown(self, blueprint: &Blueprint, item: Map) -> operation::Record {
        match self {
            Sighting::Behind(record) => record,
            Sighting::Row(showing) => operation::Record {
                name: blueprint.design[showing.record].name.clone(),
                attributes: showing.of(blueprint, item),
            },
        }
    }
}

impl PatternRead<'_> {
    /// Looks at the next rows, as many as do not take too much memory together with what they lead
    /// to. None when there are no more rows.
    pub(super) async fn look(
        &self,
        found: &mut VecDeque<FoundItem>,
    ) -> Result<Option<Vec<SeenRow>>, PlanError> {
        let mut rows = Vec::new();
        let mut room = Room::new(ROWS_MEMORY_MAX);
        while !room.is_empty()
            && let Some(row) = found.pop_front()
        {
            rows.push(room.take_last(row).await?);
        }
        if rows.is_empty() {
            return Ok(None);
        }
        loop {
            match self.seen_rows(&rows).await {
                Err(PlanError::TooMuchMemory { .. }) if rows.len() > 1 => {
                    let later = rows.split_off(rows.len() / 2);
                    let later = later.into_iter().rev();
                    later.for_each(|row| found.push_front(row.into()));
                }
                seen => {
                    let rows = rows.into_iter().zip(seen?);
                    let rows = rows.map(|(row, (current, record))| SeenRow {
                        row,
                        current,
                        record,
                    });
                    return Ok(Some(rows.collect()));
                }
            }
        }
    }

    /// For each row, its item as it is now where the pattern is fresh, and what is shown of it.
    async fn seen_rows(
        &self,
        rows: &[Item],
    ) -> Result<Vec<(Option<Item>, Option<operation::Record>)>, PlanError> {
        if !self.pattern.fresh {
            let visible = self.visible(rows).await?;
            return Ok(visible.into_iter().map(|record| (None, record)).collect());
        }
        let current = self.current(rows).await?;
        let there: Vec<bool> = current.iter().map(Option::is_some).collect();
        let items: Vec<Item> = current.into_iter().flatten().collect();
        let visible = self.visible(&items).await?;
        let mut seen = items.into_iter().zip(visible);
        let seen = there.into_iter().map(|is_there| {
            let seen = is_there.then(|| seen.next()).flatten();
            seen.map_or((None, None), |(item, record)| (Some(item), record))
        });
        Ok(seen.collect())
    }

    /// For each row, its record if the caller may see it. Whatever refs lead to is read for all
    /// rows at once.
    pub(super) async fn visible(
        &self,
        rows: &[Item],
    ) -> Result<Vec<Option<operation::Record>>, PlanError> {
        let look = |context: Context<'_>, record: &Record, item: &Map, row: &Item| {
            self.seen(context, record, item, row)
        };
        let finish = |sight: Sighting, item| sight.shown(self.blueprint(), item);
        self.each_row(rows, look, finish).await
    }

    /// For each row that is there for somebody, what the rules say of it.
    pub(super) async fn rule_on(&self, rows: &[Item]) -> Result<Vec<Row>, PlanError> {
        let look = |context: Context<'_>, record: &Record, item: &Map, row: &Item| {
            let scope = ItemScope::unguarded(context, record, item);
            let mut rulings: Vec<_> = scope.ruling_of_pattern(self.pattern).into_iter().collect();
            let finding = rulings.len();
            let mut is_there = true;
            self.decisive(context, record, item, row, &mut |scope, _| {
                is_there &= self.is_there(scope);
                rulings.push(scope.ruling(Asked::Access(Access::Read)));
                true
            })?;
            let is_there = is_there && rulings.len() > finding;
            Ok(is_there.then(|| Row::new(record, item, rulings)))
        };
        let ruled = self.each_row(rows, look, |ruled, _| ruled).await?;
        Ok(ruled.into_iter().flatten().collect())
    }

    /// Looks at every row that is a record of the pattern's and has not expired. What is seen of one
    /// is finished with its item when all have been looked at.
    pub(super) async fn each_row<T, U>(
        &self,
        rows: &[Item],
        look: impl Fn(Context<'_>, &Record, &Map, &Item) -> Result<Option<T>, PlanError>,
        finish: impl Fn(T, Map) -> U,
    ) -> Result<Vec<Option<U>>, PlanError> {
        let recognised: Vec<Option<(&Record, Map)>> = rows
            .iter()
            .map(|row| self.blueprint().recognise(&self.pattern.returns, row))
            .collect();
        let moment = self.moment();
        let room = if rows.len() == 1 {
            READS_MEMORY_MAX
        } else {
            LED_MEMORY_MAX
        };
        let reads = self.partita.reads(&moment).with_items(&self.own);
        let mut reads = reads.with_room(room);
        let (_, table) = self.blueprint().table(self.pattern.table);
        let looked = self.runner.settle(&mut reads, |reads| {
            let context = self.partita.context(self.caller, reads, &moment);
            let rows = recognised.iter().zip(rows).map(|(found, row)| match found {
                Some(_) if !self.pattern.with_expired && reads.is_expired(table, row) => Ok(None),
                Some((record, item)) => look(context, record, item, row),
                None => Ok(None),
            });
            rows.collect()
        });
        let looked: Vec<Option<T>> = looked.await?;
        let looked = looked.into_iter().zip(recognised);
        Ok(looked
            .map(|(seen, found)| Some(finish(seen?, found?.1)))
            .collect())
    }

    /// A row as the caller sees it, if it passes the filter and the rules.
    pub(super) fn seen(
        &self,
        context: Context<'_>,
        record: &Record,
        item: &Map,
        stored: &Item,
    ) -> Result<Option<Sighting>, PlanError> {
        let mut seen = None;
        let row = ItemScope::unguarded(context, record, item);
        if !row.is_found_by(self.pattern) {
            return Ok(None);
        }
        let is_followed = self.pattern.followed(record).is_some();
        self.decisive(context, record, item, stored, &mut |scope, is_last| {
            let is_shown = self.is_shown(scope);
            seen = (is_shown && is_last).then(|| {
                if is_followed {
                    Sighting::Behind(operation::Record {
                        name: scope.record.name.clone(),
                        attributes: scope.shown(),
                    })
                } else {
                    Sighting::Row(scope.showing())
                }
            });
            is_shown
        })?;
        Ok(seen)
    }

    /// Looks at the items that decide on a row which passes the filter: itself, and what it is
    /// replaced by. `look` is told which is the last, the one that is shown, and says whether to go
    /// on.
    fn decisive(
        &self,
        context: Context<'_>,
        record: &Record,
        item: &Map,
        stored: &Item,
        look: &mut dyn FnMut(&ItemScope<'_, '_>, bool) -> bool,
    ) -> Result<(), PlanError> {
        let row = ItemScope::unguarded(context, record, item);
        if !passes(self.pattern, &self.values, &row, stored) {
            return Ok(());
        }
        let Some(reference) = self.pattern.followed(record) else {
            look(&row, true);
            return Ok(());
        };
        // A view's record says no more than its source, whose rules then decide; a link is an item
        // of its own.
        if record.is_entity() && !look(&row, false) {
            return Ok(());
        }
        let Resolved::To(targets) = row.resolve(reference) else {
            return Ok(());
        };
        for target in targets {
            if let Known::Found(found) = context.item(&target.address) {
                let item = self.blueprint().attributes(target.record, found)?;
                look(&ItemScope::unguarded(context, target.record, &item), true);
                return Ok(());
            }
        }
        Ok(())
    }

    fn is_shown(&self, row: &ItemScope<'_, '_>) -> bool {
        // Where rows are followed, what they lead to decides by itself.
        let is_decided = self.pattern.follow.is_none() && self.allowed.contains(&row.record.id);
        let read = Asked::Access(Access::Read);
        let is_allowed = is_decided || row.verdict(read) == Verdict::Allowed;
        is_allowed && self.is_there(row)
    }

    /// Whether an item is neither deleted nor hidden.
    fn is_there(&self, row: &ItemScope<'_, '_>) -> bool {
        let is_deleted = !self.pattern.with_deleted && row.record.is_deleted(row.item);
        !is_deleted && !row.is_hidden()
    }
}

/// Whether a row passes the filter of a pattern. It can speak of keys, which stand only in the item
/// as it is stored, and compares with texts that the parameters stand in.
pub(crate) fn passes(
    pattern: &Pattern,
    values: &Map,
    row: &ItemScope<'_, '_>,
    stored: &Item,
) -> bool {
    let Some(filter) = &pattern.filter else {
        return true;
    };
    let texts = pattern.texts.iter();
    let texts = texts.map(|text| text.value(values).unwrap_or(Value::Null));
    let texts = Named::Value(Some(Value::L(texts.collect())));
    let blueprint = row.context.blueprint;
    let keys = stored
        .iter()
        .filter(|(name, _)| blueprint.is_reserved(row.record, name));
    let (table, _) = blueprint.table_of(row.record);
    let keys = keys.map(|(name, value)| {
        // An item that a migration marks anew is already, or still, what the design says.
        let mark = table.discriminator.as_deref() == Some(name.as_str());
        let mark = row.record.discriminator.as_deref().filter(|_| mark);
        let value = mark.map_or_else(|| value.clone(), Value::from);
        (name.to_string(), Named::Value(Some(value)))
    });
    let names: Vec<_> = std::iter::once((TEXTS.to_owned(), texts))
        .chain(keys)
        .collect();
    filter.holds(&row.naming(&names))
}
