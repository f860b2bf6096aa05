//! People who follow patterns and items while others write. What they were told is compared with
//! what they are answered.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use partita_core::plain;
use partita_design::Design;
use partita_design::design::{Access, Pattern, Rule};
use partita_plan::feed::{
    Changes, Feed, FeedEvent, FeedMoment, Interest, Lost, Stepped, Tail, no_feed,
};
use partita_plan::{Answer, Caller, Operation, Partita, Patience, PlanError, Record, Surroundings};
use partita_store::Store;
use partita_store::surroundings::{ManualClock, SeededEntropy};
use serde_json::Value as Json;

use super::draw::{Draw, Values};
use crate::histories::cast::Cast;
use crate::histories::history::START;

/// Feeds at a time, when others begin.
const FOLLOWERS: usize = 16;
/// Those who begin to follow something between two looks.
const NEWCOMERS: usize = 8;
/// Attempts to follow what nobody has followed yet, between two looks.
const TRIES: usize = 3;
const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

/// What is done wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mistake {
    /// Some changes are told to nobody.
    MissesSteps,
    /// A feed is told nothing of the items that decide on its rows.
    ForgetsWhatDecides,
    /// A feed is resumed from where the others are.
    ResumesTooLate,
    /// Nothing is said when time passes.
    NeverExpires,
    /// Rules are asked when a feed begins, and not again.
    AsksRulesOnce,
}

/// What came of it.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) looks: u64,
    pub(super) events: u64,
    pub(super) resumed: u64,
    pub(super) refetched: u64,
    pub(super) refused: u64,
    /// Rows that are still there, and not for their reader any more.
    pub(super) rights_lost: u64,
    pub(super) followed: BTreeSet<String>,
    pub(super) faults: Vec<String>,
}

impl Tally {
    pub(super) fn add(&mut self, more: Tally) {
        self.looks += more.looks;
        self.events += more.events;
        self.resumed += more.resumed;
        self.refetched += more.refetched;
        self.refused += more.refused;
        self.rights_lost += more.rights_lost;
        self.followed.extend(more.followed);
        self.faults.extend(more.faults);
    }
}

/// Rows by what identifies them.
type Rows = BTreeMap<(String, String), Json>;

struct Follower {
    caller: Caller,
    operation: Operation,
    /// None while the connection is lost.
    feed: Option<Feed>,
    interests: HashSet<Interest>,
    rows: Rows,
    id: String,
}

struct Opened {
    partita: Arc<Partita>,
    /// The same, where everybody may read everything.
    open_to_all: Arc<Partita>,
    tail: Tail,
    at: FeedMoment,
}

pub(super) struct Observer {
    design: Design,
    store: Arc<dyn Store>,
    clock: Arc<ManualClock>,
    random: fastrand::Rng,
    mistake: Option<Mistake>,
    cast: Cast,
    opened: Option<Opened>,
    followers: Vec<Follower>,
    pub(super) tally: Tally,
}

