//! `partita copy` by the real binary: a storyhub to DynamoDB Local under writes, the switch, and back.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use partita_core::{Item, Map, Value};
use partita_engine::{EngineStore, Options, Upkeep};
use partita_plan::{Answer, Caller, Operation, Partita};
use partita_remote::{RemoteStore, Timeouts};
use partita_store::Store;
use partita_store::request::Scan;
use partita_store::surroundings::SystemClock;
use partita_testkit::dynamodb_local::DynamoDbLocal;
use reqwest::{Client, StatusCode};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::server::{BINARY, Server, make_secret, token, token_for};

/// Items of one user: the user, a story, its reference at the author, and two chapters.
const ITEMS_OF_USER: usize = 5;
/// Users that write while the copy runs.
const WRITERS: usize = 16;
/// How long nobody may write at a switch.
const SWITCH_MILLIS_MAX: i64 = 10_000;

struct Scene {
    folder: TempDir,
    endpoint: String,
    _local: DynamoDbLocal,
}

impl Scene {
    fn new() -> Option<Scene> {
        let local = DynamoDbLocal::start()?;
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("data")).unwrap();
        make_secret(&folder.path().join("data"));
        Some(Scene {
            folder,
            endpoint: local.endpoint(),
            _local: local,
        })
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn open(&self) -> Arc<EngineStore> {
        let options = Options::new(Arc::new(SystemClock)).upkeep(Upkeep::OnRequest);
        Arc::new(EngineStore::open(&self.data().join("store"), options).unwrap())
    }

    fn remote(&self) -> RemoteStore {
        RemoteStore::local(&self.endpoint, Timeouts::default())
    }

    fn run(&self, line: &str) -> Output {
        let endpoint = ["--endpoint", &self.endpoint, "--region", "us-east-1"];
        let endpoint = if line.contains("dynamodb") {
            &endpoint[..]
        } else {
            &[]
        };
        Command::new(BINARY)
            .args(line.split(' '))
            .args(endpoint)
            .current_dir(self.folder.path())
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .output()
            .unwrap()
    }

