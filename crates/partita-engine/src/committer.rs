//! The one thread that writes.
//!
//! It takes every request that is waiting, carries them out one after the other in thought, and
//! puts what they come to into one commit. So concurrent writers share a sync, and transactions
//! are serializable because they really do happen one after the other.

use std::sync::Arc;
use std::sync::mpsc as std_mpsc;
use std::thread::{self, JoinHandle};

use partita_store::{Clock, StoreError, StoreResult};
use tokio::sync::{mpsc, watch};

use crate::batch::{Batch, BatchOutcome};
use crate::expiry::Earliest;
use crate::frozen::Frozen;
use crate::keys;
use crate::meters::{self, CommitMeters};
use crate::queue::{Message, QueuedWrite, Settle, Turn, Waiting};
use crate::replaced::Replaced;
use crate::storage::{Commits, Edit, StorageError, Views};
use crate::tables::Catalog;
use crate::tokens::Tokens;
use crate::trust::Trust;

/// Requests and bytes that share a commit. Beyond this a sync costs little per write, and those
/// that wait for it would wait longer than they gain.
const BATCH_WRITES_MAX: usize = 512;
const BATCH_BYTES_MAX: usize = 8 * 1_048_576;
/// Bytes of memory that the items of a commit may take. One that counts 400 KB can take 40 times as
/// much, and a write of a few bytes needs the whole item that it changes.
const BATCH_MEMORY_MAX: usize = 64 * 1_048_576;

/// Room that is left free on the disk, for the storage to put in order what it has: as much as
/// four memtables and a new journal take.
///
/// A commit that meets a full disk leaves a storage that writes no more until it is reopened. So
/// writes are refused before that, and are taken again as soon as there is room.
const ROOM_BYTES_MIN: u64 = 320 * 1_048_576;

/// What the committer works with.
pub(crate) struct Committer {
    pub(crate) views: Arc<dyn Views>,
    pub(crate) commits: Box<dyn Commits>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) tokens: Tokens,
    pub(crate) replaced: Replaced,
    pub(crate) frozen: Arc<Frozen>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) meters: Arc<CommitMeters>,
    /// Hears when there may be something to tend.
    pub(crate) news: std_mpsc::Sender<()>,
    pub(crate) earliest: Arc<Earliest>,
    pub(crate) trust: Arc<Trust>,
    /// Hears of the first commit after a sync, unless each is synced.
    pub(crate) committed: Option<std_mpsc::Sender<()>>,
    /// Changes when readers can see another commit.
    pub(crate) seen: watch::Sender<u64>,
    /// Whether something was committed since the last sync.
    pub(crate) is_dirty: bool,
    /// Whether there was no room for the last commit.
    pub(crate) is_full: bool,
    /// Why no further commit is made.
    pub(crate) failure: Option<String>,
}

impl Committer {
    /// Starts the thread. It ends on request, or when the last sender is dropped.
    pub(crate) fn start(
        self,
        messages: mpsc::Receiver<Message>,
    ) -> std::io::Result<JoinHandle<()>> {
        let mut waiting = Waiting::new(messages);
        let mut committer = self;
        thread::Builder::new()
            .name("partita-committer".to_owned())
            .spawn(move || {
                let _noticed = Noticed(committer.meters.clone());
                while let Some(turn) = waiting.next() {
                    match turn {
                        Turn::Write(first) => committer.turn(first, &mut waiting),
                        Turn::Sync => committer.sync(),
                    }
                }
                committer.seal();
            })
    }

    /// One batch, from the requests to the answers.
    fn turn(&mut self, first: QueuedWrite, waiting: &mut Waiting) {
        let (answers, outcome) = self.gather(first, waiting);
        // INVARIANT: no request is answered before the commit. Even a refusal can reveal a write
        // of the same batch, and that write must not be lost afterwards.
        let committed = outcome.map_err(Failure::Refused);
        let committed = committed.and_then(|outcome| self.commit(outcome, answers.len()));
        for settle in answers {
            settle(&committed);
        }
    }

    fn gather(
        &self,
        first: QueuedWrite,
        waiting: &mut Waiting,
    ) -> (Vec<Settle>, StoreResult<BatchOutcome>) {
        let (tables, view) = (self.catalog.tables(), self.views.view());
        let (tokens, replaced) = (&self.tokens, &self.replaced);
        let batch = Batch::new(tables, tokens, replaced, view, self.clock.now_millis());
        let mut batch = batch.without(self.frozen.now());
        let mut answers = Vec::new();
        let mut next = Some(first);
        while let Some(request) = next {
            answers.push(request.carry_out(&mut batch));
            let has_room = answers.len() < BATCH_WRITES_MAX
                && batch.bytes() < BATCH_BYTES_MAX
                && batch.memory() < BATCH_MEMORY_MAX;
            next = if has_room { waiting.try_next() } else { None };
        }
        (answers, batch.finish())
    }

