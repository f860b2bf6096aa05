//! [`EngineStore`]: the store that the rest of Partita sees.

use std::collections::HashMap;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

use async_trait::async_trait;
use partita_core::Item;
use partita_store::capacity::Metered;
use partita_store::meters::Meters;
use partita_store::read::{self as reads, Items as _};
use partita_store::request::{
    BatchGetItem, BatchGot, BatchWrite, BatchWriteItem, CreateTable, DeleteItem, GetItem,
    ItemAddress, ListTables, Page, PutItem, Query, ReturnValues, Scan, TableDescription,
    TableNames, Tags, TransactAction, TransactGetItems, TransactWriteItems, UpdateItem,
    UpdateTable, UpdateTimeToLive,
};
use partita_store::stream::{
    DescribeStream, GetRecords, GetShardIterator, ListStreams, Records, ShardIterator,
    StreamDescription, StreamNames,
};
use partita_store::table::TableName;
use partita_store::{Clock, FoundItem, Snapshot, Store, StoreResult};
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use crate::background::{Background, ReadPage, stopped_short, stumbled};
use crate::batch::Batch;
use crate::commit::{Commit, CommitId};
use crate::commit_log::{CommitLog, LogError};
use crate::committer::Committer;
use crate::error::EngineError;
use crate::expiry::Earliest;
use crate::frozen::Frozen;
use crate::item_edit::{self, ItemEdit};
use crate::meters::CommitMeters;
use crate::options::{Durability, Options, Upkeep};
use crate::queue::Queue;
use crate::read::snapshot::KeptMoment;
use crate::read::{Latest, Moment, Reach};
use crate::replaced::{CommitCount, Replaced};
use crate::rows::{self, Rows};
use crate::storage::journal::kept::Keeper;
use crate::storage::{Commits, StorageError, View, Views};
use crate::tables::{Catalog, Tables};
use crate::tending::Tending;
use crate::tokens::Tokens;
use crate::totals::TableTotals;
use crate::trust::Trust;
use crate::verify;
use crate::{directory, keys, syncing, weight};

/// A durable store in a directory.
///
/// Its methods need a Tokio runtime around them. A caller that goes away while a write is under
/// way does not stop it.
///
/// Dropping the store waits until everything that was accepted is on disk.
pub struct EngineStore {
    views: Arc<dyn Views>,
    catalog: Arc<Catalog>,
    clock: Arc<dyn Clock>,
    trust: Arc<Trust>,
    meters: Arc<CommitMeters>,
    commits: CommitCount,
    pub(crate) frozen: Arc<Frozen>,
    background: Background,
    seen: watch::Sender<u64>,
    tending: Arc<Mutex<Tending>>,
    /// Keeps journals for those who read commits; none for a storage without journals.
    keeper: Option<Arc<Keeper>>,
    /// There until the store is dropped.
    queue: Option<Queue>,
    /// The committer first: the others end after it.
    threads: Vec<JoinHandle<()>>,
}

impl EngineStore {
    /// Whether there is a store in a directory, so that opening it creates none.
    pub fn is_at(directory: &Path) -> bool {
        directory::is_store(directory)
    }

    /// Opens the store in a directory, or creates it there.
    pub fn open(directory: &Path, options: Options) -> Result<EngineStore, EngineError> {
        let (views, commits) = directory::open(directory, options.durability, options.room())?;
        let keeper = commits.keeper();
        if let (Some(keeper), Some(is_kept)) = (&keeper, options.keeps_commits) {
            keeper.set_lasting(is_kept);
        }
        let mut store = EngineStore::on(directory, Arc::new(views), Box::new(commits), options)?;
        store.keeper = keeper;
        Ok(store)
    }

