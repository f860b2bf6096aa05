//! A pattern as a feed looks at it: which items are in its range, what is shown of them, and what
//! decides on that.

use std::collections::{BTreeMap, VecDeque};

use partita_core::Item;
use partita_core::size::item_memory;
use partita_design::design::{self, Access, Pattern, PatternId, Projection, Read, RecordId};

use super::page::Rank;
use super::row::Sighting;
use super::{PatternRead, ReadBound, too_large, typed};
use crate::commit::run::Runner;
use crate::cursor::Question;
use crate::error::PlanError;
use crate::evaluate::{Context, Known, Listing, Noted, Reads};
use crate::feed::{FEED_ROWS_MAX, no_feed};
use crate::operation::{Caller, Operation, Record};
use crate::partita::Partita;
use crate::place::{Address, KeyNames};
use crate::planner::Planner;
use crate::request::NamedItem;
use crate::request::rules::Asked;
use partita_core::Map;

/// Rows that are looked at together.
const ROWS_TOGETHER: usize = 50;

/// Memory for the rows of a feed, all of which are held at once. A small item can take much of it:
/// an empty text is a byte in the store.
const MEMORY_MAX: usize = 16 << 20;

/// A pattern with its parameters, or one item, as a feed asks for it again and again.
pub(crate) struct Watched {
    subject: Subject,
    values: Map,
    parameters: BTreeMap<String, String>,
}

enum Subject {
    Pattern(PatternId),
    /// An item, as a pattern that reads it.
    Item(Box<Pattern>),
}

/// Who looks, and at what moment.
#[derive(Clone, Copy)]
pub(crate) struct Sight<'a> {
    pub(crate) partita: &'a Partita,
    pub(crate) caller: &'a Caller,
    pub(crate) runner: &'a Runner,
    pub(crate) millis: i64,
}

/// What is seen of a row, and what that depends on.
#[derive(Default)]
pub(crate) struct Seen {
    /// What is shown, if the caller may see it.
    pub(crate) shown: Option<Record>,
    /// Other items that decided.
    pub(crate) items: Vec<Address>,
    /// Lists that decided.
    pub(crate) lists: Vec<Listing>,
    /// When the row or something that decided on it expires.
    pub(crate) expiring: Vec<(i64, Address)>,
}

impl Seen {
    /// What something depends on that was decided by looking at these items and lists.
    fn depending_on(noted: Noted, reads: &Reads, keys: &KeyNames) -> Seen {
        let Noted { mut items, lists } = noted;
        let until = |address: &Address| match reads.peek(address) {
            Known::Found(item) => reads.until_millis(&address.table, item),
            Known::Missing | Known::Unread => None,
        };
        let others = items.iter();
        let mut expiring: Vec<(i64, Address)> = others
            .filter_map(|address| Some((until(address)?, address.clone())))
            .collect();
        // A list is another one once one of its rows has expired.
        for list in &lists {
            let listed = reads.list(list);
            for row in listed.into_iter().flat_map(|listed| &listed.rows) {
                if let Some(until) = reads.until_millis(&list.table, row) {
                    let place = keys.place(&list.table, row);
                    expiring.push((until, place.clone()));
                    items.push(place);
                }
            }
        }
        Seen {
            shown: None,
            items,
            lists,
            expiring,
        }
    }
}

impl Partita {
    /// What a feed of an operation looks at. A write has no feed.
    pub(crate) fn watched(&self, operation: &Operation) -> Result<Watched, PlanError> {
        match operation {
            Operation::Get {
                entity,
                identity,
                with_deleted,
            } => {
                let NamedItem {
                    record,
                    identity: values,
                    ..
                } = self.named_item(entity, identity)?;
                let names = record.identity.iter().map(|part| part.name.clone());
                Ok(Watched {
                    subject: Subject::Item(Box::new(Pattern::of_item(record, *with_deleted))),
                    parameters: names.zip(identity.iter().cloned()).collect(),
                    values,
                })
            }
            Operation::Query {
                pattern,
                parameters,
                limit: None,
                cursor: None,
            } => {
                let pattern = self.blueprint.pattern(pattern)?;
                Ok(Watched {
                    values: typed(pattern, parameters, None)?,
                    subject: Subject::Pattern(pattern.id),
                    parameters: parameters.clone(),
                })
            }
            _ => Err(PlanError::NoFeed {
                why: "a feed is of one item, or of a whole pattern without `limit` and `cursor`"
                    .to_owned(),
            }),
        }
    }
}

