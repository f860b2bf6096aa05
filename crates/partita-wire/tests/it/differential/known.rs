//! The differences that are kept on purpose, each as it was met and none by a pattern.
//!
//! `known.txt` has requests that are answered otherwise, each after the seed that gives it and
//! under the line of COMPAT.md that says why. `words.txt` has the words of errors, ours before
//! DynamoDB Local's, each pair under its reason. With `UPDATE=1` the long run writes the words
//! that it met; new ones are at the end, where a reason is still to be given.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{Request, SEED};

pub(super) struct Known {
    /// The requests of this run's seed, and whether each was met.
    requests: BTreeMap<String, bool>,
    /// Words by the place of their reason, and whether they were met.
    words: BTreeMap<Words, (usize, bool)>,
    reasons: Vec<String>,
    /// Words that were met and are not known.
    others: BTreeSet<Words>,
    is_updating: bool,
    /// Whether words that are not known are a difference.
    is_strict: bool,
}

/// Ours, and DynamoDB Local's.
type Words = (String, String);

impl Known {
    /// Reads what is known. The words are known only of the requests that `SEED` gives.
    pub(super) fn read(seed: u64) -> Self {
        let is_updating = std::env::var_os("UPDATE").is_some();
        let mut known = Known {
            requests: requests_of(seed),
            words: BTreeMap::new(),
            reasons: Vec::new(),
            others: BTreeSet::new(),
            is_updating,
            is_strict: seed == SEED && !is_updating,
        };
        known.read_words(&read("words.txt"));
        known
    }

    /// Reads blocks of lines: a reason, or a pair of words under the last one.
    fn read_words(&mut self, text: &str) {
        for block in text.split("\n\n").map(str::trim) {
            let lines: Vec<&str> = block.lines().collect();
            match lines[..] {
                [reason] if reason.starts_with("-- ") => self.reasons.push(reason.to_owned()),
                [ours, local] => {
                    let reason = self.reasons.len().checked_sub(1);
                    let reason = reason.expect("words stand under a reason");
                    let pair = (ours.to_owned(), local.to_owned());
                    self.words.insert(pair, (reason, false));
                }
                _ => panic!("neither a reason nor a pair of words: {block}"),
            }
        }
        let has_reasons = self.reasons.iter().all(|reason| reason != UNEXPLAINED);
        assert!(has_reasons || self.is_updating, "`{UNEXPLAINED}`");
    }

    /// Whether this request may be answered otherwise.
    pub(super) fn is_request(&mut self, request: &Request) -> bool {
        let line = format!("{} {}", request.operation, request.body);
        let met = self.requests.get_mut(&line);
        met.map(|is_met| *is_met = true).is_some()
    }

    /// Whether these words are a known difference.
    pub(super) fn are_words(&mut self, ours: &[String], local: &[String]) -> bool {
        if ours.len() != local.len() {
            return false;
        }
        let pairs = ours.iter().zip(local).filter(|(one, two)| one != two);
        let mut are_known = true;
        for (one, two) in pairs {
            let pair = (line(one), line(two));
            match self.words.get_mut(&pair) {
                Some((_, is_met)) => *is_met = true,
                None => {
                    self.others.insert(pair);
                    are_known = !self.is_strict;
                }
            }
        }
        are_known
    }

    /// What is listed must differ, or the list would grow old. Only a long run meets all, and
    /// the words only that of `SEED`.
    pub(super) fn finish(self, seed: u64, is_whole: bool) {
        if !is_whole {
            return;
        }
        let requests = self.requests.iter().filter(|(_, is_met)| !**is_met);
        let requests: Vec<_> = requests.collect();
        assert!(requests.is_empty(), "no longer different: {requests:#?}");
        if seed != SEED {
            return;
        }
        if self.is_updating {
            std::fs::write(path("words.txt"), self.printed()).unwrap();
            return;
        }
        let words = self.words.iter().filter(|(_, (_, is_met))| !is_met);
        let words: Vec<_> = words.map(|(pair, _)| pair).collect();
        assert!(words.is_empty(), "no longer different: {words:#?}");
    }

    /// The words that were met, under their reasons.
    fn printed(&self) -> String {
        let mut blocks = Vec::new();
        let pair = |(ours, local): &Words| format!("{ours}\n{local}");
        for (at, reason) in self.reasons.iter().enumerate() {
            let met = self.words.iter().filter(|(_, found)| **found == (at, true));
            let met: Vec<_> = met.map(|(words, _)| pair(words)).collect();
            if !met.is_empty() {
                blocks.push(reason.clone());
                blocks.extend(met);
            }
        }
        if !self.others.is_empty() {
            blocks.push(UNEXPLAINED.to_owned());
            blocks.extend(self.others.iter().map(pair));
        }
        blocks.join("\n\n") + "\n"
    }
}

/// Marks words whose difference has no reason yet.
const UNEXPLAINED: &str = "-- say here why these differ";

/// The requests of one seed that are answered otherwise.
fn requests_of(seed: u64) -> BTreeMap<String, bool> {
    let seed = format!("{seed} ");
    let text = read("known.txt");
    let lines = text.lines().filter_map(|line| line.strip_prefix(&seed));
    lines.map(|line| (line.to_owned(), false)).collect()
}

fn read(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

fn path(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/differential");
    folder.join(name)
}

/// Words on one line, whatever they hold.
fn line(words: &str) -> String {
    words.replace('\n', "\\n")
}