    pub(crate) fn on(
        directory: &Path,
        views: Arc<dyn Views>,
        commits: Box<dyn Commits>,
        options: Options,
    ) -> Result<EngineStore, EngineError> {
        let storage = |error| EngineError::storage(directory, error);
        let io = |error| EngineError::io(directory, error);
        let view = views.view();
        let catalog = Arc::new(Catalog::new(Tables::load(&*view).map_err(storage)?));
        let tokens = Tokens::load(&*view).map_err(storage)?;
        let noted = last_time(&*view).map_err(storage)?;
        drop(view);
        let now_millis = options.clock.now_millis();
        let trust = Arc::new(Trust::new(noted, now_millis, options.trusts_clock));
        if options.upkeep == Upkeep::Background {
            trust.warn();
        }
        let meters = Arc::new(CommitMeters::default());
        let earliest = Arc::new(Earliest::default());
        let commits_seen = CommitCount::default();
        let frozen = Arc::new(Frozen::default());
        let seen = watch::Sender::new(0);
        let (queue, waiting) = Queue::new();
        let (news, heard) = mpsc::channel();
        let tending = Arc::new(Mutex::new(Tending {
            views: views.clone(),
            catalog: catalog.clone(),
            queue: queue.downgrade(),
            clock: options.clock.clone(),
            earliest: earliest.clone(),
            trust: trust.clone(),
            cleared: HashMap::new(),
            swept_millis: None,
            trimmed_millis: None,
        }));
        let (committed, syncing) = match options.durability {
            Durability::Sync => (None, None),
            Durability::Buffered => {
                let (committed, commits) = mpsc::channel();
                let thread = syncing::start(commits, queue.downgrade()).map_err(io)?;
                (Some(committed), Some(thread))
            }
        };
        let committer = Committer {
            views: views.clone(),
            commits,
            catalog: catalog.clone(),
            tokens,
            replaced: Replaced::new(commits_seen.clone()),
            frozen: frozen.clone(),
            clock: options.clock.clone(),
            meters: meters.clone(),
            news,
            earliest,
            trust: trust.clone(),
            committed,
            seen: seen.clone(),
            is_dirty: false,
            is_full: false,
            failure: None,
        };
        let mut threads = vec![committer.start(waiting).map_err(io)?];
        threads.extend(syncing);
        if options.upkeep == Upkeep::Background {
            threads.push(Tending::start(tending.clone(), heard).map_err(io)?);
        }
        Ok(EngineStore {
            views,
            catalog,
            clock: options.clock,
            trust,
            meters,
            commits: commits_seen,
            frozen,
            background: Background::default(),
            seen,
            tending,
            keeper: None,
            queue: Some(queue),
            threads,
        })
    }

    /// How many commits, mostly each with one sync to disk, were made since the store was opened.
    pub fn commits(&self) -> u64 {
        self.meters.commits()
    }

    /// The last commit that is on disk.
    pub fn last_commit(&self) -> CommitId {
        self.views.durable()
    }

    /// The commits after this one, as far as the journals go back. From now on journals are kept
    /// until the log has read them or is dropped.
    pub fn commits_after(&self, after: CommitId) -> Result<CommitLog, LogError> {
        let keeper = self
            .keeper
            .clone()
            .ok_or_else(|| LogError::Unreadable("the storage has no journals".to_owned()))?;
        Ok(CommitLog::new(self.views.clone(), keeper, after))
    }

    /// What is stored under the keys after this one, up to about so many bytes, as it is now.
    pub async fn rows_after(&self, key: Option<Vec<u8>>, bytes_max: usize) -> StoreResult<Rows> {
        let views = self.views.clone();
        let work = move || rows::after(&*views.view(), key, bytes_max);
        self.background.run(work).await
    }

    /// What a commit of this store did to items.
    pub fn item_edits(&self, commit: &Commit) -> StoreResult<Vec<ItemEdit>> {
        item_edit::of(commit, &self.catalog.tables())
    }

    /// What the store holds now, and the commit after which it was so.
    pub fn snapshot_at_commit(&self) -> StoreResult<(CommitId, Arc<dyn Snapshot>)> {
        let kept = self.kept_moment();
        let commit = rows::commit_of(kept.view.view())?;
        Ok((commit, Arc::new(kept)))
    }

    fn kept_moment(&self) -> KeptMoment {
        let look = self.frozen.look();
        let moment = self.commits.now();
        let view = Arc::new(self.now());
        KeptMoment {
            moment,
            view,
            background: self.background.clone(),
            closed: self.frozen.closed_since(look),
        }
    }

