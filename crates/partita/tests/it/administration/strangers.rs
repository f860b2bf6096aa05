//! Who may not have commands carried out, and what they are told.

use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use partita_api::Secrets;
use partita_api::admin::{self, Allowed};
use partita_api::token::{Errand, Tokens};
use partita_core::{Item, Value};
use partita_store::surroundings::SystemClock;
use reqwest::Client;
use serde_json::{Value as Json, json};

use super::{admin as administrator_of, filled, partita, put_into};
use crate::server::{BINARY, Server, make_secret, token_for};

/// Over HTTP: the same refusal whatever is asked about, before the request is read.
#[tokio::test]
async fn strangers_are_refused_over_http() {
    let data = filled();
    let elsewhere = tempfile::tempdir().unwrap();
    make_secret(elsewhere.path());
    let server = Server::start(data.path(), &["stories", "mediahub"]);
    let path = data.path().to_str().unwrap();
    let user = token_for("stories", &["--data", path], "ann");
    let flags = ["--role", "admin", "--data", path];
    let id = "00000000-0000-4000-8000-00000000ad01";
    let other_design = token_for("mediahub", &flags, id);
    let forged = administrator_of(elsewhere.path(), "stories");
    // Its design takes roles from items, so a role in a token is void.
    let claimed = token_for("mediahub", &flags, id);
    let cases = [
        ("stories", None, 401),
        ("stories", Some(&user), 403),
        ("stories", Some(&forged), 401),
        ("stories", Some(&other_design), 401),
        ("mediahub", Some(&claimed), 401),
    ];
    for (design, token, status) in cases {
        for command in admin::all().map(|row| row.name) {
            let mut answers = Vec::new();
            for body in [
                json!({}),
                json!({"operation": "read", "on": ["Story", "ann", "1"]}),
            ] {
                let url = format!("{}/{design}/admin/{command}", server.base);
                let mut call = Client::new().post(url).json(&body);
                if let Some(token) = token {
                    call = call.bearer_auth(token);
                }
                let answer = call.send().await.unwrap();
                assert_eq!(answer.status().as_u16(), status, "{design} {command}");
                let mut answer: Json = answer.json().await.unwrap();
                answer["instance"].take();
                answers.push(answer);
            }
            assert_eq!(answers[0], answers[1], "{design} {command}");
        }
    }
    // An administrator of the design is not the operator of the installation.
    let administrator = administrator_of(data.path(), "stories");
    let past_rules = admin::all().filter(|row| row.allowed == Allowed::Operator);
    for command in past_rules.map(|row| row.name) {
        let url = format!("{}/stories/admin/{command}", server.base);
        let call = Client::new().post(url).bearer_auth(&administrator);
        let call = call.json(&json!({}));
        assert_eq!(
            call.send().await.unwrap().status().as_u16(),
            403,
            "{command}"
        );
    }
    // The command line says so, and ends as without a look at the data.
    let over = [
        "verify",
        "stories",
        "--server",
        &server.base,
        "--token",
        &user,
    ];
    let output = partita(data.path(), &over);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("403 Forbidden: this is for administrators"),
        "{said}"
    );
}

