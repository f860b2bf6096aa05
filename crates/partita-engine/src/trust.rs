//! Whether the clock is believed.
//!
//! A machine may start with a clock that is months ahead. Items that have expired by it are hidden
//! from readers as by any clock, and shown again when it is set right; but what is removed by it
//! is gone. So the time of a recent commit is stored, and after a start with a clock that is far
//! ahead of it nothing is removed by time, until the clock comes back, a day has passed, or the
//! operator has said that the clock is right. While the clock is in doubt no time is stored, so
//! that another start doubts it too.

use std::sync::{Mutex, MutexGuard, PoisonError};

const HOUR_MILLIS: i64 = 60 * 60 * 1000;

/// How far ahead of the last commit the clock of a start is believed.
const AHEAD_MILLIS_MAX: i64 = 24 * HOUR_MILLIS;

/// How long a clock that is in doubt is given to be set right.
const DOUBT_MILLIS: i64 = 24 * HOUR_MILLIS;

/// How old the stored time may become while there are commits.
const NOTE_MILLIS: i64 = HOUR_MILLIS / 6;

/// What is known of the clock.
#[derive(Debug)]
pub(crate) struct Trust(Mutex<State>);

#[derive(Debug)]
struct State {
    /// The last time that is stored.
    noted_millis: Option<i64>,
    /// Since when the clock is in doubt.
    doubted_millis: Option<i64>,
}

impl Trust {
    /// Compares the clock with the stored time. A clock that the operator has confirmed is not
    /// doubted.
    pub(crate) fn new(noted_millis: Option<i64>, now_millis: i64, is_confirmed: bool) -> Self {
        let is_ahead = noted_millis.is_some_and(|noted| is_far(noted, now_millis));
        Trust(Mutex::new(State {
            noted_millis,
            doubted_millis: (is_ahead && !is_confirmed).then_some(now_millis),
        }))
    }

    /// Says in the log that the clock is in doubt, if it is.
    pub(crate) fn warn(&self) {
        let state = self.state();
        if let (Some(noted), Some(doubted)) = (state.noted_millis, state.doubted_millis) {
            tracing::warn!(
                "the clock is {} hours ahead of the last write: in case it is wrong, expired \
                 items, old stream records and files that are due are kept for {} more hours; if \
                 it is right, start with --trust-clock to remove them now",
                doubted.saturating_sub(noted) / HOUR_MILLIS,
                DOUBT_MILLIS / HOUR_MILLIS
            );
        }
    }

    /// Whether nothing is to be removed by the clock.
    pub(crate) fn is_doubted(&self, now_millis: i64) -> bool {
        self.state().is_doubted(now_millis)
    }

    /// Ends the doubt, and says so in the log, if the clock is back or has had its day.
    pub(crate) fn review(&self, now_millis: i64) {
        let mut state = self.state();
        if state.doubted_millis.is_none() || state.is_doubted(now_millis) {
            return;
        }
        if state.is_back(now_millis) {
            tracing::info!("the clock is right again, and what expires is removed");
        } else {
            tracing::warn!("the clock was not set back for a day, and what has expired is removed");
        }
        state.doubted_millis = None;
    }

    /// The time that the next commit stores, if the stored one is old.
    pub(crate) fn due(&self, now_millis: i64) -> Option<i64> {
        let state = self.state();
        let is_old = |noted: i64| noted.abs_diff(now_millis) >= NOTE_MILLIS.unsigned_abs();
        let is_due = !state.is_doubted(now_millis) && state.noted_millis.is_none_or(is_old);
        is_due.then_some(now_millis)
    }

    /// A time is stored, which is only done while the clock is believed.
    pub(crate) fn note(&self, millis: i64) {
        *self.state() = State {
            noted_millis: Some(millis),
            doubted_millis: None,
        };
    }

    /// The time that is stored when the store is closed.
    pub(crate) fn last(&self, now_millis: i64) -> i64 {
        let state = self.state();
        let noted = state.noted_millis.filter(|_| state.is_doubted(now_millis));
        noted.unwrap_or(now_millis)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_doubted(&self, now_millis: i64) -> bool {
        let has_passed = |since: i64| now_millis.saturating_sub(since) >= DOUBT_MILLIS;
        self.doubted_millis.is_some_and(|since| !has_passed(since)) && !self.is_back(now_millis)
    }

    fn is_back(&self, now_millis: i64) -> bool {
        self.noted_millis
            .is_none_or(|noted| !is_far(noted, now_millis))
    }
}

fn is_far(noted: i64, now: i64) -> bool {
    now.saturating_sub(noted) > AHEAD_MILLIS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000_000;

    #[test]
    fn a_clock_that_is_far_ahead_is_doubted_for_a_day() {
        let trust = Trust::new(Some(NOW), NOW + 25 * HOUR_MILLIS, false);
        assert!(trust.is_doubted(NOW + 25 * HOUR_MILLIS));
        assert!(trust.is_doubted(NOW + 48 * HOUR_MILLIS));
        assert_eq!(trust.due(NOW + 48 * HOUR_MILLIS), None, "nothing is stored");
        assert_eq!(trust.last(NOW + 48 * HOUR_MILLIS), NOW);
        assert!(!trust.is_doubted(NOW + 49 * HOUR_MILLIS));
        let later = NOW + 49 * HOUR_MILLIS;
        assert_eq!((trust.due(later), trust.last(later)), (Some(later), later));
    }

    #[test]
    fn a_clock_that_is_set_back_is_believed() {
        let trust = Trust::new(Some(NOW), NOW + 1000 * HOUR_MILLIS, false);
        assert!(trust.is_doubted(NOW + 1000 * HOUR_MILLIS));
        assert!(!trust.is_doubted(NOW + HOUR_MILLIS));
        trust.review(NOW + HOUR_MILLIS);
        assert!(
            !trust.is_doubted(NOW + 30 * HOUR_MILLIS),
            "a time without writes"
        );
    }

    #[test]
    fn a_clock_is_believed_near_the_last_commit_or_if_the_operator_says_so() {
        assert!(!Trust::new(None, NOW, false).is_doubted(NOW));
        assert!(!Trust::new(Some(NOW), NOW + 23 * HOUR_MILLIS, false).is_doubted(NOW));
        assert!(!Trust::new(Some(NOW), NOW - 1000 * HOUR_MILLIS, false).is_doubted(NOW));
        assert!(!Trust::new(Some(0), NOW, true).is_doubted(NOW));
    }

    #[test]
    fn the_time_is_stored_now_and_then() {
        let trust = Trust::new(None, NOW, false);
        assert_eq!(trust.due(NOW), Some(NOW));
        trust.note(NOW);
        assert_eq!(trust.due(NOW + 1), None);
        assert_eq!(trust.due(NOW + HOUR_MILLIS), Some(NOW + HOUR_MILLIS));
    }
}
