//! The real binary: mails in its log, the operator's command, and the link of the first administrator.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use reqwest::{Client, StatusCode};
use serde_json::{Value as Json, json};

use super::{PASSWORD, answer};
use crate::outbox::{OtherEnd, is_installed};
use crate::server::BINARY;
use crate::stage;

/// A server whose log is a file.
pub(crate) struct Logged {
    child: Child,
    /// What it said when it had started.
    said: Vec<String>,
    log: PathBuf,
    pub(crate) base: String,
}

impl Logged {
    pub(crate) fn start(data: &Path, flags: &[&str]) -> Logged {
        Logged::of_design(&circle(), data, flags)
    }

    /// A server of a design, with its log beside its data.
    pub(crate) fn of_design(design: &Path, data: &Path, flags: &[&str]) -> Logged {
        Logged::at("127.0.0.1:0", design, data, flags)
    }

    /// The same, at an address.
    pub(crate) fn at(address: &str, design: &Path, data: &Path, flags: &[&str]) -> Logged {
        let log = data.with_extension("log");
        let mut child = Command::new(BINARY)
            .arg("serve")
            .arg(design)
            .args(["--listen", address, "--log", "info", "--data"])
            .arg(data)
            .args(flags)
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut said: Vec<String> = Vec::new();
        while !said.last().is_some_and(|line| line.starts_with("data ")) {
            let mut line = String::new();
            let read = out.read_line(&mut line).unwrap();
            assert!(read > 0, "{}", std::fs::read_to_string(&log).unwrap());
            said.push(line.trim_end().to_owned());
        }
        let base = said[0].split_whitespace().nth(1).unwrap().to_owned();
        Logged {
            child,
            said,
            log,
            base,
        }
    }

