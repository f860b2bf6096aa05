//! The shell blocks of guides, run as printed, each guide against a server of its own.

use std::process::Command;

use crate::readme::{blocks, root};
use crate::server::{BINARY, Server};

/// Runs a guide whose first block starts a server; gives what the others print.
#[expect(clippy::print_stdout, reason = "what is skipped is told")]
fn run(guide: &str, design: &str) -> Vec<String> {
    let page = std::fs::read_to_string(root().join("docs").join(guide)).unwrap();
    let shell = blocks(&page, "sh");
    let (start, client) = shell.split_first().unwrap();
    assert_eq!(*start, format!("cargo run --release -- serve {design}"));
    if Command::new("curl").arg("--version").output().is_err() {
        assert!(
            std::env::var_os("CI").is_none(),
            "under CI nothing is skipped"
        );
        println!("skipped: {guide} needs curl");
        return Vec::new();
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("partita-data"), &[design]);
    let port = server.base.rsplit_once(':').unwrap().1;
    let script = format!(
        "set -euo pipefail\ncargo() {{ while [ \"$1\" != -- ]; do shift; done; shift; \"{BINARY}\" \"$@\"; }}\n{}",
        client.join("\n").replace(":8000", &format!(":{port}"))
    );
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{answers}\n{errors}");
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
