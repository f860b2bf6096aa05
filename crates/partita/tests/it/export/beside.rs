//! Imports beside a running server: of a design that it serves, and of one that it does not.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use partita_core::{Item, Value};
use partita_store::FoundItem;
use partita_store::surroundings::SystemEntropy;
use partita_transfer::exports::{Begun, ExportWriter};
use serde_json::{Value as Json, json};

use super::Scene;
use crate::server::{BINARY, Server, token_for};

/// An export of so many records of ann's stories, in a folder of this name.
fn stories(scene: &Scene, folder: &str, count: usize) {
    let begun = Begun {
        millis: 1_604_474_914_028,
        text: "2020-11-04T07:28:34.028Z".to_owned(),
    };
    let into = scene.0.path().join(folder);
    let table = "stories".parse().unwrap();
    let mut writer = ExportWriter::begin(&into, &table, &begun, Box::new(SystemEntropy)).unwrap();
    let items: Vec<FoundItem> = (0..count).map(|number| story(number).into()).collect();
    writer.add(&items).unwrap();
    writer.finish(begun.text).unwrap();
}

fn story(number: usize) -> Item {
    let id = format!("01ARZ3NDEKTSV4RRFFQ6{number:06}");
    let time = "2026-01-01T00:00:00.000Z";
    Item::from([
        ("PK", Value::from("USER#ann")),
        ("SK", Value::from(format!("STORY#{id}"))),
        ("id", Value::from(id)),
        ("title", Value::from("word ".repeat(20))),
        ("ItemType", Value::from("StoryIndex")),
        ("CreatedAt", Value::from(time)),
        ("UpdatedAt", Value::from(time)),
        ("deleted", Value::Bool(false)),
    ])
}

/// Asks for ann's stories.
async fn listed(base: &str, token: &str) -> (u16, Json) {
    let url = format!("{base}/stories/users/ann/stories?limit=1");
    let asked = reqwest::Client::new().get(url).bearer_auth(token);
    let answer = asked.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, answer.json().await.unwrap())
}

fn ann(data: &Path) -> String {
    token_for("stories", &["--data", data.to_str().unwrap()], "ann")
}

/// Waits until somebody has said something.
async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(seen) = look().await {
            return seen;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("in a minute there was no {what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_serves_the_design_shows_all_of_it_or_nothing() {
    let scene = Scene(tempfile::tempdir().unwrap());
    stories(&scene, "out", 20_000);
    let data = scene.0.path().join("data");
    let server = Server::start(&data, &["stories", "storyhub"]);
    let token = ann(&data);
    // Somebody reads and writes all the while.
    let is_over = Arc::new(AtomicBool::new(false));
    let traffic = tokio::spawn({
        let (base, token, is_over) = (server.base.clone(), token.clone(), is_over.clone());
        async move {
            let mut seen = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                seen.push(listed(&base, &token).await);
                let url = format!("{base}/stories/users/zoe/stories");
                let zoe = json!({ "title": "mine" });
                let asked = reqwest::Client::new().post(url).bearer_auth(&token);
                // She is not zoe, which the server can say without the tables.
                let refused = asked.json(&zoe).send().await.unwrap();
                assert!(
                    matches!(refused.status().as_u16(), 403 | 404 | 503),
                    "{refused:?}"
                );
            }
            seen
        }
    });
    let imported = scene.json("import stories out --data data --format json");
    is_over.store(true, Ordering::Relaxed);
    assert_eq!(imported[0]["items"], 20_000, "{imported}");
    let mut closed = 0;
    for (status, body) in traffic.await.unwrap() {
        match status {
            // Before it, or after it.
            200 => {}
            503 => {
                assert!(
                    body["type"].as_str().unwrap().ends_with(":importing"),
                    "{body}"
                );
                closed += 1;
            }
            _ => panic!("{status}: {body}"),
        }
    }
    assert!(closed > 0, "the import was over before anybody asked");
    let (status, body) = listed(&server.base, &token).await;
    assert_eq!(
        (status, body["items"].as_array().unwrap().len()),
        (200, 1),
        "{body}"
    );
    // The server goes on with what came: it writes, and starts again.
    let url = format!("{}/stories/users/ann/stories", server.base);
    let asked = reqwest::Client::new().post(url).bearer_auth(&token);
    let created = asked
        .json(&json!({ "title": "Dune" }))
        .send()
        .await
        .unwrap();
    assert_eq!(created.status().as_u16(), 201, "{created:?}");
    assert_eq!(server.stop(), Some(0));
    drop(Server::start(&data, &["stories"]));
    let found = scene.json("export items stories --data data --to again --format json");
    assert_eq!(found[0]["items"], 20_002, "{found}");
}

