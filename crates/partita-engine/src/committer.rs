//! The one thread that writes.
//!
//! It takes every request that is waiting, carries them out one after the other in thought, and
//! puts what they come to into one commit. So concurrent writers share a sync, and transactions
//! are serializable because they really do happen one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use partita_core::Item;
use partita_store::{Clock, StoreError, StoreResult};
use tokio::sync::{mpsc, oneshot};

use crate::batch::{Batch, Outcome, Write};
use crate::storage::{Commits, StorageError, Views};
use crate::tables::Catalog;
use crate::tokens::Tokens;

/// Requests that may wait; the next caller waits for a place among them.
pub(crate) const WAITING_MAX: usize = 1_024;

/// Requests and bytes that share a commit. Beyond this a sync costs little per write, and those
/// that wait for it would wait longer than they gain.
const BATCH_WRITES_MAX: usize = 512;
const BATCH_BYTES_MAX: usize = 8 * 1_048_576;

/// What is sent to the committer.
#[derive(Debug)]
pub(crate) enum Message {
    /// A write, and where its answer goes.
    Write(Write, Reply),
    /// Take no more. The sender is dropped when everything before is done.
    Close(oneshot::Sender<()>),
}

/// What the committer works with.
pub(crate) struct Committer {
    pub(crate) views: Arc<dyn Views>,
    pub(crate) commits: Box<dyn Commits>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) tokens: Tokens,
    pub(crate) clock: Arc<dyn Clock>,
    /// How many commits there were.
    pub(crate) count: Arc<AtomicU64>,
    /// Why no further commit is made.
    pub(crate) failure: Option<String>,
}

impl Committer {
    /// Starts the thread. It ends when it is told to, or when nobody is left to tell it.
    pub(crate) fn start(
        self,
        messages: mpsc::Receiver<Message>,
    ) -> std::io::Result<JoinHandle<()>> {
        let mut waiting = Waiting {
            messages,
            closing: Vec::new(),
        };
        let mut committer = self;
        thread::Builder::new()
            .name("partita-committer".to_owned())
            .spawn(move || {
                while let Some(first) = waiting.next() {
                    committer.turn(first, &mut waiting);
                }
            })
    }

    /// One batch, from the requests to the answers.
    fn turn(&mut self, first: Request, waiting: &mut Waiting) {
        let (answers, outcome) = self.gather(first, waiting);
        // INVARIANT: nobody is answered before the commit. An answer of any kind, a refusal
        // too, may tell of a write of the same batch, and that must not be lost any more.
        let committed = self.commit(outcome);
        for (reply, answer) in answers {
            // Whoever asked may have gone; the write stands all the same.
            let _ = reply.send(settle(answer, &committed));
        }
    }

    fn gather(&self, first: Request, waiting: &mut Waiting) -> (Vec<Answer>, Outcome) {
        let now_millis = self.clock.now_millis();
        let mut batch = Batch::new(&self.catalog, &self.tokens, self.views.view(), now_millis);
        let mut answers = Vec::new();
        let mut next = Some(first);
        while let Some((write, reply)) = next {
            answers.push((reply, batch.take(write)));
            let has_room = answers.len() < BATCH_WRITES_MAX && batch.bytes() < BATCH_BYTES_MAX;
            next = if has_room { waiting.try_next() } else { None };
        }
        (answers, batch.finish())
    }

    fn commit(&mut self, outcome: Outcome) -> Result<(), Failure> {
        if let Some(cause) = &self.failure {
            return Err(Failure::Before(cause.clone()));
        }
        if outcome.edits.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.commits.commit(outcome.edits) {
            return Err(Failure::Now(self.fail(&error)));
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        self.catalog.add(outcome.new_tables);
        for token in &outcome.expired_tokens {
            self.tokens.remove(token);
        }
        for (token, remembered) in outcome.new_tokens {
            self.tokens.add(token, remembered);
        }
        Ok(())
    }

    /// Remembers the failure for good. A sync that is tried again may well succeed without
    /// having written what the first one lost, so only a reopened store, which reads what is
    /// really there, writes again.
    fn fail(&mut self, error: &StorageError) -> String {
        let cause = format!("a commit failed ({error}); reopen the store to write again");
        tracing::error!("{cause}");
        self.failure = Some(cause.clone());
        cause
    }
}

type Reply = oneshot::Sender<StoreResult<Option<Item>>>;
type Request = (Write, Reply);
type Answer = (Reply, StoreResult<Option<Item>>);

/// The requests that are waiting.
struct Waiting {
    messages: mpsc::Receiver<Message>,
    closing: Vec<oneshot::Sender<()>>,
}

impl Waiting {
    /// The next request, as soon as there is one; none when there will be no more.
    fn next(&mut self) -> Option<Request> {
        loop {
            match self.messages.blocking_recv()? {
                Message::Write(write, reply) => return Some((write, reply)),
                Message::Close(done) => self.close(done),
            }
        }
    }

    /// The next request, if it is there already.
    fn try_next(&mut self) -> Option<Request> {
        loop {
            match self.messages.try_recv().ok()? {
                Message::Write(write, reply) => return Some((write, reply)),
                Message::Close(done) => self.close(done),
            }
        }
    }

    fn close(&mut self, done: oneshot::Sender<()>) {
        // What was accepted before is still handed out.
        self.messages.close();
        self.closing.push(done);
    }
}

/// When a commit failed.
enum Failure {
    Before(String),
    Now(String),
}

/// What a caller learns, now that it is known what became of the commit.
fn settle(
    answer: StoreResult<Option<Item>>,
    committed: &Result<(), Failure>,
) -> StoreResult<Option<Item>> {
    match (committed, answer) {
        (Ok(()), answer) => answer,
        (Err(Failure::Now(message)), Ok(_)) => Err(StoreError::OutcomeUnknown {
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
