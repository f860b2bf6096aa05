//! Jobs of the real binary: killed in the middle, finished after the restart. And keys under which
//! a write is carried out once.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use partita_api::Secrets;
use partita_api::token::{Errand, Tokens};
use partita_core::{Item, Map, Value};
use partita_engine::{Durability, EngineStore, Options};
use partita_plan::{Caller, Operation, Partita};
use partita_store::Store;
use partita_store::request::{PutItem, Scan, TransactAction, TransactWriteItems};
use partita_store::surroundings::SystemClock;
use reqwest::{Client, StatusCode};
use serde_json::{Value as Json, json};

use crate::server::{BINARY, Server, verify_store};
use crate::stage;

const ANN: &str = "00000000-0000-4000-8000-fffffffff000";
const ALBUM: usize = 0xffff_ffff_f001;

/// Links of the album: more with `PARTITA_LONG=1`.
fn links() -> usize {
    match std::env::var_os("PARTITA_LONG") {
        None => 1_000,
        Some(_) => 10_000,
    }
}

fn id(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012x}")
}

fn store(data: &Path) -> Arc<dyn Store> {
    let options = Options::new(Arc::new(SystemClock)).durability(Durability::Buffered);
    Arc::new(EngineStore::open(&data.join("store"), options).unwrap())
}

async fn create(partita: &Partita, entity: &str, attributes: &[(&str, &str)]) {
    let attributes: Map = attributes
        .iter()
        .map(|(name, text)| ((*name).to_owned(), Value::from(*text)))
        .collect();
    let entity = entity.to_owned();
    let operation = Operation::Create { entity, attributes };
    partita.run(&Caller::user(ANN), operation).await.unwrap();
}

/// Her item, and the guards of her address and name.
const ANNS: usize = 3;

/// Ann, without whom a token of hers is good for nothing.
async fn make_ann(partita: &Partita) {
    let ann = [
        ("userId", ANN),
        ("email", "ann@example.org"),
        ("username", "ann"),
        ("provider", "email"),
    ];
    let mut ann = Map::from(ann.map(|(name, text)| (name, Value::from(text))));
    ann.insert("emailPreferences", Value::M(Map::new()));
    partita.create_past_rules("User", ann).await.unwrap();
}

/// An album with many media in it. One of them is created as everybody does; the others are its
/// copies under other ids, which is quicker.
async fn fill(data: &Path, album: &str, links: usize) {
    let design = stage::design("mediahub", "mediahub");
    let store = store(data);
    let partita = Partita::open(design, store.clone());
    let partita = partita.await.unwrap();
    let given = [("id", album), ("title", "Sea"), ("createdBy", ANN)];
    create(&partita, "Album", &given).await;
    let first = id(0);
    let given = [
        ("id", &*first),
        ("filename", "a.png"),
        ("originalFilename", "a.png"),
        ("mimeType", "image/png"),
        ("createdBy", ANN),
    ];
    create(&partita, "Media", &given).await;
    let given = [("albumId", album), ("mediaId", &first)];
    create(&partita, "AlbumMedia", &given).await;
    let all = scanned(&*store, "mediahub").await;
    let (mut albums, patterns): (Vec<Item>, Vec<Item>) = all
        .into_iter()
        .partition(|item| item["EntityType"] == Value::from("Album"));
    let mut album = albums.remove(0);
    album.insert("mediaCount", Value::N((links as u64).into()));
    let mut writes = vec![album];
    for number in 1..links {
        let copy = |item: &Item| -> Item {
            let item = item.iter();
            let item = item.map(|(name, value)| (name.clone(), renamed(value, number)));
            item.collect()
        };
        writes.extend(patterns.iter().map(copy));
    }
    make_ann(&partita).await;
    for chunk in writes.chunks(100) {
        let puts = chunk.iter().cloned();
        let puts =
            puts.map(|item| TransactAction::Put(PutItem::new("mediahub".parse().unwrap(), item)));
        let request = TransactWriteItems {
            actions: puts.collect(),
            token: None,
        };
        store.transact_write_items(request).await.unwrap();
    }
}

fn renamed(value: &Value, number: usize) -> Value {
    match value {
        Value::S(text) => Value::S(text.replace(&id(0), &id(number))),
        other => other.clone(),
    }
}

async fn items(data: &Path, table: &str) -> Vec<Item> {
    scanned(&*store(data), table).await
}

async fn scanned(store: &dyn Store, table: &str) -> Vec<Item> {
    let mut request = Scan::new(table.parse().unwrap());
    let mut items = Vec::new();
    loop {
        let page = store.scan(request.clone()).await.unwrap();
        let page = page.answer.into_parts().unwrap();
        items.extend(page.items);
        match page.last_key {
            None => return items,
            last_key => request.start_after = last_key,
        }
    }
}

fn of_album<'i>(items: &'i [Item], album: &str) -> impl Iterator<Item = &'i Item> {
    let partition = Value::S(format!("ALBUM#{album}"));
    items.iter().filter(move |item| item["PK"] == partition)
}

