//! Items that are purged: nothing of them is left, whoever looks.

use super::*;
use crate::stage::items;

const DESIGN: &str = r#"
design = "diary"

[table]
name          = "diary"
key           = ["PK", "SK"]
discriminator = "kind"

[index]
GSI1 = ["GPK", "GSK"]

[entity.Book]
PK = "BOOK#{bookId}"
SK = "BOOK"

[entity.Book.attributes]
bookId = "string"
pages  = "count of Page"
closed = "int default 0"

[entity.Book.allow]
"*" = "signed-in"

[entity.Page]
PK          = "PAGE#{pageId}"
SK          = "PAGE"
GPK         = "BOOK#{bookId}"
GSK         = "{pageId}"
soft-delete = "gone, purge after 30 days"

[entity.Page.attributes]
pageId = "string"
userId = "string = caller on create"
bookId = "string"
title  = "string"
cover  = "string?, file in covers"
tags   = "list of string ..3 default []"
gone   = "timestamp?"

[entity.Page.unique]
title = "TITLE#{title}"

[entity.Page.refs]
book = "Book, on delete refuse"

[entity.Page.allow]
"*"   = "userId = caller"
purge = "userId = caller"

[entity.Line]
PK          = "PAGE#{pageId}"
SK          = "LINE#{number}"
soft-delete = "gone"

[entity.Line.attributes]
pageId = "string"
number = "string"
text   = "string"
gone   = "timestamp?"

[entity.Line.refs]
page = "Page, on delete cascade"

[entity.Line.allow]
"*" = "signed-in"

[view.Past]
history-of = "Page"
PK         = "PAST#{pageId}"
SK         = "{at}"
keep       = ["title", "cover"]

[view.Past.attributes]
at = "timestamp = now, rising"

[view.Tagged]
of   = "Page"
each = "tag in tags"
PK   = "TAG#{tag}"
SK   = "{pageId}"
keep = ["title"]

[view.Bin]
of   = "Page"
when = "attribute_exists(gone)"
PK   = "BIN#{userId}"
SK   = "{pageId}"
keep = ["title"]

[trigger.closed]
on     = "delete Page"
update = "book"
add    = { closed = 1 }

[pattern.bin]
query = "PK = 'BIN#{userId}'"

[pattern.pages]
query = "GPK = 'BOOK#{bookId}'"

[bucket.files]
name = "diary"

[bucket.files.prefix]
covers = { path = "covers/", accepts = ["image/*"] }
temp   = { path = "temp/", lifetime = "1 day" }
"#;

fn named(entity: &str, id: &[&str]) -> (String, Vec<String>) {
    let id = id.iter().map(|part| (*part).to_owned()).collect();
    (entity.to_owned(), id)
}

fn purge(entity: &str, id: &[&str]) -> Operation {
    let (entity, identity) = named(entity, id);
    Operation::Purge {
        entity,
        identity,
        version: None,
    }
}

fn restore(entity: &str, id: &[&str]) -> Operation {
    let (entity, identity) = named(entity, id);
    Operation::Restore {
        entity,
        identity,
        version: None,
    }
}

impl Scene {
    /// A page whose name is in all that is its own: a past title, lines, tags, a file.
    async fn page(&self, id: &str) {
        let cover = self.upload("ann", "covers").await;
        let title = format!("first {id}");
        let page = json!({
            "pageId": id, "bookId": "b", "title": title, "cover": cover.name, "tags": ["x", "y"],
        });
        self.make("Page", page).await.unwrap();
        let title = json!({"title": format!("second {id}")});
        self.change("Page", &[id], title).await.unwrap();
        for number in ["1", "2"] {
            let line = json!({"pageId": id, "number": number, "text": format!("of {id}")});
            self.make("Line", line).await.unwrap();
        }
        self.remove("Line", &[id, "2"]).await;
    }

    /// The items in both tables that have a text anywhere.
    async fn with(&self, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for table in ["diary", "diary-partita"] {
            for item in items(&*self.store, table).await {
                let item = format!("{item:?}");
                // The design that is recorded there has words, too.
                if item.contains(text) && !item.contains("[entity.Page]") {
                    found.push(item);
                }
            }
        }
        found
    }