    /// What a command prints that succeeds.
    fn said(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {output:#?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Why a command is refused.
    fn refused(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(!output.status.success(), "{line}: {output:#?}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn serve_remote(&self) -> Server {
        let flags = ["--store", "dynamodb", "--region", "us-east-1", "--endpoint"];
        let flags = [&["storyhub"], &flags[..], &[&self.endpoint]].concat();
        let secret = self.data().join("secret");
        let secret = ["--secret-file", secret.to_str().unwrap()];
        Server::start(&self.data(), &[&flags[..], &secret].concat())
    }
}

/// Creates an item, and gives back one of its attributes.
async fn create(
    partita: &Partita,
    caller: &Caller,
    entity: &str,
    given: Json,
    wanted: &str,
) -> String {
    let members = given.as_object().unwrap().iter();
    let attributes: Map = members
        .map(|(name, value)| (name.clone(), Value::from(value.as_str().unwrap())))
        .collect();
    let operation = Operation::Create {
        entity: entity.to_owned(),
        attributes,
    };
    match partita.run(caller, operation).await.unwrap() {
        Answer::Created(record) => record.attributes[wanted].as_str().unwrap().to_owned(),
        other => panic!("{other:?}"),
    }
}

/// A user with a story of two chapters.
async fn user(partita: &Partita, number: usize) {
    let id = format!("u{number}");
    let caller = Caller::user(&id);
    let given = json!({"userId": id, "email": format!("{id}@example.org"), "displayName": id});
    create(partita, &caller, "User", given, "userId").await;
    let given = json!({
        "title": "A story", "synopsis": "Of a house", "authorId": id, "genre": "travel", "ageRating": "all"
    });
    let story = create(partita, &caller, "Story", given, "storyId").await;
    let given = json!({"storyId": story, "authorId": id, "title": "One", "content": "It begins."});
    let first = create(partita, &caller, "ChapterNode", given.clone(), "nodeId").await;
    let mut given = given;
    given["parentNodeId"] = first.into();
    create(partita, &caller, "ChapterNode", given, "nodeId").await;
}

/// Fills the embedded store.
async fn fill(scene: &Scene, users: usize) {
    let store = scene.open();
    let text = partita_design::shipped::find("storyhub").unwrap().source;
    let design = partita_design::check(text, &|_| None).0.unwrap();
    let partita = Partita::open(design, store.clone()).await.unwrap();
    let users = futures::stream::iter((0..users).map(|number| user(&partita, number)));
    users.buffer_unordered(64).collect::<Vec<()>>().await;
    drop(partita);
    store.close().await;
}

/// Writes stories until it is told that there are no more writes; gives back those that were
/// acknowledged.
async fn write(base: String, token: String, id: String, is_over: Arc<AtomicBool>) -> Vec<String> {
    let client = Client::new();
    let mut written = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let answer = client
            .post(format!("{base}/storyhub/stories"))
            .bearer_auth(&token)
            .json(&json!({
                "title": format!("{id} {}", written.len()), "synopsis": "Under way", "authorId": id,
                "genre": "travel", "ageRating": "all"
            }))
            .send()
            .await
            .unwrap();
        match answer.status() {
            StatusCode::CREATED => {
                let story: Json = answer.json().await.unwrap();
                written.push(story["storyId"].as_str().unwrap().to_owned());
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                assert!(answer.headers().contains_key("retry-after"));
                let problem: Json = answer.json().await.unwrap();
                assert_eq!(
                    problem["type"], "urn:partita:problem:read-only",
                    "{problem}"
                );
                return written;
            }
            status => panic!("{status}: {}", answer.text().await.unwrap()),
        }
        // A writer of each core's whole time is no server's day.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    written
}

/// Everything in the tables of storyhub, but for the marks of copies.
async fn contents(store: &dyn Store) -> BTreeMap<String, Item> {
    let mut found = BTreeMap::new();
    for table in [
        "nlmonorepo-tsh-datatable-dev",
        "nlmonorepo-tsh-datatable-dev-partita",
    ] {
        let mut scan = Scan::new(table.parse().unwrap());
        loop {
            let page = store
                .scan(scan.clone())
                .await
                .unwrap()
                .answer
                .into_parts()
                .unwrap();
            for item in page.items {
                let key = format!("{table} {:?} {:?}", item["PK"], item["SK"]);
                found.insert(key, item);
            }
            match page.last_key {
                None => break,
                last => scan.start_after = last,
            }
        }
    }
    found.retain(|key, _| !key.contains("MOVING"));
    found
}

async fn assert_equal(scene: &Scene) {
    let embedded = scene.open();
    let (left, right) = (contents(&*embedded).await, contents(&scene.remote()).await);
    embedded.close().await;
    let differs = left
        .iter()
        .find(|(key, item)| right.get(*key) != Some(item));
    assert_eq!(differs, None);
    assert_eq!(left.len(), right.len());
}

async fn story(base: &str, token: &str, id: &str) -> StatusCode {
    let url = format!("{base}/storyhub/stories/{id}");
    let answer = Client::new().get(url).bearer_auth(token).send().await;
    answer.unwrap().status()
}

/// A storyhub of 200 items, or of 100,000 in the long run.
#[tokio::test(flavor = "multi_thread")]
async fn to_dynamodb_under_writes_and_back() {
    let Some(scene) = Scene::new() else { return };
    let is_long = std::env::var_os("PARTITA_LONG").is_some();
    let users = if is_long { 20_000 } else { 40 };
    fill(&scene, users).await;
    let data = scene.data();
    let server = Server::start(&data, &["storyhub"]);
    let is_over = Arc::new(AtomicBool::new(false));
    let flags = ["--data", data.to_str().unwrap()];
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let id = format!("u{number}");
            let token = token_for("storyhub", &flags, &id);
            let (base, is_over) = (server.base.clone(), is_over.clone());
            tokio::spawn(write(base, token, id, is_over))
        })
        .collect();
    // The command blocks, and the writers go on meanwhile.
    let line = "copy storyhub --from data --to dynamodb --switch --format json";
    let copied = tokio::task::block_in_place(|| scene.said(line));
    let copied: Json = serde_json::from_str(&copied).unwrap();
    is_over.store(true, Ordering::Relaxed);
    let mut all = Vec::new();
    for writer in writers {
        all.push(writer.await.unwrap());
    }
    assert!(all.iter().all(|written| !written.is_empty()));
    // Drafts are shown to their author alone.
    let written = &all[0];
    let switch = copied["switchMillis"].as_i64().unwrap();
    assert!(switch < SWITCH_MILLIS_MAX, "{copied}");
    assert!(
        copied["items"].as_u64().unwrap() >= (users * ITEMS_OF_USER) as u64,
        "{copied}"
    );
    if is_long {
        eprintln!(
            "{copied} with {} stories written meanwhile",
            all.iter().map(Vec::len).sum::<usize>()
        );
    }

    // The old server shows everything and takes nothing; it does not start again.
    let token = token_for("storyhub", &flags, "u0");
    assert_eq!(
        story(&server.base, &token, &written[0]).await,
        StatusCode::OK
    );
    assert_eq!(server.stop(), Some(0));
    let refused = scene.refused("serve storyhub --data data --listen 127.0.0.1:0");
    assert!(refused.contains("was moved to DynamoDB at"), "{refused}");
    assert_equal(&scene).await;

    // The new one has whatever was acknowledged, and everything derived is right.
    let server = scene.serve_remote();
    for id in written.iter().step_by(1 + written.len() / 50) {
        assert_eq!(
            story(&server.base, &token, id).await,
            StatusCode::OK,
            "{id}"
        );
    }
    let own = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn(write(
        server.base.clone(),
        token.clone(),
        "u0".into(),
        own.clone(),
    ));
    tokio::time::sleep(Duration::from_millis(300)).await;
    own.store(true, Ordering::Relaxed);
    let added = writer.await.unwrap();
    assert!(!added.is_empty());
    assert_eq!(server.stop(), Some(0));
    scene.said("verify storyhub --store dynamodb");

    // Back: what is there is not written over unasked.
    let refused = scene.refused("copy storyhub --from dynamodb --to data");
    assert!(refused.contains("--replace"), "{refused}");
    let said = scene.said("copy storyhub --from dynamodb --to data --replace --switch");
    assert!(said.contains("serve it with --data"), "{said}");
    assert_equal(&scene).await;
    scene.said("verify storyhub --data data");
    let server = Server::start(&data, &["storyhub"]);
    assert_eq!(story(&server.base, &token, &added[0]).await, StatusCode::OK);
    assert_eq!(server.stop(), Some(0));
    let refused = scene.refused("verify storyhub --store dynamodb");
    assert!(refused.contains("was moved to"), "{refused}");
    let refused = scene.refused("copy storyhub --from dynamodb --reopen");
    assert!(refused.contains("--to"), "{refused}");
    let said = scene.said("copy storyhub --from dynamodb --to data --reopen");
    assert!(said.contains("takes no more"), "{said}");
    scene.said("verify storyhub --store dynamodb");
    let refused = scene.refused("verify storyhub --data data");
    assert!(refused.contains("was moved to"), "{refused}");
}

/// Runs a command in a folder: whether it succeeds, and what it says.
fn run_in(folder: &Path, line: &str) -> (bool, String) {
    let mut command = Command::new(BINARY);
    command.args(line.split(' ')).env_remove("TABLE_NAME");
    let output = command.current_dir(folder).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

/// A server that has the target open carries the copy out, where nobody has to know of it: it does not
/// serve the design, and no server has the source open.
#[test]
fn into_the_store_of_a_running_server() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    for line in ["demo stories --data one", "demo storyhub --data two"] {
        assert!(run(line).0);
    }
    let server = Server::start(&folder.path().join("two"), &["storyhub"]);
    let done = |line: &str| {
        let (is_done, said) = run(line);
        assert!(is_done, "{line}: {said}");
        said
    };
    let refused = |line: &str, reason: &str| {
        let (is_done, said) = run(line);
        assert!(!is_done && said.contains(reason), "{line}: {said}");
    };
    let said = done("copy stories --from one --to two");
    assert!(said.contains("both can be used"), "{said}");
    done("verify stories --data two");
    refused("copy stories --from one --to two", "--replace");
    done("verify stories --data two");
    done("copy stories --from one --to two --replace --switch");
    done("verify stories --data two");
    done("verify storyhub --data two");
    refused("verify stories --data one", "was moved to");
    // What is served stays as it is.
    assert!(run("demo storyhub --data three").0);
    let line = "copy storyhub --from three --to two --replace";
    refused(line, "serves the table");
    let other = Server::start(&folder.path().join("three"), &["storyhub"]);
    refused(line, "servers have both");
    assert_eq!(other.stop(), Some(0));
    assert_eq!(server.stop(), Some(0));
    let server = Server::start(&folder.path().join("two"), &["stories", "storyhub"]);
    assert_eq!(server.stop(), Some(0));
}

/// What waits in the source because another store may have sent it waits in a copy that takes its place,
/// too; and what ended before a restore counts again in no copy.
#[test]
fn a_copy_waits_as_its_source_does() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    let said = |line: &str| {
        let (is_done, said) = run(line);
        assert!(is_done, "{line}: {said}");
        said
    };
    said("demo stories --data one");
    said("copy stories --from one --to two");
    let told = said("copy stories --from two --to three --switch");
    assert!(told.contains("outbox stories resume"), "{told}");
    let told = said("outbox stories --data three");
    assert!(told.contains("it is used beside"), "{told}");
    said("backup target --data one");
    said("restore target --into four");
    let told = said("copy stories --from four --to five --switch");
    assert!(told.contains("outbox stories resume"), "{told}");
    let told = said("outbox stories --data five");
    assert!(told.contains("was restored from"), "{told}");
    let era = |data: &str| {
        let mark = fs::read(folder.path().join(data).join("restored")).unwrap();
        serde_json::from_slice::<Json>(&mark).unwrap()["era"].clone()
    };
    assert_eq!(era("five"), era("four"));
    said("restore target --into six");
    let (is_done, told) = run("copy stories --from six --to one --replace");
    assert!(!is_done && told.contains("a store of its own"), "{told}");
    said("verify stories --data one");
}

