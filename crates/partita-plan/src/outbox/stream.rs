//! Every change of a design's tables, for a receiver: the table's stream, sent on.
//!
//! How far each shard was sent is in the sidecar. A record counts as sent when it and all before
//! it have arrived, so that a restart repeats some and leaves none out.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use partita_core::{Item, Map, Number, Value, plain};
use partita_design::design::{Record, RecordId};
use partita_design::sidecar::OUTBOX;
use partita_store::StoreError;
use partita_store::request::{PutItem, TransactAction};
use partita_store::stream::{
    DescribeStream, GetRecords, GetShardIterator, SequenceNumber, Shard, ShardIterator, ShardStart,
    StreamEvent, StreamName, StreamRecord,
};
use partita_store::table::TableName;
use serde_json::{Map as JsonMap, Value as Json};

use super::courier::{Courier, Round};
use super::message::{Channel, Content, Event, Message, Undelivered};
use super::row::{Row, Stored, Tries, digest_of, id_of};
use crate::blueprint::Blueprint;
use crate::error::PlanError;
use crate::react::outgoing::subject_of;
use crate::sidecar;

/// Records that one request reads.
const PAGE_RECORDS: usize = 64;
/// Items whose changes are sent side by side.
const WIDTH: usize = 8;
/// Pages without records that are read before a stream is left for a while.
const EMPTY_PAGES_MAX: usize = 5;
/// How often a stream is looked at for new records.
const PAUSE: Duration = Duration::from_secs(1);
/// A stream keeps its records for a day. What was not taken four hours before that is parked, while
/// it can still be read.
const RECORD_MILLIS_MAX: i64 = 20 * 3_600_000;
/// How long it is remembered how far a shard was sent. Its records are gone long before.
const KEPT_SECONDS: i64 = 7 * 86_400;

const AFTER: &str = "after";
const ENDED: &str = "ended";

/// How far a shard was sent.
#[derive(Clone, Copy, Default)]
struct Sent {
    after: Option<SequenceNumber>,
    /// Whether nothing more will come.
    has_ended: bool,
}

/// Where a shard is read on.
pub(super) struct ReadOn {
    /// What was sent by then. If another courier has sent more since, it is not the place.
    after: Option<SequenceNumber>,
    iterator: ShardIterator,
}

/// Why a receiver takes nothing at the moment. The stream forgets old records while it is waited for
/// with each of them, so it is asked with one.
#[derive(Default)]
struct Silent(Mutex<Option<Undelivered>>);

