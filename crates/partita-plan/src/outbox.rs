//! The outbox: what leaves the system because of a write.
//!
//! The transaction of the write records mails and events in the sidecar table, so that they are
//! there exactly if the write is. A [`Courier`] delivers them at least once, in the order of the
//! writes to their item, and parks what fails for good.
//!
//! | module | what it holds |
//! |---|---|
//! | `outbox::message` | what is delivered, and the [`Transport`] that does it |
//! | `outbox::seal` | texts that nobody is shown before they are delivered |
//! | `outbox::row` | a message as it is stored |
//! | `outbox::posting` | messages of a draft become steps of its transaction |
//! | `outbox::courier` | who delivers: order and attempts |
//! | `outbox::lease` | one courier for each channel |
//! | `outbox::channels` | the channels of a design |
//! | `outbox::health` | channels that fail are left alone for a while |
//! | `outbox::stream` | every change of a table, sent to a receiver |
//! | `outbox::meters` | what was delivered, and what waits, in numbers |
//! | `outbox::list` | what waits and what is parked; retried and dropped by hand |

mod channels;
pub(crate) mod courier;
pub(crate) mod health;
pub(crate) mod lease;
mod list;
pub(crate) mod message;
mod meters;
pub(crate) mod posting;
pub(crate) mod row;
pub(crate) mod seal;
mod stream;

pub use courier::{Courier, Round};
pub use list::{OutboxEntry, OutboxState};
pub use message::{Channel, Content, Event, Mail, Message, Transport, Undelivered};
pub use meters::{ChannelMeters, ChannelState};

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use health::Health;

/// What one process knows of the outbox of a design.
pub(crate) struct Outbox {
    /// Changes when something is recorded.
    pub(crate) recorded: watch::Sender<u64>,
    /// Which channels fail.
    pub(crate) health: Mutex<Health>,
    /// What became of messages on each channel.
    meters: Mutex<BTreeMap<Channel, ChannelMeters>>,
}

impl Default for Outbox {
    fn default() -> Self {
        Outbox {
            recorded: watch::Sender::new(0),
            health: Mutex::default(),
            meters: Mutex::default(),
        }
    }
}

impl Outbox {
    /// Wakes the couriers.
    pub(crate) fn wake(&self) {
        self.recorded
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Counts what became of messages on a channel.
    pub(crate) fn count(&self, channel: &Channel, add: impl FnOnce(&mut ChannelMeters)) {
        let mut all = self.meters.lock().unwrap_or_else(PoisonError::into_inner);
        add(all.entry(channel.clone()).or_default());
    }

    /// Looks at the channels that fail.
    pub(crate) fn health<T>(&self, look: impl FnOnce(&mut Health) -> T) -> T {
        let health = self.health.lock();
        look(&mut health.unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
}

#[cfg(test)]
mod tests;