    /// Has callers write none of these tables until they are thawed or the store is closed, and
    /// returns when every write that was accepted before is carried out. Such writes are answered
    /// with this reason; items that expire are removed all the same.
    pub async fn freeze(&self, tables: &[TableName], reason: &str) -> StoreResult<()> {
        self.frozen.add(tables, reason)?;
        // Whatever was in the queue before is done when this is; what comes later is refused.
        self.write(1, |_| Ok(())).await
    }

    /// Lets callers write these tables again.
    pub fn thaw(&self, tables: &[TableName]) {
        self.frozen.remove(tables);
    }

    /// Takes no more writes, and returns when those that were accepted are on disk. Reads go on.
    pub async fn close(&self) {
        if let Some(queue) = &self.queue {
            queue.close().await;
        }
    }

    /// Does at once, and to the end, what the store otherwise does by itself in a while: sweeps
    /// expired items, builds indexes, removes old records of streams, and clears away what was
    /// deleted.
    pub async fn upkeep(&self) -> StoreResult<()> {
        let tending = self.tending.clone();
        let finish = move || {
            let mut tending = tending.lock().unwrap_or_else(PoisonError::into_inner);
            tending.finish()
        };
        spawn_blocking(finish).await.unwrap_or_else(stopped_short)
    }

    /// Reads everything that is stored and checks its consistency: items against index entries in
    /// both directions, streams for gaps, and the totals. Returns up to a hundred findings.
    pub async fn verify(&self) -> StoreResult<Vec<String>> {
        self.read(verify::verify).await
    }

    pub(crate) async fn write<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce(&mut Batch<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let queue = self.queue.as_ref().expect("it is there until the drop");
        queue.write(bytes, work).await
    }

    async fn single(
        &self,
        action: TransactAction,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        let bytes = weight::of_action(&action);
        self.write(bytes, move |batch| batch.single(&action, returns))
            .await
    }

    /// Runs a read that may take many items on a thread that may be kept waiting.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Moment) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let (catalog, views) = (self.catalog.clone(), self.views.clone());
        let work = move || work(&Moment::now(&catalog, &*views));
        self.background.run(work).await
    }

    /// Reads a page on a thread that may be kept waiting.
    async fn page<R: Send + 'static>(
        &self,
        request: R,
        read: ReadPage<R>,
    ) -> StoreResult<Metered<Page>> {
        let (catalog, views) = (self.catalog.clone(), self.views.clone());
        let now = move || Arc::new(Moment::now(&catalog, &*views));
        self.background.page(now, request, read).await
    }

    /// An item, whether its table is open to callers or not; the same goes for the next ones.
    pub(crate) fn read_item(&self, request: GetItem) -> StoreResult<Metered<Option<FoundItem>>> {
        let GetItem {
            table,
            key,
            consistent,
            projection,
        } = request;
        let address = ItemAddress { table, key };
        // One key is read where it is asked for. Handing it to another thread costs more than
        // the read: warm, 222,000 gets a second against 75,000, and 8 µs against 42. With 64
        // callers and nothing cached at first it is 15,000 to 19,000 against 17,000 to 25,000.
        let item = here(|| self.latest().item(&address, projection.as_ref()))?;
        reads::one(&address.table, item, projection.as_ref(), consistent)
    }

    pub(crate) async fn read_items(
        &self,
        request: BatchGetItem,
    ) -> StoreResult<Metered<Vec<BatchGot>>> {
        if request.addresses.len() <= KEYS_INLINE_MAX {
            return here(|| reads::batch(&request, &self.latest()));
        }
        let (catalog, views) = (self.catalog.clone(), self.views.clone());
        let work = move || {
            let (catalog, views) = (&*catalog, &*views);
            reads::batch(&request, &Latest { catalog, views })
        };
        self.background.run(work).await
    }

    pub(crate) async fn read_query(&self, request: Query) -> StoreResult<Metered<Page>> {
        match here(|| self.latest().query(&request, Reach::rows(ROWS_INLINE_MAX)))? {
            Some(page) => Ok(page),
            None => self.page(request, Moment::query).await,
        }
    }

    pub(crate) async fn read_scan(&self, request: Scan) -> StoreResult<Metered<Page>> {
        match here(|| self.now().scan(&request, Reach::rows(ROWS_INLINE_MAX)))? {
            Some(page) => Ok(page),
            None => self.page(request, Moment::scan).await,
        }
    }

    fn now(&self) -> Moment {
        Moment::now(&self.catalog, &*self.views)
    }

    fn latest(&self) -> Latest<'_> {
        Latest {
            catalog: &self.catalog,
            views: &*self.views,
        }
    }
}

