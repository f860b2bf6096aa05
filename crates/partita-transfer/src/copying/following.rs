//! The commits of the source, carried out in the target.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use partita_core::Item;
use partita_engine::{Commit, CommitId, CommitLog, EngineStore};
use partita_store::Store;
use partita_store::request::{BatchWrite, ItemAddress};
use partita_store::table::{Key, KeySchema, TableName};

use super::Marks;
use super::tables::MovedTable;
use crate::error::TransferError;
use crate::items;

/// Bytes of commits that are read at a time.
const READ_BYTES_MAX: usize = 4 * 1_048_576;
/// How long a commit is waited for that is on its way to the disk.
const PAUSE: Duration = Duration::from_millis(10);

/// Carries out in the target what is committed in the source.
pub(super) struct Follower {
    engine: Arc<EngineStore>,
    log: CommitLog,
    /// Commits that are read and not carried out.
    ahead: VecDeque<Commit>,
    /// The last commit that is carried out.
    last: CommitId,
    keys: BTreeMap<TableName, KeySchema>,
    /// The key of the mark, which is each store's own.
    mark: (TableName, Key),
}

impl Follower {
    /// Follows what is committed from now on.
    pub(super) fn begin(
        engine: Arc<EngineStore>,
        tables: &[MovedTable],
        marks: &Marks,
    ) -> Result<Follower, TransferError> {
        let last = engine.last_commit();
        let log = engine.commits_after(last)?;
        let key_of = |table: &MovedTable| {
            let key = table.description.schema.key.clone();
            (table.name.clone(), key)
        };
        let keys: BTreeMap<TableName, KeySchema> = tables.iter().map(key_of).collect();
        let schema = keys.get(&marks.table);
        let mark = schema.map_or_else(
            || {
                let message = "the table of the mark is not copied";
                Err(partita_store::StoreError::validation(message))
            },
            |schema| schema.key_of(&marks.key),
        );
        let mark = mark.map_err(TransferError::Source)?;
        Ok(Follower {
            engine,
            log,
            ahead: VecDeque::new(),
            last,
            keys,
            mark: (marks.table.clone(), mark),
        })
    }

    /// The last commit that the target has.
    pub(super) fn commit(&self) -> u64 {
        self.last.number
    }

    /// Brings the target to a commit, and returns how many items were written for that.
    pub(super) async fn until(
        &mut self,
        commit: CommitId,
        target: &dyn Store,
    ) -> Result<u64, TransferError> {
        let mut written = 0;
        while self.last.number < commit.number {
            if self.ahead.is_empty() {
                self.ahead.extend(self.log.read(READ_BYTES_MAX)?);
            }
            if self.ahead.is_empty() {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            let writes = self.gather(commit)?;
            written += writes.len() as u64;
            let done = items::write(target, writes).await;
            done.map_err(TransferError::Target)?;
            self.log.release();
        }
        Ok(written)
    }

    /// What the commits that were read come to, up to this one: of each item only the last.
    fn gather(&mut self, until: CommitId) -> Result<Vec<BatchWrite>, TransferError> {
        let mut edits: BTreeMap<(TableName, Key), Option<Item>> = BTreeMap::new();
        while let Some(commit) = self
            .ahead
            .pop_front_if(|next| next.id.number <= until.number)
        {
            let made = self.engine.item_edits(&commit);
            for edit in made.map_err(TransferError::Source)? {
                let place = (edit.table, edit.key);
                if self.keys.contains_key(&place.0) && place != self.mark {
                    edits.insert(place, edit.item);
                }
            }
            self.last = commit.id;
        }
        let writes = edits.into_iter().map(|((table, key), item)| match item {
            Some(item) => BatchWrite::Put { table, item },
            None => {
                let key = self.keys[&table].attributes_of(&key);
                BatchWrite::Delete(ItemAddress { table, key })
            }
        });
        Ok(writes.collect())
    }
}
