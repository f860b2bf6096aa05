//! Habits of the workspace that a machine can check.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The Rust files below a directory.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The lines of all crates that a check finds fault with.
fn faulty_lines(is_faulty: impl Fn(&str) -> bool) -> Vec<String> {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    files.sort();
    let lines = files.iter().flat_map(|file| {
        let text = std::fs::read_to_string(file).unwrap();
        let lines = text.lines().enumerate();
        let faulty = lines.filter(|(_, line)| is_faulty(line.trim()));
        let shown = faulty.map(|(at, line)| format!("{}:{}: {line}", file.display(), at + 1));
        shown.collect::<Vec<_>>()
    });
    lines.collect()
}

/// Those that are left, to be lowered to none.
const BOOLEAN_MATCHES_MAX: usize = 20;

#[test]
fn booleans_are_branched_on_with_if() {
    let matches = faulty_lines(|line| line.starts_with("true =>"));
    let (found, lines) = (matches.len(), matches.join("\n"));
    assert!(
        found <= BOOLEAN_MATCHES_MAX,
        "{found} matches on booleans:\n{lines}"
    );
}

#[test]
fn comments_do_not_repeat_the_name_below_them() {
    let comment = concat!("/// Its ", "name.");
    let faulty = faulty_lines(|line| line == comment);
    assert!(faulty.is_empty(), "{}", faulty.join("\n"));
}

/// Longer ones are not read. Rows of tables count as paragraphs.
#[test]
fn paragraphs_of_the_architecture_are_short() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for line in text.lines() {
        let words = line.split_whitespace().count();
        assert!(words <= 80, "{words} words: {line}");
    }
}
