//! What waits to be sent to one reader: bounded, and nobody waits for room in it.

use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use partita_plan::feed::{FeedIds, FeedPosition};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, watch};

use super::budget::Charge;
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

struct Shared {
    /// What waits.
    waiting: Charge,
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
pub(super) fn outlet(
    bytes_max: usize,
    waiting: Charge,
    position: watch::Receiver<FeedPosition>,
) -> (Outlet, Inlet) {
    let (sender, receiver) = mpsc::channel(STEPS_MAX);
    let lost = OnceLock::new();
    let shared = Arc::new(Shared { waiting, lost });
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
        let waiting = &self.shared.waiting;
        // One step may be larger than the bound, if nothing else waits.
        if waiting.bytes() > 0 && waiting.bytes() + bytes > self.bytes_max {
            self.lose("the reader is too slow");
            return false;
        }
        if !waiting.add(bytes) {
            self.lose("too much waits for all readers together");
            return false;
        }
        if self.sender.try_send(events.into()).is_err() {
            self.lose("the reader is too slow");
            return false;
        }
        true
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
                self.shared.waiting.sub(events.len());
                Drained::Events(events)
            }
            None => self.ended(),
        }
    }

    fn ended(&self) -> Drained {
        match self.shared.lost.get() {
            Some(why) => Drained::Lost(why),
            None => Drained::Over,
        }
    }

    /// What is sent after a while without events: how far the feed has come.
    pub(super) fn silent(&mut self, ids: &FeedIds) -> Drained {
        match self.quiet() {
            Ok(position) => Drained::Silence(text::silence(&ids.id(&position)).into()),
            Err(drained) => drained,
        }
    }

    /// How far the feed has come, if nothing else is to be said.
    fn quiet(&mut self) -> Result<FeedPosition, Drained> {
        // INVARIANT: the hub says how far it has come after it has put the events up to there, or
        // has given the feed up. So the word is taken first: if nothing waits then, and the feed
        // goes on, everything up to it was sent.
        let position = self.position.borrow().clone();
        match self.receiver.try_recv() {
            Ok(events) => {
                self.shared.waiting.sub(events.len());
                Err(Drained::Events(events))
            }
            Err(TryRecvError::Disconnected) => Err(self.ended()),
            Err(TryRecvError::Empty) => match self.shared.lost.get() {
                Some(why) => Err(Drained::Lost(why)),
                None => Ok(position),
            },
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
    use super::super::budget::Budget;
    use super::*;

    fn both(bytes_max: usize, all_max: usize) -> (Outlet, Inlet) {
        let position = serde_json::from_str(r#"{"s":[],"t":0,"r":true}"#);
        let position = watch::Sender::new(position.expect("it is a position"));
        outlet(
            bytes_max,
            Budget::new(all_max).charge(),
            position.subscribe(),
        )
    }

    #[test]
    fn a_slow_reader_is_lost_and_nobody_waits() {
        let (outlet, mut inlet) = both(10, usize::MAX);
        // The first may be larger.
        assert!(outlet.put(vec![b'x'; 20]));
        assert!(!outlet.put(vec![b'x'; 1]));
        let lost = inlet.shared.lost.get();
        assert_eq!(lost, Some(&"the reader is too slow"));
        assert_eq!(inlet.receiver.try_recv().unwrap().len(), 20);
        assert!(inlet.receiver.try_recv().is_err());
    }

    #[test]
    fn what_waits_for_all_readers_is_bounded() {
        let (outlet, mut inlet) = both(100, 30);
        assert!(outlet.put(vec![b'x'; 20]));
        assert!(matches!(inlet.quiet(), Err(Drained::Events(_))));
        assert!(outlet.put(vec![b'x'; 20]));
        assert!(!outlet.put(vec![b'x'; 20]));
        let lost = inlet.shared.lost.get();
        assert_eq!(lost, Some(&"too much waits for all readers together"));
    }

    #[test]
    fn many_small_steps_are_too_many_as_well() {
        let (outlet, _inlet) = both(usize::MAX, usize::MAX);
        let taken = (0..=STEPS_MAX).take_while(|_| outlet.put(b"x".to_vec()));
        assert_eq!(taken.count(), STEPS_MAX);
    }

    /// A reader that is told how far a feed has come has been sent everything up to there.
    #[test]
    fn a_feed_that_was_given_up_gives_no_sign_of_life() {
        let (outlet, mut inlet) = both(10, usize::MAX);
        assert!(inlet.quiet().is_ok());
        outlet.lose("much has changed");
        assert!(matches!(inlet.quiet(), Err(Drained::Lost(_))));
        let (outlet, mut inlet) = both(10, usize::MAX);
        drop(outlet);
        assert!(matches!(inlet.quiet(), Err(Drained::Over)));
    }
}
