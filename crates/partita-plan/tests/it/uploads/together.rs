//! Files that several items of one write name.

use super::*;

const DESIGN: &str = r#"
design = "scans"

[table]
name = "scans"
key  = ["PK", "SK"]

[entity.Draft]
PK = "DRAFT#{id}"
SK = "DRAFT"

[entity.Draft.attributes]
id    = "string /^[^#]+$/"
scan  = "string?, file in temp"
front = "string?, file in inbox"
tiny  = "string?, file in inbox"
text  = "string?, file in inbox"

[entity.Draft.allow]
"*" = "signed-in"

[entity.Book]
PK = "BOOK#{id}"
SK = "BOOK"

[entity.Book.attributes]
id    = "string /^[^#]+$/"
scan  = "string?, file in books"
again = "string?, file in kept"
front = "string?, file in books"
inbox = "string?, file in inbox"
tiny  = "string?, file in tiny"
text  = "string?, file in texts"

[entity.Book.allow]
"*" = "signed-in"

[entity.Copy]
PK = "COPY#{id}"
SK = "COPY"

[entity.Copy.attributes]
id   = "string /^[^#]+$/"
scan = "string? = draft.scan on create, file in books"

[entity.Copy.refs]
draft = "Draft, on delete keep"

[entity.Copy.allow]
"*" = "signed-in"

[trigger.publish]
on     = "create Draft"
create = "Book"
with   = { id = "{id}", scan = "{scan}", again = "{scan}", front = "{front}", inbox = "{front}", tiny = "{tiny}", text = "{text}" }

[bucket.files]
name = "scans"
signed-url-lifetime = "5 minutes"

[bucket.files.prefix]
books = { path = "books/", accepts = ["image/*"] }
kept  = { path = "kept/{id}/" }
tiny  = { path = "tiny/", largest = "1 KB" }
texts = { path = "texts/", accepts = ["text/plain"] }
inbox = { path = "inbox/" }
temp  = { path = "temp/", lifetime = "1 day" }

[[accept]]
warning = "lasting-file"
at      = "entity.Draft.attributes.scan"
because = "drafts are short-lived"
"#;

fn last(upload: &Upload) -> &str {
    upload.name.strip_prefix("temp/").unwrap()
}

fn creation(entity: &str, item: Json) -> Operation {
    Operation::Create {
        entity: entity.to_owned(),
        attributes: map(item),
    }
}

#[tokio::test]
async fn what_a_trigger_lends_at_once_is_where_it_belongs() {
    let scene = Scene::of(DESIGN).await;
    let (scan, front) = (
        scene.upload("ann", "temp").await,
        scene.upload("ann", "inbox").await,
    );
    let draft = json!({"id": "a", "scan": scan.name, "front": front.name});
    let draft = scene.make("Draft", draft).await.unwrap();
    let (scan, front) = (last(&scan), last(&front));
    assert_eq!(draft["scan"], format!("temp/{scan}"));
    assert_eq!(draft["front"], format!("inbox/{front}"));
    let book = scene.item("Book", &["a"]).await;
    assert_eq!(book["scan"], format!("books/{scan}"));
    assert_eq!(book["again"], format!("kept/a/{scan}"));
    assert_eq!(book["front"], format!("books/{front}"));
    assert_eq!(book["inbox"], draft["front"], "one file in one place");
    let mut names = vec![
        format!("books/{front}"),
        format!("books/{scan}"),
        format!("inbox/{front}"),
        format!("kept/a/{scan}"),
        format!("temp/{scan}"),
    ];
    names.sort();
    assert_eq!(scene.shelf.list(), names);

    // Each item has its own for as long as it is there.
    scene.remove("Draft", &["a"]).await;
    scene.much_later().await;
    names.pop();
    assert_eq!(scene.shelf.list(), names);
    for name in &names {
        assert!(scene.can_ann_read(name).await, "{name}");
    }
    scene.remove("Book", &["a"]).await;
    assert!(scene.shelf.list().is_empty());
    scene.much_later().await;
    assert_eq!(scene.sweep().await, 0, "nothing is due for ever");
}

#[tokio::test]
async fn what_a_trigger_lends_at_once_is_of_the_type_and_size_that_its_place_takes() {
    let scene = Scene::of(DESIGN).await;
    let ann = Caller::user("ann");
    for attribute in ["tiny", "text"] {
        let upload = scene
            .partita
            .allow_upload(&ann, "inbox", "image/jpeg", Some(1001), LIMITS);
        let upload = upload.await.unwrap();
        scene.shelf.put(&upload);
        scene.partita.arrived("files", &upload.name).await.unwrap();
        let draft = json!({"id": "a", attribute: upload.name});
        let refused = faults(scene.make("Draft", draft).await);
        assert_eq!(refused, [format!("publish.{attribute}")]);
        assert!(scene.shelf.list().contains(&upload.name), "it is kept");
    }
    assert_eq!(scene.shelf.list().len(), 2, "and nothing is copied");
}

