//! What the endpoint counts.
//!
//! Everything is counted without a lock, in places that are there from the start: one for each
//! operation and outcome. So a client cannot make them grow.

use std::sync::atomic::{AtomicU64, Ordering};

use partita_store::exposition::{Exposition, REQUEST_MICROS};
use partita_store::meters::Histogram;

use crate::ops;
use crate::refusal::{Fault, Refusal};

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
            micros: Histogram::new(REQUEST_MICROS),
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
        // A clock that was set back measures nothing.
        operation.micros.observe(u64::try_from(micros).unwrap_or(0));
        let outcome = match result {
            Ok(_) => &operation.successes,
            Err(refusal) => &operation.faults[refusal.fault as usize],
        };
        outcome.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes what was counted, of the operations that were requested.
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

#[cfg(test)]
mod tests;