    async fn book(&self) -> (Json, Json) {
        let book = self.item("Book", &["b"]).await;
        (book["pages"].clone(), book["closed"].clone())
    }

    async fn verify(&self) {
        let mut found = partita_verify::Collected::default();
        let report = self.partita.verify(&mut found).await.unwrap();
        assert!(report.is_clean(), "{:#?}", found.open);
    }
}

/// A book with two pages that are alike.
async fn book() -> Scene {
    let scene = Scene::of(DESIGN).await;
    scene.make("Book", json!({"bookId": "b"})).await.unwrap();
    scene.page("quince").await;
    scene.page("medlar").await;
    scene
}

#[tokio::test]
async fn what_is_purged_is_found_nowhere() {
    let scene = book().await;
    let refused = scene.run("ann", purge("Page", &["quince"])).await;
    assert!(matches!(refused, Err(PlanError::NotDeleted { .. })));
    let file = scene.item("Page", &["quince"]).await["cover"].clone();
    let file = file.as_str().unwrap().to_owned();
    scene.remove("Page", &["quince"]).await;
    assert_eq!(scene.book().await, (json!(1), json!(1)));
    // Its state before, its guard, its lines, its record in the bin, and whose the file is.
    assert!(scene.with("quince").await.len() >= 6);
    assert!(scene.shelf.list().contains(&file));
    let others = scene.with("medlar").await;

    for stranger in ["bob", "cid"] {
        let refused = scene.run(stranger, purge("Page", &["quince"])).await;
        assert!(matches!(refused, Err(PlanError::NotFound { .. })));
    }
    scene.run("ann", purge("Page", &["quince"])).await.unwrap();
    scene.partita.run_jobs().await.unwrap();
    assert_eq!(scene.with("quince").await, Vec::<String>::new());
    assert!(!scene.shelf.list().contains(&file));
    assert_eq!(scene.shelf.list().len(), 1);
    // The trigger has seen the soft delete, and the page was in no count since.
    assert_eq!(scene.book().await, (json!(1), json!(1)));
    assert_eq!(scene.with("medlar").await, others);
    scene.verify().await;

    // It is gone for whoever asks, and its title is free.
    for again in [purge("Page", &["quince"]), restore("Page", &["quince"])] {
        let refused = scene.run("ann", again).await;
        assert!(matches!(refused, Err(PlanError::NotFound { .. })));
    }
    let same = json!({"pageId": "other", "bookId": "b", "title": "second quince"});
    scene.make("Page", same).await.unwrap();
}

#[tokio::test]
async fn what_was_deleted_long_ago_goes_by_itself() {
    const DAY: i64 = 24 * HOUR;
    let scene = book().await;
    let work = async || {
        scene.partita.start_schedules().await.unwrap();
        scene.partita.run_jobs().await.unwrap();
    };
    work().await;
    scene.remove("Page", &["quince"]).await;
    scene.clock.advance(20 * DAY);
    scene.remove("Page", &["medlar"]).await;
    work().await;
    scene.clock.advance(9 * DAY);
    work().await;
    assert!(!scene.with("quince").await.is_empty());
    scene.clock.advance(2 * DAY);
    work().await;
    // What jobs have done is kept for a while, and names no items of a schedule.
    assert_eq!(scene.with("quince").await, Vec::<String>::new());
    assert!(!scene.with("medlar").await.is_empty());
    scene
        .run("ann", restore("Page", &["medlar"]))
        .await
        .unwrap();
    scene.clock.advance(40 * DAY);
    work().await;
    assert_eq!(scene.book().await, (json!(1), json!(2)));
    scene.verify().await;
}

/// Who may do everything else may not purge unless the design says so.
#[tokio::test]
async fn a_rule_for_everything_is_none_for_purging() {
    let open = DESIGN.replace("purge = \"userId = caller\"\n", "");
    let scene = Scene::of(&open).await;
    scene.make("Book", json!({"bookId": "b"})).await.unwrap();
    scene.page("quince").await;
    scene.remove("Page", &["quince"]).await;
    let refused = scene.run("ann", purge("Page", &["quince"])).await;
    assert!(
        matches!(refused, Err(PlanError::Forbidden { .. })),
        "{refused:?}"
    );
    scene
        .run("ann", restore("Page", &["quince"]))
        .await
        .unwrap();
}
