//! Clients in other languages, as `clients/` has them, against the real binary.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::endpoint::{self, Endpoint};

/// The script's way of saying that the language is missing.
const MISSING: i32 = 3;

#[test]
fn python() {
    run("python");
}

#[test]
fn javascript() {
    run("javascript");
}

fn run(language: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/clients");
    let endpoint = Endpoint::start();
    let output = Command::new(script)
        .arg(language)
        .env("AWS_ENDPOINT_URL", endpoint.url())
        .env("AWS_ACCESS_KEY_ID", endpoint::KEY_ID)
        .env("AWS_SECRET_ACCESS_KEY", endpoint::SECRET)
        .output()
        .unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    if output.status.code() == Some(MISSING) && std::env::var_os("CI").is_none() {
        // Past the capture of the test harness, which shows nothing of a test that passes.
        let _ = writeln!(std::io::stderr(), "skipped: {}", said.trim());
        return;
    }
    assert!(output.status.success(), "{said}");
}
