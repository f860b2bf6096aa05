//! What waits to be sent to one reader: bounded, and nobody waits for room in it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use partita_plan::feed::{FeedIds, FeedPosition};
use tokio::sync::{mpsc, watch};

use super::hub::Leaving;
use super::text;
use crate::shares::HeldShare;

/// Steps that wait for one reader.
const STEPS_MAX: usize = 256;

/// Where the hub puts events.
pub(super) struct Outlet {
    sender: mpsc::Sender<Bytes>,
    shared: Arc<Shared>,
    bytes_max: usize,
}

/// Where the connection takes them from.
pub(super) struct Inlet {
    receiver: mpsc::Receiver<Bytes>,
    shared: Arc<Shared>,
    /// Where the feed is when nothing waits.
    position: watch::Receiver<FeedPosition>,
    /// What is being sent.
    held: Option<HeldShare>,
    /// Says so when the connection is closed.
    leaving: Option<Leaving>,
}

#[derive(Default)]
struct Shared {
    bytes: AtomicUsize,
    lost: OnceLock<&'static str>,
}

/// What there is to send.
pub(super) enum Drained {
    Events(Bytes),
    /// A sign of life.
    Silence(Bytes),
    /// The reader has to begin again.
    Lost(&'static str),
    /// The feed has ended.
    Over,
}

/// Both ends. The hub says how far it has come in `position`.
pub(super) fn outlet(bytes_max: usize, position: watch::Receiver<FeedPosition>) -> (Outlet, Inlet) {
    let (sender, receiver) = mpsc::channel(STEPS_MAX);
    let shared = Arc::new(Shared::default());
    let outlet = Outlet {
        sender,
        shared: shared.clone(),
        bytes_max,
    };
    let inlet = Inlet {
        receiver,
        shared,
        position,
        held: None,
        leaving: None,
    };
    (outlet, inlet)
}

impl Outlet {
    /// Adds events; false if the reader is gone or too slow.
    pub(super) fn put(&self, events: Vec<u8>) -> bool {
        let bytes = events.len();
        let waiting = self.shared.bytes.fetch_add(bytes, Ordering::Relaxed);
        // One step may be larger than the bound, if nothing else waits.
        let has_room = waiting == 0 || waiting + bytes <= self.bytes_max;
        if has_room && self.sender.try_send(events.into()).is_ok() {
            return true;
        }
        self.lose("the reader is too slow");
        false
    }

    /// Has the reader begin again.
    pub(super) fn lose(&self, why: &'static str) {
        let _ = self.shared.lost.set(why);
    }

    /// Whether nobody reads any more.
    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }
}

impl Inlet {
    /// The next events, or the end.
    pub(super) async fn next(&mut self) -> Drained {
        if let Some(why) = self.shared.lost.get() {
            return Drained::Lost(why);
        }
        match self.receiver.recv().await {
            Some(events) => {
                self.shared.bytes.fetch_sub(events.len(), Ordering::Relaxed);
                Drained::Events(events)
            }
            None => match self.shared.lost.get() {
                Some(why) => Drained::Lost(why),
                None => Drained::Over,
            },
        }
    }

    /// What is sent after a while without events: how far the feed has come.
    pub(super) fn silent(&mut self, ids: &FeedIds) -> Drained {
        // INVARIANT: the hub says how far it has come after it has put the events up to there. So
        // the word is taken first: if nothing waits then, everything up to it was sent.
        let position = self.position.borrow().clone();
        match self.receiver.try_recv() {
            Ok(events) => {
                self.shared.bytes.fetch_sub(events.len(), Ordering::Relaxed);
                Drained::Events(events)
            }
            Err(_) => Drained::Silence(text::silence(&ids.id(&position)).into()),
        }
    }

    pub(super) fn leaving(&mut self, leaving: Leaving) {
        self.leaving = Some(leaving);
    }

    pub(super) fn hold(&mut self, share: HeldShare) {
        self.held = Some(share);
    }

    pub(super) fn release(&mut self) {
        self.held = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(bytes_max: usize) -> (Outlet, mpsc::Receiver<Bytes>, Arc<Shared>) {
        let (sender, receiver) = mpsc::channel(STEPS_MAX);
        let shared = Arc::new(Shared::default());
        let outlet = Outlet {
            sender,
            shared: shared.clone(),
            bytes_max,
        };
        (outlet, receiver, shared)
    }

    #[test]
    fn a_slow_reader_is_lost_and_nobody_waits() {
        let (outlet, mut receiver, shared) = both(10);
        // The first may be larger.
        assert!(outlet.put(vec![b'x'; 20]));
        assert!(!outlet.put(vec![b'x'; 1]));
        assert_eq!(shared.lost.get(), Some(&"the reader is too slow"));
        assert_eq!(receiver.try_recv().unwrap().len(), 20);
        assert!(receiver.try_recv().is_err());
    }

    #[test]
    fn many_small_steps_are_too_many_as_well() {
        let (outlet, _receiver, _) = both(usize::MAX);
        let taken = (0..=STEPS_MAX).take_while(|_| outlet.put(b"x".to_vec()));
        assert_eq!(taken.count(), STEPS_MAX);
    }
}
