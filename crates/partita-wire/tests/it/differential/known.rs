//! The differences that are kept on purpose, each under the very request that shows it.
//!
//! ```text
//! -- the class of COMPAT.md that it belongs to
//! PutItem {"TableName": …}
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use super::Request;

pub(super) struct Known {
    /// Whether each was met.
    requests: BTreeMap<String, bool>,
}

impl Known {
    pub(super) fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/differential/known.txt");
        let text = std::fs::read_to_string(path).unwrap();
        let lines = text.lines();
        let requests = lines.filter(|line| !line.is_empty() && !line.starts_with("--"));
        Known {
            requests: requests.map(|line| (line.to_owned(), false)).collect(),
        }
    }

    /// Whether answers to this request may differ.
    pub(super) fn explains(&mut self, request: &Request) -> bool {
        let line = format!("{} {}", request.operation, request.body);
        match self.requests.get_mut(&line) {
            Some(is_met) => {
                *is_met = true;
                true
            }
            None => false,
        }
    }

    /// What is listed must differ, or the list would grow old. Only the long run meets all.
    pub(super) fn check(&self, wanted: usize, seed: u64) {
        let unmet: Vec<_> = self
            .requests
            .iter()
            .filter(|(_, is_met)| !**is_met)
            .collect();
        let is_whole = wanted >= 300 && seed == 1;
        assert!(
            !is_whole || unmet.is_empty(),
            "no longer different: {unmet:#?}"
        );
    }
}