    /// The secret of the first link of this kind in the log.
    pub(crate) async fn mailed(&self, kind: &str) -> String {
        let mark = format!("/auth/{kind}?token=");
        for _ in 0..3_000 {
            let log = std::fs::read_to_string(&self.log).unwrap();
            if let Some((_, rest)) = log.split_once(&mark) {
                return rest.chars().take(43).collect();
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!(
            "no mail came: {}",
            std::fs::read_to_string(&self.log).unwrap()
        );
    }

    pub(crate) async fn post(
        &self,
        path: &str,
        token: Option<&str>,
        body: Json,
    ) -> (StatusCode, Json) {
        let mut request = Client::new()
            .post(format!("{}/{path}", self.base))
            .json(&body);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        answer(request.send().await.unwrap()).await
    }

    /// Whether its log has a text.
    pub(crate) fn has_logged(&self, text: &str) -> bool {
        std::fs::read_to_string(&self.log).unwrap().contains(text)
    }

    /// The secret of the link that makes the first administrator, if one is printed.
    pub(crate) fn administrator(&self) -> Option<String> {
        let mut lines = self.said.iter();
        let line = lines.find(|line| line.starts_with("administrator "))?;
        let (_, rest) = line.split_once("token=").unwrap();
        Some(rest.chars().take(43).collect())
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn circle() -> PathBuf {
    stage::folder("circle").join("circle.toml")
}

fn grant(flags: &[&str], user: &str, role: &str) -> Output {
    Command::new(BINARY)
        .args(["admin", "grant"])
        .arg(circle())
        .args([user, role])
        .args(flags)
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .output()
        .unwrap()
}

/// A newcomer finds the link in the log, and uses what they signed up for.
pub(crate) async fn newcomer(data: &Path, flags: &[&str]) {
    let server = Logged::start(data, flags);
    assert!(server.administrator().is_some());
    let body = json!({"email": "ann@example.org", "password": PASSWORD, "handle": "ann"});
    assert_eq!(
        server.post("auth/sign-up", None, body).await.0,
        StatusCode::ACCEPTED
    );
    let token = server.mailed("verify-email").await;
    let body = json!({"token": token, "password": PASSWORD});
    assert_eq!(
        server.post("auth/verify-email", None, body).await.0,
        StatusCode::NO_CONTENT
    );
    let body = json!({"login": "ann@example.org", "password": PASSWORD});
    let (status, session) = server.post("auth/sign-in", None, body.clone()).await;
    assert_eq!(status, StatusCode::OK, "{session}");
    let (token, user) = (
        session["token"].as_str().unwrap(),
        &session["user"]["userId"],
    );
    let note = json!({"userId": user, "text": "Buy milk"});
    assert_eq!(
        server.post("Note", Some(token), note).await.0,
        StatusCode::CREATED
    );

    // The operator says who administrates, beside the server. Its credentials are in no log.
    let place = [&["--data", data.to_str().unwrap()][..], flags].concat();
    let granted = grant(&place, "ann@example.org", "admin");
    assert!(granted.status.success(), "{granted:?}");
    let refused = grant(&place, "nobody@example.org", "admin");
    assert!(!refused.status.success(), "{refused:?}");
    let (_, session) = server.post("auth/sign-in", None, body).await;
    assert_eq!(session["user"]["role"], "admin", "{session}");
    let log = std::fs::read_to_string(&server.log).unwrap();
    assert!(
        log.contains("somebody signed in") && !log.contains(PASSWORD),
        "{log}"
    );
    for secret in [token, session["token"].as_str().unwrap()] {
        assert!(!log.contains(secret.split_once('.').unwrap().1), "{log}");
    }
    drop(server);
    let again = Logged::start(data, flags);
    assert_eq!(again.administrator(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newcomer_finds_the_link_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    newcomer(&folder.path().join("data"), &[]).await;
}

/// The secret of the newest link of a kind that a mail server has noted, for an address.
async fn link_in(mail: &OtherEnd, to: &str, kind: &str) -> String {
    let mark = format!("/auth/{kind}?token=");
    // A server that was killed has its lease for a minute.
    for _ in 0..12_000 {
        let notes = std::fs::read_to_string(&mail.file).unwrap_or_default();
        let notes = notes.lines().rev();
        let mut notes = notes.filter_map(|line| serde_json::from_str::<Json>(line).ok());
        let found = notes.find(|note| note["to"] == json!([to]));
        let text = found
            .map(|note| note["text"].to_string())
            .unwrap_or_default();
        if let Some((_, rest)) = text.split_once(&mark) {
            return rest.chars().take(43).collect();
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("no mail came to {to}");
}

/// Every link comes by a mail server that others wrote, and none of them is in the log.
pub(crate) async fn by_mail(data: &Path, flags: &[&str]) {
    if !is_installed("outbox") {
        return;
    }
    let mail = OtherEnd::start("mail", None, data.with_extension("mails"));
    let smtp = mail.address();
    let through = [
        "--smtp",
        &smtp,
        "--mail-from",
        "Circle <circle@example.org>",
    ];
    let server = Logged::start(data, &[flags, &through].concat());
    // On DynamoDB others have signed up to the same table.
    let (bea, beate) = ("bea@example.org", "beate@example.org");
    let post = async |path: &str, token: Option<&str>, body: Json, expected: u16| {
        let (status, told) = server.post(path, token, body).await;
        assert_eq!(status.as_u16(), expected, "{path}: {told}");
        told
    };
    let body = json!({"email": bea, "password": PASSWORD, "handle": "bea"});
    post("auth/sign-up", None, body, 202).await;
    let token = link_in(&mail, bea, "verify-email").await;
    let body = json!({"token": token, "password": PASSWORD});
    post("auth/verify-email", None, body, 204).await;
    post("auth/request-reset", None, json!({"login": bea}), 202).await;
    let token = link_in(&mail, bea, "reset").await;
    let body = json!({"token": token, "password": "another good one"});
    post("auth/reset", None, body.clone(), 204).await;
    post("auth/reset", None, body, 403).await;
    let sign_in = json!({"login": bea, "password": "another good one"});
    let session = post("auth/sign-in", None, sign_in, 200).await;
    let session = session["token"].as_str();
    let body = json!({"login": beate, "password": "another good one"});
    post("auth/change-email", session, body, 202).await;
    let token = link_in(&mail, beate, "verify-email").await;
    let body = json!({"token": token, "password": "another good one"});
    post("auth/verify-email", None, body, 204).await;
    let sign_in = json!({"login": beate, "password": "another good one"});
    post("auth/sign-in", None, sign_in, 200).await;
    // Who has the address is told that somebody wants it, and the answer is the same.
    let body = json!({"email": beate, "password": PASSWORD, "handle": "eve"});
    post("auth/sign-up", None, body, 202).await;
    for turn in 0.. {
        let notes = std::fs::read_to_string(&mail.file).unwrap();
        if notes.contains("You have an account already") {
            break;
        }
        assert!(turn < 3_000, "{notes}");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let log = std::fs::read_to_string(&server.log).unwrap();
    assert!(log.contains("a password was replaced"), "{log}");
    assert!(!log.contains("token="), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn links_come_by_a_mail_server() {
    let folder = tempfile::tempdir().unwrap();
    by_mail(&folder.path().join("data"), &[]).await;
}

/// A public address says that there is a proxy, whose log is no place for links.
#[tokio::test(flavor = "multi_thread")]
async fn behind_a_proxy_links_are_logged_only_if_somebody_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let public = ["--public-url", "https://circle.example/app"];
    let said = [&public[..], &["--mail", "log"]].concat();
    for (name, flags, is_logged) in [("kept", &public[..], false), ("told", &said[..], true)] {
        let data = folder.path().join(name);
        let server = Logged::start(&data, flags);
        let body = json!({"email": "ann@example.org", "password": PASSWORD, "handle": "ann"});
        server.post("auth/sign-up", None, body).await;
        if is_logged {
            server.mailed("verify-email").await;
            continue;
        }
        let list = loop {
            let mut command = Command::new(BINARY);
            command.arg("outbox").arg(circle());
            let output = command.arg("--data").arg(&data).output().unwrap();
            let list = String::from_utf8(output.stdout).unwrap();
            if list.contains("1 failed") {
                break list;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        };
        assert!(list.contains("no mail server is configured"), "{list}");
        let log = std::fs::read_to_string(&server.log).unwrap();
        assert!(!log.contains("token="), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_administrator_opens_the_link_that_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let first = Logged::start(&data, &[]).administrator().unwrap();
    let server = Logged::start(&data, &[]);
    let second = server.administrator().unwrap();
    let body = json!({"email": "ann@example.org", "password": PASSWORD, "handle": "ann"});
    server.post("auth/sign-up", None, body).await;
    server.mailed("verify-email").await;
    let claim =
        |token: &str| json!({"token": token, "login": "ann@example.org", "password": PASSWORD});
    // A later start prints another link.
    assert_eq!(
        server
            .post("auth/administrator", None, claim(&first))
            .await
            .0,
        StatusCode::FORBIDDEN
    );
    assert_eq!(
        server
            .post("auth/administrator", None, claim(&second))
            .await
            .0,
        StatusCode::NO_CONTENT
    );
    let body = json!({"login": "ann@example.org", "password": PASSWORD});
    let (_, session) = server.post("auth/sign-in", None, body).await;
    assert_eq!(session["user"]["role"], "admin", "{session}");
}

/// A token is for an id. One for a login would never count, so none is made, and who asks is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_for_a_login_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let token = |user: &str| {
        let mut command = Command::new(BINARY);
        command.arg("token").arg(circle());
        command.args(["--user", user, "--data"]).arg(&data);
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let token = String::from_utf8(output.stdout).unwrap();
        (output.status.success(), token.trim_end().to_owned(), said)
    };
    let server = Logged::start(&data, &[]);
    let body = json!({"email": "ann@example.org", "password": PASSWORD, "handle": "ann"});
    server.post("auth/sign-up", None, body).await;
    let link = server.mailed("verify-email").await;
    let body = json!({"token": link, "password": PASSWORD});
    server.post("auth/verify-email", None, body).await;
    let body = json!({"login": "ann@example.org", "password": PASSWORD});
    let (_, session) = server.post("auth/sign-in", None, body).await;
    let id = session["user"]["userId"].as_str().unwrap();

    let (is_made, none, said) = token("Ann@example.org");
    assert!(!is_made && none.is_empty(), "{none}");
    assert!(said.contains(&format!("write `--user {id}`")), "{said}");
    let (is_made, none, said) = token("nobody");
    assert!(!is_made && none.is_empty(), "{none}");
    assert!(said.contains("`nobody` is no id of a `User`"), "{said}");
    // One whose user is not there yet is made, with a word of it.
    let (is_made, token_of_nobody, said) = token("00000000-0000-4000-8000-000000000000");
    assert!(is_made && said.contains("there is no `User`"), "{said}");
    let note = json!({"userId": id, "text": "Buy milk"});
    let written = server.post("Note", Some(&token_of_nobody), note.clone());
    assert_eq!(written.await.0, StatusCode::UNAUTHORIZED);
    let (is_made, token_of_ann, said) = token(id);
    assert!(is_made && said.is_empty(), "{said}");
    let written = server.post("Note", Some(&token_of_ann), note).await;
    assert_eq!(written.0, StatusCode::CREATED);
    // Without a server nobody knows who signs in with what. What can be no id is refused all the same.
    drop(server);
    let (is_made, _, said) = token("ann@example.org");
    assert!(!is_made && said.contains("is no id of a `User`"), "{said}");
    assert!(token(id).0);
}

/// In a restored directory the sessions of before are void, passwords are as they were, and mails wait
/// until the operator lets them go on.
#[tokio::test(flavor = "multi_thread")]
async fn a_restored_directory_knows_no_session_and_sends_no_mail() {
    let folder = tempfile::tempdir().unwrap();
    let [data, target, restored] =
        ["data", "target", "restored"].map(|name| folder.path().join(name));
    let partita = |arguments: &[&str], path: &Path| {
        let mut command = Command::new(BINARY);
        let output = command.args(arguments).arg(path).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    let server = Logged::start(&data, &[]);
    let body = json!({"email": "ann@example.org", "password": PASSWORD, "handle": "ann"});
    server.post("auth/sign-up", None, body).await;
    let token = server.mailed("verify-email").await;
    let body = json!({"token": token, "password": PASSWORD});
    server.post("auth/verify-email", None, body).await;
    let sign_in = json!({"login": "ann@example.org", "password": PASSWORD});
    let (_, session) = server.post("auth/sign-in", None, sign_in.clone()).await;
    let token = session["token"].as_str().unwrap().to_owned();
    let note = json!({"userId": session["user"]["userId"], "text": "Buy milk"});
    let (status, _) = server.post("Note", Some(&token), note.clone()).await;
    assert_eq!(status, StatusCode::CREATED);
    let target = target.to_str().unwrap();
    partita(&["backup", target, "--data"], &data);
    partita(&["restore", target, "--into"], &restored);

    let server = Logged::start(&restored, &[]);
    let (status, _) = server.post("Note", Some(&token), note.clone()).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let body = json!({"email": "bob@example.org", "password": PASSWORD, "handle": "bob"});
    server.post("auth/sign-up", None, body).await;
    let (status, session) = server.post("auth/sign-in", None, sign_in).await;
    assert_eq!(status, StatusCode::OK, "{session}");
    let (status, _) = server.post("Note", session["token"].as_str(), note).await;
    assert_eq!(status, StatusCode::CREATED);
    let log = std::fs::read_to_string(&server.log).unwrap();
    assert!(log.contains("mails, events and schedules wait"), "{log}");
    assert!(!log.contains("/auth/verify-email"), "{log}");
    let outbox = |words: &[&str]| {
        let mut command = Command::new(BINARY);
        command.arg("outbox").arg(circle()).args(words);
        let output = command.arg("--data").arg(&restored).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(said).unwrap())
    };
    let (is_done, list) = outbox(&[]);
    assert!(is_done && list.contains("partita resume"), "{list}");
    let id = list.lines().find(|line| line.contains("waiting"));
    let id = id.and_then(|line| line.split(' ').next()).unwrap();
    let (is_done, said) = outbox(&["retry", id]);
    assert!(!is_done && said.contains("nothing is tried now"), "{said}");
    partita(&["resume", "--data"], &restored);
    server.mailed("verify-email").await;
}
