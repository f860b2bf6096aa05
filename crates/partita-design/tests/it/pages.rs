//! The pages of the five designs to the letter, with their faults.
//!
//! Behind a line of `tests/corpus/pages/*.toml` stands the number of the fault that the page has
//! there. The checker finds every one of them, on its line, and no other mistake. Its diagnostics
//! follow the page as comments, each with the numbers of its line; `UPDATE=1 cargo test -p
//! partita-design` rewrites them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use partita_design::{Severity, check};

use crate::lines;

/// Stands between a page and its diagnostics.
const MARK: &str = "# ---- diagnostics\n";

/// Each page with the faults that must be found in it, and what they are called.
const PAGES: [(&str, &[(&str, &str)]); 5] = [
    (
        "stories",
        &[("P000-01", "ambiguous-key"), ("X-04", "ambiguous-key")],
    ),
    (
        "storyhub",
        &[
            ("P001-01", "unserved-pattern"),
            ("P001-04", "unpadded-number"),
            ("P001-07", "unknown-attribute"),
        ],
    ),
    (
        "mediahub",
        &[
            ("P002-03", "constant-sort-key"),
            ("P002-04", "unnamed-record"),
            ("P002-05", "unknown-attribute"),
            ("P002-06", "unknown-attribute"),
            ("P002-07", "unnamed-record"),
            ("P002-08", "sparse-key"),
            ("P002-09", "sparse-key"),
            ("P002-11", "unpadded-number"),
            ("P002-16", "ambiguous-key"),
            ("P002-17", "not-unique"),
            ("X-04", "ambiguous-key"),
        ],
    ),
    (
        "holdthatthought",
        &[
            ("P003-01", "cut-prefix"),
            ("P003-04", "not-a-key"),
            ("P003-05", "unserved-pattern"),
            ("X-04", "ambiguous-key"),
        ],
    ),
    (
        "figureforge",
        &[
            ("P004-01", "missing-key"),
            ("P004-02", "missing-key"),
            ("P004-04", "unknown-attribute"),
            ("P004-05", "sparse-key"),
        ],
    ),
];

/// A page and what is found in it.
struct Page {
    path: PathBuf,
    file: String,
    source: String,
    found: Vec<Found>,
}

struct Found {
    line: usize,
    code: &'static str,
    is_error: bool,
    text: String,
}

impl Page {
    fn read(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/corpus/pages")
            .join(format!("{name}.toml"));
        let file = fs::read_to_string(&path).unwrap();
        let source = file.split(MARK).next().unwrap().to_owned();
        let (_, diagnostics) = check(&source, &|_| None);
        let texts = lines(&source, &diagnostics);
        let found = diagnostics.iter().zip(texts).map(|(diagnostic, text)| {
            let before = &source[..diagnostic.span.start];
            Found {
                line: before.matches('\n').count() + 1,
                code: diagnostic.code.as_str(),
                is_error: diagnostic.severity == Severity::Error,
                text,
            }
        });
        Page {
            found: found.collect(),
            path,
            file,
            source,
        }
    }

    /// The numbers behind a line.
    fn faults_of(&self, line: usize) -> Vec<&str> {
        let line = self.source.lines().nth(line - 1).unwrap();
        let Some((before, comment)) = line.rsplit_once("# ") else {
            return Vec::new();
        };
        if before.is_empty() {
            Vec::new()
        } else {
            comment.split(' ').filter(|word| is_number(word)).collect()
        }
    }

    fn expected(&self, faults: &[(&str, &str)]) -> String {
        let found = self.found.iter().map(|found| {
            let text = found.text.replace('\n', "\\n");
            let mut marks = self.faults_of(found.line);
            marks.retain(|mark| faults.contains(&(mark, found.code)));
            if marks.is_empty() {
                format!("# {text}\n")
            } else {
                format!("# {}: {text}\n", marks.join(" "))
            }
        });
        format!("{}{MARK}{}", self.source, found.collect::<String>())
    }
}

/// Whether a word is the number of a fault, such as `P001-04`.
fn is_number(word: &str) -> bool {
    let (kind, number) = word.split_once('-').unwrap_or_default();
    let is_page = kind.len() == 4 && kind.starts_with('P');
    (is_page || kind == "X") && number.len() == 2
}

#[test]
fn every_fault_of_a_page_is_found_on_its_line() {
    let mut missing = Vec::new();
    for (name, faults) in PAGES {
        let page = Page::read(name);
        let mut marked = BTreeSet::new();
        for number in 1..=page.source.lines().count() {
            for fault in page.faults_of(number) {
                let code = faults.iter().find(|(known, _)| *known == fault);
                let (_, code) = code.unwrap_or_else(|| panic!("{name} has no fault {fault}"));
                let is_it = |found: &Found| found.line == number && found.code == *code;
                if !page.found.iter().any(is_it) {
                    missing.push(format!("{name}, line {number}: {fault} is no {code}"));
                }
                marked.insert(fault);
            }
        }
        let faults: BTreeSet<_> = faults.iter().map(|(fault, _)| *fault).collect();
        assert_eq!(marked, faults, "{name}");
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn nothing_else_is_a_mistake() {
    for (name, faults) in PAGES {
        let page = Page::read(name);
        for found in page.found.iter().filter(|found| found.is_error) {
            let mut marks = page.faults_of(found.line).into_iter();
            let is_marked = marks.any(|mark| faults.contains(&(mark, found.code)));
            assert!(is_marked, "{name}: {}", found.text);
        }
    }
}

#[test]
fn the_diagnostics_are_those_that_a_page_shows() {
    let update = std::env::var_os("UPDATE").is_some();
    for (name, faults) in PAGES {
        let page = Page::read(name);
        let expected = page.expected(faults);
        if update {
            fs::write(&page.path, expected).unwrap()
        } else {
            assert_eq!(page.file, expected, "{name}")
        }
    }
}
