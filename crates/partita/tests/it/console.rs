//! The console in a real browser, as people use it: by roles and names.
//!
//! | module | what it holds |
//! |---|---|
//! | `screens` | every screen of the five designs: nothing fails, nothing keeps people out, nothing is loaded from elsewhere |
//! | `tasks` | what people come for, from the beginning to the end |
//! | `strangers` | who does not get in |

mod screens;
mod strangers;
mod tasks;

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::browser::webdriver::Browser;
use crate::server::{BINARY, Server};

/// The output of a command on a data directory.
fn partita(data: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(BINARY);
    command.args(arguments).arg("--data").arg(data);
    let output = command.env_remove("TABLE_NAME").output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A server with a design and its demo, and a browser in which its operator has opened the console.
async fn opened(design: &str) -> Option<(tempfile::TempDir, Server, Browser)> {
    let browser = Browser::start().await?;
    let data = tempfile::tempdir().unwrap();
    partita(data.path(), &["demo", design]);
    let server = Server::start(data.path(), &[design]);
    browser
        .open(&partita(data.path(), &["console", design]))
        .await;
    settle(&browser).await;
    Some((data, server, browser))
}

/// Waits until everything that was asked for is shown.
async fn settle(browser: &Browser) {
    let is_quiet = "return !document.querySelector('[aria-busy=true]') && !!document.querySelector('main h1, .where h1')";
    browser.until(is_quiet, &[]).await;
}

/// Goes to a place of the console.
async fn go(browser: &Browser, place: &str) {
    let go = "if (location.hash === arguments[0]) return; location.hash = arguments[0]; \
              document.querySelector('.where')?.replaceChildren();";
    browser.run(go, &[json!(place)]).await;
    settle(browser).await;
}

/// Acts as a user of the design.
async fn act_as(browser: &Browser, field: &str, user: &str, role: Option<&str>) {
    browser.press("group", "operator").await;
    browser.press("button", "Act as…").await;
    browser.enter(field, user).await;
    if let Some(role) = role {
        browser.enter("Role", role).await;
    }
    browser.press("button", "Act as this user").await;
    settle(browser).await;
}

/// What the page shows.
async fn shown(browser: &Browser) -> String {
    browser.text("body").await
}
