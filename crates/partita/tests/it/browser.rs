//! The page of a design in a real browser: it is drawn, and sends a request.

mod accounts;
pub(crate) mod webdriver;

use serde_json::json;

use crate::server::{Server, token};
use webdriver::Browser;

#[tokio::test]
async fn the_page_creates_an_item() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--memory"]);
    let token = token(data.path(), "ann");

    browser.open(&format!("{}/", server.base)).await;
    browser.click("a[href='/stories/docs']").await;
    browser.wait_for("#sections section").await;
    assert_eq!(browser.text("#title").await, "stories");

    browser.type_into("#token", &token).await;
    let id = "[id='Story.create']";
    browser.click(&format!("{id} > summary")).await;
    browser
        .fill(
            &format!("{id} textarea"),
            &json!({ "userId": "ann", "title": "Dune" }).to_string(),
        )
        .await;
    let curl = browser.text(&format!("{id} .curl")).await;
    assert!(curl.starts_with("curl -i -X POST"), "{curl}");
    assert!(curl.contains(&token), "{curl}");
    browser.click(&format!("{id} button.send")).await;
    browser.wait_for(&format!("{id} .output .status")).await;
    let status = browser.text(&format!("{id} .output .status")).await;
    assert!(status.starts_with("201"), "{status}");
    let answer = browser.text(&format!("{id} .output .answer")).await;
    assert!(answer.contains("\"title\": \"Dune\""), "{answer}");
    // Nothing was blocked, and nothing failed.
    assert_eq!(browser.complaints().await, Vec::<String>::new());
    if let Some(folder) = std::env::var_os("PARTITA_SCREENSHOTS") {
        browser
            .screenshot(std::path::Path::new(&folder), "docs")
            .await;
    }
    browser.stop().await;
}

/// Whatever a design contains is shown as text, on both pages.
#[tokio::test]
async fn what_a_design_says_is_no_markup() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let data = tempfile::tempdir().unwrap();
    let design = data.path().join("hostile.toml");
    let text = include_str!("../../src/starter.toml").replace("starter", "hostile");
    let about = "about = \"<img src=x onerror=document.title=1>\"\n";
    let line = text.lines().find(|line| line.starts_with("about")).unwrap();
    std::fs::write(&design, text.replacen(&format!("{line}\n"), about, 1)).unwrap();
    let server = Server::start(data.path(), &["--memory", design.to_str().unwrap()]);
    for path in ["/", "/hostile/docs"] {
        browser.open(&format!("{}{path}", server.base)).await;
        if path != "/" {
            browser.wait_for("#sections section").await;
        }
        assert_eq!(browser.count("img").await, 0, "{path}");
        assert!(browser.text("body").await.contains("<img"), "{path}");
    }
    browser.stop().await;
}

const BOARD: &str = r#"
design = "board"

[table]
name = "board"
key  = ["PK", "SK"]

[entity.Post]
PK = "BOARD#{board}"
SK = "POST#{postId}"

[entity.Post.attributes]
board  = "string"
postId = "ulid, generated"
text   = "string"

[entity.Post.allow]
"*" = "public"

[pattern.posts]
query = "PK = 'BOARD#{board}' AND begins_with(SK, 'POST#')"
"#;

/// What docs/feeds.md shows of a browser: rows by their identity, kept by an `EventSource`.
#[tokio::test]
async fn a_page_follows_a_pattern() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let data = tempfile::tempdir().unwrap();
    let design = data.path().join("board.toml");
    std::fs::write(&design, BOARD).unwrap();
    let design = design.to_str().unwrap();
    let server = Server::start(data.path(), &[design]);
    let base = server.base.clone();
    let post = async |text: &str| {
        let body = json!({ "board": "one", "text": text });
        let sent = reqwest::Client::new().post(format!("{base}/board/Post"));
        let sent = sent.json(&body).send().await.unwrap();
        sent.json::<serde_json::Value>().await.unwrap()
    };
    post("first").await;
    browser.open(&format!("{base}/board/docs")).await;
    let follow = "
        const rows = window.rows = new Map();
        const source = new EventSource('/board/query/posts?board=one');
        const set = (event) => {
            const row = JSON.parse(event.data);
            rows.set(row.postId, row.text);
        };
        source.addEventListener('enter', set);
        source.addEventListener('change', set);
        source.addEventListener('leave', (event) => rows.delete(JSON.parse(event.data).postId));
        source.addEventListener('refetch', () => rows.clear());";
    browser.run(follow, &[]).await;
    let texts = "return [...(window.rows ?? new Map()).values()].join() === arguments[0]";
    browser.until(texts, &[json!("first")]).await;
    let second = post("second").await;
    browser.until(texts, &[json!("first,second")]).await;
    let url = format!(
        "{base}/board/Post/one/{}",
        second["postId"].as_str().unwrap()
    );
    reqwest::Client::new().delete(url).send().await.unwrap();
    browser.until(texts, &[json!("first")]).await;
    assert_eq!(browser.complaints().await, Vec::<String>::new());
    browser.stop().await;
}