impl Watched {
    pub(crate) fn pattern<'a>(&'a self, partita: &'a Partita) -> &'a Pattern {
        match &self.subject {
            Subject::Pattern(id) => &partita.blueprint.design[*id],
            Subject::Item(pattern) => pattern,
        }
    }

    /// The parameters, or the parts of the identity.
    pub(crate) fn parameters(&self) -> &BTreeMap<String, String> {
        &self.parameters
    }

    fn read<'a>(&'a self, sight: Sight<'a>) -> PatternRead<'a> {
        let pattern = self.pattern(sight.partita);
        PatternRead {
            partita: sight.partita,
            runner: sight.runner,
            millis: Some(sight.millis),
            caller: sight.caller,
            pattern,
            values: self.values.clone(),
            limit: pattern.limit,
            is_reversed: false,
            is_eventual: false,
            question: Question {
                design: &sight.partita.served_text,
                caller: sight.caller,
                pattern: &pattern.name,
                parameters: &self.parameters,
            },
            own: Vec::new(),
            allowed: Vec::new(),
        }
    }

    /// Refuses what a read would be refused whatever is stored, and what cannot be followed.
    pub(crate) async fn demand(&self, sight: Sight<'_>) -> Result<(), PlanError> {
        let pattern = self.pattern(sight.partita);
        if let Some(why) = no_feed(&sight.partita.blueprint.design, pattern) {
            return Err(PlanError::NoFeed { why });
        }
        match &self.subject {
            Subject::Item(_) => {
                let record = &sight.partita.blueprint.design[pattern.returns[0]];
                let moment = sight.partita.moment_at(sight.millis);
                let reads = sight.partita.reads(&moment);
                let context = sight.partita.context(sight.caller, &reads, &moment);
                let read = Asked::Access(Access::Read);
                let planner = Planner::new(context, &moment);
                planner.demand_known(record, &self.values, read).map(drop)
            }
            Subject::Pattern(_) => self.read(sight).demand().await,
        }
    }

    /// All rows in the range, in the pattern's order.
    pub(crate) async fn range(&self, sight: Sight<'_>) -> Result<Vec<Item>, PlanError> {
        let asked = self.read(sight);
        if let Read::Get(templates) = &asked.pattern.read {
            return asked.stored(templates).await;
        }
        let mut rows: Vec<Item> = Vec::new();
        let mut bytes = 0;
        let mut start_after = None;
        loop {
            let wanted = FEED_ROWS_MAX + 1 - rows.len();
            let page = asked.read(start_after, wanted).await?;
            for found in page.items {
                let row = found.into_item()?;
                bytes += item_memory(&row);
                // A scan finds the items of others too, which are none of its rows.
                if asked
                    .blueprint()
                    .recognise(&asked.pattern.returns, &row)
                    .is_some()
                {
                    rows.push(row);
                }
                let bound = match () {
                    () if rows.len() > FEED_ROWS_MAX => ReadBound::Items(FEED_ROWS_MAX),
                    () if bytes > MEMORY_MAX => ReadBound::Bytes(MEMORY_MAX),
                    () => continue,
                };
                return Err(too_large(asked.pattern, bound));
            }
            match page.last_key {
                None => break,
                last_key => start_after = last_key,
            }
        }
        if !asked.pattern.sort.is_empty() {
            let mut ranked: Vec<(Rank, Item)> = rows
                .into_iter()
                .map(|row| (asked.rank(&row), row))
                .collect();
            ranked.sort_by(|(one, _), (two, _)| asked.order(one, two));
            rows = ranked.into_iter().map(|(_, row)| row).collect();
        }
        Ok(rows)
    }

