//! What is held in memory for requests: bodies, answers while they are made and until they are sent,
//! and work that takes long.
//!
//! Bodies are held in memory until their requests are answered. So there is a bound for all of them
//! together, and a smaller one for those of callers who are not known (yet): requests without token
//! and credentials cannot take the room of the others.

pub(crate) mod answers;
mod making;

use std::error::Error;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Bytes;
use hyper::body::Body;
use partita_plan::load::{self, can_block};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::block_in_place;
use tokio::time::timeout;

use crate::shares::Shares;

/// Bytes of all bodies at a time, of callers who are known, unless somebody has said how many.
pub const KNOWN_BYTES_DEFAULT: usize = 256 * 1_048_576;

/// The part of that which callers who are not known have beside it.
const UNKNOWN_SHARE: usize = 4;

/// Larger bodies are worked on outside the threads of the connections.
pub const LONG_BYTES: usize = 64 * 1024;

/// Requests with such bodies that are worked on at a time. Further ones wait.
const LONG_MAX: usize = 32;

/// Requests that read very much, of which so many are worked on at a time: one for as many bytes of
/// bodies, within bounds.
const HEAVY_BYTES: usize = 64 * 1_048_576;
const HEAVY_MIN: usize = 2;
const HEAVY_MAX: usize = 8;

/// The part of the bytes of all answers that one caller or address may leave unread.
const ANSWERS_SHARE: usize = 8;

/// The part of the memory for answers that are made which one caller or address may take at a time.
const MAKING_SHARE: usize = 4;

/// How long the body of a refused request is read, so that its sender is still there for the
/// answer.
const DRAINED_TIME_MAX: Duration = Duration::from_secs(5);

/// The bounds of what is held in memory.
#[derive(Debug)]
pub struct Intake {
    known: Arc<Budget>,
    unknown: Arc<Budget>,
    long: Semaphore,
    heavy: Arc<Semaphore>,
    answers: Arc<Shares>,
    answers_to_unknown: Arc<Shares>,
    making: Arc<Shares>,
    making_for_unknown: Arc<Shares>,
    making_wait: Duration,
}

/// Whether somebody is known by what the head of a request brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// By a token or a signature.
    Known,
    /// Not, or not yet.
    Unknown,
}

/// How much of a body is read, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimits {
    /// Bytes.
    pub bytes: usize,
    /// For all of them, however they trickle in.
    pub time: Duration,
}

/// Why a body is not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It has more bytes than it may have.
    TooLarge,
    /// It does not come in time.
    TooSlow,
    /// It breaks off, or its parts are not those of HTTP.
    Malformed,
    /// Others have taken the room there is.
    NoRoom,
}

/// A body that was read. Its bytes count until it is dropped.
#[derive(Debug)]
pub struct Received {
    /// The body.
    pub bytes: Bytes,
    hold: Hold,
}

impl Default for Intake {
    fn default() -> Self {
        Intake::new(KNOWN_BYTES_DEFAULT)
    }
}

impl Intake {
    /// Room for so many bytes of callers who are known, and for a part of that beside it.
    pub fn new(known_bytes: usize) -> Self {
        let unknown_bytes = known_bytes / UNKNOWN_SHARE;
        Intake {
            known: Arc::new(Budget::new(known_bytes)),
            unknown: Arc::new(Budget::new(unknown_bytes)),
            long: Semaphore::new(LONG_MAX),
            heavy: Arc::new(Semaphore::new(
                (known_bytes / HEAVY_BYTES).clamp(HEAVY_MIN, HEAVY_MAX),
            )),
            answers: Shares::new(known_bytes, known_bytes / ANSWERS_SHARE),
            answers_to_unknown: Shares::new(unknown_bytes, unknown_bytes / ANSWERS_SHARE),
            making: Shares::new(known_bytes, known_bytes / MAKING_SHARE),
            making_for_unknown: Shares::new(unknown_bytes, unknown_bytes / MAKING_SHARE),
            making_wait: making::WAIT_MAX,
        }
    }

    /// Whether those who are not known have taken half of their room.
    pub fn is_short(&self) -> bool {
        self.unknown.left.load(Ordering::Relaxed) < self.unknown.bytes / 2
    }

    /// Reads a body, as far as there is room for it.
    pub async fn read<B>(
        &self,
        sender: Sender,
        limits: BodyLimits,
        body: B,
    ) -> Result<Received, Unread>
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>>,
    {
        let expected = body.size_hint().lower();
        if expected > limits.bytes as u64 {
            return Err(Unread::TooLarge);
        }
        let hold = Hold::new(self.budget(sender));
        let read = timeout(limits.time, collect(body, limits.bytes, hold)).await;
        read.unwrap_or(Err(Unread::TooSlow))
    }

    /// Counts bytes that are held for a sender while they pass through.
    pub fn hold(&self, sender: Sender, bytes: usize) -> Result<Hold, Unread> {
        let mut hold = Hold::new(self.budget(sender));
        hold.take(bytes)?;
        Ok(hold)
    }

