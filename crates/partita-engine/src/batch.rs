//! The writes that share one commit: each is carried out in thought, on top of those before it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use partita_core::Item;
use partita_core::size::item_bytes;
use partita_store::capacity::Metered;
use partita_store::request::{
    BatchWrite, BatchWriteItem, CreateTable, ReturnValues, TableDescription, TransactAction,
    TransactWriteItems,
};
use partita_store::table::{Key, TableName, TableSchema};
use partita_store::write::{self, Change, PlacedChange};
use partita_store::{StoreError, StoreResult};

use crate::storage::{Edit, View};
use crate::tables::{Table, Tables};
use crate::tokens::{Remembered, Tokens};
use crate::{entry, item, keys};

/// Expired tokens that one commit removes, besides two for each that it adds. The number is
/// small so that a commit stays quick, and grows so that the tokens do not.
const EXPIRED_TOKENS_MAX: usize = 64;

/// What was stored before, and what has changed since.
pub(crate) struct Batch<'a> {
    tokens: &'a Tokens,
    view: Box<dyn View>,
    now_millis: i64,
    /// As the last write left them.
    tables: Arc<Tables>,
    /// Those that were created or deleted.
    changed_tables: BTreeSet<TableName>,
    new_tokens: HashMap<Arc<str>, Remembered>,
    /// By stored key: the items that were written.
    items: BTreeMap<Vec<u8>, Written>,
    /// Ids whose rows are to be cleared away.
    dropped: Vec<u32>,
    /// Rows that are cleared away, and ids that have none left.
    cleared: Vec<Edit>,
    bytes: usize,
}

/// An item that was written, once or several times.
struct Written {
    table: Arc<Table>,
    /// As it is stored.
    before: Option<Item>,
    /// As the last write left it.
    after: Option<Item>,
}

/// What a batch comes to.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// What goes to disk.
    pub(crate) edits: Vec<Edit>,
    /// What is true in memory once it is there.
    pub(crate) tables: Option<Arc<Tables>>,
    pub(crate) dropped: Vec<u32>,
    pub(crate) new_tokens: HashMap<Arc<str>, Remembered>,
    pub(crate) expired_tokens: Vec<Arc<str>>,
}

// An error leaves the batch as it was.
impl<'a> Batch<'a> {
    pub(crate) fn new(
        tables: Arc<Tables>,
        tokens: &'a Tokens,
        view: Box<dyn View>,
        now_millis: i64,
    ) -> Self {
        Batch {
            tokens,
            view,
            now_millis,
            tables,
            changed_tables: BTreeSet::new(),
            new_tokens: HashMap::new(),
            items: BTreeMap::new(),
            dropped: Vec::new(),
            cleared: Vec::new(),
            bytes: 0,
        }
    }