/// The tables of a request, each once.
fn distinct<'t>(tables: impl Iterator<Item = &'t TableName>) -> Vec<TableName> {
    let mut distinct: Vec<TableName> = Vec::new();
    for table in tables {
        if distinct.last() != Some(table) && !distinct.contains(table) {
            distinct.push(table.clone());
        }
    }
    distinct
}

/// Rows that are read where they are asked for. Handing a read of 20 rows to another thread
/// costs more than the read; what is read in vain, if there are more, is a small part of them.
pub(crate) const ROWS_INLINE_MAX: usize = 64;

/// The same for items by their keys, each of which may be in another block.
pub(crate) const KEYS_INLINE_MAX: usize = 16;

/// Runs a read that takes few items where it is asked for.
pub(crate) fn here<T>(work: impl FnOnce() -> StoreResult<T>) -> StoreResult<T> {
    // A read changes nothing, so there is nothing that it could leave half done.
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(stumbled()))
}

impl Drop for EngineStore {
    fn drop(&mut self) {
        drop(self.queue.take());
        for thread in self.threads.drain(..) {
            let name = thread.thread().name().unwrap_or_default().to_owned();
            if thread.join().is_err() {
                tracing::error!("{name} has panicked; what it did last is unknown");
            }
        }
    }
}

/// The latest of the times that are stored: at commits now and then, and when the store is closed.
fn last_time(view: &dyn View) -> Result<Option<i64>, StorageError> {
    let mut last = None;
    for key in [keys::LAST_TIME, keys::CLOSED] {
        let stored = view.get(key)?;
        let stored =
            stored.and_then(|bytes| Some(i64::from_be_bytes(bytes.as_ref().try_into().ok()?)));
        last = last.max(stored);
    }
    Ok(last)
}

/// The requests of a table itself are small.
const TABLE_REQUEST_BYTES: usize = 4_096;

#[async_trait]
impl Store for EngineStore {
    fn doubts_clock(&self) -> bool {
        self.trust.is_doubted(self.clock.now_millis())
    }

    fn meters(&self) -> Option<Meters> {
        let waiting = self.queue.as_ref().map_or(0, Queue::waiting);
        let meters = self.meters.read(waiting);
        if meters.stopped.is_some()
            && let Some(queue) = &self.queue
        {
            // A disk that was full may have room again. Who asks next will know.
            queue.nudge();
        }
        Some(meters)
    }

    async fn create_table(&self, request: CreateTable) -> StoreResult<TableDescription> {
        self.write(TABLE_REQUEST_BYTES, |batch| batch.create_table(request))
            .await
    }

