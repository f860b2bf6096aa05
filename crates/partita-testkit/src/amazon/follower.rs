//! What runs behind a table: a global index, or the copy that reads without consistency see.
//!
//! Each has a table of its own in a model. A change reaches it after a drawn delay, item by item:
//! the changes of one item come in their order, those of different items in any.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt as _;
use partita_core::Item;
use partita_store::index::IndexKind;
use partita_store::request::{CreateTable, DeleteItem, PutItem, ReturnValues};
use partita_store::table::{Key, TableName, TableSchema};
use partita_store::{ModelStore, Store as _};

/// A table that runs behind another.
pub(super) struct Follower {
    pub(super) store: Arc<ModelStore>,
    table: TableName,
    schema: TableSchema,
    /// Changes on their way, by the time at which they arrive.
    pending: BTreeMap<(i64, u64), Change>,
    /// When the last change of an item arrives.
    latest: BTreeMap<Key, i64>,
    last_number: u64,
}

/// An item as it is after a change.
pub(super) struct Change {
    pub(super) key: Key,
    pub(super) item: Option<Item>,
}

impl Follower {
    /// An empty one with the keys and indexes that it has.
    pub(super) fn new(table: &TableName, schema: TableSchema) -> Self {
        let store = Arc::new(ModelStore::default());
        let create = CreateTable::new(table.clone(), schema.clone());
        at_once(store.create_table(create)).expect("the table itself has these keys");
        Follower {
            store,
            table: table.clone(),
            schema,
            pending: BTreeMap::new(),
            latest: BTreeMap::new(),
            last_number: 0,
        }
    }

    /// Sends a change on its way.
    pub(super) fn send(&mut self, change: Change, due_millis: i64) {
        let latest = self.latest.entry(change.key.clone()).or_insert(due_millis);
        *latest = (*latest).max(due_millis);
        self.last_number += 1;
        self.pending.insert((*latest, self.last_number), change);
    }

    /// Takes what has arrived by now.
    pub(super) fn catch_up(&mut self, now_millis: i64) {
        while let Some(next) = self.pending.first_entry()
            && next.key().0 <= now_millis
        {
            let change = next.remove();
            self.apply(change);
        }
        if self.pending.is_empty() {
            self.latest.clear();
        }
    }

    /// How many changes are on their way.
    pub(super) fn behind(&self) -> usize {
        self.pending.len()
    }

    fn apply(&self, change: Change) {
        if let Some(item) = change.item.filter(|item| self.holds(item)) {
            let put = PutItem::new(self.table.clone(), item);
            if at_once(self.store.put_item(put, ReturnValues::None)).is_ok() {
                return;
            }
            // It was there before the index, and its attributes do not fit it.
        }
        let delete = DeleteItem {
            table: self.table.clone(),
            key: self.schema.key.attributes_of(&change.key),
            condition: None,
            return_item_on_failure: false,
        };
        at_once(self.store.delete_item(delete, ReturnValues::None))
            .expect("a key of the table fits it");
    }

    /// Whether it is in there: a global index has only items with its key. It need not look at all
    /// others then whenever it is read.
    fn holds(&self, item: &Item) -> bool {
        let mut indexes = self.schema.indexes.iter();
        let global = indexes.find(|index| index.kind == IndexKind::Global);
        global.is_none_or(|index| index.place_of(&self.schema.key, item).is_some())
    }
}

/// What a model answers: it never waits for anything.
pub(super) fn at_once<T>(answer: impl Future<Output = T>) -> T {
    answer.now_or_never().expect("a model never waits")
}
