//! Feeds: what a pattern or an item shows to a caller, and how that changes.
//!
//! A feed goes from one moment of the tables to a later one. What lies between is known item by
//! item: how it was and how it is. So what the pattern showed before is what it shows of the old
//! images, and what it shows now is what it shows of the new ones; the query is not run again.
//! Both are decided by the evaluation that reads use, rules included: the caller sees exactly what
//! a read would show at that moment.
//!
//! What was read beside a row to decide on it, by rules and by `follow`, is remembered. When that
//! changes, the row is decided again.
//!
//! | module | what it has |
//! |---|---|
//! | `changes` | moments of the tables, and what changed between two |
//! | `decision` | what one change means to one row |
//! | `memory` | what decided on the rows of a feed |
//! | `position` | how far a feed has come, to resume |
//! | `refusal` | what cannot be followed |

mod changes;
mod decision;
mod memory;
mod position;
mod refusal;

use std::sync::Arc;

use partita_core::Item;
use rustc_hash::FxHashSet;

use crate::commit::run::Runner;
use crate::error::PlanError;
use crate::operation::{Caller, Operation, Record};
use crate::partita::Partita;
use crate::pattern::{Seen, Sight, Watched};
use crate::place::Address;

pub use changes::{Changes, FeedMoment, Interest, Stepped, Tail, Touched};
pub use decision::FeedEvent;
pub use position::{FeedIds, FeedPosition};
pub use refusal::no_feed;

use decision::{decide, is_same_row};
use memory::Memory;

/// Rows in the range of a feed at most.
pub const FEED_ROWS_MAX: usize = 1000;

/// Why a feed does not go on.
#[derive(Clone, Debug, PartialEq)]
pub enum Lost {
    /// Its reader has to begin again; why.
    Refetch(&'static str),
    /// It could not be decided what to say.
    Failed(PlanError),
}

impl From<PlanError> for Lost {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::TooLarge { .. } => Lost::Refetch("there are more rows than a feed has"),
            error => Lost::Failed(error),
        }
    }
}

/// A pattern or an item, followed for one caller.
pub struct Feed {
    partita: Arc<Partita>,
    caller: Caller,
    watched: Watched,
    ids: Arc<FeedIds>,
    /// The time up to which it has come.
    millis: i64,
    memory: Memory,
    /// What is shown now, where that is the first of several rows.
    one: Option<Record>,
}

impl Partita {
    /// A feed of what an operation reads, for this caller. What a read would refuse whatever is
    /// stored is refused.
    pub async fn feed(
        self: &Arc<Self>,
        caller: &Caller,
        operation: &Operation,
    ) -> Result<Feed, PlanError> {
        self.demand_token(caller, self.verb(operation)?)?;
        let watched = self.watched(operation)?;
        let millis = self.clock.now_millis();
        let sight = Sight {
            partita: self,
            caller,
            runner: &self.runner,
            millis,
        };
        watched.demand(sight).await?;
        Ok(Feed {
            partita: self.clone(),
            caller: caller.clone(),
            ids: Arc::new(FeedIds {
                partita: self.clone(),
                caller: caller.clone(),
                pattern: watched.pattern(self).name.clone(),
                parameters: watched.parameters().clone(),
            }),
            memory: Memory::of(self, &watched)?,
            watched,
            millis,
            one: None,
        })
    }
}

impl Feed {
    /// The rows at a moment, in the pattern's order. The feed goes on from there.
    pub async fn rows(&mut self, at: &FeedMoment) -> Result<Vec<Record>, PlanError> {
        let runner = self.partita.runner.reading(at.store.clone());
        let rows = self.watched.range(self.sight(&runner, at.millis)).await?;
        let looked = self.watched.look(self.sight(&runner, at.millis), &rows);
        let looked = looked.await?;
        let mut shown = Vec::new();
        for (row, seen) in rows.iter().zip(looked) {
            let Some(seen) = seen else { continue };
            let address = self.address_of(row);
            shown.extend(self.keep(&address, seen));
        }
        if self.memory.is_full() {
            return Err(PlanError::NoFeed {
                why: "more items decide on its rows than are remembered".to_owned(),
            });
        }
        if self.is_first_of_several() {
            shown.truncate(1);
            self.one = shown.first().cloned();
        }
        self.millis = at.millis;
        Ok(shown)
    }