/// The operator's token asks one server for one command with one body, once. Whoever gets hold of it
/// can ask for nothing else, and for this at no other server.
#[tokio::test]
async fn a_token_of_the_operator_is_good_for_its_request_alone() {
    let data = filled();
    let server = Server::start(data.path(), &["stories"]);
    let secret = std::fs::read(data.path().join("secret")).unwrap();
    let tokens = Tokens::new(&Secrets::one(secret).unwrap(), Arc::new(SystemClock));
    let here = server.base.strip_prefix("http://").unwrap();
    let made = |server, nonce| {
        let errand = Errand {
            server,
            command: "verify",
            body: b"{}",
            nonce,
        };
        tokens.make_for_operator("stories", &errand)
    };
    let (token, caught) = (made(here, "1"), made("127.0.0.1:9", "2"));
    let (over_tls, nameless) = (made("https://example.org", "3"), made(here, ""));
    let user = r#"{"user":"ann"}"#;
    let cases = [
        (&token, "verify", r#"{"entities":[]}"#, 401),
        (&token, "jobs", "{}", 401),
        (&token, "token", user, 401),
        (&token, "verify", "{}", 200),
        (&token, "verify", "{}", 401),
        (&caught, "verify", "{}", 401),
        (&over_tls, "verify", "{}", 200),
        (&nameless, "verify", "{}", 401),
    ];
    for (token, command, body, status) in cases {
        let url = format!("{}/stories/admin/{command}", server.base);
        let call = Client::new().post(url).bearer_auth(token);
        let call = call.header("content-type", "application/json").body(body);
        let answer = call.send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{command} {body}");
    }
}

/// Where `localhost` is `::1` too, another user may listen there.
#[test]
fn localhost_is_where_servers_listen() {
    let data = filled();
    let server = Server::start(data.path(), &["stories"]);
    let localhost = server.base.replace("127.0.0.1", "localhost");
    let output = partita(data.path(), &["jobs", "stories", "--server", &localhost]);
    assert!(output.status.success(), "{output:?}");
}

/// Whoever made the directory, or put the secret there, could make tokens for anybody.
#[test]
fn a_directory_that_another_user_has_made_is_refused() {
    if !rustix_is_root() {
        return;
    }
    let nobody = Some(65_534);
    // Everybody can make directories where this one is.
    let shared = tempfile::tempdir().unwrap();
    let mode = std::fs::Permissions::from_mode(0o1777);
    std::fs::set_permissions(shared.path(), mode).unwrap();
    let refused = |data: &Path| {
        for words in [
            &["serve", "stories", "--listen", "127.0.0.1:0"][..],
            &["token", "stories", "--user", "ann"],
            &["resume"],
        ] {
            let output = partita(data, words);
            assert_eq!(output.status.code(), Some(1), "{words:?}: {output:?}");
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(said.contains("belongs to another user (65534)"), "{said}");
        }
    };
    let made = shared.path().join("made");
    std::fs::create_dir(&made).unwrap();
    make_secret(&made);
    std::os::unix::fs::chown(&made, nobody, nobody).unwrap();
    refused(&made);
    let filled = shared.path().join("filled");
    std::fs::create_dir(&filled).unwrap();
    make_secret(&filled);
    std::os::unix::fs::chown(filled.join("secret"), nobody, nobody).unwrap();
    refused(&filled);
}

/// Root leaves no file of its own in the store of a service, which the service could not open.
#[test]
fn root_opens_no_store_of_another_user() {
    if !rustix_is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("service");
    let filled = partita(&data, &["demo", "stories"]);
    assert!(filled.status.success(), "{filled:?}");
    give(&data, Some(65_534));
    let output = partita(&data, &["verify", "stories"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("sudo -u '#65534'"), "{said}");
}

/// Makes a directory and everything in it another user's.
fn give(path: &Path, user: Option<u32>) {
    std::os::unix::fs::chown(path, user, user).unwrap();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path(), user);
        }
    }
}

/// A secret that others can write is no secret.
#[test]
fn a_secret_that_others_can_write_is_refused() {
    let data = tempfile::tempdir().unwrap();
    make_secret(data.path());
    let secret = data.path().join("secret");
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o622)).unwrap();
    let secret = secret.to_str().unwrap();
    let words = ["token", "stories", "--user", "ann", "--secret-file", secret];
    let output = partita(data.path(), &words);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("others can write the secret"), "{said}");
}

/// A token is sent over plain HTTP to this machine alone.
#[test]
fn a_token_is_sent_to_nobody_in_the_open() {
    let data = tempfile::tempdir().unwrap();
    let over = [
        "jobs",
        "stories",
        "--server",
        "http://example.org",
        "--token",
        "x",
    ];
    let output = partita(data.path(), &over);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("must be https"), "{said}");
}

/// Another user of the machine: by the modes of directory and socket, and by the server itself.
#[test]
fn another_user_of_the_machine_is_refused() {
    let data = filled();
    let _server = Server::start(data.path(), &["stories"]);
    let socket = data.path().join("partita.sock");
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(data.path()), mode(&socket)), (0o700, 0o600));
    // Only root can become somebody else.
    if !rustix_is_root() {
        return;
    }
    let nobody = 65_534;
    let ask = || {
        let mut curl = Command::new("curl");
        curl.args([
            "-s",
            "-o",
            "/dev/null",
            "-w",
            "%{http_code}",
            "--unix-socket",
        ]);
        curl.arg(&socket)
            .args(["-X", "POST", "http://x/admin/jobs"]);
        let output = curl.uid(nobody).gid(nobody).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(ask(), "000", "the directory is closed");
    let open = |path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open(data.path(), 0o777);
    open(&socket, 0o666);
    assert_eq!(ask(), "000", "the server looks at who connects");
    // Whoever runs as root may ask.
    assert!(partita(data.path(), &["jobs", "stories"]).status.success());
}

