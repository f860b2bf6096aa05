//! Answers, counted while they are made.
//!
//! What is read for an answer is in memory several times before a byte of it is sent. So requests
//! that read much take from a bound for all of them, and from a part of it for each caller. Where
//! there is no room a request gives up what it has read, waits, and is carried out again.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use partita_plan::load::{self, Allowance};

use super::answers::Reader;
use super::{Intake, LONG_BYTES, Sender};
use crate::shares::{HeldShare, Shares, Short};

/// How long a request waits for room.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(10);

/// What an answer that was made still takes, until it is counted as one that is sent.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    _share: Arc<HeldShare>,
}

/// What one request has taken.
struct Making {
    shares: Arc<Shares>,
    holder: String,
    held: Mutex<Option<HeldShare>>,
}

impl Making {
    fn replace(&self, held: Option<HeldShare>) -> Option<HeldShare> {
        let mut place = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut place, held)
    }
}

impl Allowance for Making {
    fn raise(&self, bytes: usize, must_go_on: bool) -> bool {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = &mut *held {
            return held.raise(bytes, must_go_on).is_ok();
        }
        let taken = if must_go_on {
            Ok(self.shares.take_anyway(&self.holder, bytes))
        } else {
            self.shares.take(&self.holder, bytes)
        };
        *held = taken.ok();
        held.is_some()
    }
}

impl Intake {
    /// Carries out what answers a reader: at once, or again when there is room for what it reads.
    pub(crate) async fn make<T, F>(
        &self,
        reader: &Reader,
        body_bytes: usize,
        work: impl Fn() -> F,
    ) -> Result<(T, Option<Made>), Short>
    where
        F: Future<Output = T>,
    {
        let shares = match reader.sender() {
            Sender::Known => &self.making,
            Sender::Unknown => &self.making_for_unknown,
        };
        let making = Arc::new(Making {
            shares: shares.clone(),
            holder: reader.holder().to_owned(),
            held: Mutex::default(),
        });
        let is_long = body_bytes > LONG_BYTES;
        let mut reserved = 0_usize;
        loop {
            let place = self.long_place(is_long).await;
            let work = load::carry_out(self.heavy.clone(), Some(making.clone()), is_long, work());
            let refused = match work.await {
                Ok(answer) => {
                    let share = making.replace(None).map(Arc::new);
                    return Ok((answer, share.map(|_share| Made { _share })));
                }
                Err(refused) => refused,
            };
            drop((place, making.replace(None)));
            // It asks for more with each read. Few attempts reach what it needs.
            reserved = refused.bytes.max(reserved.saturating_mul(2));
            let share = shares.take_within(self.making_wait, reader.holder(), reserved);
            making.replace(Some(share.await?));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::http::Extensions;
    use partita_plan::Caller;

    use super::*;

    #[tokio::test]
    async fn what_gets_no_room_is_carried_out_when_there_is() {
        let intake = Intake::new(400);
        let ann = Reader::new("stories", &Caller::user("ann"), &Extensions::new(), false);
        let held = intake.making.take("stories/ann", 100).unwrap();
        let attempts = AtomicUsize::new(0);
        let work = || async {
            attempts.fetch_add(1, Ordering::Relaxed);
            // More than a request reads without being asked how much.
            load::take(1_000_000).await;
        };
        let (made, ()) = tokio::join!(intake.make(&ann, 0, work), async { drop(held) });
        let ((), made) = made.unwrap();
        assert_eq!(attempts.load(Ordering::Relaxed), 2);
        // What is made counts until it is sent.
        assert_eq!(intake.making.demand("stories/ann"), Err(Short::Own));
        drop(made);
        assert_eq!(intake.making.demand("stories/ann"), Ok(()));
    }

    #[tokio::test]
    async fn who_waits_too_long_is_refused_and_who_reads_little_is_not() {
        let intake = Intake {
            making_wait: Duration::ZERO,
            ..Intake::new(400)
        };
        let nobody = Reader::new("stories", &Caller::anonymous(), &Extensions::new(), false);
        let _held = intake.making_for_unknown.take("other", 100).unwrap();
        let refused = intake.make(&nobody, 0, || load::take(1_000_000)).await;
        assert_eq!(refused.unwrap_err(), Short::All);
        let ((), made) = intake.make(&nobody, 0, || load::take(1_000)).await.unwrap();
        assert!(made.is_none());
    }
}
