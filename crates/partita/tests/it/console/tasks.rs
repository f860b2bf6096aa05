//! What people come for.

use partita_core::{Item, Value};
use partita_engine::{EngineStore, Options, Upkeep};
use partita_store::Store as _;
use partita_store::request::{PutItem, ReturnValues, Scan};
use partita_store::surroundings::SystemClock;
use serde_json::json;

use super::screens::check;
use super::{act_as, go, opened, partita, settle, shown};
use crate::browser::webdriver::Browser;
use crate::server::Server;

const TABLE: &str = "nlmonorepo-tsh-datatable-dev";

/// Finds somebody, goes to a story, says why a number is what it is, corrects a title and sees what
/// else changes, deletes the story, and restores it.
#[tokio::test]
async fn a_story_is_looked_up_corrected_deleted_and_restored() {
    let Some((_data, _server, browser)) = opened("storyhub").await else {
        return;
    };
    act_as(&browser, "Id of User", "ada", Some("admin")).await;
    // By the keyboard alone: find a user, then an entity, then an item of it.
    browser.keys("\u{e009}k").await;
    browser.keys("ada").await;
    browser
        .until(
            "return document.querySelector('[role=option]')?.innerText.includes('Ada')",
            &[],
        )
        .await;
    browser.keys("\u{e007}").await;
    browser
        .until(
            "return document.querySelector('h1')?.innerText.startsWith('Ada')",
            &[],
        )
        .await;
    settle(&browser).await;
    browser.keys("\u{e009}k").await;
    browser.keys("Story").await;
    browser.keys("\u{e007}").await;
    browser
        .until("return document.querySelector('tbody th a')", &[])
        .await;
    let mut is_there = false;
    for _ in 0..80 {
        browser.keys("\u{e004}").await;
        is_there = browser
            .run(
                "return document.activeElement.closest('tbody') !== null",
                &[],
            )
            .await
            == json!(true);
        if is_there {
            break;
        }
    }
    assert!(is_there, "no item is reached by Tab");
    browser.keys("\u{e007}").await;
    settle(&browser).await;

    browser
        .press("button", "Why is stats.totalUpvotes so?")
        .await;
    browser
        .until("return document.querySelector('.sources li')", &[])
        .await;
    let text = shown(&browser).await;
    assert!(
        text.contains("The sum of stats.upvotes over every ChapterNode whose story is this item"),
        "{text}"
    );
    assert!(text.contains("storyhub.toml:"), "{text}");
    check(&browser, "why").await;

    browser.press("button", "Edit").await;
    // What is wrong is said at its field.
    browser.enter("title", &"x".repeat(300)).await;
    browser.press("button", "Save…").await;
    let fault = browser.until("return document.querySelector('[name=title][aria-invalid=true]') && document.querySelector('.fault:not(:empty)')?.innerText", &[]).await;
    assert!(fault.as_str().unwrap().contains("200"), "{fault}");
    browser.enter("title", "A corrected title").await;
    browser.press("button", "Save…").await;
    browser
        .until("return document.querySelector('dialog .sentences li')", &[])
        .await;
    settle(&browser).await;
    check(&browser, "before saving").await;
    let text = browser.text("dialog").await;
    assert!(text.contains("sets title to “A corrected title”"), "{text}");
    assert!(text.contains("the record AuthorStoryRef ada"), "{text}");
    assert!(text.contains("authorId = caller"), "{text}");
    browser.press("button", "Save").await;
    browser
        .until(
            "return document.querySelector('h1')?.innerText === 'A corrected title'",
            &[],
        )
        .await;
    settle(&browser).await;

    browser.press("button", "Delete…").await;
    browser
        .until("return document.querySelector('dialog .sentences li')", &[])
        .await;
    browser.press("button", "Delete").await;
    browser
        .until("return document.body.innerText.includes('Deleted')", &[])
        .await;
    assert_eq!(browser.complaints().await, Vec::<String>::new());
    browser.stop().await;
}

/// A soft delete is marked, and taken back.
#[tokio::test]
async fn a_soft_delete_is_marked_and_taken_back() {
    let Some((_data, _server, browser)) = opened("stories").await else {
        return;
    };
    go(&browser, "#/stories/data/Story?deleted=true").await;
    browser
        .until("return document.querySelector('tbody th a')", &[])
        .await;
    assert!(shown(&browser).await.contains("deleted"));
    let user = "return decodeURIComponent(document.querySelector('tbody th a').hash.split('/')[4])";
    let user = browser.run(user, &[]).await;
    browser
        .run("document.querySelector('tbody th a').click()", &[])
        .await;
    browser
        .until("return document.querySelector('.buttons')", &[])
        .await;
    act_as(&browser, "Id of the user", user.as_str().unwrap(), None).await;
    browser.press("button", "Restore…").await;
    browser
        .until("return document.querySelector('dialog .sentences li')", &[])
        .await;
    browser.press("button", "Restore").await;
    browser
        .until("return document.body.innerText.includes('Restored')", &[])
        .await;
    settle(&browser).await;
    browser.press("button", "Edit").await;
    assert_eq!(browser.complaints().await, Vec::<String>::new());
    browser.stop().await;
}

