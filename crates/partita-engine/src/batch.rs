//! The writes that share one commit: each is carried out in thought, on top of those before it.
//!
//! | module | what it holds |
//! |---|---|
//! | `tables` | what is done to tables: created, changed, deleted |
//! | `tending` | what the store does by itself: building, expiring, clearing away |
//! | `recording` | the records of streams that the commit adds |
//! | `finish` | what all of it comes to |

mod finish;
mod recording;
mod tables;
mod tending;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use partita_core::Item;
use partita_core::size::{item_bytes, item_memory};
use partita_store::capacity::Metered;
use partita_store::request::{
    BatchWrite, BatchWriteItem, ReturnValues, TransactAction, TransactWriteItems,
};
use partita_store::stream::{ItemChange, StreamName};
use partita_store::table::{Key, TableName, TableSchema};
use partita_store::write::{self, Change, PlacedChange};
use partita_store::{Moment, StoreError, StoreResult};

use self::recording::Recording;
use crate::frozen::{Reasons, demand_readable, demand_writable};
use crate::replaced::Replaced;
use crate::storage::{Edit, View};
use crate::tables::{Table, Tables};
use crate::tokens::{Remembered, Tokens};
use crate::{item, keys};

pub(crate) use finish::BatchOutcome;

/// What was stored before, and what has changed since.
pub(crate) struct Batch<'a> {
    tokens: &'a Tokens,
    replaced: &'a Replaced,
    /// The tables that take no writes of callers.
    frozen: Reasons,
    view: Box<dyn View>,
    now_millis: i64,
    /// As they are stored.
    then: Arc<Tables>,
    /// As the last write left them.
    tables: Arc<Tables>,
    /// Those that were created, changed or deleted.
    changed_tables: BTreeSet<TableName>,
    changed_streams: BTreeMap<u32, StreamName>,
    new_tokens: HashMap<Arc<str>, Remembered>,
    /// By stored key: the items that were written.
    items: BTreeMap<Vec<u8>, WrittenItem>,
    recording: Recording,
    /// Ids whose rows are to be cleared away.
    dropped: Vec<u32>,
    /// Rows that are removed, and what else is gone with them.
    cleared: Vec<Edit>,
    bytes: usize,
    /// Bytes of memory that the items take as they were and as they are now.
    memory: usize,
}

/// An item that was written, once or several times, or met by what builds an index.
struct WrittenItem {
    table: Arc<Table>,
    /// As it is stored.
    before: Option<Item>,
    /// As the last write left it.
    after: Option<Item>,
    /// Whether it was removed or replaced, and not only updated.
    is_replaced: bool,
}

/// Why an item changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    Request,
    Expiry,
}

// An error leaves the batch as it was.
impl<'a> Batch<'a> {
    pub(crate) fn new(
        tables: Arc<Tables>,
        tokens: &'a Tokens,
        replaced: &'a Replaced,
        view: Box<dyn View>,
        now_millis: i64,
    ) -> Self {
        Batch {
            tokens,
            replaced,
            frozen: Reasons::default(),
            view,
            now_millis,
            then: tables.clone(),
            tables,
            changed_tables: BTreeSet::new(),
            changed_streams: BTreeMap::new(),
            new_tokens: HashMap::new(),
            items: BTreeMap::new(),
            recording: Recording::default(),
            dropped: Vec::new(),
            cleared: Vec::new(),
            bytes: 0,
            memory: 0,
        }
    }

    /// The same, and callers write none of these tables.
    pub(crate) fn without(mut self, frozen: Reasons) -> Self {
        self.frozen = frozen;
        self
    }

