//! What dependencies bring is what `deny.toml` allows: licences, sources, and no crate that it
//! bans.

use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use toml::Table;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// All packages that are built on this machine, with every feature.
fn packages() -> Vec<Json> {
    let output = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let version = output(Command::new("rustc").arg("-vV"));
    let mut lines = version.lines();
    let host = lines.find_map(|line| line.strip_prefix("host: ")).unwrap();
    let metadata = output(
        Command::new(env!("CARGO"))
            .args([
                "metadata",
                "--format-version=1",
                "--all-features",
                "--locked",
                "--offline",
            ])
            .args(["--filter-platform", host]),
    );
    let metadata: Json = serde_json::from_str(&metadata).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

fn texts(table: &Table, section: &str, name: &str) -> Vec<String> {
    let list = table[section][name].as_array().unwrap();
    let texts = list.iter().map(|one| one.as_str().unwrap().to_owned());
    texts.collect()
}

/// Whether a licence expression can be met with the allowed licences alone.
fn is_licensed(expression: &str, allowed: &[String]) -> bool {
    let expression = expression.replace('/', " OR ");
    let text = expression.trim();
    for (operator, is_enough) in [(" OR ", true), (" AND ", false)] {
        if let Some((one, other)) = split_outside_parentheses(text, operator) {
            let (one, other) = (is_licensed(one, allowed), is_licensed(other, allowed));
            return if is_enough {
                one || other
            } else {
                one && other
            };
        }
    }
    match text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'))
    {
        Some(inside) => is_licensed(inside, allowed),
        None => allowed.iter().any(|one| one == text),
    }
}

fn split_outside_parentheses<'t>(text: &'t str, operator: &str) -> Option<(&'t str, &'t str)> {
    let depth = |before: &str| before.matches('(').count() - before.matches(')').count();
    let mut found = text.match_indices(operator);
    let (at, _) = found.find(|(at, _)| depth(&text[..*at]) == 0)?;
    Some((&text[..at], &text[at + operator.len()..]))
}

#[test]
fn dependencies_bring_what_is_allowed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deny.toml");
    let rules: Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
    let licences = texts(&rules, "licenses", "allow");
    let banned = texts(&rules, "bans", "deny");
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        assert!(!banned.iter().any(|one| one == name), "{name} is banned");
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(
            is_licensed(licence, &licences),
            "{name} is under `{licence}`"
        );
        // Crates of the workspace have no source.
        let source = package["source"].as_str().unwrap_or(CRATES_IO);
        assert_eq!(source, CRATES_IO, "{name}");
    }
}

#[test]
fn a_licence_is_allowed_by_all_its_parts() {
    let allowed = ["MIT".to_owned(), "ISC".to_owned()];
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("", false),
        ("Apache-2.0/MIT", true),
        ("Apache-2.0 OR MIT", true),
        ("ISC AND GPL-3.0", false),
        ("MIT OR GPL-3.0 AND ISC", true),
        ("(MIT OR Apache-2.0) AND ISC", true),
        ("(MIT OR Apache-2.0) AND GPL-3.0", false),
    ] {
        assert_eq!(is_licensed(expression, &allowed), expected, "{expression}");
    }
}