    fn commit(&mut self, outcome: BatchOutcome, writes: usize) -> Committed {
        if let Some(cause) = &self.failure {
            return Err(Failure::Before(cause.clone()));
        }
        if outcome.edits.is_empty() {
            // An item that was removed and created again as it was is another one all the same.
            self.replaced.note(&outcome.replaced, false);
            return Ok(());
        }
        if let Some(cause) = self.lack_of_room() {
            return Err(Failure::Full(cause));
        }
        let mut edits = outcome.edits;
        let now_millis = self.clock.now_millis();
        let noted = self.trust.due(now_millis);
        edits.extend(noted.map(|millis| time(keys::LAST_TIME, millis)));
        let (bytes, begun) = (meters::bytes(&edits), self.clock.now_micros());
        if let Err(error) = self.commits.commit(edits, now_millis) {
            return Err(Failure::Now(self.fail(&error)));
        }
        if let Some(millis) = noted {
            self.trust.note(millis);
        }
        let micros = self.clock.now_micros().saturating_sub(begun);
        self.meters.commit(writes, bytes, micros);
        if !self.is_dirty {
            self.is_dirty = true;
            // Without anybody to hear it, each commit is synced.
            let _ = self.committed.as_ref().map(|committed| committed.send(()));
        }
        let has_news = outcome.has_dropped || outcome.tables.is_some();
        if let Some(tables) = outcome.tables {
            self.catalog.replace(tables);
        }
        // A moment that names this commit has a view and a catalog that know it.
        self.replaced.note(&outcome.replaced, outcome.has_dropped);
        for (id, seconds) in outcome.expiring {
            self.earliest.put(id, seconds);
        }
        self.seen.send_modify(|count| *count += 1);
        // INVARIANT: the rows of a deleted table are touched only after the catalog has lost
        // it: by a later commit. A reader that finds the table reads a view in which all of its
        // rows are.
        if has_news {
            // A store that is being closed has no tending thread; the next one continues.
            let _ = self.news.send(());
        }
        for token in &outcome.expired_tokens {
            self.tokens.remove(token);
        }
        for (token, remembered) in outcome.new_tokens {
            self.tokens.add(&token, remembered);
        }
        Ok(())
    }

    /// Why there is no room for another commit, if there is none.
    fn lack_of_room(&mut self) -> Option<String> {
        let free_bytes = self.commits.free_bytes()?;
        let is_full = free_bytes < ROOM_BYTES_MIN;
        let cause = format!(
            "there are only {} MB left; writes are taken again when there are {}",
            free_bytes / 1_048_576,
            ROOM_BYTES_MIN / 1_048_576
        );
        match (self.is_full, is_full) {
            (false, true) => tracing::error!("the disk is full: {cause}"),
            (true, false) => tracing::warn!("the disk has room again, and writes are taken"),
            _ => {}
        }
        if self.is_full != is_full {
            self.meters
                .set_stopped(is_full.then(|| format!("the disk is full: {cause}")));
        }
        self.is_full = is_full;
        is_full.then_some(cause)
    }

    /// Puts on disk what is not there yet.
    fn sync(&mut self) {
        self.is_dirty = false;
        if self.is_full {
            // Without writes there is no commit that would notice that there is room again.
            self.lack_of_room();
        }
        if self.failure.is_none()
            && let Err(error) = self.commits.sync()
        {
            self.fail(&error);
        }
    }

    /// Remembers the failure for good. A sync that is tried again may well succeed without
    /// having written what the first one lost, so only a reopened store, which reads what is
    /// really there, writes again.
    fn fail(&mut self, error: &StorageError) -> String {
        let cause = format!("a commit failed ({error}); reopen the store to write again");
        tracing::error!("{cause}");
        self.meters.set_stopped(Some(cause.clone()));
        self.failure = Some(cause.clone());
        cause
    }

    /// Writes an empty commit last. Only at the end of a journal is damage indistinguishable from a
    /// write that a crash has cut short (see `storage::journal`), so acknowledged writes do not
    /// stay there longer than necessary.
    fn seal(&mut self) {
        if self.failure.is_some() {
            return;
        }
        let mut sealed = Ok(());
        if self.meters.commits() > 0 {
            let now_millis = self.clock.now_millis();
            let last = self.trust.last(now_millis);
            let edits = vec![time(keys::CLOSED, last)];
            sealed = self.commits.commit(edits, now_millis);
        }
        let synced = sealed.and_then(|()| self.commits.sync());
        if let Err(error) = synced.and_then(|()| self.commits.close()) {
            tracing::warn!("the store was not sealed: {error}");
        }
    }
}

/// Has it known if the thread ends by a panic: nothing is written any more, and health checks must
/// not say that all is well.
struct Noticed(Arc<CommitMeters>);

impl Drop for Noticed {
    fn drop(&mut self) {
        if thread::panicking() {
            let cause = "the thread that writes has panicked; restart the process to write again";
            tracing::error!("{cause}");
            self.0.set_stopped(Some(cause.to_owned()));
        }
    }
}

fn time(key: &[u8], millis: i64) -> Edit {
    Edit::Put(key.to_vec(), millis.to_be_bytes().to_vec())
}

/// What became of a commit.
pub(crate) type Committed = Result<(), Failure>;

/// Why there was no commit.
pub(crate) enum Failure {
    /// An earlier one has failed.
    Before(String),
    /// There is no room on the disk for this one.
    Full(String),
    /// This one has failed.
    Now(String),
    /// It could not be put together.
    Refused(StoreError),
}

/// The answer to a caller after the commit: a failed commit leaves the outcome of a write unknown.
pub(crate) fn settle<T>(answer: StoreResult<T>, committed: &Committed) -> StoreResult<T> {
    match (committed, answer) {
        (Ok(()), answer) => answer,
        (Err(Failure::Refused(error)), _) => Err(error.clone()),
        (Err(Failure::Now(message)), Ok(_)) => Err(StoreError::OutcomeUnknown {
            message: message.clone(),
        }),
        (Err(Failure::Full(message)), _) => Err(StoreError::DiskFull {
            message: message.clone(),
        }),
        // A refused write has changed nothing, but the reason may lie in one that is lost.
        (Err(Failure::Now(message) | Failure::Before(message)), _) => {
            Err(StoreError::Unavailable {
                message: message.clone(),
            })
        }
    }
}
