//! Designs, demos and requests that are made to be too much: refused at once, in words that say why.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use reqwest::{Client, StatusCode};
use serde_json::{Value as Json, json};

use crate::server::{BINARY, Server, token_for};

/// How long a command may take here, built without optimisation on a busy machine.
const LONGEST: Duration = Duration::from_secs(30);

const NOTES: &str = r#"
design = "notes"
[table]
name = "notes"
key  = ["PK", "SK"]
[entity.Note]
PK = "USER#{userId}"
SK = "NOTE#{noteId}"
[entity.Note.allow]
"*" = "userId = caller"
[entity.Note.attributes]
userId = "string"
noteId = "string"
n      = "int default 0"
"#;

fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// Runs a command to its end, which comes soon.
#[expect(
    clippy::disallowed_methods,
    reason = "it is measured how long a process takes"
)]
fn run(arguments: &[&str]) -> (Output, String) {
    let begun = Instant::now();
    let output = Command::new(BINARY)
        .args(["--log", "warn"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        begun.elapsed() < LONGEST,
        "{arguments:?}: {:?}",
        begun.elapsed()
    );
    let told = [&output.stdout[..], &output.stderr].concat();
    (output, String::from_utf8_lossy(&told).into_owned())
}

#[test]
fn designs_that_are_too_much_are_refused_with_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let sum = |terms: usize| format!("m = \"int = {}\"\n", vec!["n"; terms].join(" + "));
    let chain = |length: usize| {
        let links = (1..length).map(|at| format!("b{at} = \"int = b{} + 1\"\n", at - 1));
        "b0 = \"int = n\"\n".to_owned() + &links.collect::<String>()
    };
    let shapes = |count: usize, fields: &[&str]| {
        let shapes = (0..count).map(|at| {
            let fields = fields
                .iter()
                .map(|name| format!("{name} = \"X{}?\"\n", at + 1));
            format!("[shape.X{at}]\n{}", fields.collect::<String>())
        });
        let shapes: String = shapes.collect();
        format!("s = \"X0?\"\n{shapes}[shape.X{count}]\na = \"int?\"\n")
    };
    let cases = [
        (sum(1_001), "a value has at most 100 parts"),
        (sum(30_000), "a value has at most 100 parts"),
        (
            shapes(25, &["a", "b", "c"]),
            "at most 500 fields and 16 levels",
        ),
        (shapes(2_000, &["a"]), "at most 1000 of `[shape.…]`"),
        (shapes(900, &["a"]), "at most 500 fields and 16 levels"),
        (chain(3_000), "a section has at most 2000 values"),
        ("#".repeat(1_000_001), "a design has at most 1000000 bytes"),
    ];
    for (at, (text, limit)) in cases.into_iter().enumerate() {
        let path = written(
            folder.path(),
            &format!("{at}.toml"),
            &(NOTES.to_owned() + &text),
        );
        for command in ["check", "docs", "describe", "openapi"] {
            let (output, told) = run(&[command, path.to_str().unwrap()]);
            assert_eq!(output.status.code(), Some(1), "{command} {at}: {told}");
            assert!(told.contains(limit), "{command} {at}: {told}");
        }
    }
    // What is below the limits is no matter of patience either.
    let long = written(
        folder.path(),
        "chain.toml",
        &(NOTES.to_owned() + &chain(1_900)),
    );
    for command in ["check", "describe"] {
        let (output, told) = run(&[command, long.to_str().unwrap()]);
        assert!(output.status.success(), "{command}: {told}");
    }
}