/// Without a server, into another directory; interrupted by nobody, refused where it must be.
#[tokio::test(flavor = "multi_thread")]
async fn between_directories() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    assert!(run("demo stories --data one").0);
    let (is_done, said) = run("copy stories --from one --to two");
    assert!(is_done && said.contains("both can be used"), "{said}");
    assert!(run("verify stories --data two").0);
    // What waits in the outbox of a copy waits for the operator.
    for (line, is_good, reason) in [
        ("outbox stories resume --data one", false, "nothing waits"),
        ("outbox stories --data one", true, "nothing is parked\n"),
        ("outbox stories --data two", true, "outbox DESIGN resume"),
        (
            "outbox stories retry 01JGFJJZ00000000000000DVNE --data one",
            false,
            "there is no message",
        ),
        (
            "outbox stories retry 01JGFJJZ00000000000000DVNE --data two",
            false,
            "nothing is tried now",
        ),
        ("outbox stories resume --data two", true, "go on"),
        ("outbox stories resume --data two", false, "nothing waits"),
    ] {
        let (is_done, said) = run(line);
        assert!(
            is_done == is_good && said.contains(reason),
            "{line}: {said}"
        );
    }
    for (line, reason) in [
        ("copy stories --from one --to ./one", "both are"),
        ("copy stories --from one --to two", "--replace"),
        ("copy storyhub --from one --to two", "no data of `storyhub`"),
        ("copy stories --from none --to two", "no data directory"),
        ("copy stories --from one --to two --reopen", "was not moved"),
        ("copy stories --from one --reopen --lost", "was not moved"),
        (
            "copy stories --from http://localhost --to two",
            "is no store",
        ),
    ] {
        let (is_done, said) = run(line);
        assert!(!is_done && said.contains(reason), "{line}: {said}");
    }
    // A switch beside a server, and taken back beside it.
    let server = Server::start(&folder.path().join("one"), &["stories"]);
    assert!(run("copy stories --from one --to two --replace --switch").0);
    let write = async |title: &str| {
        let token = token(&folder.path().join("one"), "ann");
        let story = json!({"userId": "ann", "title": title});
        let request = Client::new().post(format!("{}/stories/Story", server.base));
        let answer = request.bearer_auth(token).json(&story).send().await;
        answer.unwrap().status()
    };
    assert_eq!(write("refused").await, StatusCode::SERVICE_UNAVAILABLE);
    // At most one of both takes writes, whether a server has the other one open or not.
    let other = Server::start(&folder.path().join("two"), &["stories"]);
    let write_other = async || {
        let token = token(&folder.path().join("two"), "ann");
        let story = json!({"userId": "ann", "title": "there"});
        let request = Client::new().post(format!("{}/stories/Story", other.base));
        let answer = request.bearer_auth(token).json(&story).send().await;
        answer.unwrap().status()
    };
    assert_eq!(write_other().await, StatusCode::CREATED);
    for (line, reason) in [
        ("copy stories --from one --to three --reopen", "not to"),
        ("copy stories --from one --reopen", "--to"),
    ] {
        let (is_done, said) = run(line);
        assert!(!is_done && said.contains(reason), "{line}: {said}");
        assert_eq!(write("refused").await, StatusCode::SERVICE_UNAVAILABLE);
    }
    let (is_done, said) = run("copy stories --from one --to two --reopen");
    assert!(is_done && said.contains("outbox stories resume"), "{said}");
    assert_eq!(write("taken").await, StatusCode::CREATED);
    assert_eq!(write_other().await, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(other.stop(), Some(0));
    let (is_done, said) = run("verify stories --data two");
    assert!(!is_done && said.contains("was moved to"), "{said}");
    // And back again, without servers.
    assert_eq!(server.stop(), Some(0));
    let (is_done, said) = run("copy stories --from two --to one --reopen");
    assert!(is_done, "{said}");
    assert!(run("verify stories --data two").0);
    assert!(!run("verify stories --data one").0);
    let (is_done, said) = run("copy stories --from one --reopen --lost");
    assert!(is_done, "{said}");
    assert!(run("verify stories --data one").0);
    let (is_done, said) = run("outbox stories resume --data one");
    assert!(is_done, "{said}");
}