/// A pattern shows its rows, what it took, and itself for a shell.
#[tokio::test]
async fn a_pattern_is_run_and_copied() {
    let Some((_data, server, browser)) = opened("storyhub").await else {
        return;
    };
    act_as(&browser, "Id of User", "ada", Some("admin")).await;
    go(&browser, "#/storyhub/pattern/browse").await;
    browser
        .until("return document.querySelector('.taken li')", &[])
        .await;
    settle(&browser).await;
    check(&browser, "a pattern with rows").await;
    let text = shown(&browser).await;
    assert!(text.contains("Query of GSI1"), "{text}");
    assert!(text.contains("read units"), "{text}");
    let commands = browser
        .run(
            "return document.querySelector('.query pre').textContent",
            &[],
        )
        .await;
    let commands = commands.as_str().unwrap();
    let curl = format!(
        "curl -H \"Authorization: Bearer $TOKEN\" '{}/storyhub/query/browse'",
        server.base
    );
    assert!(commands.contains(&curl), "{commands}");
    assert!(commands.contains("aws dynamodb query"), "{commands}");
    assert!(commands.contains("--index-name 'GSI1'"), "{commands}");
    browser.stop().await;
}

/// What was planted shows in place, and is mended from there.
#[tokio::test]
async fn a_planted_drift_is_seen_and_mended() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let data = tempfile::tempdir().unwrap();
    partita(data.path(), &["demo", "storyhub"]);
    let story = plant(data.path()).await;
    let server = Server::start(data.path(), &["storyhub"]);
    browser
        .open(&partita(data.path(), &["console", "storyhub"]))
        .await;
    settle(&browser).await;
    go(&browser, &format!("#/storyhub/item/Story/{story}")).await;
    browser
        .press("button", "Why is stats.totalUpvotes so?")
        .await;
    browser
        .until("return document.querySelector('.sources li')", &[])
        .await;
    assert!(shown(&browser).await.contains("and 999 is stored"));
    browser.press("button", "Is it right?").await;
    browser
        .until("return document.querySelector('.drift')", &[])
        .await;
    browser.press("button", "Repair…").await;
    browser.press("button", "Write them").await;
    browser
        .until(
            "return document.body.innerText.includes('1 value mended')",
            &[],
        )
        .await;
    settle(&browser).await;
    assert!(!shown(&browser).await.contains("999"));
    assert_eq!(browser.complaints().await, Vec::<String>::new());
    drop(server);
    browser.stop().await;
}

/// Gives a story a wrong number past the design, and answers its id.
async fn plant(data: &std::path::Path) -> String {
    let options = Options::new(std::sync::Arc::new(SystemClock)).upkeep(Upkeep::OnRequest);
    let store = EngineStore::open(&data.join("store"), options).unwrap();
    let page = store.scan(Scan::new(TABLE.parse().unwrap())).await.unwrap();
    let items: Vec<Item> = page.answer.into_parts().unwrap().items;
    let is_story = |item: &&Item| item.get("SK") == Some(&Value::from("METADATA"));
    let mut story = items.iter().find(is_story).unwrap().clone();
    partita_design::nested::set(&mut story, "stats.totalUpvotes", Value::from(999));
    let id = story.get("PK").unwrap().as_str().unwrap();
    let id = id.strip_prefix("STORY#").unwrap().to_owned();
    let put = PutItem::new(TABLE.parse().unwrap(), story);
    store.put_item(put, ReturnValues::None).await.unwrap();
    id
}

/// What is stored is text, whatever it looks like.
#[tokio::test]
async fn a_stored_script_stays_text() {
    let Some((_data, _server, browser)) = opened("stories").await else {
        return;
    };
    act_as(&browser, "Id of the user", "eve", None).await;
    go(&browser, "#/stories/new/Story").await;
    let script = "<script>document.title = 'taken'</script><img src=x onerror=alert(1)>";
    browser.enter("userId", "eve").await;
    browser.enter("title", script).await;
    browser.press("button", "Create…").await;
    browser
        .until("return document.querySelector('dialog .sentences li')", &[])
        .await;
    browser.press("button", "Create").await;
    browser
        .until("return location.hash.includes('/item/')", &[])
        .await;
    settle(&browser).await;
    assert!(shown(&browser).await.contains("onerror=alert(1)"));
    go(&browser, "#/stories/data/Story?userId=eve").await;
    browser
        .until("return document.querySelector('tbody th a')", &[])
        .await;
    assert!(shown(&browser).await.contains("<script>"));
    assert_eq!(browser.count("main img, main script").await, 0);
    assert_eq!(browser.complaints().await, Vec::<String>::new());
    browser.stop().await;
}
