//! One design per case, with its diagnostics as trailing comments.
//!
//! `UPDATE=1 cargo test -p partita-design` rewrites the comments; review that diff like code.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use partita_design::{Code, check};

use crate::lines;

/// Stands between a design and its diagnostics.
const MARK: &str = "# ---- diagnostics\n";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn cases() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "toml")
    });
    paths.sort();
    paths
}

fn variables(name: &str) -> Option<String> {
    (name == "STAGE").then(|| "test".to_owned())
}

fn reported(source: &str) -> Vec<String> {
    let (design, diagnostics) = check(source, &variables);
    let has_errors = diagnostics
        .iter()
        .any(|diagnostic| diagnostic.severity == partita_design::Severity::Error);
    assert_eq!(design.is_none(), has_errors, "a design, or errors");
    lines(source, &diagnostics)
}

#[test]
fn every_case_reports_what_it_says() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut wrong = Vec::new();
    let cases = cases();
    assert!(cases.len() >= 60, "{} cases", cases.len());
    for path in &cases {
        let file = fs::read_to_string(path).unwrap();
        let source = file.split(MARK).next().unwrap();
        let found: String = reported(source)
            .iter()
            .map(|line| format!("# {}\n", line.replace('\n', "\\n")))
            .collect();
        let expected = format!("{source}{MARK}{found}");
        if file != expected {
            if update {
                fs::write(path, expected).unwrap()
            } else {
                wrong.push(format!("{}:\n{found}", path.display()))
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_code_has_a_case() {
    let mut missing: BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    for path in cases() {
        let (_, diagnostics) = check(&fs::read_to_string(path).unwrap(), &variables);
        for diagnostic in diagnostics {
            missing.remove(diagnostic.code.as_str());
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

/// The mistakes of this file are marked where they are made, so that their number is known.
#[test]
fn twenty_mistakes_are_twenty_diagnostics() {
    let file = fs::read_to_string(folder().join("twenty-mistakes.toml")).unwrap();
    let source = file.split(MARK).next().unwrap();
    let planted: Vec<_> = source
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains("# mistake"))
        .map(|(index, _)| index + 1)
        .collect();
    assert_eq!(planted.len(), 20);
    let found: Vec<usize> = reported(source)
        .iter()
        .map(|line| {
            let place = line.split(' ').nth(2).unwrap();
            place.split(':').next().unwrap().parse().unwrap()
        })
        .collect();
    assert_eq!(found, planted);
}