    /// What is seen of each row; nothing of what is none of the pattern's, or has expired.
    pub(crate) async fn look(
        &self,
        sight: Sight<'_>,
        rows: &[Item],
    ) -> Result<Vec<Option<Seen>>, PlanError> {
        let asked = self.read(sight);
        let mut left: VecDeque<&[Item]> = rows.chunks(ROWS_TOGETHER).collect();
        let mut all = Vec::with_capacity(rows.len());
        while let Some(rows) = left.pop_front() {
            match self.look_together(&asked, rows).await {
                Err(PlanError::TooMuchMemory { .. }) if rows.len() > 1 => {
                    let (first, second) = rows.split_at(rows.len() / 2);
                    left.push_front(second);
                    left.push_front(first);
                }
                seen => all.extend(seen?),
            }
        }
        Ok(all)
    }

    async fn look_together(
        &self,
        asked: &PatternRead<'_>,
        rows: &[Item],
    ) -> Result<Vec<Option<Seen>>, PlanError> {
        let (_, table) = asked.blueprint().table(asked.pattern.table);
        let is_item = matches!(self.subject, Subject::Item(_));
        let look = |context: Context<'_>, record: &design::Record, item: &Map, row: &Item| {
            let reads = context.reads;
            reads.note_from_now();
            let shown = asked.seen(context, record, item, row)?;
            let mut seen = Seen::depending_on(reads.take_noted(), reads, &asked.blueprint().keys);
            if shown.is_some()
                && !asked.pattern.with_expired
                && let Some(until) = reads.until_millis(table, row)
            {
                let place = asked.blueprint().keys.place(table, row);
                seen.expiring.push((until, place));
            }
            Ok(Some((seen, record.id, shown)))
        };
        let blueprint = asked.blueprint();
        let finish = |(mut seen, record, shown): (Seen, RecordId, Option<Sighting>), item| {
            let shown = shown.map(|shown| shown.shown(blueprint, item));
            seen.shown = if is_item {
                let record = &blueprint.design[record];
                shown.map(|shown| blueprint.record(record, shown.attributes))
            } else {
                shown
            };
            seen
        };
        asked.each_row(rows, look, finish).await
    }

    /// The query whose rows are looked at; none of one item, or of everything.
    pub(crate) fn listing(&self, partita: &Partita) -> Result<Option<Listing>, PlanError> {
        let pattern = self.pattern(partita);
        match pattern.read {
            Read::Query(_) => partita.blueprint.listing(pattern, &self.values),
            Read::Get(_) | Read::Scan { .. } => Ok(None),
        }
    }

    /// The place of the item that is asked for, where it is one by its key.
    pub(crate) fn place(&self, partita: &Partita) -> Result<Option<Address>, PlanError> {
        let pattern = self.pattern(partita);
        let Read::Get(templates) = &pattern.read else {
            return Ok(None);
        };
        let (_, table) = partita.blueprint.table(pattern.table);
        let key = templates.render(&self.values)?;
        Ok(key.map(|(partition, sort)| crate::place::Place::address(table, partition, sort)))
    }

    /// The row of an item, as the index has it that is read; none where the item is in none.
    pub(crate) fn row_of(&self, partita: &Partita, item: &Item) -> Option<Item> {
        let pattern = self.pattern(partita);
        let (table, _) = partita.blueprint.table(pattern.table);
        let Some(index) = pattern.read.index() else {
            return Some(item.clone());
        };
        let index = &table.indexes[index.index()];
        if !index.keys().all(|key| item.contains_key(&key.name)) {
            return None;
        }
        let mut row = item.clone();
        if let Projection::KeysOnly | Projection::Include(_) = index.projection {
            let included: &[String] = match &index.projection {
                Projection::Include(names) => names,
                Projection::All | Projection::KeysOnly => &[],
            };
            let names: Vec<String> = row.iter().map(|(name, _)| name.to_string()).collect();
            let is_there = |name: &String| {
                *name == table.partition
                    || *name == table.sort
                    || index.keys().any(|key| key.name == *name)
                    || included.contains(name)
            };
            for name in names.iter().filter(|name| !is_there(name)) {
                row.remove(name);
            }
        }
        Some(row)
    }
}