/// Whatever `check` takes, the other commands take, too.
#[test]
fn a_design_is_refused_by_check_if_by_anything() {
    let folder = tempfile::tempdir().unwrap();
    let refs = "[entity.Note.refs]\nself = \"Note(userId, noteId = noteId), on delete keep\"\n";
    let text = format!("{NOTES}c = \"copy self.c\"\n{refs}");
    let path = written(folder.path(), "loop.toml", &text);
    for command in ["check", "describe"] {
        let (output, told) = run(&[command, path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{command}: {told}");
        assert!(told.contains("`c` of `Note` follows from itself"), "{told}");
    }
}

#[test]
fn demos_that_are_too_much_are_refused_with_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (data, design) = (
        data.to_str().unwrap(),
        written(folder.path(), "notes.toml", NOTES),
    );
    let nested = (0..1_000).map(|depth| format!("{}repeat 1..1\n", " ".repeat(depth)));
    let doubled = "let a = \"$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a\"\n".repeat(7);
    let cases = [
        (nested.collect::<String>(), "blocks nest at most 16 deep"),
        (
            "repeat 4000000000\n  let b = 1".to_owned(),
            "at most 10000 times",
        ),
        (
            format!("let a = \"{}\"\n{doubled}", "x".repeat(56)),
            "16000000 bytes",
        ),
        (
            "repeat 10000\n  repeat 10000\n    let b = 1".to_owned(),
            "at most 1000000 steps",
        ),
    ];
    for (at, (text, limit)) in cases.into_iter().enumerate() {
        let script = written(folder.path(), &format!("{at}.demo"), &text);
        let (output, told) = run(&[
            "demo",
            design.to_str().unwrap(),
            "--script",
            script.to_str().unwrap(),
            "--data",
            data,
        ]);
        assert_eq!(output.status.code(), Some(1), "{at}: {told}");
        assert!(told.contains(limit), "{at}: {told}");
    }
}

/// An item that no store takes is refused by the planner, before it waits for the one committer.
#[tokio::test]
async fn items_that_are_too_large_are_refused_before_they_are_committed() {
    let folder = tempfile::tempdir().unwrap();
    let text = NOTES.replace("[entity.Note.allow]", "open = true\n[entity.Note.allow]")
        + "text = \"string?\"\nacl.level = \"int?\"\n[view.Copy]\nof = \"Note\"\nPK = \"COPY#{userId}\"\nSK = \"N#{noteId}\"\nkeep = [\"text\"]\n[view.Copy.attributes]\ntwice = \"= text\"\n";
    let design = written(folder.path(), "notes.toml", &text);
    let server = Server::start(folder.path(), &[design.to_str().unwrap()]);
    let data = folder.path().to_str().unwrap();
    let token = token_for(design.to_str().unwrap(), &["--data", data], "ann");
    let client = Client::new();
    let post = async |body: Json| {
        let url = format!("{}/notes/Note", server.base);
        let answer = client.post(url).bearer_auth(&token).json(&body).send();
        let answer = answer.await.unwrap();
        let status = answer.status();
        (status, answer.json::<Json>().await.unwrap())
    };
    let maps = json!(vec![json!({}); 400_000]);
    let deep = (0..40).fold(json!(1), |inner, _| json!([inner]));
    let cases = [
        (json!({"extra": maps}), "`extra` of `Note` makes the item"),
        (
            json!({"text": "x".repeat(420_000)}),
            "`text` of `Note` makes the item",
        ),
        // The item fits, and its record in the view does not.
        (
            json!({"text": "x".repeat(300_000)}),
            "of `Copy` makes the item",
        ),
        (
            json!({"x".repeat(70_000): 1}),
            "has a name that is empty or longer",
        ),
        (
            json!({"extra": {"": 1}}),
            "has a name that is empty or longer",
        ),
        (json!({"extra": deep}), "nests more than 32 levels deep"),
        (json!({"acl": {"a.b": 1}}), "has a dot in its name"),
        (json!({"PK": "x"}), "is kept by Partita"),
    ];
    for (given, expected) in cases {
        let mut body = json!({"userId": "ann", "noteId": "1"});
        let members = given.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(members);
        let (status, problem) = post(body).await;
        assert_eq!(
            status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{expected}: {problem}"
        );
        let detail = problem.to_string();
        assert!(detail.contains(expected), "{expected}: {problem}");
    }
    let (status, note) = post(json!({"userId": "ann", "noteId": "1", "acl": {"zz": 1}})).await;
    assert_eq!(
        (status, &note["acl"]),
        (StatusCode::CREATED, &json!({"zz": 1}))
    );
    let url = format!("{}/notes/Note/ann/1", server.base);
    let change = json!({"acl": {"level": 2, "zz": null, "yy": 3}, "text": "y".repeat(420_000)});
    let send = async |change: &Json| {
        let answer = client.patch(&url).bearer_auth(&token).json(change).send();
        answer.await.unwrap()
    };
    let refused = send(&change).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let changed: Json = send(&json!({"acl": change["acl"]}))
        .await
        .json()
        .await
        .unwrap();
    assert_eq!(changed["acl"], json!({"level": 2, "yy": 3}), "{changed}");
    assert!(changed.get("acl.yy").is_none(), "{changed}");
}

/// What cannot be computed is not told as something that was removed.
#[tokio::test]
async fn a_number_beyond_38_digits_is_told_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(
        folder.path(),
        "notes.toml",
        &(NOTES.to_owned() + "twice = \"int = n + n\"\n"),
    );
    let server = Server::start(folder.path(), &[design.to_str().unwrap()]);
    let data = folder.path().to_str().unwrap();
    let token = token_for(design.to_str().unwrap(), &["--data", data], "ann");
    let most = "9".repeat(38);
    let body = format!(r#"{{"userId": "ann", "noteId": "1", "n": {most}}}"#);
    let answer = Client::new()
        .post(format!("{}/notes/Note", server.base))
        .bearer_auth(&token)
        .header("content-type", "application/json")
        .body(body)
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let problem = answer.text().await.unwrap();
    assert!(problem.contains("more than 38 digits"), "{problem}");
}
