//! Commands for administrators: without a server, beside one, and over `--server`, with the same
//! output; refused to strangers; stopped when their client goes.

mod items;
mod load;
mod plans;
mod silence;
mod strangers;
mod tls;

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use partita_core::{Item, Value};
use partita_engine::{EngineStore, Options, Upkeep};
use partita_store::Store as _;
use partita_store::request::{PutItem, ReturnValues};
use partita_store::surroundings::SystemClock;
use regex_lite::Regex;

use crate::server::{BINARY, Server, token_for};

/// The table of the design that is asked about.
const TABLE: &str = "stories";

fn partita(data: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(BINARY);
    command.args(arguments).arg("--data").arg(data);
    command.env_remove("TABLE_NAME").output().unwrap()
}

/// What a command prints and ends with, but for times and ids that it draws, and the server that the
/// next command is to ask.
fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let time = Regex::new(r"\d{4}-\d\d-\d\dT[\d:.]+Z").unwrap();
        let id = Regex::new(r"[0-9A-HJKMNP-TV-Z]{26}").unwrap();
        let millis = Regex::new(r"\b\d{13,}").unwrap();
        let server = Regex::new(r" --server \S+").unwrap();
        let text = time.replace_all(&text, "[time]").into_owned();
        let text = millis.replace_all(&text, "[millis]").into_owned();
        let text = server.replace_all(&text, "").into_owned();
        id.replace_all(&text, "[id]").into_owned()
    };
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    (output.status.code(), out, err)
}

/// A data directory with the demo of `stories`.
fn filled() -> tempfile::TempDir {
    let data = tempfile::tempdir().unwrap();
    let output = partita(data.path(), &["demo", "stories"]);
    assert!(output.status.success(), "{output:?}");
    data
}

/// Puts items past the design; no process has the store open.
async fn put(data: &Path, items: impl IntoIterator<Item = Item>) {
    put_into(TABLE, data, items).await;
}

async fn put_into(table: &str, data: &Path, items: impl IntoIterator<Item = Item>) {
    let options = Options::new(std::sync::Arc::new(SystemClock)).upkeep(Upkeep::OnRequest);
    let store = EngineStore::open(&data.join("store"), options).unwrap();
    for item in items {
        let put = PutItem::new(table.parse().unwrap(), item);
        store.put_item(put, ReturnValues::None).await.unwrap();
    }
}

/// A record of a view whose story is not there.
fn leftover(number: usize) -> Item {
    let id = format!("01ARZ3NDEKTSV4RRFFQ6{number:06}");
    let text = |name: &str, value: String| (name.to_owned(), Value::S(value));
    Item::from([
        text("PK", "USER#zoe".to_owned()),
        text("SK", format!("STORY#{id}")),
        text("ItemType", "StoryIndex".to_owned()),
        text("id", id),
    ])
}

/// Every command, but for those that have their own tests of the same: `demo` and `repair --yes`,
/// which write, `token`, and `migrate` (`evolution.rs`).
const COMMANDS: [&[&str]; 24] = [
    &["admin", "grant", "stories", "ann", "admin"],
    &["migrate", "status", "stories"],
    &["jobs", "stories", "--all"],
    &["jobs", "stories", "drop", "none", "--yes"],
    &["outbox", "stories", "retry", "none"],
    &["outbox", "stories", "drop", "none"],
    &["outbox", "stories", "resume"],
    &["diff", "stories", "--format", "json"],
    &["adopt", "stories"],
    &["jobs", "stories"],
    &["jobs", "stories", "--format", "json"],
    &["outbox", "stories"],
    &["outbox", "stories", "list", "--format", "json"],
    &["history", "stories"],
    &["history", "stories", "--show"],
    &["diff", "stories"],
    &[
        "can", "stories", "create", "Story", "ann", "--caller", "ann",
    ],
    &[
        "can",
        "stories",
        "query",
        "stories",
        "userId=ann",
        "--caller",
        "bob",
    ],
    &["can", "stories", "read", "Story", "ann", "nothing"],
    &[
        "plan",
        "stories",
        "create",
        "Story",
        "ann",
        "--with",
        r#"{"title": "Dune"}"#,
        "--caller",
        "ann",
    ],
    &[
        "plan", "stories", "create", "Story", "ann", "--caller", "bob",
    ],
    &["verify", "stories"],
    &["verify", "stories", "--format", "json", "--entity", "Story"],
    &["repair", "stories", "--dry-run"],
];