impl Silent {
    fn why(&self) -> Option<Undelivered> {
        let why = self.0.lock();
        why.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes what is about the receiver, and not about one message.
    fn note(&self, undelivered: &Undelivered) {
        if let Undelivered::Later(_) = undelivered {
            let mut why = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            *why = Some(undelivered.clone());
        }
    }
}

impl Courier {
    /// Sends a receiver every change of the design's tables, and never ends. Errors of the store
    /// are given to the function; the work goes on after a while.
    pub async fn keep_streaming(&self, receiver: &str, failed: impl Fn(PlanError)) {
        loop {
            match self.stream(receiver).await {
                Ok(round) if round.delivered > 0 => continue,
                Ok(_) => {}
                Err(error) => failed(error),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Sends a receiver the changes that it lacks. Those of one item are sent in their order.
    pub async fn stream(&self, receiver: &str) -> Result<Round, PlanError> {
        let channel = Channel::Stream(receiver.to_owned());
        if let Some(until) = self.paused_until(&channel) {
            return Ok(Round::waiting(until));
        }
        let waits = self.partita.waits_beside().await?.is_some();
        if waits || !self.claim(&channel).await? {
            return Ok(Round::default());
        }
        let mut all = Round::default();
        for (_, table) in self.partita.blueprint.tables() {
            let described = self.partita.runner.store.describe_table(table).await?;
            if let Some(name) = described.latest_stream {
                all.add(self.send_stream(&channel, &name).await?);
            }
        }
        Ok(all)
    }

    async fn send_stream(&self, channel: &Channel, name: &StreamName) -> Result<Round, PlanError> {
        let mut all = Round::default();
        let shards = self.shards(name).await?;
        let mut open: Vec<&str> = Vec::new();
        for shard in &shards {
            // What happened to an item before comes from the shard that this one continues.
            let waits = shard
                .parent
                .as_deref()
                .is_some_and(|one| open.contains(&one));
            let has_ended = if waits {
                false
            } else {
                let (round, has_ended) = self.send_shard(channel, name, shard).await?;
                all.add(round);
                has_ended
            };
            if !has_ended {
                open.push(&shard.id);
            }
        }
        Ok(all)
    }

    /// The shards of a stream, those that others continue first.
    async fn shards(&self, name: &StreamName) -> Result<Vec<Shard>, PlanError> {
        let mut shards: Vec<Shard> = Vec::new();
        let mut start_after = None;
        loop {
            let request = DescribeStream {
                stream: name.clone(),
                start_after,
                limit: None,
            };
            let page = self.partita.runner.store.describe_stream(request).await?;
            shards.extend(page.shards);
            match page.last {
                None => break,
                last => start_after = last,
            }
        }
        shards.sort_by_key(|shard| shard.first);
        Ok(shards)
    }

    /// Sends what is left of a shard. Says also whether nothing more will come.
    async fn send_shard(
        &self,
        channel: &Channel,
        name: &StreamName,
        shard: &Shard,
    ) -> Result<(Round, bool), PlanError> {
        let mut all = Round::default();
        let mut sent = self.sent(channel, name, shard).await?;
        if sent.has_ended {
            return Ok((all, true));
        }
        let store = &self.partita.runner.store;
        let shelf = format!("{} {}", partition(channel), place(name, shard));
        let mut iterator = match self.read_on(&shelf, sent) {
            Some(iterator) => iterator,
            None => self.iterator(name, shard, sent).await?,
        };
        let mut empty_pages = 0;
        loop {
            if !self.claim(channel).await? {
                return Ok((all, false));
            }
            let request = GetRecords {
                iterator,
                limit: Some(PAGE_RECORDS),
            };
            let page = match store.get_records(request).await {
                // It was kept for too long. The next round begins behind what was sent.
                Err(StoreError::IteratorExpired) => return Ok((all, false)),
                page => page?,
            };
            // A page may be empty though more follow.
            empty_pages = if page.records.is_empty() {
                empty_pages + 1
            } else {
                0
            };
            let records = &page.records;
            let (round, arrived) = self.send_records(channel, &name.table, records).await?;
            all.add(round);
            let is_whole = arrived == records.len();
            // INVARIANT: nothing behind a record that has not arrived counts as sent.
            let last = arrived.checked_sub(1).and_then(|at| records.get(at));
            sent.after = last.map(|record| record.number).or(sent.after);
            sent.has_ended = page.next.is_none() && is_whole;
            if last.is_some() || sent.has_ended {
                self.note_sent(channel, name, shard, sent).await?;
            }
            match page.next {
                Some(next) if is_whole && empty_pages < EMPTY_PAGES_MAX => iterator = next,
                Some(next) if is_whole => {
                    self.keep_iterator(shelf, sent, next);
                    return Ok((all, false));
                }
                _ => return Ok((all, sent.has_ended)),
            }
        }
    }

    /// An iterator behind what was sent of a shard.
    async fn iterator(
        &self,
        name: &StreamName,
        shard: &Shard,
        sent: Sent,
    ) -> Result<ShardIterator, PlanError> {
        let store = &self.partita.runner.store;
        let request = |start: ShardStart| GetShardIterator {
            stream: name.clone(),
            shard: shard.id.clone(),
            start,
        };
        let start = sent
            .after
            .map_or(ShardStart::TrimHorizon, ShardStart::After);
        match store.get_shard_iterator(request(start)).await {
            // No server was running for a day.
            Err(StoreError::RecordsTrimmed) => {
                let oldest = request(ShardStart::TrimHorizon);
                Ok(store.get_shard_iterator(oldest).await?)
            }
            found => Ok(found?),
        }
    }

    /// Where a shard was left, if nothing of it was sent since.
    ///
    /// DynamoDB answers with any number of empty pages before records. A courier that began behind
    /// the last record each time would never come to the next.
    fn read_on(&self, shelf: &str, sent: Sent) -> Option<ShardIterator> {
        let kept = self.iterators(|all| all.remove(shelf))?;
        (kept.after == sent.after).then_some(kept.iterator)
    }

    fn keep_iterator(&self, shelf: String, sent: Sent, iterator: ShardIterator) {
        let after = sent.after;
        self.iterators(|all| all.insert(shelf, ReadOn { after, iterator }));
    }

    fn iterators<T>(&self, look: impl FnOnce(&mut HashMap<String, ReadOn>) -> T) -> T {
        let iterators = self.iterators.lock();
        look(&mut iterators.unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// Sends some records. Answers also up to which of them all have arrived.
    async fn send_records(
        &self,
        channel: &Channel,
        table: &TableName,
        records: &[StreamRecord],
    ) -> Result<(Round, usize), PlanError> {
        let mut chains: Vec<Vec<usize>> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (at, record) in records.iter().enumerate() {
            let key = serde_json::to_string(&record.key).unwrap_or_default();
            let chain = *places.entry(key).or_insert_with(|| {
                chains.push(Vec::new());
                chains.len() - 1
            });
            chains[chain].push(at);
        }
        let is_failing = self.partita.outbox.health(|all| all.is_failing(channel));
        let width = if is_failing { 1 } else { WIDTH };
        let silent = Silent::default();
        let sendings = chains.into_iter();
        let sendings = sendings.map(|chain| {
            let records = (table, records);
            self.send_chain(channel, records, chain, &silent)
        });
        let mut sendings = stream::iter(sendings).buffer_unordered(width);
        let mut round = Round::default();
        let mut has_arrived = vec![false; records.len()];
        while let Some(sent) = sendings.next().await {
            let (one, arrived) = sent?;
            self.partita.outbox.count(channel, |meters| {
                meters.delivered += one.delivered;
                meters.failed += one.failed;
                meters.parked += one.parked;
            });
            round.add(one);
            arrived.into_iter().for_each(|at| has_arrived[at] = true);
        }
        let first_left = has_arrived.iter().position(|arrived| !arrived);
        Ok((round, first_left.unwrap_or(records.len())))
    }

    /// Sends changes of one item in their order, up to the first that fails. Answers also which
    /// arrived.
    async fn send_chain(
        &self,
        channel: &Channel,
        (table, records): (&TableName, &[StreamRecord]),
        chain: Vec<usize>,
        silent: &Silent,
    ) -> Result<(Round, Vec<usize>), PlanError> {
        let mut round = Round::default();
        let mut arrived = Vec::new();
        for at in chain {
            let record = &records[at];
            let Some(message) = self.message_of(channel, table, record) else {
                arrived.push(at);
                continue;
            };
            if self.paused_until(channel).is_some() || !self.claim(channel).await? {
                break;
            }
            let now = self.partita.clock.now_millis();
            let is_old = now - message.created_millis > RECORD_MILLIS_MAX;
            let why = if is_old { silent.why() } else { None };
            let handed = match why {
                Some(why) => Err(why),
                None => self.hand(&message).await,
            };
            match handed {
                Ok(()) => {
                    self.partita.outbox.health(|all| all.recover(channel));
                    round.delivered += 1;
                }
                Err(Undelivered::Later(_) | Undelivered::Refused(_)) if !is_old => {
                    let random = self.random();
                    let health = &self.partita.outbox;
                    health.health(|all| all.pause(channel, now, random));
                    round.failed += 1;
                    break;
                }
                Err(undelivered) => {
                    silent.note(&undelivered);
                    self.park_message(message, &undelivered, now).await?;
                    round.parked += 1;
                }
            }
            arrived.push(at);
        }
        Ok((round, arrived))
    }

    /// What a receiver is told of a record; nothing of items that the design does not know, such as
    /// guards, and those that a migration keeps for another design.
    fn message_of(
        &self,
        channel: &Channel,
        table: &TableName,
        record: &StreamRecord,
    ) -> Option<Message> {
        let Channel::Stream(receiver) = channel else {
            return None;
        };
        let blueprint = &self.partita.blueprint;
        let design = &blueprint.design;
        let known = design.records.iter().filter(|one| !blueprint.is_aside(one));
        let ids: Vec<RecordId> = known.map(|one| one.id).collect();
        let known = |image: &Option<Item>| {
            let image = image.as_ref()?;
            let (known, item) = blueprint.recognise(&ids, image)?;
            (blueprint.table_of(known).1 == table).then_some((known, item))
        };
        let (old, new) = (known(&record.old), known(&record.new));
        let (of, item) = new.as_ref().or(old.as_ref())?;
        let word = match record.event {
            StreamEvent::Insert => "insert",
            StreamEvent::Modify => "modify",
            StreamEvent::Remove => "remove",
        };
        let mut data = JsonMap::new();
        for (name, image) in [("old", &old), ("new", &new)] {
            if let Some((known, item)) = image {
                data.insert(name.to_owned(), shown(blueprint, known, item));
            }
        }
        let place = blueprint.keys.place(table, &record.key);
        let millis = record.created_seconds.saturating_mul(1000);
        let number = u16::try_from(record.number.0 & 0xffff).unwrap_or_default();
        Some(Message {
            id: id_of(millis, digest_of(&place), number),
            design: design.name.clone(),
            created_millis: millis,
            content: Content::Event {
                receiver: receiver.clone(),
                event: Event {
                    kind: format!("{}.{}.{word}", design.name, of.name),
                    subject: subject_of(of, item),
                    data: Json::Object(data),
                },
            },
        })
    }

    async fn park_message(
        &self,
        message: Message,
        undelivered: &Undelivered,
        now_millis: i64,
    ) -> Result<(), PlanError> {
        let channel = message.content.channel();
        let Content::Event { event, .. } = message.content else {
            return Ok(());
        };
        let row = Row {
            id: message.id,
            channel,
            of: event.subject.replace('/', " "),
            cause: "stream".to_owned(),
            created_millis: message.created_millis,
            stored: Stored::Event(event),
            tries: Tries {
                attempts: 1,
                failing_since: Some(now_millis),
                error: Some(undelivered.to_string()),
                ..Tries::default()
            },
        };
        let put = row.put_parked(&self.partita.blueprint.sidecar);
        // Nothing in the design need name the receiver, and who retries the message looks for it.
        let note = TransactAction::Put(self.partita.note_of(&row.channel));
        self.partita.move_row(vec![put, note]).await.map(drop)
    }

    async fn sent(
        &self,
        channel: &Channel,
        name: &StreamName,
        shard: &Shard,
    ) -> Result<Sent, PlanError> {
        let address = sidecar::address(
            &self.partita.blueprint.sidecar,
            &partition(channel),
            &place(name, shard),
        );
        let read = self.partita.runner.read_items(&[address]).await?;
        let Some(row) = read.into_iter().flatten().next() else {
            return Ok(Sent::default());
        };
        let after = row
            .get(AFTER)
            .and_then(|after| after.as_str()?.parse().ok());
        Ok(Sent {
            after: after.map(SequenceNumber),
            has_ended: row.get(ENDED) == Some(&Value::Bool(true)),
        })
    }

    async fn note_sent(
        &self,
        channel: &Channel,
        name: &StreamName,
        shard: &Shard,
        sent: Sent,
    ) -> Result<(), PlanError> {
        let mut item = sidecar::key(&partition(channel), &place(name, shard));
        if let Some(after) = sent.after {
            item.insert(AFTER, Value::from(after.0.to_string()));
        }
        item.insert(ENDED, Value::Bool(sent.has_ended));
        let expires = self.partita.clock.now_millis() / 1000 + KEPT_SECONDS;
        item.insert(sidecar::EXPIRES, Value::N(Number::from(expires)));
        let put = PutItem::new(self.partita.blueprint.sidecar.clone(), item);
        self.partita.runner.put(&put).await
    }
}

fn partition(channel: &Channel) -> String {
    format!("{OUTBOX}SENT#{}", channel.word())
}

fn place(name: &StreamName, shard: &Shard) -> String {
    format!("{name}/{}", shard.id)
}

/// An item without its secrets, and without what its record does not list.
fn shown(blueprint: &Blueprint, record: &Record, item: &Map) -> Json {
    plain::to_json(&Value::M(blueprint.without_secrets(record, item.clone())))
}
