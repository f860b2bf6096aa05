//! A message as it is stored in the sidecar table.

use partita_core::expression::{Comparator, Condition, Operand, Path, Update};
use partita_core::{Item, Map, Number, Value};
use partita_design::sidecar::OUTBOX;
use partita_store::request::{DeleteItem, PutItem, TransactAction, UpdateItem};
use partita_store::table::TableName;
use sha2::{Digest as _, Sha256};
use ulid::Ulid;

use super::message::{Channel, Event};
use crate::place::{Address, Place};
use crate::sidecar;

/// Partitions of one channel. They are delivered side by side, and one item is in one of them.
pub(crate) const SHARDS: u64 = 8;

/// Bits of an id that count the messages of one item in one write.
const NUMBER_BITS: u32 = 16;

/// How long the last id of an item is remembered. Ids rise with the time anyway; this is for clocks
/// that differ.
const LAST_SECONDS: i64 = 7 * 86_400;

const ATTEMPTS: &str = "attempts";
const DUE: &str = "due";
const FAILING: &str = "failingSince";
const ERROR: &str = "lastError";
const AT: &str = "at";

/// A message in the outbox.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) channel: Channel,
    /// The item that caused it: `User 6f1c…`.
    pub(crate) of: String,
    /// The trigger, the action or whatever else causes it.
    pub(crate) cause: String,
    pub(crate) created_millis: i64,
    pub(crate) stored: Stored,
    pub(crate) tries: Tries,
}

/// What is stored of a message's content.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stored {
    Mail {
        to: String,
        subject: String,
        sealed: Vec<u8>,
    },
    Event(Event),
    /// Whatever there is, if it has not the form of a message.
    Unreadable(Item),
}

/// What came of a message so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tries {
    pub(crate) attempts: u32,
    /// It is not tried before that time.
    pub(crate) due_millis: i64,
    pub(crate) failing_since: Option<i64>,
    pub(crate) error: Option<String>,
}

/// What distinguishes the item of a message from others.
pub(crate) fn digest_of(source: &Place) -> u64 {
    let digest = Sha256::new()
        .chain_update(source.table.as_str().as_bytes())
        .chain_update([0])
        .chain_update(source.partition.as_bytes())
        .chain_update([0])
        .chain_update(source.sort.as_bytes())
        .finalize();
    let first = digest.iter().take(8);
    first.fold(0, |all, byte| all << 8 | u64::from(*byte))
}

/// The id of a message: a time, the item, and the number of the message in its write. Those of one
/// item rise.
pub(crate) fn id_of(at_millis: i64, digest: u64, number: u16) -> String {
    let millis = u64::try_from(at_millis).unwrap_or(0);
    let random = u128::from(digest) << NUMBER_BITS | u128::from(number);
    Ulid::from_parts(millis, random).to_string()
}

/// The digest of the item in an id.
fn digest_in(id: &str) -> Option<u64> {
    let id = Ulid::from_string(id).ok()?;
    u64::try_from(id.random() >> NUMBER_BITS).ok()
}

/// The partition of what waits on a part of a channel.
pub(crate) fn partition(channel: &Channel, shard: u64) -> String {
    format!("{OUTBOX}{}#{shard}", channel.word())
}

/// The partition of what failed for good.
pub(crate) fn parked() -> String {
    format!("{OUTBOX}PARKED")
}

/// Whether a step records a message.
pub(crate) fn is_recording(action: &TransactAction, table: &TableName) -> bool {
    let TransactAction::Put(put) = action else {
        return false;
    };
    let partition = put.item.get(sidecar::PARTITION).and_then(Value::as_str);
    put.table == *table && partition.is_some_and(|one| one.starts_with(OUTBOX))
}

/// Where the last id of an item is remembered.
pub(crate) fn last_at(sidecar: &TableName, digest: u64) -> Address {
    let partition = format!("{OUTBOX}LAST#{digest:016x}");
    sidecar::address(sidecar, &partition, "LAST")
}

/// Whether the last id of an item is remembered at a place.
pub(crate) fn is_last(place: &Place) -> bool {
    let rest = place.partition.strip_prefix(OUTBOX);
    rest.is_some_and(|rest| rest.starts_with("LAST#"))
}

/// The time in the last id of an item.
pub(crate) fn last_in(item: &Item) -> Option<i64> {
    integer(item, AT)
}