#[tokio::test]
async fn every_command_says_the_same_three_ways() {
    let data = filled();
    put(data.path(), [leftover(1), leftover(2)]).await;
    let alone: Vec<_> = COMMANDS
        .map(|words| said(&partita(data.path(), words)))
        .into();
    let server = Server::start(data.path(), &["stories"]);
    let admin = admin(data.path(), "stories");
    for (words, alone) in COMMANDS.iter().zip(alone) {
        let beside = said(&partita(data.path(), words));
        assert_eq!(beside, alone, "{words:?} beside a server");
        let over = [words, &["--server", &server.base][..]].concat();
        assert_eq!(
            said(&partita(data.path(), &over)),
            alone,
            "{words:?} as the operator"
        );
        if matches!(
            words[..],
            ["adopt" | "admin" | "migrate", ..] | ["jobs", _, "drop", ..]
        ) {
            // They are the operator's alone.
            continue;
        }
        let token = [&over[..], &["--token", &admin]].concat();
        assert_eq!(
            said(&partita(data.path(), &token)),
            alone,
            "{words:?} as an administrator"
        );
    }
}

/// A token of somebody whom the rules of a design make its administrator.
fn admin(data: &Path, design: &str) -> String {
    let data = data.to_str().unwrap();
    token_for(design, &["--role", "admin", "--data", data], "root")
}

#[tokio::test]
async fn a_repair_mends_the_same_three_ways() {
    for way in ["alone", "beside", "over"] {
        let data = filled();
        put(data.path(), (0..5).map(leftover)).await;
        let server = (way != "alone").then(|| Server::start(data.path(), &["stories"]));
        let base = server.as_ref().map(|server| server.base.clone());
        let mut words = vec!["repair", "stories"];
        if let (Some(base), "over") = (&base, way) {
            words.extend(["--server", base]);
        }
        // Without a terminal nobody is asked, and nothing is written.
        let output = partita(data.path(), &words);
        assert_eq!(output.status.code(), Some(1), "{way}: {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("would remove 5 StoryIndex"), "{way}: {text}");
        let output = partita(data.path(), &[&words[..], &["--yes"]].concat());
        assert!(output.status.success(), "{way}: {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("5 drifts mended, 0 left"), "{way}: {text}");
        words[0] = "verify";
        let output = partita(data.path(), &words);
        assert!(output.status.success(), "{way}: {output:?}");
    }
}

#[test]
fn a_demo_fills_the_same_three_ways() {
    let told = |output: Output| {
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.split("\n\n").next().unwrap().to_owned()
    };
    let alone = tempfile::tempdir().unwrap();
    let alone = told(partita(alone.path(), &["demo", "stories"]));
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["stories"]);
    assert_eq!(told(partita(data.path(), &["demo", "stories"])), alone);
    let again = partita(data.path(), &["demo", "stories"]);
    assert_eq!(again.status.code(), Some(1));
    let said = String::from_utf8(again.stderr).unwrap();
    assert!(said.contains("there are items in the table"), "{said}");
    drop(server);
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["stories"]);
    let over = ["demo", "stories", "--server", &server.base];
    assert_eq!(told(partita(data.path(), &over)), alone);
}

#[test]
fn a_token_is_made_three_ways_and_works() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["stories"]);
    let base = ["token", "stories", "--user", "ann"];
    let over = [&base[..], &["--server", &server.base]].concat();
    let secret = data.path().join("secret");
    let own = [&base[..], &["--secret-file", secret.to_str().unwrap()]].concat();
    for words in [&base[..], &over, &own] {
        let output = partita(data.path(), words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        let token = String::from_utf8(output.stdout).unwrap();
        let url = format!("{}/stories/query/stories?userId=ann", server.base);
        let header = format!("Authorization: Bearer {}", token.trim());
        let status = [
            "-s",
            "-o",
            "/dev/null",
            "-w",
            "%{http_code}",
            "-H",
            &header,
            &url,
        ];
        let status = Command::new("curl").args(status).output().unwrap();
        assert_eq!(
            String::from_utf8(status.stdout).unwrap(),
            "200",
            "{words:?}"
        );
    }
}

