//! What waits and what is parked, as administrators see it.

use partita_core::expression::KeyCondition;
use partita_store::ErrorKind;
use partita_store::request::Query;

use super::message::Channel;
use super::row::{Row, SHARDS, Stored, Tries, delete, parked, partition, places_of};
use crate::error::PlanError;
use crate::partita::Partita;
use crate::sidecar;

/// What is shown of a message that cannot be read.
const UNREADABLE: &str = "not readable";

/// A message as `partita outbox` shows it. The text of a mail is shown to nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutboxEntry {
    /// Its id; later ones are larger.
    pub id: String,
    /// Where it goes: `mail`, or `send:` and a receiver.
    pub channel: String,
    /// The item that caused it: `User 6f1c…`.
    pub of: String,
    /// The trigger or action that caused it.
    pub cause: String,
    /// The address of a mail.
    pub to: Option<String>,
    /// The subject of a mail, or the type of an event.
    pub what: String,
    /// Whether it waits or is parked.
    pub state: OutboxState,
    /// When the write was that caused it.
    pub created_millis: i64,
    /// How often its delivery failed.
    pub attempts: u32,
    /// When it is tried again, if it failed and waits.
    pub due_millis: Option<i64>,
    /// Why the last delivery failed.
    pub last_error: Option<String>,
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutboxState {
    /// It is delivered as soon as that is possible.
    Waiting,
    /// It failed for good, and stays until it is retried or dropped by hand.
    Parked,
}

impl OutboxState {
    /// The state in one word.
    pub fn word(self) -> &'static str {
        match self {
            OutboxState::Waiting => "waiting",
            OutboxState::Parked => "parked",
        }
    }
}

impl OutboxEntry {
    fn new(row: Row, state: OutboxState) -> OutboxEntry {
        let (to, what) = match row.stored {
            Stored::Mail { to, subject, .. } => (Some(to), subject),
            Stored::Event(event) => (None, event.kind),
            Stored::Unreadable(_) => (None, UNREADABLE.to_owned()),
        };
        OutboxEntry {
            id: row.id,
            channel: row.channel.word(),
            of: row.of,
            cause: row.cause,
            to,
            what,
            state,
            created_millis: row.created_millis,
            attempts: row.tries.attempts,
            due_millis: Some(row.tries.due_millis).filter(|due| *due > 0),
            last_error: row.tries.error,
        }
    }
}

impl Partita {
    /// What is parked, then what waits, each up to a number of messages.
    pub async fn outbox(&self, most: usize) -> Result<Vec<OutboxEntry>, PlanError> {
        let mut all: Vec<OutboxEntry> = Vec::new();
        for row in self.rows_in(parked(), most).await? {
            all.push(OutboxEntry::new(row, OutboxState::Parked));
        }
        let mut waiting: Vec<OutboxEntry> = Vec::new();
        for channel in self.channels_or_none().await? {
            for shard in 0..SHARDS {
                let rows = self.rows_in(partition(&channel, shard), most).await?;
                let rows = rows.into_iter();
                waiting.extend(rows.map(|row| OutboxEntry::new(row, OutboxState::Waiting)));
            }
        }
        waiting.sort_by(|one, other| one.id.cmp(&other.id));
        waiting.truncate(most);
        all.extend(waiting);
        Ok(all)
    }

    /// Has a message that is parked or waits tried again now. Says whether there is one.
    pub async fn retry_message(&self, id: &str) -> Result<bool, PlanError> {
        let Some((place, row)) = self.find_message(id).await? else {
            return Ok(false);
        };
        let sidecar = &self.blueprint.sidecar;
        let is_there = if place == parked() {
            self.move_row(row.unpark(sidecar)).await?
        } else {
            let now = Tries {
                due_millis: 0,
                ..row.tries.clone()
            };
            match self.runner.update(&row.note(sidecar, &now)).await {
                Ok(()) => true,
                Err(PlanError::Store(error)) if error.kind() == ErrorKind::ConditionFailed => false,
                Err(error) => return Err(error),
            }
        };
        self.outbox.health(|all| all.recover(&row.channel));
        self.outbox.wake();
        Ok(is_there)
    }

    /// Removes a message that is parked or waits, undelivered. Says whether there is one.
    pub async fn drop_message(&self, id: &str) -> Result<bool, PlanError> {
        let Some((place, row)) = self.find_message(id).await? else {
            return Ok(false);
        };
        let sidecar = &self.blueprint.sidecar;
        self.remove_row(delete(sidecar, &place, &row.id)).await?;
        Ok(true)
    }

    /// Where a message is, and the message.
    async fn find_message(&self, id: &str) -> Result<Option<(String, Row)>, PlanError> {
        let id = id.to_ascii_uppercase();
        let channels = self.channels_or_none().await?;
        let Some(places) = places_of(&id, &channels) else {
            return Ok(None);
        };
        let sidecar = &self.blueprint.sidecar;
        let addresses = places
            .iter()
            .map(|place| sidecar::address(sidecar, place, &id));
        let addresses: Vec<_> = addresses.collect();
        let found = self.runner.read_items(&addresses).await;
        let found = found_or_none(found)?;
        let mut found = places.into_iter().zip(found.unwrap_or_default());
        let found = found.find_map(|(place, item)| Some((place, item?)));
        Ok(found.map(|(place, item)| (place, Row::read(&item))))
    }

    async fn channels_or_none(&self) -> Result<Vec<Channel>, PlanError> {
        Ok(found_or_none(self.channels().await)?.unwrap_or_default())
    }

    async fn rows_in(&self, partition: String, most: usize) -> Result<Vec<Row>, PlanError> {
        let keys = KeyCondition::partition(sidecar::PARTITION, partition);
        let mut request = Query::new(self.blueprint.sidecar.clone(), keys);
        let mut rows = Vec::new();
        loop {
            request.limit = Some(most.saturating_sub(rows.len()).max(1));
            let Some(page) = found_or_none(self.runner.query(&request).await)? else {
                return Ok(rows);
            };
            for item in &page.items {
                let row = Row::read(item);
                if !row.is_to_nobody() {
                    rows.push(row);
                }
            }
            match page.last_key {
                Some(_) if rows.len() >= most => return Ok(rows),
                None => return Ok(rows),
                last_key => request.start_after = last_key,
            }
        }
    }
}

/// What was found; none where there is no sidecar, because nothing was ever written.
fn found_or_none<T>(found: Result<T, PlanError>) -> Result<Option<T>, PlanError> {
    match found {
        Err(PlanError::Store(partita_store::StoreError::TableNotFound { .. })) => Ok(None),
        found => found.map(Some),
    }
}
