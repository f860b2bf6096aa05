//! Secrets that are rotated while a server runs: nothing that was signed is refused until its secret
//! is retired.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use reqwest::{Client, StatusCode};
use serde_json::{Value as Json, json};

use crate::server::{BINARY, Server, token};

fn secret(data: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(BINARY);
    command.arg("secret").args(arguments);
    command.arg("--data").arg(data).output().unwrap()
}

/// What a command of `secret` prints that succeeds.
fn said(data: &Path, arguments: &[&str]) -> Vec<String> {
    let output = secret(data, arguments);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Why a command of `secret` is refused.
fn refused(data: &Path, arguments: &[&str]) -> String {
    let output = secret(data, arguments);
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The names of the secrets, the one that signs first.
fn names(data: &Path) -> Vec<String> {
    let lines = said(data, &["list"]);
    let names = lines.iter().map(|line| line.split(' ').next().unwrap());
    names.map(str::to_owned).collect()
}

async fn list(server: &Server, token: &str, cursor: &str) -> (StatusCode, Json) {
    let url = format!(
        "{}/stories/query/stories?userId=ann&limit=1{cursor}",
        server.base
    );
    let answer = Client::new()
        .get(url)
        .bearer_auth(token)
        .send()
        .await
        .unwrap();
    (answer.status(), answer.json().await.unwrap())
}

async fn create(server: &Server, token: &str) {
    let answer = Client::new()
        .post(format!("{}/stories/users/ann/stories", server.base))
        .bearer_auth(token)
        .json(&json!({"title": "Dune"}))
        .send();
    assert_eq!(answer.await.unwrap().status(), StatusCode::CREATED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_refuses_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let server = Arc::new(Server::start(&data, &["stories"]));
    let old = token(&data, "ann");
    create(&server, &old).await;
    create(&server, &old).await;
    let (_, page) = list(&server, &old, "").await;
    let cursor = format!("&cursor={}", page["cursor"].as_str().unwrap());

    // Somebody asks all the time, with the old token and with ones that are made meanwhile.
    let (is_done, asked) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU32::new(0)),
    );
    let asking = tokio::spawn({
        let (server, data, old) = (server.clone(), data.clone(), old.clone());
        let (is_done, asked) = (is_done.clone(), asked.clone());
        async move {
            while !is_done.load(Ordering::Relaxed) {
                let new = tokio::task::block_in_place(|| token(&data, "ann"));
                for token in [&old, &new] {
                    assert_eq!(list(&server, token, "").await.0, StatusCode::OK);
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    });
    let before = names(&data);
    for _ in 0..3 {
        tokio::task::block_in_place(|| said(&data, &["rotate"]));
        let seen = asked.load(Ordering::Relaxed);
        while asked.load(Ordering::Relaxed) < seen + 4 && !asking.is_finished() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    is_done.store(true, Ordering::Relaxed);
    asking.await.unwrap();

    let after = names(&data);
    assert_eq!((before.len(), after.len()), (1, 4));
    assert_eq!(before[0], after[3], "the first secret is accepted last");
    let new = token(&data, "ann");
    let (status, page) = list(&server, &new, &cursor).await;
    assert_eq!(status, StatusCode::OK, "a cursor of before: {page}");

    // Only what the retired secret signed is void.
    for name in &after[2..] {
        said(&data, &["retire", name]);
    }
    assert_eq!(list(&server, &old, "").await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(list(&server, &new, "").await.0, StatusCode::OK);
    assert_eq!(
        list(&server, &new, &cursor).await.0,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(names(&data), after[..2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_is_edited_without_a_server_and_found_by_the_next_one() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    assert!(refused(&data, &["rotate"]).contains("there is no data directory"));
    let server = Server::start(&data, &["stories"]);
    let old = token(&data, "ann");
    create(&server, &old).await;
    assert_eq!(server.stop(), Some(0));

    let added = said(&data, &["add"]);
    assert_eq!(added.len(), 2, "{added:?}");
    assert!(
        added[1].ends_with("signs after `partita secret rotate`"),
        "{added:?}"
    );
    assert!(refused(&data, &["add"]).contains("was added before"));
    let rotated = said(&data, &["rotate"]);
    assert_eq!(rotated[0].split(' ').next(), added[1].split(' ').next());
    assert!(refused(&data, &["retire", "00000000"]).contains("there is no secret"));
    let signing = &names(&data)[0];
    assert!(refused(&data, &["retire", signing]).contains("signs"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let file = std::fs::metadata(data.join("secret")).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
    }
    let server = Server::start(&data, &["stories"]);
    for token in [old, token(&data, "ann")] {
        assert_eq!(list(&server, &token, "").await.0, StatusCode::OK);
    }
}

/// Servers that share no data directory have copies of a file.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_follows_a_file_that_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let (data, file) = (
        directory.path().join("data"),
        directory.path().join("shared"),
    );
    std::fs::write(&file, [7; 32]).unwrap();
    let path = file.to_str().unwrap();
    let server = Server::start(&data, &["stories", "--secret-file", path]);
    let make = || crate::server::token_with(&["--secret-file", path], "ann");
    let old = make();
    assert_eq!(list(&server, &old, "").await.0, StatusCode::OK);
    std::fs::write(directory.path().join("new"), [8; 32]).unwrap();
    std::fs::rename(directory.path().join("new"), &file).unwrap();
    let new = make();
    let mut seen = StatusCode::UNAUTHORIZED;
    for _ in 0..200 {
        seen = list(&server, &new, "").await.0;
        if seen == StatusCode::OK {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(seen, StatusCode::OK);
    assert_eq!(list(&server, &old, "").await.0, StatusCode::UNAUTHORIZED);
    // A file that is no good changes nothing.
    std::fs::write(&file, "partita secrets\nnonsense").unwrap();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(list(&server, &new, "").await.0, StatusCode::OK);
}

/// A service manager hands a server a copy. Whoever retires a secret must not believe that it is void.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_copy_of_the_file_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let (data, file, copy) = (
        directory.path().join("data"),
        directory.path().join("kept"),
        directory.path().join("copy"),
    );
    std::fs::write(&file, [7; 32]).unwrap();
    std::fs::write(&copy, [7; 32]).unwrap();
    let copied = copy.to_str().unwrap();
    let server = Server::start(&data, &["stories", "--secret-file", copied]);
    let old = crate::server::token_with(&["--secret-file", copied], "ann");
    let kept = ["--secret-file", file.to_str().unwrap()];
    let why = refused(&data, &[&["rotate"][..], &kept].concat());
    assert!(why.contains("does not follow it"), "{why}");
    let first = said(&data, &[&["list"][..], &kept].concat());
    assert_eq!(
        first.len(),
        2,
        "nothing signs that the server refuses: {first:?}"
    );
    assert_eq!(list(&server, &old, "").await.0, StatusCode::OK);

    // Started again with what was written, it follows.
    assert_eq!(server.stop(), Some(0));
    let path = file.to_str().unwrap();
    let server = Server::start(&data, &["stories", "--secret-file", path]);
    let rotated = said(&data, &[&["rotate"][..], &kept].concat());
    assert_eq!(rotated.len(), 2, "{rotated:?}");
    let new = crate::server::token_with(&["--secret-file", path], "ann");
    for token in [&old, &new] {
        assert_eq!(list(&server, token, "").await.0, StatusCode::OK);
    }
}

/// What another user of the machine puts in the place of the lock is neither followed nor waited for.
#[cfg(unix)]
#[test]
fn a_planted_lock_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kept");
    std::fs::write(&file, [7; 32]).unwrap();
    let (lock, elsewhere) = (
        directory.path().join("kept.lock"),
        directory.path().join("elsewhere"),
    );
    let kept = ["add", "--secret-file", file.to_str().unwrap()];
    std::os::unix::fs::symlink(&elsewhere, &lock).unwrap();
    assert!(refused(directory.path(), &kept).contains("cannot lock"));
    assert!(!elsewhere.exists());
    std::fs::remove_file(&lock).unwrap();
    let made = Command::new("mkfifo").arg(&lock).status().unwrap();
    assert!(made.success());
    assert!(refused(directory.path(), &kept).contains("cannot lock"));
    assert_eq!(std::fs::read(&file).unwrap(), [7; 32]);

    // A link to the file has the same lock, and stays a link.
    std::fs::remove_file(&lock).unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    said(
        directory.path(),
        &["add", "--secret-file", link.to_str().unwrap()],
    );
    assert!(link.is_symlink() && lock.is_file());
    assert!(!directory.path().join("link.lock").exists());
}

#[test]
fn a_secret_that_is_too_short_is_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kept");
    for short in [&b""[..], b"short"] {
        std::fs::write(&file, short).unwrap();
        refused(
            directory.path(),
            &["add", "--secret-file", file.to_str().unwrap()],
        );
        assert_eq!(std::fs::read(&file).unwrap(), short);
    }
}
