//! Who delivers what is in the outbox.
//!
//! A lease on each channel keeps two servers from delivering the same at once. A row is removed
//! after its delivery, so that a crash in between repeats it and loses nothing.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::join_all;
use futures::stream;
use partita_core::Item;
use partita_core::expression::KeyCondition;
use partita_store::ErrorKind;
use partita_store::request::Query;

use tracing::warn;

use super::health::backoff_millis;
use super::message::{Channel, Content, Message, Transport, Undelivered};
use super::row::{Row, SHARDS, Stored, Tries, partition};
use super::stream::ReadOn;
use crate::error::PlanError;
use crate::partita::Partita;
use crate::sidecar;

/// The longest delivery. It is shorter than what is left of a lease when one begins.
const DELIVERY_MILLIS_MAX: i64 = 20_000;
/// A message is parked when it failed for so long.
const GIVE_UP_MILLIS: i64 = 3 * 86_400_000;
/// Rows that are read at once.
const PAGE_ROWS: usize = 64;
/// Items of one shard whose messages are delivered side by side.
const WIDTH: usize = 8;
/// How long a courier waits for something to be recorded. Others may record something too.
const WAIT: Duration = Duration::from_secs(5);
/// What is kept of an error.
const ERROR_CHARS_MAX: usize = 300;

/// Delivers the messages of a design.
pub struct Courier {
    pub(super) partita: Arc<Partita>,
    transport: Arc<dyn Transport>,
    pub(super) owner: String,
    /// Until when channels are ours.
    pub(super) leases: Mutex<HashMap<Channel, i64>>,
    /// Where the shards of streams are read on, by channel and shard.
    pub(super) iterators: Mutex<HashMap<String, ReadOn>>,
    /// Whether other servers deliver from the same store.
    is_beside_others: bool,
    /// A mistake that tests must notice.
    #[cfg(test)]
    pub(super) defect: Option<super::tests::Defect>,
}

/// What a round of deliveries came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Messages that were delivered.
    pub delivered: u64,
    /// Messages that are tried again later.
    pub failed: u64,
    /// Messages that failed for good.
    pub parked: u64,
    /// When something can be tried again, if anything waits for a time.
    pub next_millis: Option<i64>,
}

impl Round {
    pub(super) fn waiting(until_millis: i64) -> Round {
        Round {
            next_millis: Some(until_millis),
            ..Round::default()
        }
    }

    pub(super) fn add(&mut self, other: Round) {
        self.delivered += other.delivered;
        self.failed += other.failed;
        self.parked += other.parked;
        let next = [self.next_millis, other.next_millis];
        self.next_millis = next.into_iter().flatten().min();
    }
}

/// How a channel is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// Several messages at a time.
    Wide,
    /// One message at a time.
    Single,
    /// One message at a time, and only those that were never tried.
    Untried,
}

/// What became of a message.
enum Fate {
    Delivered,
    Parked,
    /// It waits until that time, and the later messages of its item with it.
    Held(i64),
    /// It was tried and failed, and waits until that time.
    Failed(i64),
}

impl Courier {
    /// A courier for a design.
    pub fn new(partita: Arc<Partita>, transport: Arc<dyn Transport>) -> Courier {
        Courier {
            owner: partita.runner.token(),
            partita,
            transport,
            leases: Mutex::default(),
            iterators: Mutex::default(),
            is_beside_others: false,
            #[cfg(test)]
            defect: None,
        }
    }

    /// Leaves channels that its transport does not serve to the couriers of other servers, which
    /// may be configured for them. A courier that is alone tries, so that it can be seen why nothing
    /// leaves.
    #[must_use]
    pub fn beside_others(mut self) -> Courier {
        self.is_beside_others = true;
        self
    }

    /// The same courier for another stage of the design's migration, in place of this one: the
    /// channels that are ours stay ours.
    #[must_use]
    pub fn at_stage(self, partita: Arc<Partita>) -> Courier {
        Courier { partita, ..self }
    }

    /// Delivers what can be delivered now, on all channels.
    pub async fn deliver(&self) -> Result<Round, PlanError> {
        let channels = self.partita.channels().await?;
        let rounds = channels.iter().map(|channel| self.round(channel));
        let mut all = Round::default();
        for round in join_all(rounds).await {
            all.add(round?);
        }
        Ok(all)
    }

