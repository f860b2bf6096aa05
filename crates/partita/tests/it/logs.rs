//! What is logged, and what never is.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use reqwest::Client;
use serde_json::{Value as Json, json};

use crate::server::{BINARY, token_for};

/// Whatever is asked by any caller, and however much is logged: no secret is in a log.
#[tokio::test]
async fn secrets_are_in_no_log() {
    let folder = tempfile::tempdir().unwrap();
    let credentials = folder.path().join("credentials");
    std::fs::write(&credentials, "AKIDOFTHETESTS\nsecret-of-the-endpoint\n").unwrap();
    let mut child = Command::new(BINARY)
        .args([
            "serve",
            "mediahub",
            "--listen",
            "127.0.0.1:0",
            "--log",
            "trace",
        ])
        .args(["--log-format", "json", "--data"])
        .arg(folder.path())
        .arg("--credentials-file")
        .arg(&credentials)
        .env_remove("TABLE_NAME")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = child.stderr.take().unwrap();
    // What is logged is read all the time, or the server would wait for its reader.
    let log = std::thread::spawn(move || {
        let mut text = String::new();
        log.read_to_string(&mut text).unwrap();
        text
    });
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let base = line.split_whitespace().nth(1).unwrap().to_owned();

    let user = "0a4f3f2e-6f0e-4a52-9c53-0b0f3b7d8d11";
    let session = "5b1d9b0c-3f86-4bb1-8a9e-2f3d4c5b6a79";
    let token = token_for(
        "mediahub",
        &["--data", folder.path().to_str().unwrap()],
        user,
    );
    let client = Client::new();
    let created = client
        .post(format!("{base}/auth/sign-up"))
        .json(
            &json!({"email": "ann@example.org", "username": "ann", "emailPreferences": {},
            "password": "the-password-of-ann"}),
        )
        .header("x-request-id", "of-the-test-1")
        .send()
        .await
        .unwrap();
    assert_eq!(created.status(), 202);
    assert_eq!(created.headers()["x-request-id"], "of-the-test-1");
    let body = json!({"login": "ann@example.org", "password": "another-password"});
    let refused = client.post(format!("{base}/auth/sign-in")).json(&body);
    assert_eq!(refused.send().await.unwrap().status(), 401);
    let credential = format!("{session}.a-secret-of-a-session");
    for (path, bearer) in [
        ("UserSession", &token),
        ("UserSesion", &token),
        ("UserSession", &credential),
    ] {
        let url = format!("{base}/{path}/{session}?why=the-query");
        let answer = client.get(&url).bearer_auth(bearer).send().await.unwrap();
        assert_eq!(answer.status(), 401);
    }

    let stopped = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(stopped.unwrap().success());
    assert!(child.wait().unwrap().success());
    let log = log.join().unwrap();
    let lines: Vec<Json> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let request = |id: &str| lines.iter().find(|line| line["fields"]["request"] == id);
    let fields = &request("of-the-test-1").unwrap()["fields"];
    assert_eq!(fields["operation"], "auth.signUp", "{fields}");
    assert_eq!(fields["status"], 202, "{fields}");
    let (_, signature) = token.rsplit_once('.').unwrap();
    for secret in [
        signature,
        "a-secret-of-a-session",
        "the-password-of-ann",
        "another-password",
        "the-query",
        "secret-of-the-endpoint",
    ] {
        let found = log.lines().find(|line| line.contains(secret));
        assert_eq!(found, None, "{secret}");
    }
}
