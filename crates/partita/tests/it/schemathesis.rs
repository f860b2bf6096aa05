//! Schemathesis against every design: requests that fit the OpenAPI document, and requests that do
//! not, with all of its checks.
//!
//! `clients/openapi` has the program. Every operation that changes something gets a set of items of
//! its own, and the token of somebody who may do it and is an administrator besides, so that each
//! can succeed whatever the others did; and each must.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::access::theatre::Theatre;

/// The script's way of saying that Python is missing.
const MISSING: i32 = 3;

macro_rules! designs {
    ($($design:ident)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $design() {
            run(stringify!($design)).await;
        }
    )*};
}

designs! { stories storyhub mediahub holdthatthought figureforge }

async fn run(design: &str) {
    let mut theatre = Theatre::open(design).await;
    let calls = theatre.calls().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("calls.json");
    std::fs::write(&file, calls.to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/clients");
    let mut command = Command::new(script);
    command
        .arg("openapi")
        .env("PARTITA_URL", theatre.url(""))
        .env("PARTITA_REFUSED", theatre.refused().to_string())
        .env("PARTITA_CALLS", &file);
    if std::env::var_os("PARTITA_LONG").is_some() {
        command.env("PARTITA_PHASES", "examples,coverage,fuzzing,stateful");
    }
    let output = command.output().unwrap();
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