    /// Delivers messages as they come, also changes of tables for `streamed` that were parked and are
    /// tried again. Never returns. An error of the store is passed to `failed`, and the next round
    /// starts after `WAIT`.
    pub async fn keep_delivering(&self, streamed: &[String], failed: impl Fn(PlanError)) {
        let mut channels = loop {
            match self.partita.channels().await {
                Ok(channels) => break channels,
                Err(error) => failed(error),
            }
            tokio::time::sleep(WAIT).await;
        };
        channels.extend(streamed.iter().cloned().map(Channel::Receiver));
        channels.sort();
        channels.dedup();
        let loops = channels.iter().map(|channel| self.keep(channel, &failed));
        join_all(loops).await;
    }

    async fn keep(&self, channel: &Channel, failed: &impl Fn(PlanError)) {
        let mut recorded = self.partita.outbox.recorded.subscribe();
        loop {
            recorded.mark_unchanged();
            let round = self.round(channel).await.unwrap_or_else(|error| {
                failed(error);
                Round::default()
            });
            if round.delivered > 0 {
                continue;
            }
            let now = self.partita.clock.now_millis();
            let next = round
                .next_millis
                .map(|next| next.saturating_sub(now).max(10));
            let next = next.and_then(|millis| u64::try_from(millis).ok());
            let wait = next.map_or(WAIT, |millis| WAIT.min(Duration::from_millis(millis)));
            let _ = tokio::time::timeout(wait, recorded.changed()).await;
        }
    }

    /// Delivers what can be delivered now on one channel.
    async fn round(&self, channel: &Channel) -> Result<Round, PlanError> {
        if let Some(until) = self.paused_until(channel) {
            return Ok(Round::waiting(until));
        }
        if self.partita.waits_beside().await?.is_some() {
            return Ok(Round::default());
        }
        let is_left = self.is_beside_others && !self.transport.serves(channel);
        if is_left || !self.claim(channel).await? {
            return Ok(Round::default());
        }
        let is_failing = self.partita.outbox.health(|all| all.is_failing(channel));
        if !is_failing {
            return self.pass(channel, Manner::Wide).await;
        }
        // One that failed lately is asked once at a time, until it answers. What failed may be to
        // blame itself, so what was never tried is tried first.
        let untried = self.pass(channel, Manner::Untried).await?;
        if untried.delivered + untried.failed + untried.parked > 0 {
            return Ok(untried);
        }
        self.pass(channel, Manner::Single).await
    }

    /// Goes once through what waits on a channel.
    async fn pass(&self, channel: &Channel, manner: Manner) -> Result<Round, PlanError> {
        let shards = match manner {
            Manner::Wide => usize::try_from(SHARDS).unwrap_or(1),
            Manner::Single | Manner::Untried => 1,
        };
        let passes = (0..SHARDS).map(|shard| self.shard(channel, shard, manner));
        let mut passes = stream::iter(passes).buffer_unordered(shards);
        let mut all = Round::default();
        let mut failure = None;
        // Whatever is being delivered comes to its end, also where something else fails.
        while let Some(pass) = passes.next().await {
            match pass {
                Ok(pass) => all.add(pass),
                Err(error) => failure = Some(error),
            }
        }
        failure.map_or(Ok(all), Err)
    }

    /// Goes once through what waits in one part of a channel.
    async fn shard(
        &self,
        channel: &Channel,
        shard: u64,
        manner: Manner,
    ) -> Result<Round, PlanError> {
        let width = match (manner, channel) {
            // A mail server grants a few connections, and one that is used again saves a handshake.
            (Manner::Wide, Channel::Mail) => 1,
            (Manner::Wide, _) => WIDTH,
            (Manner::Single | Manner::Untried, _) => 1,
        };
        let mut all = Round::default();
        let mut held: HashSet<u64> = HashSet::new();
        let keys = KeyCondition::partition(sidecar::PARTITION, partition(channel, shard));
        let mut request = Query {
            limit: Some(PAGE_ROWS),
            ..Query::new(self.partita.blueprint.sidecar.clone(), keys)
        };
        loop {
            if self.paused_until(channel).is_some() || !self.claim(channel).await? {
                return Ok(all);
            }
            let page = self.partita.runner.query(&request).await?;
            let chains = chains(&page.items, &held);
            #[cfg(test)]
            let chains = self.disordered(chains);
            let chains = chains.into_iter().map(|(item, rows)| async move {
                let round = self.chain(channel, rows, manner).await?;
                Ok::<_, PlanError>((item, round))
            });
            let mut chains = stream::iter(chains).buffer_unordered(width);
            let mut failure = None;
            while let Some(done) = chains.next().await {
                let (item, round) = match done {
                    Ok(done) => done,
                    Err(error) => {
                        failure = Some(error);
                        continue;
                    }
                };
                if round.next_millis.is_some() {
                    held.insert(item);
                }
                all.add(round);
            }
            drop(chains);
            if let Some(error) = failure {
                return Err(error);
            }
            match page.last_key {
                None => return Ok(all),
                last_key => request.start_after = last_key,
            }
        }
    }