impl Observer {
    pub(super) fn new(
        design: Design,
        store: Arc<dyn Store>,
        seed: u64,
        mistake: Option<Mistake>,
    ) -> Observer {
        Observer {
            cast: Cast::of(&design),
            design,
            store,
            clock: Arc::new(ManualClock::at(START)),
            random: fastrand::Rng::with_seed(seed),
            mistake,
            opened: None,
            followers: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// Tells everybody what has happened, and compares.
    pub(super) async fn look(&mut self) {
        if self.mistake.is_some() && !self.tally.faults.is_empty() {
            return;
        }
        self.tally.looks += 1;
        // Mostly so little that what expires is seen before and after; now and then more than ids
        // are good for.
        let longest = match self.random.u8(..40) {
            0 => 30 * HOUR,
            1..20 => MINUTE,
            _ => 1,
        };
        self.clock.advance(self.random.i64(0..longest));
        if self.opened.is_none() || self.random.u8(..15) == 0 {
            self.restart().await;
        }
        let Some(mut opened) = self.opened.take() else {
            return;
        };
        match opened.tail.step().await.unwrap() {
            Stepped::Over(changes) => {
                opened.at = changes.to.clone();
                self.tell(&opened, &changes).await;
            }
            Stepped::Past(_) => panic!("a few writes are not too much"),
        }
        self.come_and_go(&opened).await;
        self.compare(&opened.partita).await;
        self.opened = Some(opened);
    }

    /// Another server on the same store: every connection is lost.
    async fn restart(&mut self) {
        let partita = self.server(self.design.clone()).await;
        let open_to_all = self.server(open_to_all(self.design.clone())).await;
        let mut tail = partita.tail().await.unwrap();
        let at = tail.now().await.unwrap();
        for follower in &mut self.followers {
            follower.feed = None;
        }
        self.opened = Some(Opened {
            partita,
            open_to_all,
            tail,
            at,
        });
    }

    async fn server(&mut self, design: Design) -> Arc<Partita> {
        let surroundings = Surroundings {
            clock: self.clock.clone(),
            entropy: Arc::new(SeededEntropy::new(self.random.u64(..))),
            cursor_key: [7; 32],
            patience: Patience::default(),
        };
        let partita = Partita::open_with(design, self.store.clone(), surroundings);
        Arc::new(partita.await.unwrap())
    }

    async fn tell(&mut self, opened: &Opened, changes: &Changes) {
        let is_missed = self.mistake == Some(Mistake::MissesSteps) && self.random.u8(..4) == 0;
        let partita = changes.partita().clone();
        for follower in &mut self.followers {
            let Some(mut feed) = follower.feed.take() else {
                continue;
            };
            let mut touched = Vec::new();
            let interests = &follower.interests;
            changes.each(|interest, one| {
                if interests.contains(interest) && !touched.contains(one) {
                    touched.push(one.clone());
                }
            });
            let due = feed.next_expiry_millis();
            let is_due = due.is_some_and(|due| due <= changes.to.millis())
                && self.mistake != Some(Mistake::NeverExpires);
            if is_missed || (touched.is_empty() && !is_due) {
                follower.feed = Some(feed);
                continue;
            }
            let before: Vec<_> = follower.rows.keys().cloned().collect();
            match feed.follow(changes, &touched).await {
                Ok(events) => {
                    self.tally.events += events.len() as u64;
                    let wrong = apply(&self.design, &mut follower.rows, &events);
                    self.tally.faults.extend(wrong);
                    if self.mistake != Some(Mistake::ForgetsWhatDecides) {
                        follower.interests.extend(feed.take_interests());
                    }
                    follower.id = feed.ids().id(&changes.to.position(&partita));
                    follower.feed = Some(feed);
                    let rows = &follower.rows;
                    let left: Vec<_> = before
                        .iter()
                        .filter(|one| !rows.contains_key(one))
                        .collect();
                    if !left.is_empty() {
                        let Follower {
                            caller, operation, ..
                        } = &*follower;
                        let all = asked(&self.design, &opened.open_to_all, caller, operation);
                        let all = all.await.unwrap_or_default();
                        let still = left.iter().filter(|one| all.contains_key(one));
                        self.tally.rights_lost += still.count() as u64;
                    }
                }
                Err(Lost::Refetch(_)) => self.tally.refetched += 1,
                Err(Lost::Failed(error)) => self.tally.faults.push(format!("lost: {error}")),
            }
        }
    }

    /// Some connections are lost, others come back, and somebody begins to follow something.
    async fn come_and_go(&mut self, opened: &Opened) {
        let mut left = std::mem::take(&mut self.followers);
        for follower in &mut left {
            match &follower.feed {
                Some(feed) if self.random.u8(..8) == 0 => {
                    follower.id = feed.ids().id(&opened.at.position(&opened.partita));
                    follower.feed = None;
                }
                Some(_) => {}
                None if self.random.bool() => self.return_to(opened, follower).await,
                None => {}
            }
        }
        while left.len() >= FOLLOWERS {
            left.swap_remove(self.random.usize(..left.len()));
        }
        self.followers = left;
        for (caller, operation) in self.drawn().await {
            let mut follower = Follower {
                caller,
                operation,
                feed: None,
                interests: HashSet::new(),
                rows: Rows::new(),
                id: String::new(),
            };
            self.begin(opened, &mut follower).await;
            if follower.feed.is_some() {
                self.followers.push(follower);
            }
        }
    }

    /// People, and what they want to follow: what nobody has followed yet is tried again and again.
    async fn drawn(&mut self) -> Vec<(Caller, Operation)> {
        let values = Values::of(&self.design, &*self.store).await;
        let mut draw = Draw {
            design: &self.design,
            cast: &self.cast,
            values: &values,
            random: &mut self.random,
        };
        let patterns = self.design.patterns.iter();
        let patterns: Vec<&Pattern> = patterns
            .filter(|one| no_feed(&self.design, one).is_none())
            .collect();
        let new = patterns.iter().copied();
        let new = new.filter(|one| !self.tally.followed.contains(&one.name));
        let new = new.flat_map(|one| [one; TRIES]);
        let mut drawn: Vec<_> = new.filter_map(|one| draw.query(one)).collect();
        for _ in 0..NEWCOMERS {
            drawn.extend(match draw.random.u8(..6) {
                0 => draw.get(),
                _ => {
                    let pattern = draw.random.choice(&patterns);
                    pattern.and_then(|one| draw.query(one))
                }
            });
        }
        drawn
    }

    async fn return_to(&mut self, opened: &Opened, follower: &mut Follower) {
        let feed = opened.partita.feed(&follower.caller, &follower.operation);
        let Ok(mut feed) = feed.await else {
            return;
        };
        let now = feed.ids().id(&opened.at.position(&opened.partita));
        let id = match self.mistake {
            Some(Mistake::ResumesTooLate) => &now,
            _ => &follower.id,
        };
        match feed.resume(id, &opened.at).await {
            Ok(events) => {
                self.tally.resumed += 1;
                self.tally.events += events.len() as u64;
                let wrong = apply(&self.design, &mut follower.rows, &events);
                self.tally.faults.extend(wrong);
                follower.id = now;
                follower.interests = feed.take_interests().into_iter().collect();
                follower.feed = Some(feed);
            }
            Err(Lost::Refetch(_)) => {
                self.tally.refetched += 1;
                self.begin(opened, follower).await;
            }
            Err(Lost::Failed(error)) => self.tally.faults.push(format!("not resumed: {error}")),
        }
    }

    async fn begin(&mut self, opened: &Opened, follower: &mut Follower) {
        let feed = opened.partita.feed(&follower.caller, &follower.operation);
        let mut feed = match feed.await {
            Ok(feed) => feed,
            Err(PlanError::NoFeed { why }) => panic!("{:?}: {why}", follower.operation),
            Err(_) => {
                self.tally.refused += 1;
                return;
            }
        };
        // What is asked for itself, before anything was looked at.
        follower.interests = feed.take_interests().into_iter().collect();
        let rows = match feed.rows(&opened.at).await {
            Ok(rows) => rows,
            // A range whose end is before its beginning, say: a read is refused as well.
            Err(_) => {
                self.tally.refused += 1;
                let read = opened
                    .partita
                    .run(&follower.caller, follower.operation.clone());
                assert!(read.await.is_err(), "{:?}", follower.operation);
                return;
            }
        };
        if self.mistake != Some(Mistake::ForgetsWhatDecides) {
            follower.interests.extend(feed.take_interests());
        }
        follower.rows = rows.iter().map(|row| keyed(&self.design, row)).collect();
        // Where rows lead to other items, two of them may lead to the same.
        assert!(
            is_led(&self.design, &follower.operation) || rows.len() == follower.rows.len(),
            "rows of {:?} cannot be told apart",
            follower.operation
        );
        follower.id = feed.ids().id(&opened.at.position(&opened.partita));
        if self.mistake == Some(Mistake::AsksRulesOnce) {
            let unruled = opened
                .open_to_all
                .feed(&follower.caller, &follower.operation);
            feed = unruled.await.unwrap();
            feed.rows(&opened.at).await.unwrap();
        }
        follower.feed = Some(feed);
        if let Operation::Query { pattern, .. } = &follower.operation {
            self.tally.followed.insert(pattern.clone());
        }
    }

    /// Whoever is connected knows what a read would show, and nothing else.
    async fn compare(&mut self, partita: &Partita) {
        for follower in self.followers.iter().filter(|one| one.feed.is_some()) {
            let Follower {
                caller, operation, ..
            } = follower;
            let Some(asked) = asked(&self.design, partita, caller, operation).await else {
                continue;
            };
            if asked != follower.rows {
                self.tally.faults.push(format!(
                    "{caller:?} follows {operation:?}, and was told\n{:#?}\ninstead of\n{asked:#?}",
                    follower.rows
                ));
            }
        }
    }
}

/// The same design without rules for reading.
fn open_to_all(mut design: Design) -> Design {
    for record in &mut design.records {
        record.rules.by_attribute.retain(|one| one.writes);
        for (access, rule) in &mut record.rules.by_access {
            if *access == Access::Read {
                *rule = Rule::Public;
            }
        }
    }
    design
}

/// Whether a pattern shows what its rows lead to.
fn is_led(design: &Design, operation: &Operation) -> bool {
    let Operation::Query { pattern, .. } = operation else {
        return false;
    };
    let mut patterns = design.patterns.iter();
    patterns.any(|one| one.name == *pattern && one.follow.is_some())
}

/// Does to rows what events say, and answers what does not fit them.
fn apply(design: &Design, rows: &mut Rows, events: &[FeedEvent]) -> Vec<String> {
    let mut wrong = Vec::new();
    for event in events {
        match event {
            FeedEvent::Enter(row) | FeedEvent::Change(row) => rows.extend([keyed(design, row)]),
            FeedEvent::Leave { name, identity } => {
                let identity = Json::Object(plain::map_to_json(identity)).to_string();
                if rows.remove(&(name.clone(), identity)).is_none() {
                    wrong.push(format!("{name} leaves and was not there"));
                }
            }
        }
    }
    wrong
}

fn keyed(design: &Design, row: &Record) -> ((String, String), Json) {
    let record = design.find_record(&row.name).unwrap();
    let parts = record.identity.iter().filter_map(|part| {
        let value = partita_design::nested::get(&row.attributes, &part.attribute)?;
        Some((part.attribute.clone(), value.clone()))
    });
    let identity = Json::Object(plain::map_to_json(&parts.collect())).to_string();
    let shown = Json::Object(plain::map_to_json(&row.attributes));
    ((row.name.clone(), identity), shown)
}

/// Everything that a read shows now; nothing where it is refused. Where more would have to be read
/// than it may, there is nothing to compare with.
async fn asked(
    design: &Design,
    partita: &Partita,
    caller: &Caller,
    operation: &Operation,
) -> Option<Rows> {
    let mut rows = Rows::new();
    let mut next = operation.clone();
    loop {
        match partita.run(caller, next).await {
            Ok(Answer::Record(row)) => {
                rows.extend([keyed(design, &row)]);
                return Some(rows);
            }
            Ok(Answer::Page { records, cursor }) => {
                rows.extend(records.iter().map(|row| keyed(design, row)));
                let (
                    Some(cursor),
                    Operation::Query {
                        pattern,
                        parameters,
                        ..
                    },
                ) = (cursor, operation)
                else {
                    return Some(rows);
                };
                next = Operation::Query {
                    pattern: pattern.clone(),
                    parameters: parameters.clone(),
                    limit: None,
                    cursor: Some(cursor),
                };
            }
            Err(
                PlanError::NotFound { .. }
                | PlanError::Forbidden { .. }
                | PlanError::Unauthenticated { .. },
            ) => return Some(rows),
            Err(PlanError::TooLarge { .. }) => return None,
            other => panic!("{operation:?}: {other:?}"),
        }
    }
}