    async fn delete_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        let table = table.clone();
        self.write(TABLE_REQUEST_BYTES, move |batch| batch.delete_table(&table))
            .await
    }

    async fn describe_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        let moment = self.now();
        let table = moment.tables().find(table)?;
        Ok(table.describe(&TableTotals::load(moment.view(), table.id)?))
    }

    async fn list_tables(&self, request: ListTables) -> StoreResult<TableNames> {
        let tables = self.catalog.tables();
        request.page(tables.all().map(|table| table.name.clone()))
    }

    async fn update_table(&self, request: UpdateTable) -> StoreResult<TableDescription> {
        self.write(TABLE_REQUEST_BYTES, |batch| batch.update_table(request))
            .await
    }

    async fn update_time_to_live(&self, request: UpdateTimeToLive) -> StoreResult<()> {
        self.write(TABLE_REQUEST_BYTES, |batch| {
            batch.update_time_to_live(request)
        })
        .await
    }

    async fn describe_time_to_live(&self, table: &TableName) -> StoreResult<Option<String>> {
        let tables = self.catalog.tables();
        let expiry = tables.find(table)?.expiry.as_ref();
        Ok(expiry.map(|expiry| expiry.attribute.clone()))
    }

    async fn tag_resource(&self, table: &TableName, tags: Tags) -> StoreResult<()> {
        let table = table.clone();
        self.write(TABLE_REQUEST_BYTES, move |batch| {
            batch.tag_resource(&table, tags)
        })
        .await
    }

    async fn untag_resource(&self, table: &TableName, keys: Vec<String>) -> StoreResult<()> {
        let table = table.clone();
        self.write(TABLE_REQUEST_BYTES, move |batch| {
            batch.untag_resource(&table, &keys)
        })
        .await
    }

    async fn list_tags_of_resource(&self, table: &TableName) -> StoreResult<Tags> {
        Ok(self.catalog.tables().find(table)?.tags.clone())
    }

    async fn list_streams(&self, request: ListStreams) -> StoreResult<StreamNames> {
        self.now().list_streams(&request)
    }

    async fn describe_stream(&self, request: DescribeStream) -> StoreResult<StreamDescription> {
        self.now().describe_stream(&request)
    }

    async fn get_shard_iterator(&self, request: GetShardIterator) -> StoreResult<ShardIterator> {
        let now_millis = self.clock.now_millis();
        self.now().shard_iterator(&request, now_millis)
    }

    async fn get_records(&self, request: GetRecords) -> StoreResult<Records> {
        let now_millis = self.clock.now_millis();
        self.read(move |moment| moment.records(&request, now_millis))
            .await
    }

    async fn get_item(&self, request: GetItem) -> StoreResult<Metered<Option<FoundItem>>> {
        let (look, table) = (self.frozen.look(), request.table.clone());
        let item = self.read_item(request)?;
        self.frozen.demand_open(look, &table)?;
        Ok(item)
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        let look = self.frozen.look();
        let tables = distinct(request.addresses.iter().map(|address| &address.table));
        let items = self.read_items(request).await?;
        for table in &tables {
            self.frozen.demand_open(look, table)?;
        }
        Ok(items)
    }

    async fn transact_get_items(
        &self,
        request: TransactGetItems,
    ) -> StoreResult<Metered<Vec<Option<FoundItem>>>> {
        let look = self.frozen.look();
        let tables = distinct(request.gets.iter().map(|(address, _)| &address.table));
        let items = if request.gets.len() <= KEYS_INLINE_MAX {
            here(|| reads::transaction(&request, &self.now()))?
        } else {
            self.read(move |moment| reads::transaction(&request, moment))
                .await?
        };
        for table in &tables {
            self.frozen.demand_open(look, table)?;
        }
        Ok(items)
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        let (look, table) = (self.frozen.look(), request.table.clone());
        let page = self.read_query(request).await?;
        self.frozen.demand_open(look, &table)?;
        Ok(page)
    }

    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>> {
        let (look, table) = (self.frozen.look(), request.table.clone());
        let page = self.read_scan(request).await?;
        self.frozen.demand_open(look, &table)?;
        Ok(page)
    }

    fn snapshot(&self) -> Option<Arc<dyn Snapshot>> {
        Some(Arc::new(self.kept_moment()))
    }

    fn commits(&self) -> Option<watch::Receiver<u64>> {
        Some(self.seen.subscribe())
    }

    async fn put_item(
        &self,
        request: PutItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.single(TransactAction::Put(request), returns).await
    }

    async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.single(TransactAction::Update(request), returns).await
    }

    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.single(TransactAction::Delete(request), returns).await
    }

    async fn batch_write_item(
        &self,
        request: BatchWriteItem,
    ) -> StoreResult<Metered<Vec<BatchWrite>>> {
        let bytes = weight::of_batch(&request);
        self.write(bytes, |batch| batch.batch_write(request)).await
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        let bytes = weight::of_transaction(&request);
        self.write(bytes, |batch| batch.transaction(request)).await
    }

    async fn transact_write_items_since(
        &self,
        moment: partita_store::Moment,
        request: TransactWriteItems,
    ) -> StoreResult<bool> {
        let bytes = weight::of_transaction(&request);
        self.write(bytes, move |batch| batch.transaction_since(moment, request))
            .await
    }
}

#[cfg(test)]
impl EngineStore {
    pub(crate) fn views(&self) -> &dyn Views {
        &*self.views
    }

    pub(crate) fn tending(&self) -> std::sync::MutexGuard<'_, Tending> {
        self.tending.lock().unwrap()
    }
}

#[cfg(test)]
mod tests;