    /// Delivers messages of one item in their order, up to the first that has to wait.
    async fn chain(
        &self,
        channel: &Channel,
        rows: Vec<Row>,
        manner: Manner,
    ) -> Result<Round, PlanError> {
        let mut all = Round::default();
        for row in rows {
            match self.fate(channel, &row, manner).await? {
                Fate::Delivered => all.delivered += 1,
                Fate::Parked => all.parked += 1,
                Fate::Held(until) => {
                    all.add(Round::waiting(until));
                    return Ok(all);
                }
                Fate::Failed(until) => {
                    all.failed += 1;
                    all.add(Round::waiting(until));
                    return Ok(all);
                }
            }
        }
        Ok(all)
    }

    /// Delivers one message, if it is time, and notes what came of it.
    async fn fate(&self, channel: &Channel, row: &Row, manner: Manner) -> Result<Fate, PlanError> {
        let now = self.partita.clock.now_millis();
        let is_left = manner == Manner::Untried && row.tries.attempts > 0;
        if is_left || row.tries.due_millis > now {
            return Ok(Fate::Held(row.tries.due_millis));
        }
        if let Some(until) = self.paused_until(channel) {
            return Ok(Fate::Held(until));
        }
        if !self.claim(channel).await? {
            return Ok(Fate::Held(now));
        }
        #[cfg(test)]
        if self.defect == Some(super::tests::Defect::RemovedFirst) {
            self.remove(row).await?;
        }
        match self.hand_over(row).await {
            Ok(()) => {
                self.partita.outbox.health(|all| all.recover(channel));
                // INVARIANT: a row goes after its message has arrived.
                self.remove(row).await?;
                if !row.is_to_nobody() {
                    let outbox = &self.partita.outbox;
                    outbox.count(channel, |meters| meters.delivered += 1);
                }
                Ok(Fate::Delivered)
            }
            Err(undelivered) => self.put_off(channel, row, &undelivered).await,
        }
    }

    /// Notes that a message was not delivered: it is tried again later, or parked.
    async fn put_off(
        &self,
        channel: &Channel,
        row: &Row,
        undelivered: &Undelivered,
    ) -> Result<Fate, PlanError> {
        let now = self.partita.clock.now_millis();
        let since = row.tries.failing_since.unwrap_or(now);
        let attempts = row.tries.attempts.saturating_add(1);
        let random = self.random();
        let due_millis = now.saturating_add(backoff_millis(attempts, random));
        let error = undelivered
            .to_string()
            .chars()
            .take(ERROR_CHARS_MAX)
            .collect();
        let tries = Tries {
            attempts,
            due_millis,
            failing_since: Some(since),
            error: Some(error),
        };
        let is_over = now.saturating_sub(since) >= GIVE_UP_MILLIS;
        if is_over || matches!(undelivered, Undelivered::Never(_)) {
            warn!(
                design = self.partita.design().name,
                message = row.id,
                cause = row.cause,
                attempts,
                "a message is parked; `partita outbox` has the error"
            );
            self.park(row, tries).await?;
            let outbox = &self.partita.outbox;
            outbox.count(channel, |meters| meters.parked += 1);
            return Ok(Fate::Parked);
        }
        let health = &self.partita.outbox;
        health.health(|all| match undelivered {
            // Anybody can give an address that a mail server does not take.
            Undelivered::Refused(_) => all.recover(channel),
            Undelivered::Later(_) | Undelivered::Never(_) => all.strike(channel, now, random),
        });
        self.note(row, &tries).await?;
        health.count(channel, |meters| meters.failed += 1);
        Ok(Fate::Failed(due_millis))
    }