/// Remembers the time in the last id of an item, if it rises.
pub(crate) fn put_last(place: &Place, at_millis: i64) -> TransactAction {
    let mut item = sidecar::key_at(place);
    item.insert(AT, number(at_millis));
    let expires = at_millis / 1000 + LAST_SECONDS;
    item.insert(sidecar::EXPIRES, number(expires));
    let rises = Condition::Compare(
        Operand::Path(Path::attribute(AT)),
        Comparator::Less,
        Operand::value(number(at_millis)),
    );
    TransactAction::Put(PutItem {
        condition: Some(Condition::Any(vec![sidecar::is_missing(), rises])),
        ..PutItem::new(place.table.clone(), item)
    })
}

impl Row {
    /// Whether it is a mail to nobody: one that is recorded and removed as any other, so that it
    /// cannot be told from outside whether somebody was mailed.
    pub(crate) fn is_to_nobody(&self) -> bool {
        matches!(&self.stored, Stored::Mail { to, .. } if to.is_empty())
    }

    /// What distinguishes its item from others.
    pub(crate) fn digest(&self) -> u64 {
        digest_in(&self.id).unwrap_or_default()
    }

    fn partition(&self) -> String {
        match &self.stored {
            // What has not the form of a message need not be where one would be.
            Stored::Unreadable(item) => text(item, sidecar::PARTITION).filter(|at| *at != parked()),
            Stored::Mail { .. } | Stored::Event(_) => None,
        }
        .unwrap_or_else(|| partition(&self.channel, shard_of(self.digest())))
    }

    /// Records it where it waits, unless it is there.
    pub(crate) fn put(&self, sidecar: &TableName) -> TransactAction {
        self.put_into(sidecar, &self.partition())
    }

    fn put_into(&self, sidecar: &TableName, partition: &str) -> TransactAction {
        let mut item = sidecar::key(partition, &self.id);
        item.extend(self.to_map());
        TransactAction::Put(PutItem {
            condition: Some(sidecar::is_missing()),
            ..PutItem::new(sidecar.clone(), item)
        })
    }

    /// Records it as parked, unless it is.
    pub(crate) fn put_parked(&self, sidecar: &TableName) -> TransactAction {
        self.put_into(sidecar, &parked())
    }

    /// Removes it from where it waits.
    pub(crate) fn delete(&self, sidecar: &TableName) -> DeleteItem {
        delete(sidecar, &self.partition(), &self.id)
    }

    /// Takes it from where it waits and parks it.
    pub(crate) fn park(&self, sidecar: &TableName) -> Vec<TransactAction> {
        let delete = DeleteItem {
            condition: Some(sidecar::is_there()),
            ..self.delete(sidecar)
        };
        vec![
            TransactAction::Delete(delete),
            self.put_into(sidecar, &parked()),
        ]
    }

    /// Takes it from where it is parked and has it wait, as if it had never been tried.
    pub(crate) fn unpark(&self, sidecar: &TableName) -> Vec<TransactAction> {
        let delete = DeleteItem {
            condition: Some(sidecar::is_there()),
            ..delete(sidecar, &parked(), &self.id)
        };
        let fresh = Row {
            tries: Tries::default(),
            ..self.clone()
        };
        vec![TransactAction::Delete(delete), fresh.put(sidecar)]
    }

    /// Notes what came of an attempt, if it is still there.
    pub(crate) fn note(&self, sidecar: &TableName, tries: &Tries) -> UpdateItem {
        let values = tries.to_map();
        let mut update = Update::default();
        for name in [ATTEMPTS, DUE, FAILING, ERROR] {
            let path = Path::attribute(name);
            match values.get(name) {
                Some(value) => update = update.setting(path, value.clone()),
                None => update.remove.push(path),
            }
        }
        UpdateItem {
            table: sidecar.clone(),
            key: sidecar::key(&self.partition(), &self.id),
            update,
            condition: Some(sidecar::is_there()),
            return_item_on_failure: false,
        }
    }

    fn to_map(&self) -> Map {
        let mut map = Map::from([("channel", Value::from(self.channel.word()))]);
        if !matches!(self.stored, Stored::Unreadable(_)) {
            map.insert("of", Value::from(self.of.as_str()));
            map.insert("cause", Value::from(self.cause.as_str()));
            map.insert("created", number(self.created_millis));
        }
        match &self.stored {
            Stored::Unreadable(item) => {
                let own = [sidecar::PARTITION, sidecar::SORT, "channel"];
                let others = item
                    .iter()
                    .filter(|(name, _)| !own.contains(&name.as_str()));
                map.extend(others.map(|(name, value)| (name.clone(), value.clone())));
            }
            Stored::Mail {
                to,
                subject,
                sealed,
            } => {
                map.insert("to", Value::from(to.as_str()));
                map.insert("subject", Value::from(subject.as_str()));
                map.insert("sealed", Value::B(sealed.clone()));
            }
            Stored::Event(event) => {
                map.insert("type", Value::from(event.kind.as_str()));
                map.insert("subject", Value::from(event.subject.as_str()));
                map.insert("data", Value::from(event.data.to_string()));
            }
        }
        map.extend(self.tries.to_map());
        map
    }

