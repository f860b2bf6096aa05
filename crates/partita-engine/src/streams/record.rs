//! A record as it is stored: the checksum of the chain, and JSON.

use partita_core::Item;
use partita_store::stream::{SequenceNumber, StreamEvent, StreamPlace, StreamRecord};
use partita_store::{StoreError, StoreResult};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::Stream;
use crate::keys;

/// A place between two records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// Records before it have smaller numbers; records behind it have this one or larger ones.
    pub(crate) next: u64,
    /// The checksum of the record before it.
    chain: u64,
}

impl Link {
    pub(super) const BYTES: usize = 16;

    /// The place before the first record.
    pub(super) fn first(number: u64) -> Self {
        Link {
            next: number,
            chain: 0,
        }
    }

    /// The place behind a stored record.
    pub(crate) fn of(key: &[u8], value: &[u8]) -> Option<Self> {
        let (chain, _) = value.split_first_chunk()?;
        Some(Link {
            next: keys::record_number(key)?.checked_add(1)?,
            chain: u64::from_be_bytes(*chain),
        })
    }

    /// The place behind a record that continues here.
    fn behind(self, number: u64, json: &[u8]) -> Self {
        let mut checksum = Xxh3::new();
        checksum.update(&self.chain.to_be_bytes());
        checksum.update(&number.to_be_bytes());
        checksum.update(json);
        Link {
            next: number.saturating_add(1),
            chain: checksum.digest(),
        }
    }

    /// The same, as those who read call it.
    pub(super) fn place(self) -> StreamPlace {
        StreamPlace {
            next: SequenceNumber(self.next.into()),
            chain: self.chain,
        }
    }

    pub(super) fn bytes(self) -> [u8; Link::BYTES] {
        let number = u128::from(self.next) << 64 | u128::from(self.chain);
        number.to_be_bytes()
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (next, chain) = bytes.split_first_chunk()?;
        Some(Link {
            next: u64::from_be_bytes(*next),
            chain: u64::from_be_bytes(chain.try_into().ok()?),
        })
    }
}

#[derive(Serialize, Deserialize)]
struct StoredRecord {
    created_seconds: i64,
    event: StreamEvent,
    key: Item,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    old: Option<Item>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    new: Option<Item>,
    size_bytes: usize,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    is_expiry: bool,
}

/// The bytes of a record that continues a chain, and the place behind it.
pub(crate) fn encode(record: StreamRecord, link: Link) -> (Vec<u8>, Link) {
    let number = super::number(record.number);
    let stored = StoredRecord {
        created_seconds: record.created_seconds,
        event: record.event,
        key: record.key,
        old: record.old,
        new: record.new,
        size_bytes: record.size_bytes,
        is_expiry: record.is_expiry,
    };
    let json = serde_json::to_vec(&stored).expect("values under strings always make JSON");
    let behind = link.behind(number, &json);
    let mut bytes = behind.chain.to_be_bytes().to_vec();
    bytes.extend(json);
    (bytes, behind)
}

/// Reads a record that must continue a chain here, and returns the link for the next.
pub(crate) fn decode(
    stream: &Stream,
    link: Link,
    key: &[u8],
    value: &[u8],
) -> StoreResult<(StreamRecord, Link)> {
    let damaged = |how: &str| damaged(stream, key, how);
    let number = keys::record_number(key).ok_or_else(|| damaged("has no number"))?;
    let found = Link::of(key, value).ok_or_else(|| damaged("is too short"))?;
    let json = &value[size_of::<u64>()..];
    let behind = link.behind(number, json);
    if number < link.next || behind != found {
        return Err(damaged(
            "does not continue the one before: a record is missing",
        ));
    }
    let stored: StoredRecord = serde_json::from_slice(json)
        .map_err(|error| damaged(&format!("cannot be read: {error}")))?;
    let record = StreamRecord {
        number: SequenceNumber(number.into()),
        created_seconds: stored.created_seconds,
        event: stored.event,
        key: stored.key,
        old: stored.old,
        new: stored.new,
        view: stream.view,
        size_bytes: stored.size_bytes,
        is_expiry: stored.is_expiry,
    };
    Ok((record, behind))
}

pub(super) fn damaged(stream: &Stream, key: &[u8], how: &str) -> StoreError {
    StoreError::Corrupt {
        message: format!(
            "the record of the stream `{}` under the key `{}` {how}",
            stream.name,
            key.escape_ascii()
        ),
    }
}
