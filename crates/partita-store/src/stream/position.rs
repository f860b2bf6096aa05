//! The position that a shard iterator encodes.

use super::{SequenceNumber, ShardIterator, StreamName};
use crate::error::{StoreError, StoreResult};

/// How long an iterator can be used.
pub const ITERATOR_MILLIS: i64 = 15 * 60 * 1000;

/// The first part of an iterator. Iterators of another form have another one.
const FORM: &str = "1";

/// A place in the only shard of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The stream.
    pub stream: StreamName,
    /// The records with this number and larger ones come next.
    pub next: SequenceNumber,
    /// When it was given out.
    pub made_millis: i64,
}

impl Position {
    /// The iterator that encodes it.
    ///
    /// It hides nothing: a caller who may read the stream may read it from anywhere.
    pub fn iterator(&self) -> ShardIterator {
        let StreamName { table, label } = &self.stream;
        let SequenceNumber(next) = self.next;
        ShardIterator(format!(
            "{FORM}|{table}|{label}|{next}|{}",
            self.made_millis
        ))
    }

    /// The position that an iterator encodes, if it is not too old.
    pub fn of(iterator: &ShardIterator, now_millis: i64) -> StoreResult<Self> {
        let position = Position::parse(&iterator.0)
            .ok_or_else(|| StoreError::validation("Invalid ShardIterator"))?;
        // A clock that went backwards since makes it younger, which does no harm.
        if now_millis.saturating_sub(position.made_millis) > ITERATOR_MILLIS {
            Err(StoreError::IteratorExpired)
        } else {
            Ok(position)
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('|');
        let mut part = || parts.next();
        if part()? != FORM {
            return None;
        }
        let position = Position {
            stream: StreamName {
                table: part()?.parse().ok()?,
                label: part()?.to_owned(),
            },
            next: SequenceNumber(part()?.parse().ok()?),
            made_millis: part()?.parse().ok()?,
        };
        part().is_none().then_some(position)
    }
}

#[cfg(test)]
mod tests;
