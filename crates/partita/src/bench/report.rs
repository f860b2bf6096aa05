//! The figures as a table and as JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::ValueEnum as _;
use serde_json::{Value as Json, json};

use super::measure::Figures;
use super::workload::Workload;

/// All runs, by workload and target.
pub(super) struct Report {
    targets: Vec<String>,
    runs: BTreeMap<(Workload, usize), Vec<Figures>>,
}

impl Report {
    pub(super) fn new(targets: Vec<String>) -> Self {
        let runs = BTreeMap::new();
        Report { targets, runs }
    }

    pub(super) fn add(&mut self, workload: Workload, target: usize, figures: Figures) {
        self.runs
            .entry((workload, target))
            .or_default()
            .push(figures);
    }

    /// Medians over all rounds; the first target is what the others are measured by.
    pub(super) fn text(&self, as_json: bool) -> String {
        match as_json {
            true => format!("{:#}\n", self.to_json()),
            false => self.to_table(),
        }
    }

    fn to_table(&self) -> String {
        let width = self.targets.iter().map(String::len).max().unwrap_or(0);
        let mut lines = vec![format!(
            "{:<11} {:<width$} {:>10} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7}",
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
        for ((workload, target), runs) in &self.runs {
            let figures = median(runs);
            lines.push(format!(
                "{:<11} {:<width$} {:>10.0} {:>9.2} {:>9.2} {:>9.2} {:>9.2} {:>7} {:>7}",
                name(*workload),
                self.targets[*target],
                figures.per_second,
                figures.p50,
                figures.p99,
                figures.p999,
                figures.max,
                figures
                    .cpu_micros
                    .map_or(String::new(), |micros| format!("{micros:.1}")),
                self.ratio(*workload, *target)
                    .map_or(String::new(), |ratio| format!("{ratio:.2}x")),
            ));
        }
        lines.join("\n") + "\n"
    }

    fn to_json(&self) -> Json {
        let rows = self.runs.iter().map(|((workload, target), runs)| {
            json!({
                "workload": name(*workload),
                "target": self.targets[*target],
                "median": median(runs),
                "runs": runs,
                "ratio": self.ratio(*workload, *target),
            })
        });
        rows.collect()
    }

    /// How many times as fast the first target is.
    fn ratio(&self, workload: Workload, target: usize) -> Option<f64> {
        let first = median(self.runs.get(&(workload, 0))?);
        let other = median(self.runs.get(&(workload, target))?);
        (target > 0).then(|| first.per_second / other.per_second)
    }
}

fn name(workload: Workload) -> String {
    let value = workload.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
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
