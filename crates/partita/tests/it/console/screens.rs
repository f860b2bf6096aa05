//! Every screen, on every design.

use std::process::Command;
use std::sync::LazyLock;

use serde_json::{Value as Json, json};

use super::{go, opened, partita, settle};
use crate::browser::webdriver::Browser;
use crate::server::Server;

/// axe-core, where the machine can have it.
static AXE: LazyLock<Option<String>> = LazyLock::new(|| {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/clients");
    let output = Command::new(script).arg("console").output().unwrap();
    if output.status.code() == Some(3) && std::env::var_os("CI").is_none() {
        return None;
    }
    assert!(output.status.success(), "{output:?}");
    let path = String::from_utf8(output.stdout).unwrap();
    Some(std::fs::read_to_string(path.trim()).unwrap())
});

#[tokio::test]
async fn stories() {
    check_screens("stories").await;
}

#[tokio::test]
async fn storyhub() {
    check_screens("storyhub").await;
}

#[tokio::test]
async fn mediahub() {
    check_screens("mediahub").await;
}

#[tokio::test]
async fn holdthatthought() {
    check_screens("holdthatthought").await;
}

#[tokio::test]
async fn figureforge() {
    check_screens("figureforge").await;
}

async fn check_screens(design: &str) {
    let Some((_data, server, browser)) = opened(design).await else {
        return;
    };
    let places = places(&browser, design).await;
    for scheme in ["light", "dark"] {
        browser.prefer(scheme).await;
        for place in &places {
            go(&browser, place).await;
            check(&browser, &format!("{place}, {scheme}")).await;
        }
    }
    browser.become_phone().await;
    for place in &places {
        go(&browser, place).await;
        let wide = "return document.documentElement.scrollWidth > innerWidth";
        assert_eq!(browser.run(wide, &[]).await, json!(false), "{place}");
    }
    check(&browser, "on a phone").await;
    // The way in, too.
    browser
        .run("sessionStorage.clear(); location.reload()", &[])
        .await;
    settle(&browser).await;
    check(&browser, "the way in").await;
    check_origin(&browser, &server).await;
    assert_eq!(browser.complaints().await, Vec::<String>::new());
    browser.stop().await;
}

/// The address of every kind of screen: entities and views with one of their items, new ones,
/// patterns, the pages of the design and what goes on.
async fn places(browser: &Browser, design: &str) -> Vec<String> {
    let script = r#"
const [design, done] = arguments;
const main = await import("/console/main.js");
const api = await import("/console/api.js");
const { entities, records, patterns } = await api.designOf(design);
const places = [main.to(design)];
for (const { name } of records.slice(0, 8)) {
  places.push(main.to(design, "data", [name]));
  const { items } = await api.ask(design, "items", { record: name, limit: 1 });
  if (items[0]?.identity) places.push(main.to(design, "item", [name, ...items[0].identity]));
}
const first = places.find((place) => place.includes("/item/"));
places.push(`${first}?tab=collection`, `${first}?tab=json`);
for (const { name } of entities.slice(0, 3)) places.push(main.to(design, "new", [name]));
for (const { name } of patterns.slice(0, 4)) places.push(main.to(design, "pattern", [name]));
for (const page of ["file", "patterns", "access", "diagram"]) places.push(main.to(design, "design", [page]));
for (const page of ["jobs", "outbox", "verify", "requests", "history"]) places.push(main.to(design, "activity", [page]));
return places;
"#;
    let script = format!(
        "const done = arguments[1]; (async () => {{ {script} }})().then(done, (error) => done(String(error)));"
    );
    let script = script.replace("const [design, done] = arguments;", "");
    let script = format!("const design = arguments[0]; {script}");
    let found = browser.run_async(&script, &[json!(design)]).await;
    let found: Vec<String> =
        serde_json::from_value(found.clone()).unwrap_or_else(|_| panic!("{found}"));
    assert!(found.len() > 15, "{found:?}");
    found
}

/// Nothing failed, the screen has a title, and axe-core finds nothing.
pub(super) async fn check(browser: &Browser, what: &str) {
    let troubles = "return [...document.querySelectorAll('.trouble')].map((one) => one.innerText)";
    assert_eq!(browser.run(troubles, &[]).await, json!([]), "{what}");
    let title = browser.run("return document.querySelector('h1').innerText", &[]);
    assert_ne!(title.await, json!(""), "{what}");
    let Some(axe) = AXE.as_ref() else { return };
    if browser.run("return Boolean(window.axe)", &[]).await == json!(false) {
        browser.run(axe, &[]).await;
    }
    let script = "const done = arguments[0]; \
        axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => \
        done(violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(' ')}`)))";
    let found = browser.run_async(script, &[]).await;
    assert_eq!(found, json!([]), "{what}");
}

/// No request has left the server.
async fn check_origin(browser: &Browser, server: &Server) {
    let script = "return performance.getEntriesByType('resource').map((one) => one.name)";
    let sent = browser.run(script, &[]).await;
    let sent: Vec<Json> = serde_json::from_value(sent).unwrap();
    for one in sent {
        assert!(one.as_str().unwrap().starts_with(&server.base), "{one}");
    }
}

/// A checker that finds nothing anywhere would let everything pass.
#[tokio::test]
async fn axe_finds_a_planted_mistake() {
    let Some((data, _server, browser)) = opened("stories").await else {
        return;
    };
    let Some(axe) = AXE.as_ref() else { return };
    let _ = partita(data.path(), &["console", "stories"]);
    browser.run(axe, &[]).await;
    let plant = "document.querySelector('main').append(document.createElement('input'))";
    browser.run(plant, &[]).await;
    let script = "const done = arguments[0]; axe.run().then(({ violations }) => done(violations.map((one) => one.id)))";
    let found = browser.run_async(script, &[]).await;
    assert!(
        found.as_array().unwrap().contains(&json!("label")),
        "{found}"
    );
    browser.stop().await;
}
