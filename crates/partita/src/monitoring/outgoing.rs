//! What leaves the system, and what runs by itself, in numbers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use partita_api::admin::Currents;
use partita_plan::outbox::{ChannelMeters, ChannelState};
use partita_plan::{Partita, PlanError, ScheduleMeters};
use partita_store::Clock as _;
use partita_store::exposition::Exposition;
use partita_store::surroundings::SystemClock;
use tokio::sync::Mutex;
use tokio::time::timeout;
use tracing::warn;

/// How long what was counted in the store is good, however often somebody asks.
const COUNTED_MILLIS: i64 = 10_000;
/// Time to count.
const COUNT_TIME_MAX: Duration = Duration::from_secs(5);

/// The outbox and the schedules of the designs that are served.
#[derive(Clone)]
pub(crate) struct Outgoing {
    served: Currents,
    /// When it was counted, and what there was. Locked while counting, so that one request does.
    counted: Arc<Mutex<Option<(i64, Counted)>>>,
}

/// What there is in the store, by design.
type Counted = BTreeMap<String, InStore>;

/// What there is of one design.
#[derive(Clone, Default)]
struct InStore {
    channels: BTreeMap<String, ChannelState>,
    behind_millis: BTreeMap<String, i64>,
}

impl InStore {
    async fn count(partita: &Partita) -> Result<InStore, PlanError> {
        Ok(InStore {
            channels: partita.outbox_state().await?,
            behind_millis: partita.schedules_behind().await?,
        })
    }
}

impl Outgoing {
    pub(crate) fn new(served: Currents) -> Outgoing {
        Outgoing {
            served,
            counted: Arc::default(),
        }
    }

    /// Writes what was counted. What the store does not tell in time is left out.
    pub(crate) async fn expose(&self, text: &mut Exposition) {
        let designs: Vec<Arc<Partita>> = self.served.all().iter().map(|one| one.get()).collect();
        let in_store = self.in_store(&designs).await;
        expose_channels(text, &designs, &in_store);
        expose_schedules(text, &designs, &in_store);
    }

    async fn in_store(&self, designs: &[Arc<Partita>]) -> Counted {
        let mut last = self.counted.lock().await;
        let now = SystemClock.now_millis();
        if let Some((at, counted)) = &*last
            && (*at..at.saturating_add(COUNTED_MILLIS)).contains(&now)
        {
            return counted.clone();
        }
        let mut counted = Counted::new();
        for partita in designs {
            let name = &partita.design().name;
            match timeout(COUNT_TIME_MAX, InStore::count(partita)).await {
                Ok(Ok(found)) => drop(counted.insert(name.clone(), found)),
                Ok(Err(error)) => warn!(%error, design = name, "the outbox cannot be counted"),
                Err(_) => warn!(design = name, "the outbox cannot be counted in time"),
            }
        }
        *last = Some((SystemClock.now_millis(), counted.clone()));
        counted
    }
}

/// One metric of what is in the store of a channel: its name, what it is, and its value at a time.
type StateMetric = (&'static str, &'static str, fn(&ChannelState, i64) -> i64);

const STATES: [StateMetric; 3] = [
    (
        "partita_outbox_waiting",
        "Messages that wait, counted up to 1000.",
        |state, _| count(state.waiting),
    ),
    (
        "partita_outbox_parked",
        "Messages that failed for good and wait for somebody, counted up to 1000.",
        |state, _| count(state.parked),
    ),
    (
        "partita_outbox_oldest_seconds",
        "How long ago the oldest message that waits was recorded.",
        |state, now| {
            state
                .oldest_millis
                .map_or(0, |oldest| (now - oldest).max(0) / 1000)
        },
    ),
];

/// One metric of what this process has done on a channel.
type DoneMetric = (&'static str, &'static str, fn(&ChannelMeters) -> u64);

const DONE: [DoneMetric; 3] = [
    (
        "partita_outbox_delivered_total",
        "Messages that this server has delivered.",
        |meters| meters.delivered,
    ),
    (
        "partita_outbox_failed_total",
        "Deliveries of this server that failed and are tried again.",
        |meters| meters.failed,
    ),
    (
        "partita_outbox_parked_total",
        "Messages that failed for good on this server.",
        |meters| meters.parked,
    ),
];

fn expose_channels(text: &mut Exposition, designs: &[Arc<Partita>], in_store: &Counted) {
    let now = SystemClock.now_millis();
    for (name, help, value) in STATES {
        text.family(name, "gauge", help);
        for (design, found) in in_store {
            for (target, state) in &found.channels {
                let labels = [("design", design.as_str()), ("target", target)];
                text.sample(name, &labels, value(state, now));
            }
        }
    }
    for (name, help, value) in DONE {
        text.family(name, "counter", help);
        for partita in designs {
            let design = partita.design().name.as_str();
            for (target, meters) in partita.outbox_meters() {
                let labels = [("design", design), ("target", target.as_str())];
                text.sample(name, &labels, value(&meters));
            }
        }
    }
}

fn expose_schedules(text: &mut Exposition, designs: &[Arc<Partita>], in_store: &Counted) {
    let name = "partita_schedule_runs_total";
    let help = "Periods of schedules that this server has started.";
    text.family(name, "counter", help);
    each_schedule(designs, |labels, meters| {
        text.sample(name, labels, meters.runs);
    });
    let name = "partita_schedule_late_seconds";
    let help = "How late after its beginning this server started the last period.";
    text.family(name, "gauge", help);
    each_schedule(designs, |labels, meters| {
        text.sample(name, labels, meters.late_millis as f64 / 1000.0);
    });
    let name = "partita_schedule_behind_seconds";
    let help = "How long ago a period began that no server has started yet.";
    text.family(name, "gauge", help);
    for (design, found) in in_store {
        for (schedule, millis) in &found.behind_millis {
            let labels = [("design", design.as_str()), ("schedule", schedule)];
            text.sample(name, &labels, *millis as f64 / 1000.0);
        }
    }
}

fn each_schedule(
    designs: &[Arc<Partita>],
    mut expose: impl FnMut(&[(&str, &str)], ScheduleMeters),
) {
    for partita in designs {
        let design = partita.design().name.as_str();
        for (schedule, meters) in partita.schedule_meters() {
            expose(
                &[("design", design), ("schedule", schedule.as_str())],
                meters,
            );
        }
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
