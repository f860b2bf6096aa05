//! What a store remembers of a stream. Every stream of the stores on one machine has one shard.

use super::label::label;
use super::{
    GetShardIterator, Position, SequenceNumber, Shard, ShardStart, StreamName, StreamView,
};
use crate::error::{StoreError, StoreResult};
use crate::table::{KeySchema, TableName};

/// How long a record is kept, and a stream to which no more will be added.
pub const RETENTION_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// What a store remembers of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptStream {
    /// The table and the label.
    pub name: StreamName,
    /// What its records carry.
    pub view: StreamView,
    /// The key of the table's items.
    pub key: KeySchema,
    /// When it began.
    pub created_millis: i64,
    /// When it ended; changes are still added to it without.
    pub ended_millis: Option<i64>,
    /// No record ever had a smaller number.
    pub first: SequenceNumber,
    /// Every record with a smaller number was too old and is gone; never below `first`.
    pub horizon: SequenceNumber,
    /// Every record that there is has a smaller number, and every one to come has not.
    pub next: SequenceNumber,
}

impl KeptStream {
    /// A new stream of a table, whose records will have the number `next` or larger ones.
    ///
    /// `last_created_millis` is when the table's last stream began. The new one gets another
    /// label, even if the clock has not moved or was set back.
    pub fn begin(
        table: TableName,
        view: StreamView,
        key: KeySchema,
        now_millis: i64,
        last_created_millis: Option<i64>,
        next: SequenceNumber,
    ) -> Self {
        let after_last = last_created_millis.map_or(i64::MIN, |last| last.saturating_add(1));
        let created_millis = now_millis.max(after_last);
        let label = label(created_millis);
        KeptStream {
            name: StreamName { table, label },
            view,
            key,
            created_millis,
            ended_millis: None,
            first: next,
            horizon: next,
            next,
        }
    }

    /// Whether changes are still added to it.
    pub fn is_enabled(&self) -> bool {
        self.ended_millis.is_none()
    }

    /// Whether it ended so long ago that none of its records is kept any more.
    pub fn is_forgotten(&self, now_millis: i64) -> bool {
        let is_past = |ended: i64| now_millis.saturating_sub(ended) > RETENTION_MILLIS;
        self.ended_millis.is_some_and(is_past)
    }

    /// The name of its shard, in DynamoDB's form.
    pub fn shard_id(&self) -> String {
        format!("shardId-{:020}-00000000", self.created_millis.max(0))
    }

    /// Its shard.
    pub fn shard(&self) -> Shard {
        // A stream without any record has no last number; the one before its first is the
        // only number that says so.
        let last = SequenceNumber(self.next.0.saturating_sub(1));
        Shard {
            id: self.shard_id(),
            parent: None,
            first: self.first,
            last: (!self.is_enabled()).then_some(last),
        }
    }

    /// The position that a request asks for.
    pub fn position(&self, request: &GetShardIterator, now_millis: i64) -> StoreResult<Position> {
        if request.shard != self.shard_id() {
            return Err(StoreError::ShardNotFound {
                stream: self.name.clone(),
                shard: request.shard.clone(),
            });
        }
        let next = match request.start {
            ShardStart::TrimHorizon => self.horizon,
            ShardStart::Latest => self.next,
            ShardStart::At(number) => self.known(number)?,
            ShardStart::After(number) => match self.known(number)? {
                // No record has it yet, so the next one is still to be read.
                number if number == self.next => number,
                SequenceNumber(number) => SequenceNumber(number + 1),
            },
        };
        Ok(Position {
            stream: self.name.clone(),
            next,
            made_millis: now_millis,
        })
    }

    /// Refuses a number that no record of the shard has or had, and one that is gone. The first
    /// number is known from the shard's description before any record has it.
    fn known(&self, number: SequenceNumber) -> StoreResult<SequenceNumber> {
        if number != self.first && !(self.first..self.next).contains(&number) {
            return Err(StoreError::validation(
                "Invalid SequenceNumber for the shard",
            ));
        }
        if number < self.horizon {
            Err(StoreError::RecordsTrimmed)
        } else {
            Ok(number)
        }
    }
}

#[cfg(test)]
mod tests;