#[tokio::test]
async fn a_computed_value_takes_a_copy_of_what_the_same_batch_uploads() {
    let scene = Scene::of(DESIGN).await;
    let upload = scene.upload("ann", "temp").await;
    let batch = vec![
        creation("Draft", json!({"id": "a", "scan": upload.name})),
        creation("Copy", json!({"id": "a"})),
    ];
    let ann = Caller::user("ann");
    scene.partita.run_all(&ann, batch).await.unwrap();
    let copy = scene.item("Copy", &["a"]).await;
    let name = copy["scan"].as_str().unwrap();
    assert!(name.starts_with("books/"), "{name}");
    scene.remove("Book", &["a"]).await;
    scene.remove("Draft", &["a"]).await;
    assert_eq!(scene.shelf.list(), [name]);
    scene.remove("Copy", &["a"]).await;
    assert!(scene.shelf.list().is_empty());
}

#[tokio::test]
async fn an_upload_that_is_let_go_in_the_same_batch_leaves_the_copies() {
    let scene = Scene::of(DESIGN).await;
    let upload = scene.upload("ann", "temp").await;
    let batch = vec![
        creation("Draft", json!({"id": "a", "scan": upload.name})),
        Operation::Update {
            entity: "Draft".to_owned(),
            identity: vec!["a".to_owned()],
            changes: map(json!({"scan": null})),
            with_deleted: false,
            version: None,
        },
    ];
    let ann = Caller::user("ann");
    scene.partita.run_all(&ann, batch).await.unwrap();
    let last = last(&upload);
    let names = [format!("books/{last}"), format!("kept/a/{last}")];
    assert_eq!(scene.shelf.list(), names);
    let again = json!({"id": "b", "scan": upload.name});
    assert_eq!(faults(scene.make("Draft", again).await), ["scan"]);
}

#[tokio::test]
async fn a_caller_names_an_upload_in_the_place_that_it_was_made_for_only() {
    let scene = Scene::of(DESIGN).await;
    let ann = Caller::user("ann");
    let (scan, front) = (
        scene.upload("ann", "temp").await,
        scene.upload("ann", "inbox").await,
    );
    let draft = creation(
        "Draft",
        json!({"id": "a", "scan": scan.name, "front": front.name}),
    );
    let placed = format!("inbox/{}", last(&front));
    for (attribute, name) in [
        ("tiny", &scan.name),
        ("tiny", &front.name),
        ("text", &placed),
    ] {
        let book = creation("Book", json!({"id": "b", attribute: name}));
        for batch in [vec![draft.clone(), book.clone()], vec![book, draft.clone()]] {
            let refused = scene.partita.run_all(&ann, batch).await;
            assert!(refused.is_err(), "{attribute} {name}: {refused:?}");
        }
    }
    let twice = json!({"id": "a", "scan": scan.name, "front": scan.name});
    assert_eq!(faults(scene.make("Draft", twice).await), ["front"]);
    // In places of one prefix it is one file.
    let scan = scene.upload("ann", "books").await;
    let book = json!({"id": "b", "scan": scan.name, "front": scan.name});
    let book = scene.make("Book", book).await.unwrap();
    assert_eq!(book["front"], book["scan"]);
    assert_eq!(book["scan"], format!("books/{}", last(&scan)));
}

#[tokio::test]
async fn an_upload_that_is_let_go_by_the_same_write_becomes_the_copy() {
    let moved = "[trigger.then]\non = 'create Draft'\nupdate = 'Draft(id = id)'\nremove = ['scan']";
    let scene = Scene::of(&format!("{DESIGN}\n{moved}")).await;
    let upload = scene.upload("ann", "temp").await;
    let draft = json!({"id": "a", "scan": upload.name});
    scene.make("Draft", draft).await.unwrap();
    assert_eq!(scene.item("Draft", &["a"]).await["scan"], Json::Null);
    let last = last(&upload);
    let names = [format!("books/{last}"), format!("kept/a/{last}")];
    assert_eq!(scene.shelf.list(), names);
    for name in &names {
        assert!(scene.can_ann_read(name).await, "{name}");
    }
    let again = json!({"id": "b", "scan": upload.name});
    assert_eq!(faults(scene.make("Draft", again).await), ["scan"]);
}