#[tokio::test]
async fn nothing_is_overwritten_unasked_beside_a_server() {
    let scene = Scene(tempfile::tempdir().unwrap());
    scene.said("demo storyhub --data one");
    scene.said("export items storyhub --data one --to out");
    // A design that is not served, and one that is, with all that is beside it.
    for served in ["stories", "storyhub"] {
        let folder = format!("beside-{served}");
        let data = scene.0.path().join(&folder);
        let server = Server::start(&data, &[served]);
        let imported = scene.said(&format!("import storyhub out --data {folder}"));
        assert!(imported.contains("-partita: "), "{imported}");
        scene.said(&format!("verify storyhub --data {folder}"));
        let refused = scene.refused(&format!("import storyhub out --data {folder}"));
        assert!(refused.contains("--overwrite"), "{refused}");
        scene.said(&format!("import storyhub out --data {folder} --overwrite"));
        scene.said(&format!("verify storyhub --data {folder}"));
        assert_eq!(server.stop(), Some(0));
        drop(Server::start(&data, &["storyhub"]));
    }
    // Items of another design are refused before anything is written.
    let text = partita_design::shipped::find("storyhub").unwrap().source;
    let other = text.replacen("string 1..", "string 2..", 1);
    assert_ne!(text, other);
    fs::write(scene.0.path().join("other.toml"), other).unwrap();
    let data = scene.0.path().join("other");
    let server = Server::start(
        &data,
        &[scene.0.path().join("other.toml").to_str().unwrap()],
    );
    let refused = scene.refused("import storyhub out --data other");
    assert!(refused.contains("follow another design"), "{refused}");
    scene.said("verify other.toml --data other");
    drop(server);
}

/// Starts an import that takes a while.
fn begin(scene: &Scene) -> Child {
    let mut command = Command::new(BINARY);
    command.args(["import", "stories", "out", "--data", "data"]);
    command.current_dir(scene.0.path()).env_remove("TABLE_NAME");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

#[tokio::test]
async fn an_import_whose_client_is_gone_begins_again() {
    let scene = Scene(tempfile::tempdir().unwrap());
    stories(&scene, "out", 60_000);
    let data = scene.0.path().join("data");
    let server = Server::start(&data, &["stories"]);
    let token = ann(&data);
    let mut client = begin(&scene);
    let closed = async || (listed(&server.base, &token).await.0 == 503).then_some(());
    until("import under way", closed).await;
    client.kill().unwrap();
    client.wait().unwrap();
    // Half of the items is not to be seen, and no other import takes its place unasked.
    let refused = until("end of the work", async || {
        let refused = scene.refused("import stories elsewhere --data data");
        assert!(refused.contains("elsewhere"), "{refused}");
        let refused = scene.refused("verify stories --data data");
        refused.contains("partita import").then_some(refused)
    });
    refused.await;
    assert_eq!(listed(&server.base, &token).await.0, 503);
    let imported = until("second attempt", async || {
        let output = scene.run("import stories out --data data --format json");
        output.status.success().then_some(output.stdout)
    });
    let imported: Json = serde_json::from_slice(&imported.await).unwrap();
    assert_eq!(imported[0]["items"], 60_000);
    assert_eq!(listed(&server.base, &token).await.0, 200);
}

#[tokio::test]
async fn a_server_that_is_killed_amid_an_import_says_what_to_do() {
    let scene = Scene(tempfile::tempdir().unwrap());
    stories(&scene, "out", 60_000);
    let data = scene.0.path().join("data");
    let server = Server::start(&data, &["stories"]);
    let token = ann(&data);
    let mut client = begin(&scene);
    let closed = async || (listed(&server.base, &token).await.0 == 503).then_some(());
    until("import under way", closed).await;
    server.kill();
    assert!(!client.wait().unwrap().success());
    let refused = scene.refused("serve stories --data data --listen 127.0.0.1:0");
    assert!(
        refused.contains("the same `partita import` begins it again"),
        "{refused}"
    );
    let imported = scene.json("import stories out --data data --format json");
    assert_eq!(imported[0]["items"], 60_000);
    let server = Server::start(&data, &["stories"]);
    assert_eq!(listed(&server.base, &token).await.0, 200);
}
