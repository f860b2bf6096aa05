//! `partita adopt` on tables that other code filled.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use partita_core::{Item, Value};
use partita_engine::{EngineStore, Options, Upkeep};
use partita_store::Store as _;
use partita_store::request::{CreateTable, PutItem, ReturnValues};
use partita_store::surroundings::SystemClock;
use partita_store::table::{KeySchema, TableName};

use crate::server::{BINARY, Server};

const DESIGN: &str = r#"
design = "notes"

[table]
name   = "notes"
key    = ["PK", "SK"]
ttl    = "ends"
ignore = ["BILLING#"]

[index]
byMood = ["moodPK", "moodSK"]

[entity.Note]
PK     = "USER#{userId}"
SK     = "NOTE#{noteId}"
moodPK = "MOOD#{mood}"
moodSK = "{noteId}"

[entity.Note.attributes]
userId = "string"
noteId = "string"
mood   = "enum calm | glad"
stars  = "int? 1..5"
size   = "int = size(noteId)"

[entity.Note.allow]
"*" = "public"

[pattern.moods]
query = "moodPK = 'MOOD#{mood}'"
"#;

fn item(pairs: &[(&str, &str)]) -> Item {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), Value::from(*value)))
        .collect()
}

/// A table as other code fills it, without indexes.
async fn fill(data: &Path, items: &[Item]) {
    let options = Options::new(Arc::new(SystemClock)).upkeep(Upkeep::OnRequest);
    let store = EngineStore::open(&data.join("store"), options).unwrap();
    let table: TableName = "notes".parse().unwrap();
    let create = CreateTable::new(table.clone(), KeySchema::strings("PK", "SK"));
    store.create_table(create).await.unwrap();
    for item in items {
        let put = PutItem::new(table.clone(), item.clone());
        store.put_item(put, ReturnValues::None).await.unwrap();
    }
}

fn adopt(folder: &Path, more: &[&str]) -> Output {
    let file = folder.join("notes.toml");
    std::fs::write(&file, DESIGN).unwrap();
    Command::new(BINARY)
        .arg("adopt")
        .arg(&file)
        .args(more)
        .arg("--data")
        .arg(folder.join("data"))
        .output()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_other_code_filled_is_reported_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let items = [
        item(&[
            ("PK", "USER#ann"),
            ("SK", "NOTE#1"),
            ("userId", "ann"),
            ("noteId", "1"),
            ("mood", "sad"),
        ]),
        item(&[
            ("PK", "USER#ann"),
            ("SK", "NOTE#2"),
            ("userId", "ann"),
            ("noteId", "2"),
        ]),
        item(&[("PK", "OLD#1"), ("SK", "OLD")]),
        item(&[("PK", "BILLING#1"), ("SK", "INVOICE")]),
    ];
    fill(&folder.path().join("data"), &items).await;
    let output = adopt(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    let file = folder.path().join("notes.toml");
    insta::assert_snapshot!(said.replace(file.to_str().unwrap(), "notes.toml"));
    // Nothing was created or recorded, so that it says the same again.
    assert_eq!(adopt(folder.path(), &[]).stdout, output.stdout);
    let json = adopt(folder.path(), &["--format", "json"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["census"]["records"]["Note"]["items"], 2);
    assert_eq!(json["unrecognised"]["count"], 1);

    let output = adopt(folder.path(), &["--start"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.ends_with("nothing was written\n"), "{said}");
    assert!(
        said.contains("to do        1 items are none of the design"),
        "{said}"
    );
    // A server does not serve them either.
    let served = serve(folder.path());
    assert_eq!(served.status.code(), Some(1), "{served:?}");
    let said = String::from_utf8(served.stderr).unwrap();
    assert!(said.contains("`partita adopt DESIGN`"), "{said}");
}

fn serve(folder: &Path) -> Output {
    Command::new(BINARY)
        .arg("serve")
        .arg(folder.join("notes.toml"))
        .args(["--listen", "127.0.0.1:0", "--data"])
        .arg(folder.join("data"))
        .output()
        .unwrap()
}

fn said(output: Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What is derived is filled in by `repair`, and the index that is missing by the takeover.
#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_other_code_filled_is_repaired_taken_over_and_served() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let note = |id: &str| {
        let sort = format!("NOTE#{id}");
        item(&[
            ("PK", "USER#ann"),
            ("SK", &sort),
            ("userId", "ann"),
            ("noteId", id),
            ("mood", "calm"),
        ])
    };
    fill(&data, &[note("1"), note("2")]).await;
    let before = said(adopt(folder.path(), &["--start"]), 1);
    assert!(before.contains("`partita repair "), "{before}");
    assert!(before.ends_with("nothing was written\n"), "{before}");

    let file = folder.path().join("notes.toml");
    let repair = Command::new(BINARY)
        .arg("repair")
        .arg(&file)
        .args(["--yes", "--data"])
        .arg(&data)
        .output()
        .unwrap();
    said(repair, 0);
    let taken = said(adopt(folder.path(), &["--start"]), 0);
    assert!(taken.contains("\nadopted "), "{taken}");
    // There is a live design now, and so nothing to take over.
    assert_eq!(
        adopt(folder.path(), &["--start"]).status.code(),
        Some(2),
        "twice"
    );

    let server = Server::start(&data, &[file.to_str().unwrap()]);
    let answer = reqwest::get(format!("{}/notes/query/moods?mood=calm", server.base)).await;
    let answer: serde_json::Value = answer.unwrap().json().await.unwrap();
    assert_eq!(
        answer["items"].as_array().map(Vec::len),
        Some(2),
        "{answer}"
    );
}
