//! The operations of a failing history that matter: parts of it are left out as long as what is
//! left still fails.

use super::history::{Outcome, Plan, run};
use super::step::Script;

/// Histories that are run at most to leave operations out.
const RUNS_MAX: usize = 100;

/// The report of a failing history: the seed, what went wrong, and which operations are enough for
/// it.
pub(crate) fn told(plan: &Plan, outcome: Outcome) -> String {
    let (design, seed) = (plan.design, plan.seed);
    let before = outcome.script.iter().map(Vec::len).sum::<usize>();
    let outcome = shortened(plan, outcome);
    let clients = outcome.script.iter().enumerate();
    let steps = clients.flat_map(|(number, steps)| {
        steps
            .iter()
            .map(move |step| format!("  client {number}: {step}"))
    });
    let steps: Vec<String> = steps.collect();
    format!(
        "{design}, seed {seed}: {}\n{} of {before} operations are enough:\n{}",
        outcome.faults.join("\n"),
        steps.len(),
        steps.join("\n")
    )
}

/// The same failure with fewer operations.
fn shortened(plan: &Plan, outcome: Outcome) -> Outcome {
    let mut best = outcome;
    let mut runs = 0;
    let mut size = length(&best.script).div_ceil(2);
    while size > 0 && runs < RUNS_MAX {
        let mut at = 0;
        while at < length(&best.script) && runs < RUNS_MAX {
            runs += 1;
            let script = without(&best.script, at, size);
            let again = run(&Plan {
                script: Some(script),
                ..plan.clone()
            });
            if again.faults.is_empty() {
                at += size
            } else {
                best = again
            }
        }
        size /= 2;
    }
    best
}

fn length(script: &Script) -> usize {
    script.iter().map(Vec::len).sum()
}

/// A script without so many operations from a place on, counted through all clients.
fn without(script: &Script, at: usize, size: usize) -> Script {
    let mut number = 0;
    let clients = script.iter().map(|steps| {
        let kept = steps.iter().filter(|_| {
            let is_out = (at..at + size).contains(&number);
            number += 1;
            !is_out
        });
        kept.cloned().collect()
    });
    clients.collect()
}
