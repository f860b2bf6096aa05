//! How many requests were sent, and what came back.

use std::collections::BTreeMap;
use std::io::Write as _;

use super::Request;
use super::normal::Answer;

pub(super) struct Tally {
    wanted: usize,
    /// By operation, and by the type of the error or `ok`.
    answers: BTreeMap<&'static str, BTreeMap<String, usize>>,
    turn: usize,
}

/// Answers to requests with which nothing is wrong.
const RIGHT: [&str; 3] = [
    "ok",
    "ConditionalCheckFailedException",
    "TransactionCanceledException",
];

impl Tally {
    pub(super) fn new(wanted: usize) -> Self {
        Tally {
            wanted,
            answers: BTreeMap::new(),
            turn: 0,
        }
    }

    /// The operation whose turn it is, and whether its request is to be right. None once there
    /// were enough of each; until then the turns are the same however many are wanted, so that a
    /// short run is the beginning of a long one.
    pub(super) fn next(&mut self, operations: &[&'static str]) -> Option<(&'static str, bool)> {
        let is_enough = |operation: &&str| {
            let (right, wrong) = self.counts(operation);
            right.min(wrong) >= self.wanted
        };
        if operations.iter().all(is_enough) {
            return None;
        }
        let (round, at) = (self.turn / operations.len(), self.turn % operations.len());
        self.turn += 1;
        // More are wrong, because some of those turn out to be right.
        Some((operations[at], round.is_multiple_of(3)))
    }

    fn counts(&self, operation: &str) -> (usize, usize) {
        let of = |is_right: bool| {
            let answers = self.answers.get(operation).into_iter().flatten();
            let answers = answers.filter(|(kind, _)| RIGHT.contains(&kind.as_str()) == is_right);
            answers.map(|(_, count)| *count).sum()
        };
        (of(true), of(false))
    }

    pub(super) fn count(&mut self, request: &Request, answer: &Answer) {
        let kind = answer.kind().unwrap_or("ok").to_owned();
        let answers = self.answers.entry(request.operation).or_default();
        *answers.entry(kind).or_default() += 1;
    }

    /// Past the capture of the test harness, which shows nothing of a test that passes.
    pub(super) fn print(&self, seed: u64) {
        let mut out = std::io::stderr();
        let _ = writeln!(out, "differential test, seed {seed}:");
        for (operation, answers) in &self.answers {
            let (right, wrong) = self.counts(operation);
            let kinds: Vec<_> = answers
                .iter()
                .map(|(kind, n)| format!("{kind} {n}"))
                .collect();
            let kinds = kinds.join(", ");
            let _ = writeln!(out, "{operation:<20} {right} right, {wrong} wrong: {kinds}");
        }
    }
}
