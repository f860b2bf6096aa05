//! `partita demo`: every shipped design, filled and looked at.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use partita_core::Value;
use partita_design::types::AttributeType;
use partita_design::{Design, Occupant, occupant, shipped};
use partita_engine::{EngineStore, Options, Upkeep};
use partita_store::Store as _;
use partita_store::request::Scan;
use partita_store::surroundings::SystemClock;
use serde_json::Value as Json;

use crate::server::{BINARY, Server};

fn demo(design: &str, data: &Path, flags: &[&str]) -> (bool, String, String) {
    let output = Command::new(BINARY)
        .args(["demo", design, "--data"])
        .arg(data)
        .args(flags)
        .env_remove("TABLE_NAME")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.success(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn compiled(name: &str) -> Design {
    let source = shipped::find(name).unwrap().source;
    partita_design::check(source, &|_| None).0.unwrap()
}

/// The states that no item is in, of all entities.
async fn states_without_items(data: &Path, design: &Design) -> BTreeSet<String> {
    let options = Options::new(Arc::new(SystemClock)).upkeep(Upkeep::OnRequest);
    let store = EngineStore::open(&data.join("store"), options).unwrap();
    let mut missing: BTreeSet<String> = BTreeSet::new();
    let place =
        |entity: &str, attribute: &str, state: &str| format!("{entity}.{attribute} = {state}");
    for entity in design.entities() {
        for attribute in &entity.attributes {
            if let AttributeType::State(states) = &attribute.kind {
                let states = states.names.iter();
                missing.extend(states.map(|state| place(&entity.name, &attribute.name, state)));
            }
        }
    }
    let table = &design.tables[0];
    let mut scan = Scan::new(table.name.parse().unwrap());
    loop {
        let page = store.scan(scan.clone()).await.unwrap().answer;
        for item in page.items {
            let item = item.into_item().unwrap();
            let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
            let (partition, sort) = (text(&table.partition), text(&table.sort));
            if let Some(Occupant::Record { record: entity, .. }) =
                occupant(design, &table.name, partition, sort)
            {
                for attribute in &entity.attributes {
                    missing.remove(&place(&entity.name, &attribute.name, text(&attribute.name)));
                }
            }
        }
        match page.last_key {
            None => return missing,
            last => scan.start_after = last,
        }
    }
}

/// Fills a design and holds what came of it against the design.
async fn fill(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (is_done, out, err) = demo(name, folder.path(), &["--format", "json"]);
    assert!(is_done, "{err}");
    let told: Json = serde_json::from_str(&out).unwrap();
    let design = compiled(name);

    let records = told["records"].as_object().unwrap();
    let items: u64 = records
        .values()
        .map(|number| number.as_u64().unwrap())
        .sum();
    assert!((200..2_000).contains(&items), "{items} items: {records:?}");
    assert_eq!(records.get("others"), None, "{records:?}");
    for record in design.records.iter().map(|record| &record.name) {
        assert!(
            records.contains_key(record),
            "{name} has no {record}: {records:?}"
        );
    }

    let queries = told["queries"].as_array().unwrap();
    let empty: Vec<_> = queries.iter().filter(|query| query["rows"] == 0).collect();
    assert!(empty.is_empty(), "nothing is shown by {empty:#?}");
    let asked: BTreeSet<&str> = queries
        .iter()
        .map(|query| query["pattern"].as_str().unwrap())
        .collect();
    let patterns: BTreeSet<&str> = design
        .patterns
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(asked, patterns);

    let verified = Command::new(BINARY)
        .args(["verify", name, "--data"])
        .arg(folder.path())
        .env_remove("TABLE_NAME")
        .output()
        .unwrap();
    assert!(verified.status.success(), "{verified:?}");
    let missing = states_without_items(folder.path(), &design).await;
    assert!(missing.is_empty(), "nothing is in {missing:?}");
}

/// A test for each design, so that each is named when it fails.
macro_rules! demos {
    ($($design:ident)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $design() {
            fill(stringify!($design)).await;
        }
    )*};
}

demos! { stories storyhub mediahub holdthatthought figureforge }

#[test]
fn a_design_is_filled_once() {
    let folder = tempfile::tempdir().unwrap();
    assert!(demo("stories", folder.path(), &[]).0);
    let (is_done, _, err) = demo("stories", folder.path(), &[]);
    assert!(!is_done);
    assert!(
        err.contains("there are items in the table `stories` already"),
        "{err}"
    );
}

#[test]
fn a_mistake_is_told_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("mine.demo");
    let path = script.to_str().unwrap();
    let check = |text: &str, expected: &str| {
        std::fs::write(&script, text).unwrap();
        let data = tempfile::tempdir().unwrap();
        let (is_done, _, err) = demo("stories", data.path(), &["--script", path]);
        assert!(!is_done && err.contains(expected), "{err}");
    };
    check(
        "\nann jumps",
        "mine.demo: line 2: `ann jumps` begins no statement",
    );
    let create =
        "for who in [\"ann\"]\n  bob creates Story {\"userId\": \"$who\", \"title\": \"T\"}";
    check(create, "mine.demo: line 2: ");
    check(
        "ann creates Story {\"userId\": \"$whom\"}",
        "line 1: nothing is called `whom`",
    );
}

/// The requests work as they are printed, once the printed server is started.
#[test]
fn what_is_printed_works() {
    let folder = tempfile::tempdir().unwrap();
    let (is_done, out, err) = demo("storyhub", folder.path(), &[]);
    assert!(is_done, "{err}");
    let server = Server::start(folder.path(), &["storyhub"]);
    let commands: Vec<_> = out
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("curl "))
        .collect();
    assert!(commands.len() > 3, "{out}");
    assert!(
        commands
            .iter()
            .any(|command| command.contains(" token storyhub ")),
        "{out}"
    );
    for command in commands {
        // The test's server has a port of its own.
        let command = command.replace("http://127.0.0.1:8000", &server.base);
        let command = command.replacen("curl ", "curl --silent --fail ", 1);
        let answer = Command::new("sh").args(["-c", &command]).output().unwrap();
        assert!(answer.status.success(), "{command}");
        let answer: Json = serde_json::from_slice(&answer.stdout).unwrap();
        assert!(
            !answer["items"].as_array().unwrap().is_empty(),
            "{command}: {answer}"
        );
    }
}
