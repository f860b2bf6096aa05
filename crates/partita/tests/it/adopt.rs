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

use crate::server::BINARY;

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
    insta::assert_snapshot!(said);
    // Nothing was created or recorded, so that it says the same again.
    assert_eq!(adopt(folder.path(), &[]).stdout, output.stdout);
    let json = adopt(folder.path(), &["--format", "json"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["census"]["records"]["Note"]["items"], 2);
    assert_eq!(json["unrecognised"]["count"], 1);

    let output = adopt(folder.path(), &["--start"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("nothing was written"), "{said}");
}
