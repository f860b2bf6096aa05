//! The differences that are kept on purpose, each as it was met and none by a pattern.
//!
//! `known.txt` has requests that are answered otherwise, each under the line of COMPAT.md that
//! says why; `words.txt` has the words of errors, ours before DynamoDB Local's. With `UPDATE=1`
//! the long run writes the words that it met; review that diff like code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{Request, SEED};

pub(super) struct Known {
    /// Whether each was met.
    requests: BTreeMap<String, bool>,
    words: BTreeMap<Words, bool>,
    /// Words that were met and are not known.
    others: BTreeSet<Words>,
    is_updating: bool,
    /// Whether words that are not known are a difference.
    is_strict: bool,
}

/// Ours, and DynamoDB Local's.
type Words = (String, String);

impl Known {
    /// Reads what is known. The words are known only of the requests that `seed` gives.
    pub(super) fn read(seed: u64) -> Self {
        let read = |name| std::fs::read_to_string(path(name)).unwrap();
        let requests = read("known.txt");
        let requests = requests.lines().filter(|line| is_content(line));
        let words = read("words.txt");
        let words: Vec<_> = words.lines().filter(|line| is_content(line)).collect();
        let words = words.chunks(2).map(|pair| match pair {
            [ours, local] => ((*ours).to_owned(), (*local).to_owned()),
            _ => panic!("words stand in pairs: {pair:?}"),
        });
        Known {
            requests: requests.map(|line| (line.to_owned(), false)).collect(),
            words: words.map(|pair| (pair, false)).collect(),
            others: BTreeSet::new(),
            is_updating: std::env::var_os("UPDATE").is_some(),
            is_strict: seed == SEED && std::env::var_os("UPDATE").is_none(),
        }
    }

    /// Whether this request may be answered otherwise.
    pub(super) fn is_request(&mut self, request: &Request) -> bool {
        let line = format!("{} {}", request.operation, request.body);
        let met = self.requests.get_mut(&line);
        met.map(|is_met| *is_met = true).is_some()
    }

    /// Whether these words may stand for each other.
    pub(super) fn are_words(&mut self, ours: &[String], local: &[String]) -> bool {
        if ours.len() != local.len() {
            return false;
        }
        let pairs = ours.iter().zip(local).filter(|(one, two)| one != two);
        let mut are_known = true;
        for (one, two) in pairs {
            let pair = (line(one), line(two));
            match self.words.get_mut(&pair) {
                Some(is_met) => *is_met = true,
                None => {
                    self.others.insert(pair);
                    are_known = !self.is_strict;
                }
            }
        }
        are_known
    }

    /// What is listed must differ, or the list would grow old. Only the long run meets all.
    pub(super) fn finish(self, is_whole: bool) {
        if !is_whole {
            return;
        }
        if self.is_updating {
            let met = self.words.into_iter().filter(|(_, is_met)| *is_met);
            let met: BTreeSet<_> = met.map(|(pair, _)| pair).chain(self.others).collect();
            let pairs = met
                .iter()
                .map(|(ours, local)| format!("\n{ours}\n{local}\n"));
            let text: String = std::iter::once(HEAD.to_owned()).chain(pairs).collect();
            std::fs::write(path("words.txt"), text).unwrap();
            return;
        }
        let unmet = |map: Vec<String>| assert!(map.is_empty(), "no longer different: {map:#?}");
        let requests = self.requests.into_iter().filter(|(_, is_met)| !is_met);
        unmet(requests.map(|(request, _)| request).collect());
        let words = self.words.into_iter().filter(|(_, is_met)| !is_met);
        unmet(words.map(|(words, _)| format!("{words:?}")).collect());
    }
}

const HEAD: &str =
    "-- The words of errors: ours, which are the service's, before DynamoDB Local's.\n";

fn path(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/differential");
    folder.join(name)
}

fn is_content(line: &str) -> bool {
    !line.is_empty() && !line.starts_with("--")
}

/// Words on one line, whatever they hold.
fn line(words: &str) -> String {
    words.replace('\n', "\\n")
}
