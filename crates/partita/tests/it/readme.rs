//! The README's shell blocks, run as printed.
//!
//! Only two things are replaced: `cargo run … --` by the binary under test, and the port, so that
//! the test does not fight over 8000.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;

use crate::server::{BINARY, Server};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The code blocks of a Markdown text in one language.
pub(crate) fn blocks(markdown: &str, language: &str) -> Vec<String> {
    let opening = format!("```{language}");
    let mut found = Vec::new();
    let mut lines = markdown.lines();
    while let Some(line) = lines.next() {
        if line == opening {
            let block: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            found.push(block.join("\n"));
        }
    }
    found
}

/// What the shell blocks of a page print against a server of their own; nothing where there is no
/// curl to run them with.
#[expect(clippy::print_stdout, reason = "what is skipped is told")]
pub(crate) fn answers(page: &str, client: &[String], designs: &[&str]) -> Option<String> {
    if Command::new("curl").arg("--version").output().is_err() {
        assert!(
            std::env::var_os("CI").is_none(),
            "under CI nothing is skipped"
        );
        println!("skipped: {page} needs curl");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("partita-data"), designs);
    Some(said(client, folder.path(), &server.base))
}

/// What shell blocks print in a folder, against a server.
pub(crate) fn said(client: &[String], folder: &Path, base: &str) -> String {
    let port = base.rsplit_once(':').unwrap().1;
    let port = port.split('/').next().unwrap();
    let script = format!(
        "set -euo pipefail\ncargo() {{ while [ \"$1\" != -- ]; do shift; done; shift; \"{BINARY}\" \"$@\"; }}\n{}",
        client.join("\n").replace(":8000", &format!(":{port}"))
    );
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(folder)
        .output()
        .unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{answers}\n{errors}");
    answers
}

#[test]
fn its_commands_work_as_printed() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let shell = blocks(&readme, "sh");
    let [start, client @ .., test] = shell.as_slice() else {
        panic!("the README has lost its shell blocks");
    };
    assert_eq!(start, "cargo run --release -- serve");
    assert_eq!(test, "scripts/test");

    let Some(answers) = answers("the README", client, &[]) else {
        return;
    };
    let answers: Vec<Json> = answers
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [created, listed] = &answers[..] else {
        panic!("{answers:#?}");
    };
    assert_eq!(created["title"], "Dune");
    // The page shows this answer; only id and times are others.
    let [shown] = &blocks(&readme, "json")[..] else {
        panic!("the README shows one answer");
    };
    let mut shown: Json = serde_json::from_str(shown).unwrap();
    for name in ["id", "CreatedAt", "UpdatedAt"] {
        shown["items"][0][name] = created[name].clone();
    }
    assert_eq!(*listed, shown);
}

#[test]
fn its_design_is_a_part_of_the_shipped_one() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let design = partita_design::shipped::find("stories").unwrap().source;
    let words = |line: &str| -> Vec<String> {
        let code = line.split(" #").next().unwrap_or_default();
        code.split_whitespace().map(str::to_owned).collect()
    };
    let shipped: Vec<_> = design.lines().map(words).collect();
    let [block] = &blocks(&readme, "toml")[..] else {
        panic!("the README shows one design");
    };
    for line in block.lines().filter(|line| !line.starts_with("keep")) {
        assert!(
            shipped.contains(&words(line)),
            "not in the shipped design: {line}"
        );
    }
}