    /// About how many bytes the batch will write.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn single(
        &mut self,
        action: &TransactAction,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        let (change, returned) = write::single(action, returns, self)?;
        self.make(vec![change])?;
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
        self.make(changes)?;
        Ok(metered)
    }

    pub(crate) fn transaction(&mut self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        let fingerprint = write::fingerprint(&request);
        let known = request.token.as_deref().and_then(|token| self.token(token));
        if let Some(known) = known {
            return match known.fingerprint == fingerprint {
                true => write::repeated(&request, self),
                false => Err(StoreError::IdempotentParameterMismatch),
            };
        }
        let Metered { answer, consumed } = write::transaction(&request, self)?;
        self.make(answer)?;
        if let Some(token) = request.token {
            let remembered = Remembered::new(fingerprint, self.now_millis);
            self.new_tokens.insert(token.into(), remembered);
        }
        Ok(Metered {
            answer: (),
            consumed,
        })
    }

    pub(crate) fn create_table(&mut self, request: CreateTable) -> StoreResult<TableDescription> {
        request.schema.check()?;
        let table = Arc::make_mut(&mut self.tables).create(request, self.now_millis)?;
        self.changed_tables.insert(table.name.clone());
        Ok(table.describe())
    }

    /// Lets a table vanish. Its rows are left behind, where nobody finds them any more.
    pub(crate) fn delete_table(&mut self, name: &TableName) -> StoreResult<TableDescription> {
        let table = Arc::make_mut(&mut self.tables).delete(name)?;
        self.items.retain(|_, written| written.table.id != table.id);
        self.dropped.extend(table.ids());
        self.changed_tables.insert(table.name.clone());
        Ok(table.describe())
    }

    /// Removes rows of a table that was deleted.
    pub(crate) fn clear(&mut self, rows: Vec<Vec<u8>>) {
        self.bytes += rows.iter().map(Vec::len).sum::<usize>();
        self.cleared.extend(rows.into_iter().map(Edit::Remove));
    }

    /// Forgets an id that has no rows any more.
    pub(crate) fn forget(&mut self, id: u32) {
        self.cleared.push(Edit::Remove(keys::dropped(id)));
    }

    /// Makes all changes, or none of them.
    fn make(&mut self, changes: Vec<PlacedChange>) -> StoreResult<()> {
        let mut made = Vec::with_capacity(changes.len());
        for placed in changes {
            let table = self.tables.find(&placed.table)?.clone();
            let after = match placed.change {
                Change::Keep => continue,
                Change::Put(item) => Some(item),
                Change::Delete => None,
            };
            let stored_key = keys::item(table.id, &placed.key);
            let before = placed.old;
            made.push((
                stored_key,
                Written {
                    table,
                    before,
                    after,
                },
            ));
        }
        for (stored_key, written) in made {
            let size = stored_key.len() + written.after.as_ref().map_or(0, item_bytes);
            self.bytes += size * (1 + written.table.index_ids.len());
            match self.items.get_mut(&stored_key) {
                Some(earlier) => earlier.after = written.after,
                None => {
                    self.items.insert(stored_key, written);
                }
            }
        }
        Ok(())
    }

    fn token(&self, token: &str) -> Option<Remembered> {
        let new = self.new_tokens.get(token).copied();
        new.or_else(|| self.tokens.find(token, self.now_millis))
    }

    /// What has to be written; nothing, if nothing has changed.
    pub(crate) fn finish(self) -> StoreResult<Outcome> {
        let mut edits = self.cleared;
        for name in &self.changed_tables {
            edits.push(self.tables.edit(name));
        }
        if !self.changed_tables.is_empty() {
            edits.push(self.tables.edit_last_id());
        }
        edits.extend(
            self.dropped
                .iter()
                .map(|id| Edit::Put(keys::dropped(*id), Vec::new())),
        );
        for (stored_key, written) in self.items {
            written.edit(stored_key, &mut edits)?;
        }
        edits.extend(
            self.new_tokens
                .iter()
                .map(|(token, remembered)| remembered.edit(token)),
        );
        let mut expired_tokens = Vec::new();
        // To clear away is not worth a sync of its own.
        if !edits.is_empty() {
            // An expired token that was used again just now is no longer expired.
            let expired = self.tokens.expired(self.now_millis);
            let expired = expired.filter(|token| !self.new_tokens.contains_key(*token));
            let count = EXPIRED_TOKENS_MAX + 2 * self.new_tokens.len();
            expired_tokens.extend(expired.take(count).cloned());
            let removed = expired_tokens.iter();
            edits.extend(removed.map(|token| Edit::Remove(keys::token(token))));
        }
        Ok(Outcome {
            edits,
            tables: (!self.changed_tables.is_empty()).then_some(self.tables),
            dropped: self.dropped,
            new_tokens: self.new_tokens,
            expired_tokens,
        })
    }
}

impl Written {
    /// The item and its index entries. One that ends as it began was never anything else to
    /// those outside the batch, and is on disk already.
    fn edit(self, stored_key: Vec<u8>, edits: &mut Vec<Edit>) -> StoreResult<()> {
        if self.before == self.after {
            return Ok(());
        }
        let bytes = self.after.as_ref().map(item::encode);
        let (before, after) = (self.before.as_ref(), self.after.as_ref());
        let after_bytes = bytes.as_deref().unwrap_or_default();
        edits.extend(entry::edits(&self.table, before, after, after_bytes)?);
        edits.push(match bytes {
            Some(bytes) => Edit::Put(stored_key, bytes),
            None => Edit::Remove(stored_key),
        });
        Ok(())
    }
}

impl write::Tables for Batch<'_> {
    fn schema(&self, table: &TableName) -> StoreResult<Arc<TableSchema>> {
        Ok(self.tables.find(table)?.schema.clone())
    }

    fn read(&self, table: &TableName, key: &Key) -> StoreResult<Option<Item>> {
        let table = self.tables.find(table)?;
        let stored_key = keys::item(table.id, key);
        if let Some(written) = self.items.get(&stored_key) {
            return Ok(written.after.clone());
        }
        match self.view.get(&stored_key)? {
            Some(bytes) => Ok(Some(item::decode(table, &stored_key, &bytes)?.1)),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests;
