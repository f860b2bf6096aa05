//! A design of one's own, for what the shipped ones do not have: sets, bytes, and soft deletes of items
//! with a version.

use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::server::{Server, token_for};

const DESIGN: &str = r#"
design = "notes"

[table]
name = "notes"
key  = ["PK", "SK"]

[entity.Note]
PK          = "NOTE#{noteId}"
SK          = "METADATA"
soft-delete = "deleted"

[entity.Note.attributes]
noteId  = "string"
tags    = "set? of string"
pages   = "set? of number"
seal    = "binary?"
deleted = "bool default false"
version = "version"

[entity.Note.allow]
"*" = "signed-in"

[pattern.note]
get = "PK = 'NOTE#{noteId}' AND SK = 'METADATA'"
"#;

struct Notes {
    server: Server,
    client: Client,
    token: String,
    _data: TempDir,
}

impl Notes {
    fn open() -> Notes {
        let data = tempfile::tempdir().unwrap();
        let file = data.path().join("notes.toml");
        std::fs::write(&file, DESIGN).unwrap();
        let file = file.to_str().unwrap();
        let server = Server::start(data.path(), &[file, "--memory"]);
        let flags = ["--data", data.path().to_str().unwrap()];
        Notes {
            server,
            client: Client::new(),
            token: token_for(file, &flags, "ann"),
            _data: data,
        }
    }

    fn call(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}/notes/{path}", self.server.base);
        self.client.request(method, url).bearer_auth(&self.token)
    }
}

async fn seen(call: RequestBuilder) -> (u16, Json) {
    let answer = call.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, answer.json().await.unwrap_or_default())
}

#[tokio::test]
async fn sets_are_lists_and_bytes_are_base64() {
    let notes = Notes::open();
    let note = json!({"noteId": "n", "tags": ["b", "a"], "pages": [2, 1.5], "seal": "AAEC"});
    let (status, created) = seen(notes.call(Method::POST, "Note").json(&note)).await;
    assert_eq!(status, 201, "{created}");
    let (_, read) = seen(notes.call(Method::GET, "Note/n")).await;
    assert_eq!(read["tags"], json!(["a", "b"]));
    assert_eq!(read["pages"], json!([1.5, 2]));
    assert_eq!(read["seal"], json!("AAEC"));

    for (attribute, value) in [
        ("tags", json!(["a", "a"])),
        ("tags", json!([])),
        ("tags", json!([1])),
        ("pages", json!([1, 1.0])),
        ("seal", json!("no base64")),
        ("seal", json!([1])),
    ] {
        let changes = json!({ attribute: value });
        let (status, refused) = seen(notes.call(Method::PATCH, "Note/n").json(&changes)).await;
        assert_eq!(status, 422, "{changes}: {refused}");
        assert_eq!(refused["faults"][0]["attribute"], attribute, "{refused}");
    }
    // In a batch it is the same.
    let changes = json!({"method": "PUT", "path": "Note/n", "body": {"tags": ["c"]}});
    let batch = notes
        .call(Method::POST, "batch")
        .json(&json!({"operations": [changes]}));
    let (status, done) = seen(batch).await;
    assert_eq!(status, 200, "{done}");
    assert_eq!(done["results"][0]["body"]["tags"], json!(["c"]));
}

#[tokio::test]
async fn a_restore_can_depend_on_the_version() {
    let notes = Notes::open();
    let note = json!({"noteId": "n"});
    assert_eq!(
        seen(notes.call(Method::POST, "Note").json(&note)).await.0,
        201
    );
    assert_eq!(seen(notes.call(Method::DELETE, "Note/n")).await.0, 204);
    let deleted = notes.call(Method::GET, "Note/n?deleted=include");
    let version = seen(deleted).await.1["version"].to_string();
    let restore = |tag: &str| {
        let call = notes.call(Method::POST, "Note/n/restore");
        seen(call.header("if-match", tag))
    };
    let (status, refused) = restore("\"99\"").await;
    assert_eq!(status, 412, "{refused}");
    assert_eq!(refused["type"], "urn:partita:problem:stale-version");
    let (status, restored) = restore(&format!("\"{version}\"")).await;
    assert_eq!(status, 200, "{restored}");
    assert_eq!(restored["deleted"], false);
    assert_eq!(seen(notes.call(Method::DELETE, "Note/n")).await.0, 204);
    assert_eq!(restore("*").await.0, 200, "it is there");
    let (status, document) = seen(notes.call(Method::GET, "openapi.json")).await;
    assert_eq!(status, 200);
    let operation = &document["paths"]["/Note/{noteId}/restore"]["post"];
    assert!(!operation["responses"]["412"].is_null(), "{operation:#}");
}