    /// Goes on from where an event had come to. The events between are the answer.
    pub async fn resume(&mut self, id: &str, at: &FeedMoment) -> Result<Vec<FeedEvent>, Lost> {
        let partita = self.partita.clone();
        let opened = self.ids.open(id);
        let position = opened.ok_or(Lost::Refetch("the id is of another feed, or too old"))?;
        let from = position.resumed(partita.era.as_deref(), at).await?;
        let changes = at.since(&partita, &from).await?;
        let Some(changes) = changes else {
            return Err(Lost::Refetch("too much has changed since"));
        };
        // What decides on the rows of now has decided on those of then, unless it has changed or
        // expired since.
        self.rows(at).await?;
        self.recall(&changes, position.millis).await?;
        self.millis = position.millis;
        let concerned = self.concerned(&changes);
        let has_expired = self
            .next_expiry_millis()
            .is_some_and(|due| due <= at.millis);
        if self.is_first_of_several() && (has_expired || !concerned.is_empty()) {
            return Err(Lost::Refetch("another row may be the one"));
        }
        self.advance(&changes, &concerned).await
    }

    /// Remembers what decided on the rows before these changes, when that was the time.
    async fn recall(&mut self, changes: &Changes, millis: i64) -> Result<(), PlanError> {
        let runner = self.partita.runner.reading(changes.before.clone());
        let rows = self.watched.range(self.sight(&runner, millis)).await?;
        let looked = self.watched.look(self.sight(&runner, millis), &rows);
        for (row, seen) in rows.iter().zip(looked.await?) {
            if let Some(seen) = seen {
                self.memory.remember(&self.address_of(row), &seen);
            }
        }
        Ok(())
    }

    /// What is said of the changes of these items, and of what has expired since.
    async fn advance(
        &mut self,
        changes: &Changes,
        concerned: &[Address],
    ) -> Result<Vec<FeedEvent>, Lost> {
        let mut touched = concerned.to_vec();
        touched.extend(self.memory.take_expired(changes.to.millis));
        if self.memory.is_refetched_for(changes, &touched) {
            return Err(Lost::Refetch("what decides on the rows has changed"));
        }
        let (from_millis, to_millis) = (self.millis, changes.to.millis);
        if self.is_first_of_several() {
            return self.advance_one(changes).await;
        }
        let places = self.rows_of(changes, &touched);
        let unchanged = places.iter().filter(|one| changes.of(one).is_none());
        let unchanged: Vec<Address> = unchanged.cloned().collect();
        let after = self.partita.runner.reading(changes.to.store.clone());
        let before = self.partita.runner.reading(changes.before.clone());
        let mut found = after.read_items(&unchanged).await?.into_iter();
        let mut images = Vec::with_capacity(places.len());
        for place in &places {
            images.push(match changes.of(place) {
                Some(change) => (change.before.clone(), change.after.clone()),
                None => {
                    let item = found.next().flatten();
                    (item.clone(), item)
                }
            });
        }
        let (old, new): (Vec<_>, Vec<_>) = images.into_iter().unzip();
        let were = self.look_at(&before, from_millis, old).await?;
        let are = self.look_at(&after, to_millis, new).await?;
        let mut events = Vec::new();
        for ((place, was), is) in places.iter().zip(were).zip(are) {
            let was = was.and_then(|seen| seen.shown);
            let is = is.and_then(|seen| self.keep(place, seen));
            events.extend(decide(&self.partita.blueprint.design, was, is));
        }
        self.millis = to_millis;
        if self.watched.pattern(&self.partita).follow.is_some() {
            self.drop_repeated(&after, &places, &mut events).await?;
        }
        if self.memory.is_full() {
            return Err(Lost::Refetch("more decides on the rows than is remembered"));
        }
        Ok(events)
    }

    /// The changed items that it has something to do with.
    fn concerned(&self, changes: &Changes) -> Vec<Address> {
        let places = changes.places();
        let concerned = places.filter(|place| self.memory.is_concerned(changes, place));
        concerned.cloned().collect()
    }

    /// What it has to be told the changes of, as far as that is new since it was last asked.
    pub fn take_interests(&mut self) -> Vec<Interest> {
        self.memory.take_interests()
    }

