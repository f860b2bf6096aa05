//! The commands as a user types them.

mod asking;
mod designs;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::json;

use crate::server::{BINARY, Server, token};

fn run(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(BINARY)
        .args(arguments)
        .env_remove("TABLE_NAME")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read its input may have ended already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn file(folder: &Path, name: &str, content: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn help() {
    for command in [
        &["--help"][..],
        &["serve", "--help"],
        &["token", "--help"],
        &["can", "--help"],
        &["plan", "--help"],
        &["cost", "--help"],
        &["backup", "--help"],
        &["restore", "--help"],
        &["copy", "--help"],
        &["import", "--help"],
    ] {
        let name = format!("help_{}", command[0].trim_start_matches('-'));
        insta::assert_snapshot!(name, stdout(&run(command, "")));
    }
}

#[test]
fn check_finds_nothing_wrong_with_the_shipped_design() {
    let output = run(&["check", "stories"], "");
    assert!(output.status.success());
    assert_eq!(stdout(&output), "stories.toml: 0 errors, 0 warnings\n");
    assert_eq!(stderr(&output), "");
}

#[test]
fn check_reports_all_mistakes_with_their_lines_and_fails() {
    let folder = tempfile::tempdir().unwrap();
    let source = partita_design::shipped::find("stories").unwrap().source;
    let faulty = source
        .replace("of       = \"Story\"", "of       = \"Stroy\"")
        .replace(
            "title     = \"string 1..300\"",
            "title     = \"strin 1..300\"",
        );
    let path = file(folder.path(), "faulty.toml", &faulty);
    let output = run(&["check", &path], "");
    assert_eq!(output.status.code(), Some(1));
    let shown = stderr(&output);
    assert!(
        shown.contains("Stroy") && shown.contains("strin"),
        "{shown}"
    );
    assert!(stdout(&output).contains("errors"), "{}", stdout(&output));
    let data = folder.path().join("data");
    let output = run(&["serve", &path, "--data", data.to_str().unwrap()], "");
    assert_eq!(
        output.status.code(),
        Some(1),
        "a faulty design is not served"
    );
    assert!(!data.exists(), "and nothing is written for it");
}

#[test]
fn keys_are_the_pages_to_the_letter() {
    let attributes =
        r#"{"userId": "ann", "storyId": "01JGFJJZ00000000000000DVNE", "title": "Dune"}"#;
    for (record, partition, sort) in [
        (
            "Story",
            "USER#ann#STORY#01JGFJJZ00000000000000DVNE",
            "METADATA",
        ),
        ("StoryIndex", "USER#ann", "STORY#01JGFJJZ00000000000000DVNE"),
    ] {
        let output = run(&["keys", "stories", record], attributes);
        let keys: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(keys, serde_json::json!({"PK": partition, "SK": sort}));
    }
    let output = run(&["keys", "stories", "DeletedStoryIndex"], attributes);
    assert_eq!(
        stdout(&output),
        "{}\n",
        "a view that does not exist has no keys"
    );
    let deleted = attributes.replace('}', ", \"deleted\": true}");
    let output = run(&["keys", "stories", "DeletedStoryIndex"], &deleted);
    assert!(
        stdout(&output).contains("DELETED#USER#ann"),
        "{}",
        stdout(&output)
    );
}

/// A view is asked for by its source's attributes, or by its own.
#[test]
fn keys_of_a_view_are_asked_for_by_either_side() {
    let album = "00000000-0000-4000-8000-00000000a1b0";
    let time = "2026-01-01T10:00:00.000Z";
    let asked = |design: &str, record: &str, attributes: serde_json::Value| {
        let output = run(&["keys", design, record], &attributes.to_string());
        let keys = serde_json::from_str::<serde_json::Value>(&stdout(&output));
        keys.unwrap_or_else(|_| String::from_utf8_lossy(&output.stderr).into_owned().into())
    };
    // The page's own name of a version's time.
    let version = json!({"date": "1944-06-06", "timestamp": time});
    assert_eq!(
        asked("holdthatthought", "LetterVersion", version),
        json!({"PK": "LETTER#1944-06-06", "SK": format!("VERSION#{time}")})
    );
    let missing = asked(
        "holdthatthought",
        "LetterVersion",
        json!({"date": "1944-06-06"}),
    );
    assert!(
        missing
            .as_str()
            .unwrap()
            .contains("`timestamp` is part of the key and is missing")
    );
    let wrong = json!({"date": "1944-06-06", "timestamp": "soon"});
    let wrong = asked("holdthatthought", "LetterVersion", wrong);
    assert!(
        wrong.as_str().unwrap().contains("`timestamp` must be"),
        "{wrong}"
    );

    let by_source = json!({"id": album, "title": "Sea", "createdBy": album, "createdAt": time, "isPublic": "true", "tags": [" Sun"]});
    let by_element = json!({"albumId": album, "userId": album, "createdAt": time, "isPublic": "true", "tag": " Sun"});
    let by_itself = json!({"albumId": album, "userId": album, "createdAt": time, "isPublic": "true", "normalizedTag": "sun"});
    let keys = asked("mediahub", "AlbumTag", by_source);
    assert_eq!(keys[0]["PK"], "ALBUM_TAG#sun");
    assert_eq!(keys[0]["GSI3PK"], format!("ALBUM_TAG#{album}#true"));
    assert_eq!(asked("mediahub", "AlbumTag", by_element), keys);
    assert_eq!(asked("mediahub", "AlbumTag", by_itself), keys);
}

/// What `keys` prints for a user without numbers is what `verify` and the planner expect.
#[test]
fn keys_read_what_is_missing_as_its_default() {
    let user = r#"{"userId": "00000000-0000-4000-8000-000000000a11", "email": "ann@example.org", "username": "ann"}"#;
    let output = run(&["keys", "mediahub", "User"], user);
    let keys: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(
        keys["GSI5SK"],
        "00000000000000000000.00#00000000-0000-4000-8000-000000000a11"
    );
    assert_eq!(keys["GSI4PK"], "USER_PLAN#free");
}

#[test]
fn keys_refuses_what_could_forge_one() {
    let attributes = r#"{"userId": "ann#STORY#b", "storyId": "x"}"#;
    let output = run(&["keys", "stories", "Story"], attributes);
    assert_eq!(output.status.code(), Some(1));
    let shown = stderr(&output);
    assert!(
        shown.contains("`userId` is part of a key and may not contain `#`"),
        "{shown}"
    );
    assert!(shown.contains("must be a ULID"), "{shown}");
    assert_eq!(stdout(&output), "");
}

#[test]
fn an_unknown_design_is_named_with_those_that_exist() {
    let output = run(&["check", "novels"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("shipped are: stories"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_secret_is_made_once_and_by_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let secret = || std::fs::read(data.join("secret")).unwrap();
    let server = Server::start(&data, &["stories", "--memory"]);
    assert_eq!(token(&data, "ann").split('.').count(), 3);
    let made = secret();
    assert_eq!(made.len(), 32);
    assert_eq!(server.stop(), Some(0));
    let server = Server::start(&data, &["stories", "--memory"]);
    token(&data, "bob");
    assert_eq!(secret(), made);
    assert_eq!(server.stop(), Some(0));
    let names = std::fs::read_dir(&data).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        !names
            .iter()
            .any(|name| name.to_string_lossy().contains("draft")),
        "no drafts are left: {names:?}"
    );
}

/// Everything that is kept, with its mode.
#[cfg(unix)]
fn modes(path: &Path, found: &mut Vec<(String, u32)>) {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = std::fs::metadata(path).unwrap();
    let mode = metadata.permissions().mode() & 0o777;
    found.push((path.display().to_string(), mode));
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            modes(&entry.unwrap().path(), found);
        }
    }
}

#[cfg(unix)]
#[test]
fn only_its_owner_reads_what_is_in_a_data_directory() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let check = |when: &str| {
        let mut found = Vec::new();
        modes(&data, &mut found);
        assert!(found.len() > 5, "{when}: {found:?}");
        for (path, mode) in found {
            let is_directory = Path::new(&path).is_dir();
            let expected = if is_directory { 0o700 } else { 0o600 };
            assert_eq!(mode, expected, "{when}: {path} is {mode:o}");
        }
    };
    // A design with a bucket, so that there are files too.
    assert_eq!(Server::start(&data, &["figureforge"]).stop(), Some(0));
    check("after the first start");
    let mut found = Vec::new();
    modes(&data, &mut found);
    for (path, _) in found {
        let mode = if Path::new(&path).is_dir() {
            0o755
        } else {
            0o644
        };
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    assert_eq!(Server::start(&data, &["figureforge"]).stop(), Some(0));
    check("after a start on the directory of an older version");
}

/// Only `serve` and `demo` make a data directory. To all others a path that is not there is a typo.
#[test]
fn a_typo_in_a_path_makes_no_directory() {
    let folder = tempfile::tempdir().unwrap();
    let typo = folder.path().join("daat");
    let path = typo.to_str().unwrap();
    let commands: [&[&str]; 9] = [
        &["token", "stories", "--user", "ann"],
        &["jobs", "stories"],
        &["jobs", "stories", "--server", "127.0.0.1:1"],
        &["history", "stories"],
        &["diff", "stories"],
        &["verify", "stories"],
        &["repair", "stories"],
        &["can", "stories", "read", "Story", "ann", "1"],
        &["plan", "stories", "delete", "Story", "ann", "1"],
    ];
    for command in commands {
        let output = run(&[command, &["--data", path]].concat(), "");
        assert!(!output.status.success(), "{command:?}");
        let said = stderr(&output);
        let expected = format!("there is no data directory {path}: check the path");
        assert!(said.contains(&expected), "{command:?}: {said}");
        assert!(!typo.exists(), "{command:?}");
    }
}

#[test]
fn an_address_that_others_can_reach_needs_a_secret_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let output = run(&["serve", "--listen", "0.0.0.0:0", "--data", data], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("--secret-file"),
        "{}",
        stderr(&output)
    );
    let short = file(folder.path(), "short", "too short");
    let output = run(&["serve", "--data", data, "--secret-file", &short], "");
    assert!(
        stderr(&output).contains("at least 32 bytes"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_second_server_on_the_same_data_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let data = folder.path().to_str().unwrap();
    let output = run(&["serve", "--listen", "127.0.0.1:0", "--data", data], "");
    assert_eq!(output.status.code(), Some(1));
    let shown = stderr(&output);
    assert!(shown.contains("cannot open the store"), "{shown}");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn contradictions_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let source = partita_design::shipped::find("stories").unwrap().source;
    let copy = source.replace("design = \"stories\"", "design = \"copy\"");
    let copy = file(folder.path(), "copy.toml", &copy);
    let second = source
        .replace("design = \"stories\"", "design = \"second\"")
        .replace("[table]", "[table.first]")
        .replace("TABLE_NAME | stories", "FIRST | first")
        + "\n[table.second]\nname = \"stories\"\nkey = [\"PK\", \"SK\"]\n";
    let second = file(folder.path(), "second.toml", &second);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (flags, reason) in [
        (&["stories", copy.as_str()][..], "have the same table"),
        (
            &["stories", second.as_str()],
            "have the same table `stories`",
        ),
        (&["stories", "stories"], "are called `stories`"),
        (&["--memory", "--store", "dynamodb"], "--memory or --store"),
        (&["--endpoint", "http://127.0.0.1:1"], "--store dynamodb"),
        (&["--listen", &taken], "cannot listen"),
        (&["--log", "=["], "--log"),
    ] {
        let mut arguments = vec!["serve", "--data", data.to_str().unwrap()];
        arguments.extend(flags);
        let output = run(&arguments, "");
        assert!(!output.status.success(), "{flags:?}");
        assert!(
            stderr(&output).contains(reason),
            "{flags:?}: {}",
            stderr(&output)
        );
        assert!(!data.exists(), "{flags:?}");
    }
    for user in ["", "a#b", ".."] {
        let output = run(
            &[
                "token",
                "stories",
                "--user",
                user,
                "--data",
                data.to_str().unwrap(),
            ],
            "",
        );
        assert!(!output.status.success(), "{user}");
    }
}

/// The request that `serve` prints works as it is printed, whichever design it serves.
#[test]
fn the_announced_request_works() {
    let folder = tempfile::tempdir().unwrap();
    for design in partita_design::shipped::all() {
        let server = Server::start(folder.path(), &["--memory", design.name]);
        let command = server
            .said("try")
            .replacen("curl ", "curl --silent --fail ", 1);
        let answer = Command::new("sh").args(["-c", &command]).output().unwrap();
        let answer = String::from_utf8(answer.stdout).unwrap();
        assert_eq!(answer, r#"{"items":[]}"#, "{command}");
    }
}

#[test]
fn a_server_in_memory_keeps_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--memory"]);
    assert_eq!(server.stop(), Some(0));
    assert!(!folder.path().join("store").exists());
}

#[cfg(not(feature = "dynamodb"))]
#[test]
fn without_the_feature_dynamodb_says_how_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let secret = file(folder.path(), "secret", &"x".repeat(32));
    let output = run(
        &["serve", "--store", "dynamodb", "--secret-file", &secret],
        "",
    );
    assert!(
        stderr(&output).contains("--features dynamodb"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn bench_measures_every_workload_on_a_server_of_its_own() {
    let flags = [
        "--seconds",
        "1",
        "--rounds",
        "1",
        "--connections",
        "2",
        "--items",
        "100",
        "--echo",
        "--json",
    ];
    let output = run(&[&["bench", "--log", "warn"][..], &flags[..]].concat(), "");
    assert!(output.status.success(), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let rows = report.as_array().unwrap();
    let names: Vec<_> = rows
        .iter()
        .map(|row| row["workload"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "put",
            "get",
            "get",
            "query",
            "query",
            "query-index",
            "query-index",
            "update",
            "transact"
        ]
    );
    for row in rows {
        assert!(row["median"]["per_second"].as_f64().unwrap() > 1.0, "{row}");
        let is_echo = row["target"] == "echo";
        assert_eq!(row["ratio"].is_number(), is_echo, "{row}");
    }
}

#[test]
fn bench_measures_a_design_through_the_library() {
    for (design, only, rows) in [
        (
            "storyhub",
            &["vote", "create-chapter", "pattern.chapters"][..],
            4,
        ),
        (
            "mediahub",
            &["like", "change-visibility", "pattern.popularAlbums"],
            3,
        ),
    ] {
        let mut arguments = vec!["bench", "--log", "warn", "--design", design, "--json"];
        arguments.extend(["--seconds", "1", "--rounds", "1", "--connections", "4"]);
        arguments.extend(only.iter().flat_map(|name| ["--only", name]));
        let output = run(&arguments, "");
        assert!(output.status.success(), "{}", stderr(&output));
        let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let found = report.as_array().unwrap();
        assert_eq!(found.len(), rows, "{report:#}");
        for row in found {
            assert!(row["median"]["per_second"].as_f64().unwrap() > 1.0, "{row}");
            let is_bare = row["target"] == "bare transaction";
            assert_eq!(row["ratio"].is_number(), is_bare, "{row}");
        }
    }
}

#[test]
fn bench_measures_how_a_server_starts() {
    let flags = ["--start", "--rounds", "1", "--json"];
    let output = run(&[&["bench", "--log", "warn"][..], &flags[..]].concat(), "");
    assert!(output.status.success(), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(report["median"]["answer_ms"].as_f64().unwrap() > 0.0);
}

#[test]
fn bench_measures_the_second_start_of_the_designs() {
    let flags = ["--start", "--designs", "--rounds", "1", "--json"];
    let output = run(&[&["bench", "--log", "warn"][..], &flags[..]].concat(), "");
    assert!(output.status.success(), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(report["median"]["answer_ms"].as_f64().unwrap() > 0.0);
}

#[test]
fn bench_uses_a_storyhub_and_verifies_it() {
    let flags = ["--mixed", "--connections", "4", "--seconds", "3", "--json"];
    let output = run(&[&["bench", "--log", "warn"][..], &flags[..]].concat(), "");
    assert!(output.status.success(), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["verified"]["drifts"], 0, "{report}");
    assert!(
        report["verified"]["items"].as_u64().unwrap() > 1_000,
        "{report}"
    );
    assert!(report["vote_ratio"].as_f64().unwrap() > 0.0, "{report}");
    assert!(
        report["megabytes"]["growth"].as_f64().unwrap() > 0.0,
        "{report}"
    );
}
