//! Dependencies point one way. The manifests are read, so that a wrong arrow fails a test and
//! not only a review.

use std::collections::BTreeSet;
use std::path::Path;

use toml::Table;

/// What each crate may use of the others.
const ALLOWED: [(&str, &[&str]); 14] = [
    ("partita-core", &[]),
    ("partita-store", &["partita-core"]),
    // For tests alone: it is in nobody else's list.
    ("partita-testkit", &["partita-core", "partita-store"]),
    ("partita-engine", &["partita-core", "partita-store"]),
    // It sees the one store that it backs up, and no design.
    ("partita-backup", &["partita-store", "partita-engine"]),
    // It moves tables, whatever design they are of.
    (
        "partita-transfer",
        &["partita-core", "partita-store", "partita-engine"],
    ),
    ("partita-wire", &["partita-core", "partita-store"]),
    ("partita-remote", &["partita-core", "partita-store"]),
    ("partita-design", &["partita-core"]),
    // It judges what the planner does, and must not be able to ask it.
    (
        "partita-verify",
        &["partita-core", "partita-store", "partita-design"],
    ),
    (
        "partita-plan",
        &[
            "partita-core",
            "partita-store",
            "partita-design",
            "partita-verify",
        ],
    ),
    (
        "partita-api",
        &[
            "partita-core",
            "partita-store",
            "partita-design",
            "partita-plan",
            // What its commands report is in their answers.
            "partita-verify",
        ],
    ),
    (
        "partita-bench",
        &[
            "partita-core",
            "partita-store",
            "partita-engine",
            "partita-design",
            "partita-plan",
            "partita-verify",
            "partita-api",
        ],
    ),
    (
        "partita",
        &[
            "partita-backup",
            "partita-bench",
            "partita-core",
            "partita-store",
            "partita-engine",
            "partita-remote",
            "partita-transfer",
            "partita-design",
            "partita-plan",
            "partita-verify",
            "partita-api",
            "partita-wire",
        ],
    ),
];

/// Who alone may use what is not ours, by the beginning of its name.
const RESERVED: [(&str, &[&str]); 5] = [
    ("aws-", &["partita-remote"]),
    ("fjall", &["partita-engine"]),
    ("anyhow", &["partita", "partita-bench"]),
    ("axum", &["partita-api", "partita"]),
    ("object_store", &["partita-api", "partita-backup"]),
];

/// What core and design must never need: waiting, time, randomness, files.
const IMPURE: [&str; 5] = ["tokio", "async-trait", "futures", "getrandom", "tempfile"];

fn dependencies(crate_name: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(crate_name)
        .join("Cargo.toml");
    let manifest: Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
    let table = manifest["dependencies"].as_table().unwrap();
    table.keys().cloned().collect()
}

#[test]
fn dependencies_point_towards_core() {
    for (name, allowed) in ALLOWED {
        for used in dependencies(name) {
            let is_ours = used.starts_with("partita");
            assert!(
                !is_ours || allowed.contains(&used.as_str()),
                "{name} may not use {used}"
            );
            for (prefix, users) in RESERVED {
                assert!(
                    !used.starts_with(prefix) || users.contains(&name),
                    "{name} may not use {used}"
                );
            }
        }
    }
    for name in ["partita-core", "partita-design"] {
        let used = dependencies(name);
        let impure = IMPURE.iter().find(|impure| used.contains(**impure));
        assert_eq!(impure, None, "{name} must stay pure");
    }
}

#[test]
fn every_crate_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let found: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let listed: BTreeSet<String> = ALLOWED.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(found, listed);
}