    /// When something that it shows, or that decides on it, expires next.
    pub fn next_expiry_millis(&self) -> Option<i64> {
        self.memory.next_expiry_millis()
    }

    /// About how many bytes it takes as long as it goes on.
    pub fn memory_bytes(&self) -> usize {
        self.memory.bytes()
    }

    /// Makes the ids of its events.
    pub fn ids(&self) -> &Arc<FeedIds> {
        &self.ids
    }

    /// The design that it belongs to.
    pub fn partita(&self) -> &Arc<Partita> {
        &self.partita
    }

    /// A pattern of one shows the first of its rows that the caller may see.
    fn is_first_of_several(&self) -> bool {
        let pattern = self.watched.pattern(&self.partita);
        pattern.one && !matches!(pattern.read, partita_design::design::Read::Get(_))
    }

    async fn advance_one(&mut self, changes: &Changes) -> Result<Vec<FeedEvent>, Lost> {
        let was = self.one.take();
        let is = self.rows(&changes.to).await?.into_iter().next();
        if self.memory.is_full() {
            return Err(Lost::Refetch("more decides on the rows than is remembered"));
        }
        Ok(decide(&self.partita.blueprint.design, was, is))
    }

    /// The rows on which changes of these items bear: they themselves, and those that they decide on.
    fn rows_of(&self, changes: &Changes, touched: &[Address]) -> Vec<Address> {
        let mut known = FxHashSet::default();
        let mut rows = Vec::new();
        for place in touched {
            let own = self.memory.is_row(changes, place).then_some(place);
            for row in own.into_iter().chain(self.memory.led_by(place)) {
                if known.insert(row.clone()) {
                    rows.push(row.clone());
                }
            }
        }
        rows
    }

    /// What is seen of some images at a moment, each of an item that may not be there.
    async fn look_at(
        &self,
        runner: &Runner,
        millis: i64,
        images: Vec<Option<Item>>,
    ) -> Result<Vec<Option<Seen>>, PlanError> {
        let belonging = |image: Option<Item>| {
            let image = image.filter(|item| self.memory.has(item))?;
            self.watched.row_of(&self.partita, &image)
        };
        let images: Vec<Option<Item>> = images.into_iter().map(belonging).collect();
        let is_there: Vec<bool> = images.iter().map(Option::is_some).collect();
        let rows: Vec<Item> = images.into_iter().flatten().collect();
        let seen = self.watched.look(self.sight(runner, millis), &rows).await?;
        let mut seen = seen.into_iter();
        let all = is_there.into_iter();
        Ok(all
            .map(|is_there| {
                if is_there {
                    seen.next().flatten()
                } else {
                    None
                }
            })
            .collect())
    }

    /// Two rows may lead to one item. It leaves with the last of them.
    async fn drop_repeated(
        &mut self,
        after: &Runner,
        places: &[Address],
        events: &mut Vec<FeedEvent>,
    ) -> Result<(), Lost> {
        if !events
            .iter()
            .any(|event| matches!(event, FeedEvent::Leave { .. }))
        {
            return Ok(());
        }
        let others: Vec<Address> = self.memory.rows_beside(places);
        let items = after.read_items(&others).await?;
        let seen = self.look_at(after, self.millis, items).await?;
        let shown: Vec<Record> = seen
            .into_iter()
            .flatten()
            .filter_map(|one| one.shown)
            .collect();
        let design = &self.partita.blueprint.design;
        events.retain(|event| !shown.iter().any(|one| is_same_row(design, event, one)));
        Ok(())
    }

    /// Remembers what decided on a row, and answers what is shown of it.
    fn keep(&mut self, row: &Address, seen: Seen) -> Option<Record> {
        self.memory.remember(row, &seen);
        seen.shown
    }

    fn address_of(&self, row: &Item) -> Address {
        let blueprint = &self.partita.blueprint;
        let (_, table) = blueprint.table(self.watched.pattern(&self.partita).table);
        blueprint.keys.place(table, row)
    }

    fn sight<'a>(&'a self, runner: &'a Runner, millis: i64) -> Sight<'a> {
        Sight {
            partita: &self.partita,
            caller: &self.caller,
            runner,
            millis,
        }
    }
}