    /// Does something for the one who fills tables that callers do not write.
    pub(crate) fn past_frost<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> StoreResult<T>,
    ) -> StoreResult<T> {
        let frozen = std::mem::take(&mut self.frozen);
        let done = work(self);
        self.frozen = frozen;
        done
    }

    /// About how many bytes the batch will write.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// About how many bytes of memory the written items take.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    pub(crate) fn single(
        &mut self,
        action: &TransactAction,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        let (change, returned) = write::single(action, returns, self)?;
        self.make(vec![change], Cause::Request)?;
        Ok(returned)
    }

    pub(crate) fn batch_write(
        &mut self,
        request: BatchWriteItem,
    ) -> StoreResult<Metered<Vec<BatchWrite>>> {
        let mut metered = Metered::<Vec<BatchWrite>>::default();
        let mut changes = Vec::new();
        // No two are on the same item, so none has to see those before it.
        for action in write::batch(request, self)? {
            let (change, written) = write::single(&action, ReturnValues::None, self)?;
            changes.push(change);
            metered.add(&written.consumed);
        }
        self.make(changes, Cause::Request)?;
        Ok(metered)
    }

    pub(crate) fn transaction(&mut self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        let fingerprint = write::fingerprint(&request);
        let known = request.token.as_deref().and_then(|token| self.token(token));
        if let Some(known) = known {
            return if known.fingerprint == fingerprint {
                write::repeated(&request, self)
            } else {
                Err(StoreError::IdempotentParameterMismatch)
            };
        }
        let Metered { answer, consumed } = write::transaction(&request, self)?;
        self.make(answer, Cause::Request)?;
        if let Some(token) = request.token {
            let remembered = Remembered::new(fingerprint, self.now_millis);
            self.new_tokens.insert(token.into(), remembered);
        }
        Ok(Metered {
            answer: (),
            consumed,
        })
    }

    /// A transaction on items that are those of a moment; false where one may be another.
    pub(crate) fn transaction_since(
        &mut self,
        moment: Moment,
        request: TransactWriteItems,
    ) -> StoreResult<bool> {
        for action in &request.actions {
            let table = self.tables.find(action.table())?;
            let stored_key = keys::item(table.id, &action.key(&table.schema.key)?);
            let written = self.items.get(&stored_key);
            if self.replaced.is_since(moment, &stored_key)
                || written.is_some_and(|written| written.is_replaced)
                || !self.dropped.is_empty()
            {
                return Ok(false);
            }
        }
        self.transaction(request).map(|_| true)
    }

    /// Makes all changes, or none of them.
    fn make(&mut self, changes: Vec<PlacedChange>, cause: Cause) -> StoreResult<()> {
        let mut made = Vec::with_capacity(changes.len());
        for placed in changes {
            let table = self.tables.find(&placed.table)?.clone();
            let is_replaced = placed.old.is_some() && !matches!(placed.change, Change::Update(_));
            let after = match placed.change {
                Change::Keep => continue,
                Change::Put(item) | Change::Update(item) => Some(item),
                Change::Delete => None,
            };
            if cause == Cause::Request {
                demand_writable(&self.frozen, &placed.table)?;
            }
            if let Some(stream) = self.tables.stream_of(&table) {
                self.recording.prepare(&*self.view, stream)?;
            }
            let stored_key = keys::item(table.id, &placed.key);
            let before = placed.old;
            made.push((
                stored_key,
                WrittenItem {
                    table,
                    before,
                    after,
                    is_replaced,
                },
            ));
        }
        for (stored_key, written) in made {
            self.record(&written, cause);
            let size = stored_key.len() + written.after.as_ref().map_or(0, item_bytes);
            self.bytes += size * (1 + written.table.index_ids.len());
            let items = written.before.iter().chain(&written.after);
            self.memory += items.map(item_memory).sum::<usize>();
            match self.items.get_mut(&stored_key) {
                Some(earlier) => {
                    earlier.after = written.after;
                    earlier.is_replaced |= written.is_replaced;
                }
                None => {
                    self.items.insert(stored_key, written);
                }
            }
        }
        Ok(())
    }

    /// Adds a record of a change to the table's stream. Every write has its own, also where
    /// several change the same item.
    fn record(&mut self, written: &WrittenItem, cause: Cause) {
        let Some(stream) = self.tables.stream_of(&written.table) else {
            return;
        };
        let change = ItemChange {
            old: written.before.as_ref(),
            new: written.after.as_ref(),
            is_expiry: cause == Cause::Expiry,
        };
        self.bytes += self.recording.add(stream, change, self.now_millis);
    }

    fn token(&self, token: &str) -> Option<Remembered> {
        let new = self.new_tokens.get(token).copied();
        new.or_else(|| self.tokens.find(token, self.now_millis))
    }

    /// An item as the last write left it.
    fn item(&self, table: &Table, stored_key: &[u8]) -> StoreResult<Option<Item>> {
        if let Some(written) = self.items.get(stored_key) {
            return Ok(written.after.clone());
        }
        match self.view.get(stored_key)? {
            Some(bytes) => Ok(Some(item::decode(table, stored_key, &bytes)?.1)),
            None => Ok(None),
        }
    }
}

impl write::Tables for Batch<'_> {
    fn schema(&self, table: &TableName) -> StoreResult<Arc<TableSchema>> {
        Ok(self.tables.find(table)?.schema.clone())
    }

    fn read(&self, table: &TableName, key: &Key) -> StoreResult<Option<Item>> {
        demand_readable(&self.frozen, table)?;
        let table = self.tables.find(table)?;
        self.item(table, &keys::item(table.id, key))
    }
}

#[cfg(test)]
mod tests;
