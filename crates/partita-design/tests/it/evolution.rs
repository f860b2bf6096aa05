//! Two designs per case, and the changes between them: `tests/evolution/NAME/old.toml`, `new.toml`
//! and `expected.txt`.
//!
//! `UPDATE=1 cargo test -p partita-design` writes the expectations; review that diff like code.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use partita_design::difference::{self, Change, Class, File, Unstored};
use partita_design::render::Colours;
use partita_design::{Design, check};

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/evolution");
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn compile(path: &Path) -> Design {
    let text = fs::read_to_string(path).unwrap();
    let (design, diagnostics) = check(&text, &|_| None);
    design.unwrap_or_else(|| panic!("{}: {diagnostics:#?}", path.display()))
}

fn changes(case: &Path) -> (Design, Design, Vec<Change>) {
    let [old, new] = ["old.toml", "new.toml"].map(|name| compile(&case.join(name)));
    let changes = difference::all_between(&old, &new);
    (old, new, changes)
}

fn shown(case: &Path) -> String {
    let (old, new, changes) = changes(case);
    let file = |name: &'static str, design: &'static str| File { name, text: design };
    let (old, new) = (old.origin.text.leak(), new.origin.text.leak());
    let text = difference::to_text(
        file("old.toml", old),
        file("new.toml", new),
        &changes,
        Colours::Off,
    );
    let lines = text.lines().map(|line| line.trim_end().to_owned() + "\n");
    lines.collect()
}

#[test]
fn every_case_changes_what_it_says() {
    let update = std::env::var_os("UPDATE").is_some();
    let cases = cases();
    assert!(cases.len() >= 40, "{} cases", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let (found, path) = (shown(case), case.join("expected.txt"));
        let expected = fs::read_to_string(&path).unwrap_or_default();
        if found != expected {
            if update {
                fs::write(&path, found).unwrap();
            } else {
                wrong.push(format!("{}:\n{found}", case.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A class or a subject without a case is one that nobody has looked at.
#[test]
fn the_cases_have_every_class_and_subject() {
    let mut classes: BTreeSet<Class> = BTreeSet::new();
    let mut nouns: BTreeSet<&'static str> = BTreeSet::new();
    for case in cases() {
        for change in changes(&case).2 {
            classes.insert(change.class);
            nouns.insert(change.subject.noun());
        }
    }
    assert_eq!(classes.len(), Class::ALL.len());
    let waived = [Unstored::Variable.noun()];
    let lacking: Vec<&str> = difference::nouns()
        .filter(|noun| !nouns.contains(noun) && !waived.contains(noun))
        .collect();
    assert!(lacking.is_empty(), "{lacking:?}");
}

/// The two designs of the guide, and what it says is between them.
#[test]
fn the_guide_shows_what_is_printed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evolution.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut blocks = page.split("```toml\n").skip(1);
    let mut block = || blocks.next().unwrap().split("```").next().unwrap();
    let (old, new) = (block(), block());
    let [before, after] = [old, new].map(|text| check(text, &|_| None).0.unwrap());
    let changes = difference::all_between(&before, &after);
    let file = |name, text| File { name, text };
    let (old, new) = (file("old.toml", old), file("new.toml", new));
    let found = difference::to_text(old, new, &changes, Colours::Off);
    let command = "$ partita diff old.toml new.toml\n";
    let (head, rest) = page.split_once(command).unwrap();
    let (shown, tail) = rest.split_once("```\n").unwrap();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, format!("{head}{command}{found}```\n{tail}")).unwrap();
    } else {
        assert_eq!(shown, found);
    }
}

#[test]
fn a_design_does_not_differ_from_itself() {
    for shipped in partita_design::shipped::all() {
        let design = check(shipped.source, &|_| None).0.unwrap();
        assert_eq!(difference::all_between(&design, &design), []);
    }
}