    fn budget(&self, sender: Sender) -> &Arc<Budget> {
        match sender {
            Sender::Known => &self.known,
            Sender::Unknown => &self.unknown,
        }
    }

    /// Carries a request out, one with a large body or one that reads much where it keeps no other
    /// request waiting. The memory that it reads into is not counted.
    pub async fn carry_out<T>(&self, body_bytes: usize, work: impl Future<Output = T>) -> T {
        let is_long = body_bytes > LONG_BYTES;
        let _place = self.long_place(is_long).await;
        let done = load::carry_out(self.heavy.clone(), None, is_long, work).await;
        done.expect("work without an allowance takes what it needs")
    }

    async fn long_place(&self, is_long: bool) -> Option<SemaphorePermit<'_>> {
        if is_long {
            self.long.acquire().await.ok()
        } else {
            None
        }
    }
}

/// Does what takes as long as there are bytes, and keeps no request waiting for many.
pub fn work_on<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes <= LONG_BYTES || !can_block() {
        return work();
    }
    block_in_place(work)
}

impl Received {
    /// Nothing.
    pub(crate) fn none() -> Self {
        Received {
            bytes: Bytes::new(),
            hold: Hold::default(),
        }
    }

    /// Counts further bytes that the body unfolds to, if there is room for them.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Unread> {
        self.hold.take(bytes)
    }
}

/// Reads and drops what is left of a body, for a moment and up to some bytes: a client that is
/// still sending would not read an answer.
pub async fn drain<B: Body<Data = Bytes>>(body: B, bytes_max: usize) {
    if body.is_end_stream() {
        return;
    }
    let drained = async {
        let mut body = pin!(body);
        let mut bytes = 0;
        while let Some(Ok(chunk)) = next(body.as_mut()).await {
            bytes += chunk.len();
            if bytes > bytes_max {
                break;
            }
        }
    };
    // Whether it ends in time matters only to the client.
    let _ = timeout(DRAINED_TIME_MAX, drained).await;
}

async fn collect<B>(body: B, bytes_max: usize, mut hold: Hold) -> Result<Received, Unread>
where
    B: Body<Data = Bytes>,
{
    let mut body = pin!(body);
    let mut whole = Whole::Nothing;
    while let Some(chunk) = next(body.as_mut()).await {
        let chunk = chunk.map_err(|_| Unread::Malformed)?;
        if whole.len() + chunk.len() > bytes_max {
            return Err(Unread::TooLarge);
        }
        hold.take(chunk.len())?;
        whole.push(chunk);
    }
    let bytes = whole.into_bytes();
    Ok(Received { bytes, hold })
}

/// The next bytes of a body; trailers are no business of ours.
async fn next<B: Body<Data = Bytes>>(mut body: Pin<&mut B>) -> Option<Result<Bytes, B::Error>> {
    loop {
        let frame = std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await?;
        match frame.map(hyper::body::Frame::into_data) {
            Ok(Ok(chunk)) => return Some(Ok(chunk)),
            Ok(Err(_)) => {}
            Err(error) => return Some(Err(error)),
        }
    }
}

/// The bytes so far. Most bodies come in one piece, which need not be copied.
enum Whole {
    Nothing,
    Piece(Bytes),
    Pieces(Vec<u8>),
}

impl Whole {
    fn len(&self) -> usize {
        match self {
            Whole::Nothing => 0,
            Whole::Piece(piece) => piece.len(),
            Whole::Pieces(pieces) => pieces.len(),
        }
    }

    fn push(&mut self, chunk: Bytes) {
        match self {
            Whole::Nothing => *self = Whole::Piece(chunk),
            Whole::Piece(piece) => *self = Whole::Pieces([&**piece, &*chunk].concat()),
            Whole::Pieces(pieces) => pieces.extend_from_slice(&chunk),
        }
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Whole::Nothing => Bytes::new(),
            Whole::Piece(piece) => piece,
            Whole::Pieces(pieces) => pieces.into(),
        }
    }
}

/// Bytes that may be held at a time.
#[derive(Debug)]
struct Budget {
    bytes: usize,
    left: AtomicUsize,
}

impl Budget {
    fn new(bytes: usize) -> Self {
        Budget {
            bytes,
            left: AtomicUsize::new(bytes),
        }
    }
}

/// Bytes that somebody holds. They are free again when this is dropped.
#[derive(Debug, Default)]
pub struct Hold {
    budget: Option<Arc<Budget>>,
    bytes: usize,
}

impl Hold {
    fn new(budget: &Arc<Budget>) -> Self {
        Hold {
            budget: Some(budget.clone()),
            bytes: 0,
        }
    }

    fn take(&mut self, bytes: usize) -> Result<(), Unread> {
        let Some(budget) = &self.budget else {
            return Ok(());
        };
        let less = |left: usize| left.checked_sub(bytes);
        let taken = budget
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        taken.map_err(|_| Unread::NoRoom)?;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(budget) = &self.budget {
            budget.left.fetch_add(self.bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
