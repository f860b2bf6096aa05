//! Generators of clients that people use, given the OpenAPI documents of all shipped designs: none
//! leaves anything out, what they make compiles, and one call of each kind works with it.
//!
//! `clients/generators` has the program.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use partita_api::openapi;
use partita_api::routes::Routes;
use partita_design::shipped;
use serde_json::{Map, Value as Json, json};

use crate::access::theatre::Theatre;
use crate::stage;

/// The script's way of saying that Python or Node.js is missing.
const MISSING: i32 = 3;

/// The clients that call.
const CLIENTS: [&str; 2] = ["orval", "python"];

#[tokio::test(flavor = "multi_thread")]
async fn generators_leave_nothing_out() {
    let folder = tempfile::tempdir().unwrap();
    let documents = folder.path().join("documents");
    std::fs::create_dir(&documents).unwrap();
    for shipped in shipped::all() {
        let design = stage::design(shipped.name, "any");
        let document = openapi::document(&design, &Routes::of(&design));
        let file = documents.join(format!("{}.json", shipped.name));
        std::fs::write(file, document.to_string()).unwrap();
    }
    // It has soft deletes, actions, and patterns of one and of many.
    let mut theatre = Theatre::open("storyhub").await;
    let mut clients = Map::new();
    for client in CLIENTS {
        // What one of them changes the other finds as it was.
        let calls = theatre.calls().await.unwrap();
        clients.insert(client.to_owned(), one_of_each(&calls));
    }
    let calls = json!({ "storyhub": clients });
    std::fs::write(folder.path().join("calls.json"), calls.to_string()).unwrap();

    let url = theatre.url("");
    let (server, _) = url.rsplit_once("/storyhub").unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/clients");
    let output = Command::new(script)
        .arg("generators")
        .arg(folder.path())
        .arg(server)
        .output()
        .unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    if output.status.code() == Some(MISSING) && std::env::var_os("CI").is_none() {
        // Past the capture of the test harness, which shows nothing of a test that passes.
        let _ = writeln!(std::io::stderr(), "skipped: {}", said.trim());
        return;
    }
    assert!(output.status.success(), "{said}");
}

/// One call of each kind: the first of each word behind an entity, and all patterns and actions.
fn one_of_each(calls: &Json) -> Json {
    let mut seen = BTreeSet::new();
    let calls = calls.as_object().unwrap().iter();
    let chosen = calls.filter(|(name, call)| {
        let word = match name.split_once('.') {
            Some(("query", _)) => name.as_str(),
            Some((_, word)) => word,
            None => return false,
        };
        let is_made = call["token"].is_string() && call["path"].is_object();
        is_made && seen.insert(word.to_owned())
    });
    let chosen: Map<String, Json> = chosen
        .map(|(name, call)| (name.clone(), call.clone()))
        .collect();
    assert!(chosen.len() > 20, "{:?}", chosen.keys());
    Json::Object(chosen)
}