/// The log of a server says what a command wrote, and nothing of one that only looked.
#[tokio::test]
async fn what_a_command_writes_is_logged() {
    let data = filled();
    put(data.path(), (0..5).map(leftover)).await;
    let log = data.path().join("log");
    let mut command = Command::new(BINARY);
    command.stderr(std::fs::File::create(&log).unwrap());
    let _server = Server::start_by(command, data.path(), &["stories", "--log", "info"]);
    for (words, count) in [
        (&["verify", "stories"][..], 0),
        (&["repair", "stories", "--dry-run"], 0),
        (&["repair", "stories", "--yes"], 1),
    ] {
        partita(data.path(), words);
        let log = std::fs::read_to_string(&log).unwrap();
        let told = log.matches("a command wrote 5 StoryIndex").count();
        assert_eq!(told, count, "{words:?}: {log}");
    }
}

/// That nothing leaves a restored directory is said alike, and nothing is tried there.
#[test]
fn what_waits_in_a_restored_directory_is_told_alike() {
    let data = filled();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (target, restored) = (path("target"), path("restored"));
    let taken = partita(data.path(), &["backup", &target]);
    assert!(taken.status.success(), "{taken:?}");
    let mut restore = Command::new(BINARY);
    restore.args(["restore", &target, "--into", &restored]);
    assert!(restore.status().unwrap().success());
    let restored = Path::new(&restored);
    let commands: [&[&str]; 2] = [
        &["outbox", "stories"],
        &["outbox", "stories", "retry", "none"],
    ];
    let ask = || commands.map(|words| said(&partita(restored, words)));
    let alone = ask();
    for told in &alone {
        assert!(told.2.contains("until `partita resume`"), "{told:?}");
    }
    let _server = Server::start(restored, &["stories"]);
    assert_eq!(ask(), alone);
}

/// A command waits for its turn, and says so where another one has the store open for longer.
#[tokio::test]
async fn a_command_waits_for_the_store() {
    let data = filled();
    let options = Options::new(std::sync::Arc::new(SystemClock)).upkeep(Upkeep::OnRequest);
    let store = EngineStore::open(&data.path().join("store"), options).unwrap();
    let mut command = Command::new(BINARY);
    command.args(["jobs", "stories", "--data"]).arg(data.path());
    let piped = std::process::Stdio::piped;
    let command = command.stdout(piped()).stderr(piped());
    let waiting = command.spawn().unwrap();
    // More than a moment.
    tokio::time::sleep(Duration::from_secs(8)).await;
    drop(store);
    let output = waiting.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("this waits for it"), "{said}");
}

/// Sixteen at once, with a server and without one.
#[test]
fn sixteen_commands_at_once() {
    let data = filled();
    for has_server in [true, false] {
        let server = has_server.then(|| Server::start(data.path(), &["stories"]));
        let children: Vec<_> = (0..16)
            .map(|at| {
                let words = [&["verify", "stories"][..], &["jobs", "stories"]][at % 2];
                let mut command = Command::new(BINARY);
                command.args(words).arg("--data").arg(data.path());
                command
                    .env_remove("TABLE_NAME")
                    .stdout(std::process::Stdio::null());
                command.spawn().unwrap()
            })
            .collect();
        for mut child in children {
            assert!(child.wait().unwrap().success(), "server: {has_server}");
        }
        drop(server);
    }
}

/// The socket of a killed server is recognised, and a long path is no hindrance.
#[test]
fn a_socket_that_was_left_behind_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("d".repeat(120));
    let server = Server::start(&data, &["stories"]);
    assert!(partita(&data, &["jobs", "stories"]).status.success());
    server.kill();
    assert!(data.join("partita.sock").exists());
    assert!(partita(&data, &["jobs", "stories"]).status.success());
    let server = Server::start(&data, &["stories"]);
    assert!(partita(&data, &["jobs", "stories"]).status.success());
    assert_eq!(server.stop(), Some(0));
    assert!(!data.join("partita.sock").exists());
}