    /// Reads a message. One that cannot be read is as good as one that cannot be delivered: it is
    /// parked, and the others go on.
    pub(crate) fn read(item: &Item) -> Row {
        Row::parse(item).unwrap_or_else(|| {
            let id = text(item, sidecar::SORT).unwrap_or_default();
            let created = Ulid::from_string(&id).map_or(0, |id| id.timestamp_ms());
            Row {
                channel: channel_of(item).unwrap_or(Channel::Mail),
                of: text(item, "of").unwrap_or_default(),
                cause: text(item, "cause").unwrap_or_default(),
                created_millis: i64::try_from(created).unwrap_or(0),
                stored: Stored::Unreadable(item.clone()),
                tries: Tries {
                    attempts: 0,
                    due_millis: integer(item, DUE).unwrap_or_default(),
                    failing_since: integer(item, FAILING),
                    error: text(item, ERROR),
                },
                id,
            }
        })
    }

    fn parse(item: &Item) -> Option<Row> {
        let sealed = match item.get("sealed") {
            Some(Value::B(sealed)) => Some(sealed.clone()),
            _ => None,
        };
        let stored = match sealed {
            Some(sealed) => Stored::Mail {
                to: text(item, "to")?,
                subject: text(item, "subject")?,
                sealed,
            },
            None => Stored::Event(Event {
                kind: text(item, "type")?,
                subject: text(item, "subject")?,
                data: serde_json::from_str(item.get("data")?.as_str()?).ok()?,
            }),
        };
        Some(Row {
            id: text(item, sidecar::SORT)?,
            channel: Channel::parse(item.get("channel")?.as_str()?)?,
            of: text(item, "of")?,
            cause: text(item, "cause")?,
            created_millis: integer(item, "created")?,
            stored,
            tries: Tries {
                attempts: integer(item, ATTEMPTS)?.try_into().ok()?,
                due_millis: integer(item, DUE).unwrap_or_default(),
                failing_since: integer(item, FAILING),
                error: text(item, ERROR),
            },
        })
    }
}

impl Tries {
    fn to_map(&self) -> Map {
        let mut map = Map::from([(ATTEMPTS, number(i64::from(self.attempts)))]);
        if self.due_millis > 0 {
            map.insert(DUE, number(self.due_millis));
        }
        if let Some(since) = self.failing_since {
            map.insert(FAILING, number(since));
        }
        if let Some(error) = &self.error {
            map.insert(ERROR, Value::from(error.as_str()));
        }
        map
    }
}

/// The channel that a row names, or on which it waits.
fn channel_of(item: &Item) -> Option<Channel> {
    let named = item.get("channel").and_then(Value::as_str);
    named.and_then(Channel::parse).or_else(|| {
        let partition = item.get(sidecar::PARTITION)?.as_str()?;
        let (channel, _) = partition.strip_prefix(OUTBOX)?.rsplit_once('#')?;
        Channel::parse(channel)
    })
}

/// Where the messages of an item are among those of a channel.
fn shard_of(digest: u64) -> u64 {
    digest % SHARDS
}

/// The places where a message of an id may wait or be parked, given the channels.
pub(crate) fn places_of(id: &str, channels: &[Channel]) -> Option<Vec<String>> {
    let shard = shard_of(digest_in(id)?);
    let waiting = channels.iter().map(|channel| partition(channel, shard));
    Some(waiting.chain([parked()]).collect())
}

/// Removes a message from a partition.
pub(crate) fn delete(sidecar: &TableName, partition: &str, id: &str) -> DeleteItem {
    DeleteItem {
        table: sidecar.clone(),
        key: sidecar::key(partition, id),
        condition: None,
        return_item_on_failure: false,
    }
}

fn number(value: i64) -> Value {
    Value::N(Number::from(value))
}

fn text(map: &Map, name: &str) -> Option<String> {
    Some(map.get(name)?.as_str()?.to_owned())
}

fn integer(map: &Map, name: &str) -> Option<i64> {
    map.get(name)?.as_number()?.to_i64()
}