    /// Has the transport deliver a message.
    async fn hand_over(&self, row: &Row) -> Result<(), Undelivered> {
        if row.is_to_nobody() {
            return Ok(());
        }
        self.hand(&self.message(row)?).await
    }

    /// Has the transport deliver a message in time.
    pub(super) async fn hand(&self, message: &Message) -> Result<(), Undelivered> {
        let late = self.partita.runner.wait(DELIVERY_MILLIS_MAX.unsigned_abs());
        tokio::select! {
            biased;
            outcome = self.transport.deliver(message) => outcome,
            () = late => Err(Undelivered::Later("it takes too long".to_owned())),
        }
    }

    fn message(&self, row: &Row) -> Result<Message, Undelivered> {
        let content = match &row.stored {
            Stored::Mail {
                to,
                subject,
                sealed,
            } => {
                let text = self.partita.text_seal.open(&row.id, sealed);
                let text = text.ok_or_else(|| {
                    let why = "its text is sealed with another secret than this server's";
                    Undelivered::Never(why.to_owned())
                })?;
                Content::Mail(super::Mail {
                    to: to.clone(),
                    subject: subject.clone(),
                    text,
                })
            }
            Stored::Event(event) => {
                let Channel::Receiver(receiver) = &row.channel else {
                    return Err(Undelivered::Never("it has no receiver".to_owned()));
                };
                Content::Event {
                    receiver: receiver.clone(),
                    event: event.clone(),
                }
            }
            Stored::Unreadable(_) => {
                return Err(Undelivered::Never(
                    "it has not the form of a message".to_owned(),
                ));
            }
        };
        Ok(Message {
            id: row.id.clone(),
            design: self.partita.design().name.clone(),
            created_millis: row.created_millis,
            content,
        })
    }

    pub(super) fn paused_until(&self, channel: &Channel) -> Option<i64> {
        let now = self.partita.clock.now_millis();
        self.partita
            .outbox
            .health(|all| all.paused_until(channel, now))
    }

    pub(super) fn random(&self) -> u64 {
        let mut random = [0; 8];
        self.partita.runner.entropy.fill(&mut random);
        u64::from_le_bytes(random)
    }

    async fn remove(&self, row: &Row) -> Result<(), PlanError> {
        let delete = row.delete(&self.partita.blueprint.sidecar);
        self.partita.remove_row(delete).await
    }

    async fn park(&self, row: &Row, tries: Tries) -> Result<(), PlanError> {
        let row = Row {
            tries: Tries {
                due_millis: 0,
                ..tries
            },
            ..row.clone()
        };
        let steps = row.park(&self.partita.blueprint.sidecar);
        self.partita.move_row(steps).await.map(drop)
    }

    async fn note(&self, row: &Row, tries: &Tries) -> Result<(), PlanError> {
        let note = row.note(&self.partita.blueprint.sidecar, tries);
        let mut attempts = self.partita.runner.attempts();
        loop {
            match self.partita.runner.update(&note).await {
                // An administrator has dropped it meanwhile.
                Err(PlanError::Store(error)) if error.kind() == ErrorKind::ConditionFailed => {
                    return Ok(());
                }
                Err(conflict @ PlanError::Conflict) => attempts.again(conflict).await?,
                noted => return noted,
            }
        }
    }
}

#[cfg(test)]
impl Courier {
    /// The defect: the last message of an item goes first.
    fn disordered(&self, mut chains: Vec<(u64, Vec<Row>)>) -> Vec<(u64, Vec<Row>)> {
        if self.defect == Some(super::tests::Defect::Unordered) {
            chains.iter_mut().for_each(|(_, rows)| rows.reverse());
        }
        chains
    }
}

/// The rows of a page by their items, each in order, without those whose earlier messages wait.
fn chains(items: &[Item], held: &HashSet<u64>) -> Vec<(u64, Vec<Row>)> {
    let mut chains: Vec<(u64, Vec<Row>)> = Vec::new();
    for item in items {
        let row = Row::read(item);
        let digest = row.digest();
        if held.contains(&digest) {
            continue;
        }
        match chains.iter_mut().find(|(known, _)| *known == digest) {
            Some((_, rows)) => rows.push(row),
            None => chains.push((digest, vec![row])),
        }
    }
    chains
}
