//! The writes that share one commit: each is carried out in thought, on top of those before it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use partita_core::Item;
use partita_core::size::item_bytes;
use partita_store::request::{CreateTable, ReturnValues, TransactAction, TransactWriteItems};
use partita_store::table::{Key, KeySchema, TableName};
use partita_store::write::{self, Change, PlacedChange, Tables};
use partita_store::{StoreError, StoreResult};

use crate::storage::{Edit, View};
use crate::tables::{Catalog, Table};
use crate::tokens::{Remembered, Tokens};
use crate::{item, keys};

/// What the committer is asked to do.
#[derive(Debug)]
pub(crate) enum Write {
    Single(Box<TransactAction>, ReturnValues),
    Transaction(TransactWriteItems),
    CreateTable(CreateTable),
}

/// Expired tokens that one commit removes, besides two for each that it adds. The number is
/// small so that a commit stays quick, and grows so that the tokens do not.
const EXPIRED_TOKENS_MAX: usize = 64;

/// What was stored before, and what has changed since.
pub(crate) struct Batch<'a> {
    catalog: &'a Catalog,
    tokens: &'a Tokens,
    view: Box<dyn View>,
    now_millis: i64,
    new_tables: HashMap<TableName, Arc<Table>>,
    new_tokens: HashMap<Arc<str>, Remembered>,
    /// By stored key: the items that were written, as the last write left them.
    items: BTreeMap<Vec<u8>, Option<Item>>,
    bytes: usize,
}

/// What a batch comes to.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// What goes to disk.
    pub(crate) edits: Vec<Edit>,
    /// What is true in memory once it is there.
    pub(crate) new_tables: Vec<Arc<Table>>,
    pub(crate) new_tokens: HashMap<Arc<str>, Remembered>,
    pub(crate) expired_tokens: Vec<Arc<str>>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(
        catalog: &'a Catalog,
        tokens: &'a Tokens,
        view: Box<dyn View>,
        now_millis: i64,
    ) -> Self {
        Batch {
            catalog,
            tokens,
            view,
            now_millis,
            new_tables: HashMap::new(),
            new_tokens: HashMap::new(),
            items: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// About how many bytes the batch will write.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Carries one write out in thought. An error leaves the batch as it was.
    pub(crate) fn take(&mut self, write: Write) -> StoreResult<Option<Item>> {
        match write {
            Write::Single(action, returns) => {
                let (change, returned) = write::single(&action, returns, self)?;
                self.make(vec![change])?;
                Ok(returned)
            }
            Write::Transaction(request) => self.take_transaction(request).map(|()| None),
            Write::CreateTable(request) => self.take_table(request).map(|()| None),
        }
    }

    fn take_transaction(&mut self, request: TransactWriteItems) -> StoreResult<()> {
        let fingerprint = write::fingerprint(&request);
        let known = request.token.as_deref().and_then(|token| self.token(token));
        if let Some(known) = known {
            return match known.fingerprint == fingerprint {
                true => Ok(()),
                false => Err(StoreError::IdempotentParameterMismatch),
            };
        }
        let changes = write::transaction(&request, self)?;
        self.make(changes)?;
        if let Some(token) = request.token {
            let remembered = Remembered::new(fingerprint, self.now_millis);
            self.new_tokens.insert(token.into(), remembered);
        }
        Ok(())
    }

    fn take_table(&mut self, request: CreateTable) -> StoreResult<()> {
        let CreateTable {
            table: name,
            schema,
        } = request;
        if self.table(&name).is_ok() {
            return Err(StoreError::TableExists { table: name });
        }
        let before = u32::try_from(self.new_tables.len()).expect("a batch is small");
        let id = self.catalog.next_id() + before;
        let table = Table { name, id, schema };
        self.new_tables.insert(table.name.clone(), Arc::new(table));
        Ok(())
    }

    /// Makes all changes, or none of them.
    fn make(&mut self, changes: Vec<PlacedChange>) -> StoreResult<()> {
        let mut made = Vec::with_capacity(changes.len());
        for PlacedChange { table, key, change } in changes {
            let stored_key = keys::item(self.table(&table)?.id, &key);
            match change {
                Change::Keep => {}
                Change::Put(item) => made.push((stored_key, Some(item))),
                Change::Delete => made.push((stored_key, None)),
            }
        }
        for (stored_key, item) in made {
            self.bytes += stored_key.len() + item.as_ref().map_or(0, item_bytes);
            self.items.insert(stored_key, item);
        }
        Ok(())
    }

    fn table(&self, name: &TableName) -> StoreResult<Arc<Table>> {
        match self.new_tables.get(name) {
            Some(table) => Ok(table.clone()),
            None => self.catalog.find(name),
        }
    }

    fn token(&self, token: &str) -> Option<Remembered> {
        let new = self.new_tokens.get(token).copied();
        new.or_else(|| self.tokens.find(token, self.now_millis))
    }

    /// What has to be written; nothing, if nothing has changed.
    pub(crate) fn finish(self) -> Outcome {
        let tables = self.new_tables.values().map(|table| table.edit());
        let tokens = self.new_tokens.iter();
        let tokens = tokens.map(|(token, remembered)| remembered.edit(token));
        let items = self.items.into_iter().map(|(key, item)| match item {
            Some(item) => Edit::Put(key, item::encode(&item)),
            None => Edit::Remove(key),
        });
        let mut edits: Vec<_> = tables.chain(tokens).chain(items).collect();
        let mut expired_tokens = Vec::new();
        // To clear away is not worth a sync of its own.
        if !edits.is_empty() {
            // An expired token that was used again just now is no longer expired.
            let expired = self.tokens.expired(self.now_millis);
            let expired = expired.filter(|token| !self.new_tokens.contains_key(*token));
            let count = EXPIRED_TOKENS_MAX + 2 * self.new_tokens.len();
            expired_tokens.extend(expired.take(count).cloned());
            edits.extend(
                expired_tokens
                    .iter()
                    .map(|token| Edit::Remove(keys::token(token))),
            );
        }
        Outcome {
            edits,
            new_tables: self.new_tables.into_values().collect(),
            new_tokens: self.new_tokens,
            expired_tokens,
        }
    }
}

impl Tables for Batch<'_> {
    fn schema(&self, table: &TableName) -> StoreResult<KeySchema> {
        Ok(self.table(table)?.schema.clone())
    }

    fn read(&self, table: &TableName, key: &Key) -> StoreResult<Option<Item>> {
        let table = self.table(table)?;
        let stored_key = keys::item(table.id, key);
        if let Some(item) = self.items.get(&stored_key) {
            return Ok(item.clone());
        }
        match self.view.get(&stored_key)? {
            Some(bytes) => Ok(Some(item::decode(&table, &stored_key, &bytes)?.1)),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests;