fn token(data: &Path, role: Option<&str>) -> String {
    let mut command = Command::new(BINARY);
    command.args(["token", "mediahub", "--user", ANN, "--data"]);
    command.arg(data);
    command.args(role.into_iter().flat_map(|role| ["--role", role]));
    let output = command.output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

/// A token made with the installation's secret, to ask for the jobs with this body.
fn operator(data: &Path, server: &Server, body: &str, nonce: &str) -> String {
    let secret = Secrets::one(std::fs::read(data.join("secret")).unwrap()).unwrap();
    let errand = Errand {
        server: server.base.strip_prefix("http://").unwrap(),
        command: "jobs",
        body: body.as_bytes(),
        nonce,
    };
    Tokens::new(&secret, Arc::new(SystemClock)).make_for_operator("mediahub", &errand)
}

/// What `partita jobs` prints.
fn jobs(data: &Path, flags: &[&str]) -> String {
    let mut command = Command::new(BINARY);
    command.args(["jobs", "mediahub", "--data"]).arg(data);
    let output = command.args(flags).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_killed_in_the_middle_is_finished_after_the_restart() {
    let links = links();
    // A quick machine may be done before anybody sees that it has begun.
    for _ in 0..5 {
        let data = tempfile::tempdir().unwrap();
        let left = delete_and_kill(data.path(), links).await;
        finish(data.path(), links).await;
        println!("{left} of {links} links were left when the server was killed");
        if 0 < left && left < links {
            return;
        }
    }
    panic!("no server was killed in the middle");
}

/// Deletes the album and kills the server when its job has begun; gives how many links are left.
async fn delete_and_kill(data: &Path, links: usize) -> usize {
    let album = id(ALBUM);
    fill(data, &album, links).await;
    let server = Server::start(data, &["mediahub"]);
    let client = Client::new();
    let url = format!("{}/mediahub/Album/{album}", server.base);
    let call = client.delete(&url).bearer_auth(token(data, None));
    let url = format!("{}/mediahub/admin/jobs", server.base);
    let response = call.send().await.unwrap();
    assert_eq!(response.status(), StatusCode::NO_CONTENT);
    for asked in 0.. {
        let admin = operator(data, &server, r#"{"all":true}"#, &format!("n{asked}"));
        let call = client
            .post(&url)
            .bearer_auth(&admin)
            .json(&json!({"all": true}));
        let listed: Json = call.send().await.unwrap().json().await.unwrap();
        assert_eq!(listed["outcome"][0]["expected"], json!(links));
        if listed["outcome"][0]["done"] != json!(0) {
            break;
        }
    }
    server.kill();
    of_album(&items(data, "mediahub").await, &album).count()
}

/// Another server goes on, and verify finds nothing wrong.
async fn finish(data: &Path, links: usize) {
    let server = Server::start(data, &["mediahub"]);
    let flags = ["--server", &server.base, "--all", "--format", "json"];
    let done = loop {
        let listed: Json = serde_json::from_str(&jobs(data, &flags)).unwrap();
        if listed[0]["state"] == json!("done") {
            break listed[0]["done"].as_u64().unwrap();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(done, links as u64, "each exactly once");
    assert_eq!(server.stop(), Some(0));
    let all = items(data, "mediahub").await;
    assert_eq!(of_album(&all, &id(ALBUM)).count(), 0);
    assert_eq!(all.len(), links + ANNS, "the media stay, and Ann");
    let aside = items(data, "mediahub-partita").await;
    let is_of_job = |item: &&Item| {
        let partition = item["PK"].as_str().unwrap_or_default();
        !partition.starts_with("OUTBOX#") && !["ADMINISTRATOR", "SCHEDULE"].contains(&partition)
    };
    let of_job: Vec<&Item> = aside.iter().filter(is_of_job).collect();
    assert_eq!(
        of_job.len(),
        2,
        "the design and what is kept of the job: {of_job:?}"
    );
    assert!(jobs(data, &["--all"]).contains("done"));
    assert_eq!(jobs(data, &[]), "no jobs\n");
    let mut command = Command::new(BINARY);
    let command = command.args(["verify", "mediahub", "--data"]).arg(data);
    let told = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(told.ends_with(" items: nothing drifted\n"), "{told}");
    verify_store(data).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_for_administrators_and_keys_for_everybody() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let design = stage::design("mediahub", "mediahub");
    make_ann(&Partita::open(design, store(data)).await.unwrap()).await;
    let server = Server::start(data, &["mediahub"]);
    let client = Client::new();
    let (user, admin) = (token(data, None), token(data, Some("admin")));
    let url = format!("{}/mediahub/admin/jobs", server.base);
    // The design's roles are in its items, whatever a token says.
    for (token, status) in [
        (&user, 403),
        (&admin, 403),
        (&operator(data, &server, "{}", "1"), 200),
    ] {
        let call = client.post(&url).bearer_auth(token).json(&json!({}));
        assert_eq!(call.send().await.unwrap().status().as_u16(), status);
    }
    assert_eq!(jobs(data, &["--server", &server.base]), "no jobs\n");

    let url = format!("{}/mediahub/Album", server.base);
    let post = async |title: &str| {
        let call = client.post(&url).bearer_auth(&user);
        let call = call.header("Idempotency-Key", "first-album");
        let call = call.json(&json!({"title": title, "createdBy": ANN}));
        let response = call.send().await.unwrap();
        let status = response.status();
        (status, response.json::<Json>().await.unwrap())
    };
    let (status, first) = post("Sea").await;
    assert_eq!(status, StatusCode::CREATED, "{first}");
    assert_eq!(post("Sea").await, (status, first));
    let (status, problem) = post("Lake").await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(
        problem["type"],
        "urn:partita:problem:idempotency-key-reused"
    );
    assert_eq!(server.stop(), Some(0));
    assert_eq!(items(data, "mediahub").await.len(), 1 + ANNS);
    assert_eq!(jobs(data, &[]), "no jobs\n");
}

/// A book cannot be removed while it has a sequel, which may be somebody else's.
const LIBRARY: &str = r#"
design = "library"

[table]
name          = "library"
key           = ["PK", "SK"]
discriminator = "kind"

[index]
byReader = ["RPK", "RSK"]

[entity.Reader]
PK   = "READER#{readerId}"
SK   = "READER"
kind = "Reader"

[entity.Reader.attributes]
readerId = "string"

[entity.Reader.allow]
"*" = "public"

[entity.Book]
PK   = "SHELF#{shelfId}"
SK   = "BOOK#{bookId}"
RPK  = "READER#{readerId}"
RSK  = "{bookId}"
kind = "Book"

[entity.Book.attributes]
shelfId  = "string"
bookId   = "string"
readerId = "string"
sequelOf = "string?"
sequels  = "count of Book by first"

[entity.Book.refs]
reader = "Reader, on delete cascade"
first  = "Book(shelfId, bookId = sequelOf), on delete refuse"

[entity.Book.allow]
"*" = "public"

[pattern.books]
query = "RPK = 'READER#{readerId}'"

[pattern.shelf]
query = "PK = 'SHELF#{shelfId}'"
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_does_not_go_on_is_dropped_after_it_was_said_what_that_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("library.toml");
    std::fs::write(&file, LIBRARY).unwrap();
    let data = folder.path().join("data");
    let id = {
        let (design, mistakes) = partita_design::check(LIBRARY, &|_| None);
        let design = design.unwrap_or_else(|| panic!("{mistakes:#?}"));
        let partita = Partita::open(design, store(&data)).await.unwrap();
        for reader in ["bob", "cid"] {
            create(&partita, "Reader", &[("readerId", reader)]).await;
        }
        for book in 0..120 {
            let book = format!("{book:03}");
            let book = [("shelfId", "s"), ("bookId", &book), ("readerId", "bob")];
            create(&partita, "Book", &book).await;
        }
        let sequel = [
            ("shelfId", "s"),
            ("bookId", "sequel"),
            ("readerId", "cid"),
            ("sequelOf", "050"),
        ];
        create(&partita, "Book", &sequel).await;
        let delete = Operation::Delete {
            entity: "Reader".to_owned(),
            identity: vec!["bob".into()],
            version: None,
        };
        partita.run(&Caller::anonymous(), delete).await.unwrap();
        partita.run_jobs().await.unwrap();
        let jobs = partita.jobs().await.unwrap();
        assert!(jobs[0].is_stalled, "{jobs:?}");
        jobs[0].id.clone()
    };
    let run = |words: &[&str]| {
        let output = Command::new(BINARY)
            .args(["jobs", file.to_str().unwrap()])
            .args(words)
            .arg("--data")
            .arg(&data)
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    };
    let (_, listed) = run(&[]);
    assert!(listed.contains("partita jobs DESIGN drop ID"), "{listed}");
    // Alone, beside a server and over HTTP it says the same, and nothing is dropped unasked.
    let alone = run(&["drop", &id]);
    assert!(
        !alone.0 && alone.1.contains("119 items are done"),
        "{alone:?}"
    );
    assert!(alone.1.contains("stays undone"), "{alone:?}");
    let server = Server::start(&data, &[file.to_str().unwrap()]);
    assert_eq!(run(&["drop", &id]), alone);
    let over = ["--server", server.base.as_str()];
    assert_eq!(run(&[&["drop", &id][..], &over].concat()), alone);
    for words in [&["drop", "nothing", "--yes"][..], &["drop"], &["list", &id]] {
        let (is_done, said) = run(words);
        assert!(!is_done, "{words:?}: {said}");
    }
    let (is_done, said) = run(&[&["drop", &id, "--yes"][..], &over].concat());
    assert!(is_done && said.ends_with("it is dropped\n"), "{said}");
    assert_eq!(run(&[]), (true, "no jobs\n".to_owned()));
    let (_, all) = run(&["--all"]);
    assert!(all.contains("it was dropped: "), "{all}");
}
