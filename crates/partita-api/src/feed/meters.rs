//! What the feeds of a design count.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use partita_store::exposition::Exposition;

#[derive(Debug, Default)]
pub(crate) struct FeedMeters {
    open: AtomicU64,
    events: AtomicU64,
    refetches: AtomicU64,
    refused: AtomicU64,
}

impl FeedMeters {
    /// Events for a reader.
    pub(super) fn count_events(&self, events: usize) {
        self.events.fetch_add(events as u64, Ordering::Relaxed);
    }

    /// A reader who has to begin again.
    pub(super) fn count_refetch(&self) {
        self.refetches.fetch_add(1, Ordering::Relaxed);
    }

    /// Somebody who gets no feed.
    pub(super) fn count_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes what was counted, by design.
    pub(crate) fn expose(designs: &BTreeMap<String, Arc<FeedMeters>>, text: &mut Exposition) {
        let mut write = |name, kind, help, meter: fn(&FeedMeters) -> &AtomicU64| {
            text.family(name, kind, help);
            for (design, meters) in designs {
                let value = meter(meters).load(Ordering::Relaxed);
                text.sample(name, &[("design", design)], value);
            }
        };
        write("partita_feeds", "gauge", "Feeds that are open.", |one| {
            &one.open
        });
        write(
            "partita_feed_events_total",
            "counter",
            "Events for readers of feeds, without the rows that a feed begins with.",
            |one| &one.events,
        );
        write(
            "partita_feed_refetches_total",
            "counter",
            "Readers of feeds that had to begin again.",
            |one| &one.refetches,
        );
        write(
            "partita_feeds_refused_total",
            "counter",
            "Feeds that were asked for and refused.",
            |one| &one.refused,
        );
    }
}

/// A feed that counts as open while this is kept.
pub(super) struct OpenFeed(Arc<FeedMeters>);

impl OpenFeed {
    pub(super) fn new(meters: Arc<FeedMeters>) -> OpenFeed {
        meters.open.fetch_add(1, Ordering::Relaxed);
        OpenFeed(meters)
    }

    pub(super) fn meters(&self) -> &FeedMeters {
        &self.0
    }
}

impl Drop for OpenFeed {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
