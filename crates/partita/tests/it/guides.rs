//! The shell blocks of guides, run as printed, each guide against a server of its own.

use crate::readme::{answers, blocks, root};

/// Runs a guide whose first block starts a server; gives what the others print.
fn run(guide: &str, design: &str) -> Vec<String> {
    let page = std::fs::read_to_string(root().join("docs").join(guide)).unwrap();
    let shell = blocks(&page, "sh");
    let (start, client) = shell.split_first().unwrap();
    assert_eq!(*start, format!("cargo run --release -- serve {design}"));
    let answers = answers(guide, client, &[design]).unwrap_or_default();
    answers.lines().map(str::to_owned).collect()
}

#[test]
fn files() {
    if let [upload, .., text] = &run("files.md", "holdthatthought")[..] {
        assert!(upload.contains("\"upload\":{"), "{upload}");
        assert_eq!(text, "Hello!");
    }
}

#[test]
fn tokens() {
    if let [answer] = &run("tokens.md", "stories")[..] {
        assert_eq!(answer, "{\"items\":[]}");
    }
}