/// A client that hangs up ends its command, and the server goes on.
#[tokio::test]
async fn a_client_that_goes_away_stops_its_work() {
    let data = filled();
    // More is found than a connection holds unread.
    put(data.path(), (0..5_000).map(leftover)).await;
    let server = Server::start(data.path(), &["stories"]);
    let mut stream = UnixStream::connect(data.path().join("partita.sock")).unwrap();
    let source = partita_design::shipped::find("stories").unwrap().source;
    let design = serde_json::json!({ "text": source, "variables": {}, "is_shipped": true });
    let body = serde_json::json!({ "design": design, "request": {} }).to_string();
    let head = format!(
        "POST /admin/verify HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.read_exact(&mut [0; 100]).unwrap();
    assert_eq!(running(&server).await, 1);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(running(&server).await, 1, "it waits for its client");
    drop(stream);
    for _ in 0..200 {
        if running(&server).await == 0 {
            assert_eq!(server.stop(), Some(0));
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it goes on without its client");
}

/// How many commands the server is carrying out.
async fn running(server: &Server) -> u64 {
    let metrics = reqwest::get(format!("{}/metrics", server.base)).await;
    let metrics = metrics.unwrap().text().await.unwrap();
    let mut lines = metrics.lines();
    let count = lines.find_map(|line| line.strip_prefix("partita_admin_commands "));
    count.unwrap().parse().unwrap()
}

#[tokio::test]
async fn an_entity_limits_what_is_looked_at() {
    let data = filled();
    put(data.path(), [leftover(1)]).await;
    let _server = Server::start(data.path(), &["stories"]);
    let verify = |entity| partita(data.path(), &["verify", "stories", "--entity", entity]);
    assert_eq!(verify("Node").status.code(), Some(0));
    assert_eq!(verify("Story").status.code(), Some(1));
    assert_eq!(verify("Node,Story").status.code(), Some(1));
    let unknown = verify("Nothing");
    assert_eq!(unknown.status.code(), Some(2));
    let said = String::from_utf8(unknown.stderr).unwrap();
    assert!(
        said.contains("the design has no entity `Nothing`"),
        "{said}"
    );
}

/// What whoever names a design should know of it is said wherever the command is carried out.
#[test]
fn a_text_that_was_live_before_is_told_alike() {
    let data = tempfile::tempdir().unwrap();
    let text = partita_design::shipped::find("stories").unwrap().source;
    let [old, new] = ["", "# the second text\n"].map(|comment| {
        let path = data.path().join(format!("{}.toml", comment.len()));
        std::fs::write(&path, format!("{comment}{text}")).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let filled = partita(data.path(), &["demo", "stories"]);
    assert!(filled.status.success(), "{filled:?}");
    drop(Server::start(data.path(), &[&new]));
    let verify = || said(&partita(data.path(), &["verify", &old]));
    let alone = verify();
    assert_eq!(alone.0, Some(0), "{alone:?}");
    assert!(alone.2.contains("was live before"), "{alone:?}");
    assert_eq!(alone.2.lines().count(), 1, "{alone:?}");
    let _server = Server::start(data.path(), &[&new]);
    assert_eq!(verify(), alone);
}

/// A command whose reader has gone ends without a word, as other programs do.
#[tokio::test]
async fn nobody_hears_of_a_reader_that_is_gone() {
    let data = filled();
    put(data.path(), (0..50).map(leftover)).await;
    let unread = |words: &[&str]| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(BINARY);
        command.args(words).env_remove("TABLE_NAME");
        command.stdout(writer).output().unwrap()
    };
    let place = data.path().to_str().unwrap();
    let offline: [&[&str]; 6] = [
        &["check", "stories"],
        &["describe", "stories"],
        &["docs", "stories"],
        &["cost", "stories"],
        &["diff", "stories", "stories"],
        &["export", "cloudformation", "stories"],
    ];
    for words in offline {
        let output = unread(words);
        let said = (output.status.code(), output.stderr.as_slice());
        assert_eq!(said, (Some(141), &b""[..]), "{words:?}");
    }
    for server in [false, true] {
        let _server = server.then(|| Server::start(data.path(), &["stories"]));
        for words in COMMANDS {
            // Those that refuse have nothing to print there.
            if partita(data.path(), words).stdout.is_empty() {
                continue;
            }
            let output = unread(&[words, &["--data", place]].concat());
            let said = (output.status.code(), output.stderr.as_slice());
            assert_eq!(said, (Some(141), &b""[..]), "{words:?}, {server}");
        }
    }
}