fn rustix_is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout == b"0\n"
}

/// What is in the place of the socket and is none is neither followed nor removed.
#[test]
fn nothing_else_is_taken_for_the_socket() {
    let data = filled();
    let target = data.path().join("target");
    std::fs::write(&target, "mine").unwrap();
    let socket = data.path().join("partita.sock");
    std::os::unix::fs::symlink(&target, &socket).unwrap();
    let server = Server::start(data.path(), &["stories"]);
    let found = std::fs::symlink_metadata(&socket).unwrap().file_type();
    assert!(found.is_symlink() && !found.is_socket());
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "mine");
    let output = Command::new(BINARY)
        .args(["jobs", "stories", "--data"])
        .arg(data.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("is no socket of a server"), "{said}");
    assert_eq!(server.stop(), Some(0));
}

/// Administrators of a design mend what is derived. What callers gave is the operator's to remove.
#[test]
fn what_callers_gave_is_removed_for_the_operator_alone() {
    let data = filled();
    let server = Server::start(data.path(), &["stories"]);
    let token = administrator_of(data.path(), "stories");
    let repair = ["repair", "stories", "--yes", "--server", &server.base];
    let with = |more: &[&str]| partita(data.path(), &[&repair[..], more].concat());
    assert!(with(&["--token", &token]).status.success());
    let remove = ["--remove", "entity.Story"];
    let output = with(&[&remove[..], &["--token", &token]].concat());
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("for the operator alone"), "{said}");
    let output = with(&remove);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!said.contains("for the operator alone"), "{said}");
}

const VAULT: &str = r#"
design = "vault"
about  = "Users with something that nobody is shown."

[table]
name = "vault"
key  = ["PK", "SK"]

[caller]
administrators = "caller.role = 'admin'"

[entity.User]
PK = "USER#{userId}"
SK = "PROFILE"

[entity.User.attributes]
userId   = "string"
password = "string, secret"

[entity.User.allow]
"*" = "caller.role = 'admin'"
"#;

/// Administrators of a design see no secrets of its items; the operator has the items themselves.
#[test]
fn secrets_are_shown_to_the_operator_alone() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = folder.path().join("vault.toml");
    std::fs::write(&file, VAULT).unwrap();
    let file = file.to_str().unwrap();
    let server = Server::start(&data, &[file]);
    let token = administrator_of(&data, file);
    let plan = [
        "plan",
        file,
        "create",
        "User",
        "ann",
        "--with",
        r#"{"password": "hunter2"}"#,
        "--caller",
        "root",
        "--role",
        "admin",
    ];
    let over = [&plan[..], &["--server", &server.base]].concat();
    for words in [&plan[..], &over] {
        let output = partita(&data, words);
        assert!(output.status.success(), "{output:?}");
        assert!(
            String::from_utf8(output.stdout)
                .unwrap()
                .contains("hunter2")
        );
    }
    let output = partita(&data, &[&over[..], &["--token", &token]].concat());
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(said.contains("only the operator is shown it"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}

/// A drift shows the key of its item. That of a guard spells the value that it guards.
#[tokio::test]
async fn a_drift_shows_secrets_to_the_operator_alone() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = folder.path().join("vault.toml");
    let unique = "\n[entity.User.unique]\npassword = \"PIN#{password}\"\n";
    std::fs::write(&file, format!("{VAULT}{unique}")).unwrap();
    let file = file.to_str().unwrap();
    let server = Server::start(&data, &[file]);
    let token = administrator_of(&data, file);
    assert_eq!(server.stop(), Some(0));
    let text = |name: &str, value: &str| (name.to_owned(), Value::from(value));
    let user = Item::from([
        text("PK", "USER#ann"),
        text("SK", "PROFILE"),
        text("userId", "ann"),
        text("password", "hunter2"),
    ]);
    put_into("vault", &data, [user]).await;
    let server = Server::start(&data, &[file]);
    let over = ["verify", file, "--server", &server.base];
    let shown = |words: &[&str]| {
        let output = partita(&data, words);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let said = shown(&over);
    assert!(said.contains("hunter2"), "the guard is missing: {said}");
    for format in ["text", "json"] {
        let said = shown(&[&over[..], &["--token", &token, "--format", format]].concat());
        assert!(said.contains("guard of User"), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}
