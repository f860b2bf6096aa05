//! Where the settings of `serve` come from: flags, the environment, a file.

use std::path::Path;
use std::process::{Command, Output};

use crate::server::BINARY;

/// `partita serve --print-config` in a folder.
fn print(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    Command::new(BINARY)
        .args(["serve", "--print-config"])
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(folder)
        .output()
        .unwrap()
}

fn printed(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let output = print(folder, arguments, environment);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).unwrap()
}

fn told(folder: &Path, arguments: &[&str]) -> String {
    let output = print(folder, arguments, &[]);
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

/// The keys of all settings, whether they are set or not.
fn keys(printed: &str) -> Vec<&str> {
    let key = |line: &'_ str| -> usize { line.find([' ', ':']).unwrap() };
    let lines = printed.lines().map(|line| line.trim_start_matches("# "));
    lines.map(|line| &line[..key(line)]).collect()
}

/// A value that the setting of this key takes, and does not have by itself.
fn some_value(key: &str) -> &'static str {
    match key {
        "listen" | "metrics-listen" => "127.0.0.1:7777",
        "store" => "dynamodb",
        "durability" => "buffered",
        "files" => "s3",
        "log" => "debug",
        "log-format" => "json",
        "cache-mb" | "upload-mb" | "uploads-per-caller" | "table-state-delay" | "index-delay" => {
            "7"
        }
        "connections" | "connections-per-address" | "idempotency-mb" | "backup-keep" => "7",
        "feeds" | "feeds-per-caller" | "feed-buffer-kb" => "7",
        "bodies-mb" => "77",
        "trusted-proxy" => "10.0.0.7",
        "set"
        | "receiver"
        | "receiver-secret-file"
        | "send-stream"
        | "oidc"
        | "oidc-client"
        | "oidc-secret-file" => "Stage=test",
        "mail" => "log",
        "smtp-tls" => "tls",
        "memory" | "endpoint-only" | "no-endpoint" | "raw-writes" | "bind-urls" | "trust-clock"
        | "migrate" | "watch" => "true",
        _ => "something",
    }
}

#[test]
fn every_flag_is_known_to_the_environment_and_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let all = printed(folder.path(), &[], &[]);
    let keys = keys(&all);
    assert!(
        keys.len() > 12 && keys.contains(&"listen") && keys.contains(&"designs"),
        "{all}"
    );
    for key in keys {
        let value = some_value(key);
        let variable = format!("PARTITA_{}", key.to_uppercase().replace('-', "_"));
        let mut variables = vec![(variable.as_str(), value)];
        // Keys of an issuer are taken only with its name and an audience.
        let issuer = [
            ("jwks", "PARTITA_JWKS"),
            ("issuer", "PARTITA_ISSUER"),
            ("audience", "PARTITA_AUDIENCE"),
        ];
        if issuer.iter().any(|(one, _)| *one == key) {
            let others = issuer.iter().filter(|(one, _)| *one != key);
            variables.extend(others.map(|(_, variable)| (*variable, "else")));
        }
        let shown = printed(folder.path(), &[], &variables);
        let line = line_of(&shown, key);
        assert!(
            line.contains(value) && line.ends_with("# the environment"),
            "{line}"
        );

        let literal = match value {
            "true" | "7" => value.to_owned(),
            text => format!("\"{text}\""),
        };
        std::fs::write(
            folder.path().join("partita.toml"),
            format!("{key} = {literal}\n"),
        )
        .unwrap();
        let shown = printed(folder.path(), &[], &[]);
        let line = line_of(&shown, key);
        assert!(
            line.contains(value) && line.ends_with("# the file"),
            "{line}"
        );
        std::fs::remove_file(folder.path().join("partita.toml")).unwrap();
    }
}

fn line_of<'t>(printed: &'t str, key: &str) -> &'t str {
    let mut lines = printed.lines();
    let line = lines.find(|line| line.starts_with(&format!("{key} = ")));
    line.unwrap_or_else(|| panic!("{key} is not set in\n{printed}"))
}

#[test]
fn a_flag_goes_before_the_environment_and_that_before_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(
        &file,
        "cache-mb = 1\ndesigns = [\"stories\", \"storyhub\"]\n",
    )
    .unwrap();
    let named = ["--config", "mine.toml"];
    let shown = printed(folder.path(), &named, &[]);
    assert_eq!(line_of(&shown, "cache-mb"), "cache-mb = 1  # the file");
    assert_eq!(
        line_of(&shown, "designs"),
        "designs = [\"stories\", \"storyhub\"]  # the file"
    );
    assert_eq!(line_of(&shown, "store"), "store = \"embedded\"  # built in");
    let environment = [("PARTITA_CACHE_MB", "2"), ("PARTITA_CONFIG", "mine.toml")];
    let shown = printed(folder.path(), &[], &environment);
    assert_eq!(
        line_of(&shown, "cache-mb"),
        "cache-mb = 2  # the environment"
    );
    let shown = printed(folder.path(), &["--cache-mb", "3"], &environment);
    assert_eq!(
        line_of(&shown, "cache-mb"),
        "cache-mb = 3  # the command line"
    );
    // What is printed is a file that says the same.
    std::fs::write(&file, &shown).unwrap();
    let again = printed(folder.path(), &named, &[]);
    assert_eq!(line_of(&again, "cache-mb"), "cache-mb = 3  # the file");
}

#[test]
fn mistakes_in_a_file_are_told_with_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("partita.toml");
    std::fs::write(
        &file,
        "# mine\nlistne = \"127.0.0.1:1\"\nmemory = { a = 1 }\n",
    )
    .unwrap();
    let error = told(folder.path(), &[]);
    let expected = "line 2: there is no setting `listne`; did you mean `listen`?";
    assert!(error.contains(expected), "{error}");
    assert!(error.contains("line 3: `memory` must be a text"), "{error}");
    std::fs::write(&file, "\nlisten = \n").unwrap();
    assert!(told(folder.path(), &[]).contains("partita.toml: line 2: "));
    std::fs::write(&file, "listen = \"here\"\n").unwrap();
    assert!(
        told(folder.path(), &[]).contains("--listen"),
        "{}",
        told(folder.path(), &[])
    );
    let error = told(folder.path(), &["--config", "none.toml"]);
    assert!(error.contains("cannot read none.toml"), "{error}");
}

/// Whoever can put a file into the working directory does not decide what a server does.
#[cfg(unix)]
#[test]
fn a_file_that_others_could_have_written_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("partita.toml");
    std::fs::write(&file, "cache-mb = 7\n").unwrap();
    let set_mode = |mode| {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set_mode(0o666);
    for named in [&[][..], &["--config", "partita.toml"]] {
        let said = told(folder.path(), named);
        assert!(said.contains("everybody can write to it"), "{said}");
    }
    set_mode(0o644);
    assert!(printed(folder.path(), &[], &[]).contains("cache-mb = 7"));
    // Only root gives files away.
    if std::os::unix::fs::chown(&file, Some(65_534), None).is_ok() {
        let said = told(folder.path(), &[]);
        assert!(said.contains("belongs to another user (65534)"), "{said}");
        let named = printed(folder.path(), &["--config", "partita.toml"], &[]);
        assert!(named.contains("cache-mb = 7"), "{named}");
    }
}
