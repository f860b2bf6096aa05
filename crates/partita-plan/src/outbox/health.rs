//! Channels that fail are left alone for a while.
//!
//! Without this, a receiver that is down would be asked once for every message that waits for it.

use std::collections::HashMap;

use super::message::Channel;

/// Failures in a row after which a channel is left alone.
const STRIKES_MAX: u32 = 5;
/// The first pause, and how long one gets at most.
const PAUSE_MILLIS: i64 = 5_000;
const PAUSE_MILLIS_MAX: i64 = 3_600_000;

/// How often channels failed, and until when they are left alone.
#[derive(Default)]
pub(crate) struct Health(HashMap<Channel, Failing>);

#[derive(Clone, Copy, Default)]
struct Failing {
    strikes: u32,
    pauses: u32,
    until_millis: i64,
}

impl Health {
    /// Until when a channel is left alone, if it is.
    pub(crate) fn paused_until(&self, channel: &Channel, now_millis: i64) -> Option<i64> {
        let until = self.0.get(channel)?.until_millis;
        (until > now_millis).then_some(until)
    }

    /// Whether a channel failed lately. It is asked once at a time then.
    pub(crate) fn is_failing(&self, channel: &Channel) -> bool {
        let failing = self.0.get(channel);
        failing.is_some_and(|failing| failing.pauses > 0)
    }

    /// Something was delivered, or an administrator asks for another attempt.
    pub(crate) fn recover(&mut self, channel: &Channel) {
        self.0.remove(channel);
    }

    /// Leaves a channel alone at once, longer each time.
    pub(crate) fn pause(&mut self, channel: &Channel, now_millis: i64, random: u64) {
        let failing = self.0.entry(channel.clone()).or_default();
        if failing.until_millis <= now_millis {
            failing.strikes = STRIKES_MAX;
            failing.pauses += 1;
            failing.until_millis = now_millis + backoff_millis(failing.pauses, random);
        }
    }

    /// Something was not delivered.
    pub(crate) fn strike(&mut self, channel: &Channel, now_millis: i64, random: u64) {
        let failing = self.0.entry(channel.clone()).or_default();
        // Others were on their way when the pause began.
        if failing.until_millis > now_millis {
            return;
        }
        failing.strikes += 1;
        if failing.strikes >= STRIKES_MAX {
            self.pause(channel, now_millis, random);
        }
    }
}

/// The wait before another attempt: twice as long after each, up to an hour, and between a half and
/// the whole of it at random, so that what failed together is not tried together.
pub(crate) fn backoff_millis(attempts: u32, random: u64) -> i64 {
    let doubled = PAUSE_MILLIS.checked_shl(attempts.saturating_sub(1).min(20));
    let whole = doubled.unwrap_or(PAUSE_MILLIS_MAX).min(PAUSE_MILLIS_MAX);
    let half = whole / 2;
    half + i64::try_from(random % half.unsigned_abs().max(1)).unwrap_or_default()
}
