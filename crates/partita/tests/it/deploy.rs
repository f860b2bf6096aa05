//! What `deploy/` holds, as far as it can be tried without a registry of images.

use std::path::PathBuf;
use std::process::Command;

use crate::server::BINARY;

fn deploy(file: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    root.join(file)
}

/// `systemd-analyze` knows every line of the unit and finds it well confined.
#[test]
fn the_unit_is_sound() {
    let unit = std::fs::read_to_string(deploy("partita.service")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("partita.service");
    // It asks whether the program is there.
    std::fs::write(&path, unit.replace("/usr/local/bin/partita", BINARY)).unwrap();
    let Ok(verified) = Command::new("systemd-analyze")
        .arg("verify")
        .arg(&path)
        .output()
    else {
        let is_ci = std::env::var_os("CI").is_some();
        assert!(
            !is_ci,
            "under CI nothing is skipped: install systemd-analyze"
        );
        println!("skipped: it needs systemd-analyze");
        return;
    };
    let told = String::from_utf8_lossy(&verified.stderr);
    let about_it: Vec<_> = told
        .lines()
        .filter(|line| line.contains("partita"))
        .collect();
    assert!(about_it.is_empty(), "{told}");
    let threshold = ["security", "--offline=true", "--threshold=20"];
    let judged = Command::new("systemd-analyze")
        .args(threshold)
        .arg(&path)
        .output()
        .unwrap();
    assert!(
        judged.status.success(),
        "{}",
        String::from_utf8_lossy(&judged.stdout)
    );
}

/// The settings are those that the server knows, with the variables of the unit.
#[test]
fn the_settings_are_known() {
    let output = Command::new(BINARY)
        .args(["serve", "--print-config", "--config"])
        .arg(deploy("partita.toml"))
        .env("PARTITA_DATA", "/var/lib/partita")
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        printed.contains("no-endpoint = true  # the file"),
        "{printed}"
    );
    assert!(
        printed.contains("data = \"/var/lib/partita\"  # the environment"),
        "{printed}"
    );
}

/// Every variable that the image sets is that of a flag, and its user is not root.
#[test]
fn the_image_sets_what_the_server_knows() {
    let text = std::fs::read_to_string(deploy("Containerfile")).unwrap();
    let help = Command::new(BINARY)
        .args(["serve", "--help"])
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let words = text.split(|one: char| !one.is_ascii_uppercase() && one != '_');
    let variables: Vec<_> = words.filter(|word| word.starts_with("PARTITA_")).collect();
    assert!(variables.len() >= 5, "{variables:?}");
    for variable in variables {
        assert!(help.contains(&format!("[env: {variable}=")), "{variable}");
    }
    assert!(text.contains("\nUSER 65532:65532\n"));
}
