//! The figures as a table and as JSON.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::measure::Figures;

/// All runs, by workload and target, in the order in which they came first.
pub(super) struct BenchReport {
    targets: Vec<String>,
    rows: Vec<WorkloadRuns>,
}

/// The runs of one workload on one target.
struct WorkloadRuns {
    workload: String,
    target: usize,
    runs: Vec<Figures>,
}

impl BenchReport {
    pub(super) fn new(targets: Vec<String>) -> Self {
        let rows = Vec::new();
        BenchReport { targets, rows }
    }

    pub(super) fn add(&mut self, workload: &str, target: usize, figures: Figures) {
        let mut rows = self.rows.iter_mut();
        match rows.find(|row| row.workload == workload && row.target == target) {
            Some(row) => row.runs.push(figures),
            None => self.rows.push(WorkloadRuns {
                workload: workload.to_owned(),
                target,
                runs: vec![figures],
            }),
        }
    }

    /// Medians over all rounds; the first target is what the others are measured by.
    pub(super) fn text(&self, as_json: bool) -> String {
        if as_json {
            format!("{:#}\n", self.to_json())
        } else {
            self.to_table()
        }
    }

    fn to_table(&self) -> String {
        let width = self.targets.iter().map(String::len).max().unwrap_or(0);
        let names = self.rows.iter().map(|row| row.workload.len());
        let name_width = names.max().unwrap_or(0).max(11);
        let mut lines = vec![format!(
            "{:<name_width$} {:<width$} {:>10} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7}",
            "workload",
            "target",
            "ops/s",
            "p50 ms",
            "p99 ms",
            "p99.9 ms",
            "max ms",
            "CPU µs",
            "ratio"
        )];
        for row in &self.rows {
            let figures = median(&row.runs);
            lines.push(format!(
                "{:<name_width$} {:<width$} {:>10.0} {:>9.2} {:>9.2} {:>9.2} {:>9.2} {:>7} {:>7}",
                row.workload,
                self.targets[row.target],
                figures.per_second,
                figures.p50,
                figures.p99,
                figures.p999,
                figures.max,
                figures
                    .cpu_micros
                    .map_or(String::new(), |micros| format!("{micros:.1}")),
                self.ratio(row)
                    .map_or(String::new(), |ratio| format!("{ratio:.2}x")),
            ));
        }
        lines.join("\n") + "\n"
    }

    pub(super) fn to_json(&self) -> Json {
        let rows = self.rows.iter().map(|row| {
            json!({
                "workload": row.workload,
                "target": self.targets[row.target],
                "median": median(&row.runs),
                "runs": row.runs,
                "ratio": self.ratio(row),
            })
        });
        rows.collect()
    }

    /// How many times as fast the first target is.
    fn ratio(&self, row: &WorkloadRuns) -> Option<f64> {
        let mut rows = self.rows.iter();
        let first = rows.find(|one| one.workload == row.workload && one.target == 0)?;
        let (first, other) = (median(&first.runs), median(&row.runs));
        (row.target > 0).then(|| first.per_second / other.per_second)
    }
}

/// Each figure's median over the runs.
fn median(runs: &[Figures]) -> Figures {
    let of = |figure: fn(&Figures) -> f64| median_of(runs.iter().map(figure)).unwrap_or(f64::NAN);
    Figures {
        cpu_micros: median_of(runs.iter().filter_map(|run| run.cpu_micros)),
        per_second: of(|run| run.per_second),
        p50: of(|run| run.p50),
        p99: of(|run| run.p99),
        p999: of(|run| run.p999),
        max: of(|run| run.max),
    }
}

/// The median of some figures, if there are any.
pub(super) fn median_of(figures: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = figures.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// A time in milliseconds.
pub(super) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
