//! What was counted, in the text format of Prometheus.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};

use crate::meters::{Buckets, Meters};

/// The content type of an [`Exposition`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The bounds of a histogram of requests, in microseconds.
pub const REQUEST_MICROS: &[u64] = &[
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000,
    5_000_000,
];

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

    /// What a store has counted.
    pub fn store(&mut self, meters: &Meters) {
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

    /// The head of samples that share a name.
    pub fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a text never fails.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// One value. Names of labels are the program's own; values may be a design's.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<_> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let labels = if labels.is_empty() {
            String::new()
        } else {
            format!("{{{}}}", labels.join(","))
        };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    /// The samples of a histogram, whose values are so many units of the metric's.
    pub fn histogram(&mut self, name: &str, labels: &[(&str, &str)], buckets: &Buckets, unit: f64) {
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

/// The value of a label, in which three characters are written otherwise.
fn escaped(value: &str) -> Cow<'_, str> {
    if !value.contains(['\\', '"', '\n']) {
        return Cow::Borrowed(value);
    }
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    Cow::Owned(value.replace('\n', "\\n"))
}

/// A value in its unit, without the digits that only a floating point number has.
fn scaled(value: u64, unit: f64) -> String {
    let text = format!("{:.6}", value as f64 * unit);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meters::Histogram;

    #[test]
    fn a_store_shows_its_commits() {
        let writes = Histogram::new(&[1, 2]);
        writes.observe(2);
        let meters = Meters {
            commit_writes: writes.read(),
            commit_micros: Histogram::new(&[1_000]).read(),
            commit_bytes: 7,
            waiting: 3,
            stopped: Some("the disk is on fire".to_owned()),
        };
        let mut text = Exposition::default();
        text.store(&meters);
        let expected = "\
# HELP partita_commit_writes Writes that shared a commit.
# TYPE partita_commit_writes histogram
partita_commit_writes_bucket{le=\"1\"} 0
partita_commit_writes_bucket{le=\"2\"} 1
partita_commit_writes_bucket{le=\"+Inf\"} 1
partita_commit_writes_sum 2
partita_commit_writes_count 1
# HELP partita_commit_seconds How long commits took.
# TYPE partita_commit_seconds histogram
partita_commit_seconds_bucket{le=\"0.001\"} 0
partita_commit_seconds_bucket{le=\"+Inf\"} 0
partita_commit_seconds_sum 0
partita_commit_seconds_count 0
# HELP partita_commit_bytes_total Bytes that commits wrote, keys and values.
# TYPE partita_commit_bytes_total counter
partita_commit_bytes_total 7
# HELP partita_writes_waiting Writes that wait for their commit.
# TYPE partita_writes_waiting gauge
partita_writes_waiting 3
# HELP partita_takes_writes 1 while writes are taken, 0 while they are not.
# TYPE partita_takes_writes gauge
partita_takes_writes 0
";
        assert_eq!(text.into_text(), expected);
    }
}
