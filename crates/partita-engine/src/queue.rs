//! The way to the committer: a queue that is bounded by requests and by bytes.

use std::sync::Arc;

use partita_store::{StoreError, StoreResult};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use crate::batch::Batch;
use crate::committer::{Committed, settle};

/// Requests that may wait, and their bytes; the next caller waits for a place among them.
const WAITING_MAX: usize = 1_024;
const WAITING_BYTES_MAX: u32 = 64 * 1_048_576;

/// What is sent to the committer.
pub(crate) enum Message {
    /// A write.
    Write(QueuedWrite),
    /// Put on disk what is not there yet.
    Sync,
    /// Take no more. The sender is dropped when everything before is done.
    Close(oneshot::Sender<()>),
}

/// A write that is waiting.
pub(crate) struct QueuedWrite {
    work: PendingWork,
    /// Its share of the queue's bytes. It is held until the answer is sent, because so long
    /// the bytes are in memory.
    room: OwnedSemaphorePermit,
}

/// Carries a write out in thought, and says how to answer it.
type PendingWork = Box<dyn FnOnce(&mut Batch<'_>) -> Settle + Send>;

/// Answers a write, now that it is known what became of the commit.
pub(crate) type Settle = Box<dyn FnOnce(&Committed) + Send>;

impl QueuedWrite {
    pub(crate) fn carry_out(self, batch: &mut Batch<'_>) -> Settle {
        let settle = (self.work)(batch);
        let room = self.room;
        Box::new(move |committed| {
            settle(committed);
            drop(room);
        })
    }
}

/// The end of the queue that callers have.
#[derive(Clone)]
pub(crate) struct Queue {
    messages: mpsc::Sender<Message>,
    room: Arc<Semaphore>,
}

/// A queue that does not keep the committer waiting for more.
pub(crate) struct WeakQueue {
    messages: mpsc::WeakSender<Message>,
    room: Arc<Semaphore>,
}

impl Queue {
    pub(crate) fn new() -> (Queue, mpsc::Receiver<Message>) {
        let (messages, waiting) = mpsc::channel(WAITING_MAX);
        let room = Arc::new(Semaphore::new(WAITING_BYTES_MAX as usize));
        (Queue { messages, room }, waiting)
    }

    /// Has a write carried out, of about so many bytes, and answers when it is on disk.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce(&mut Batch<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        // One that is larger than the queue waits until it is alone.
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let room = self
            .room
            .clone()
            .acquire_many_owned(bytes.clamp(1, WAITING_BYTES_MAX));
        let room = room.await.map_err(|_| closed())?;
        let (reply, answer) = oneshot::channel();
        let work: PendingWork = Box::new(move |batch| {
            let answer = work(batch);
            // The caller may have gone; the write is carried out all the same.
            Box::new(move |committed| drop(reply.send(settle(answer, committed))))
        });
        let message = Message::Write(QueuedWrite { work, room });
        self.messages.send(message).await.map_err(|_| closed())?;
        answer.await.unwrap_or_else(|_| {
            Err(StoreError::OutcomeUnknown {
                message: "the committer stopped before it could answer".to_owned(),
            })
        })
    }

    /// Has everything put on disk that is in front of this in the queue.
    pub(crate) fn ask_for_sync(&self) {
        // A committer that has ended has synced.
        let _ = self.messages.blocking_send(Message::Sync);
    }

    /// Takes no more writes, and returns when those that were accepted are on disk.
    pub(crate) async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.messages.send(Message::Close(done)).await.is_ok() {
            // The committer drops its end when it is done.
            let _ = closed.await;
        }
    }

    /// Has the committer see to the disk, if it has time to.
    pub(crate) fn nudge(&self) {
        let _ = self.messages.try_send(Message::Sync);
    }

    /// How many requests there are that the committer has not taken yet.
    pub(crate) fn waiting(&self) -> usize {
        self.messages.max_capacity() - self.messages.capacity()
    }

    pub(crate) fn downgrade(&self) -> WeakQueue {
        WeakQueue {
            messages: self.messages.downgrade(),
            room: self.room.clone(),
        }
    }
}

impl WeakQueue {
    /// Whether the committer has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.messages
            .upgrade()
            .is_none_or(|messages| messages.is_closed())
    }

    /// The queue, unless everybody else has left it.
    pub(crate) fn upgrade(&self) -> Option<Queue> {
        Some(Queue {
            messages: self.messages.upgrade()?,
            room: self.room.clone(),
        })
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable {
        message: "the store is closed".to_owned(),
    }
}

/// What the committer does next.
pub(crate) enum Turn {
    /// Commits this write, and others with it.
    Write(QueuedWrite),
    /// Puts on disk what is not there yet.
    Sync,
}

/// The end of the queue that the committer has.
pub(crate) struct Waiting {
    messages: mpsc::Receiver<Message>,
    closing: Vec<oneshot::Sender<()>>,
    is_sync_due: bool,
}

impl Waiting {
    pub(crate) fn new(messages: mpsc::Receiver<Message>) -> Self {
        Waiting {
            messages,
            closing: Vec::new(),
            is_sync_due: false,
        }
    }

    /// The next turn, as soon as there is one; none when there will be no more.
    pub(crate) fn next(&mut self) -> Option<Turn> {
        loop {
            if std::mem::take(&mut self.is_sync_due) {
                return Some(Turn::Sync);
            }
            match self.messages.blocking_recv()? {
                Message::Write(request) => return Some(Turn::Write(request)),
                Message::Sync => self.is_sync_due = true,
                Message::Close(done) => self.close(done),
            }
        }
    }

    /// The next request, if it is there already.
    pub(crate) fn try_next(&mut self) -> Option<QueuedWrite> {
        loop {
            match self.messages.try_recv().ok()? {
                Message::Write(request) => return Some(request),
                Message::Sync => self.is_sync_due = true,
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

#[cfg(test)]
mod tests;
