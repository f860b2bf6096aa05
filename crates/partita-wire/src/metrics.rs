//! What the endpoint counts, in the text format of Prometheus.
//!
//! Everything is counted without a lock, in places that are there from the start: one for each
//! operation and outcome. So a client cannot make them grow.

use std::fmt::{Display, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};

use partita_store::meters::{Buckets, Histogram, Meters};

use crate::ops;
use crate::refusal::{Fault, Refusal};

/// The content type of an [`Exposition`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Microseconds of one request.
const MICROS: &[u64] = &[
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000,
    5_000_000,
];

/// What was counted of requests.
#[derive(Debug)]
pub(crate) struct RequestMeters {
    /// In the order of [`ops::NAMES`], and one for whatever is none of them.
    operations: Vec<OperationMeters>,
}

#[derive(Debug)]
struct OperationMeters {
    micros: Histogram,
    successes: AtomicU64,
    /// In the order of [`Fault::ALL`].
    faults: [AtomicU64; Fault::ALL.len()],
}

impl Default for RequestMeters {
    fn default() -> Self {
        let operation = || OperationMeters {
            micros: Histogram::new(MICROS),
            successes: AtomicU64::new(0),
            faults: [const { AtomicU64::new(0) }; Fault::ALL.len()],
        };
        RequestMeters {
            operations: (0..=ops::NAMES.len()).map(|_| operation()).collect(),
        }
    }
}

impl RequestMeters {
    /// Counts a request that was answered.
    pub(crate) fn count<T>(&self, target: &str, result: &Result<T, Refusal>, micros: i64) {
        let name = target.split_once('.').map_or("", |(_, name)| name);
        let at = ops::NAMES.iter().position(|known| *known == name);
        let operation = &self.operations[at.unwrap_or(ops::NAMES.len())];
        // A clock that was set back tells nothing.
        operation.micros.observe(u64::try_from(micros).unwrap_or(0));
        let outcome = match result {
            Ok(_) => &operation.successes,
            Err(refusal) => &operation.faults[refusal.fault as usize],
        };
        outcome.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes what was counted, of operations that somebody has asked for.
    pub(crate) fn expose(&self, text: &mut Exposition) {
        let names = ops::NAMES.iter().copied().chain(["unknown"]);
        let asked: Vec<_> = names
            .zip(&self.operations)
            .map(|(name, operation)| (name, operation, operation.micros.read()))
            .filter(|(_, _, micros)| micros.count() > 0)
            .collect();
        text.family(
            "partita_requests_total",
            "counter",
            "Requests, by operation and by what became of them.",
        );
        for (name, operation, _) in &asked {
            let faults = Fault::ALL.iter().map(|fault| fault.name().1);
            let outcomes = [("ok", &operation.successes)].into_iter();
            for (outcome, count) in outcomes.chain(faults.zip(&operation.faults)) {
                let count = count.load(Ordering::Relaxed);
                if count > 0 {
                    let labels = [("operation", *name), ("outcome", outcome)];
                    text.sample("partita_requests_total", &labels, count);
                }
            }
        }
        text.family(
            "partita_request_seconds",
            "histogram",
            "How long requests took, from the whole body to the whole answer.",
        );
        for (name, _, micros) in &asked {
            let labels = [("operation", *name)];
            text.histogram("partita_request_seconds", &labels, micros, 1e-6);
        }
    }
}

/// A page in the text format of Prometheus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exposition(String);

impl Exposition {
    /// The page.
    pub fn into_text(self) -> String {
        self.0
    }

    /// One value that goes up and down.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "gauge", help);
        self.sample(name, &[], value);
    }

    /// One value that only goes up.
    pub fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "counter", help);
        self.sample(name, &[], value);
    }

    pub(crate) fn store(&mut self, meters: &Meters) {
        let Meters {
            commit_writes,
            commit_micros,
            ..
        } = meters;
        let name = "partita_commit_writes";
        self.family(name, "histogram", "Writes that shared a commit.");
        self.histogram(name, &[], commit_writes, 1.0);
        let name = "partita_commit_seconds";
        self.family(name, "histogram", "How long commits took.");
        self.histogram(name, &[], commit_micros, 1e-6);
        self.counter(
            "partita_commit_bytes_total",
            "Bytes that commits wrote, keys and values.",
            meters.commit_bytes,
        );
        self.gauge(
            "partita_writes_waiting",
            "Writes that wait for their commit.",
            meters.waiting,
        );
        self.gauge(
            "partita_takes_writes",
            "1 while writes are taken, 0 while they are not.",
            u8::from(meters.stopped.is_none()),
        );
    }

    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a text never fails.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        // Names and values of labels are ours and need no escapes.
        let labels: Vec<_> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{value}\""))
            .collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    fn histogram(&mut self, name: &str, labels: &[(&str, &str)], buckets: &Buckets, unit: f64) {
        let bucket = format!("{name}_bucket");
        let mut below = 0;
        let bounds = buckets.bounds.iter().map(|bound| scaled(*bound, unit));
        for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(&buckets.counts) {
            below += count;
            let labels: Vec<_> = labels.iter().copied().chain([("le", &*bound)]).collect();
            self.sample(&bucket, &labels, below);
        }
        self.sample(&format!("{name}_sum"), labels, scaled(buckets.sum, unit));
        self.sample(&format!("{name}_count"), labels, below);
    }
}

/// A value in its unit, without the digits that only a floating point number has.
fn scaled(value: u64, unit: f64) -> String {
    let text = format!("{:.6}", value as f64 * unit);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests;
