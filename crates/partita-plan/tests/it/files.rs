//! Names of files: below their prefix, of a type that it takes, and nowhere else.

use std::sync::Arc;

use partita_core::Map;
use partita_plan::{Caller, Operation, Partita, PlanError};
use partita_store::ModelStore;
use serde_json::{Value as Json, json};

const DESIGN: &str = r#"
design = "albums"

[table]
name = "albums"
key  = ["PK", "SK"]

[entity.Album]
PK = "ALBUM#{albumId}"
SK = "METADATA"

[entity.Album.attributes]
albumId = "string"
userId  = "string?"
cover   = "string?, file in covers"
scans   = "list? of string ..5, each file in own"
pages   = "list? of Page ..5"

[shape.Page]
scan = "string?, file in own"

[entity.Album.allow]
"*" = "signed-in"

[pattern.album]
get = "PK = 'ALBUM#{albumId}' AND SK = 'METADATA'"

[bucket.files]
name = "albums"

[bucket.files.prefix]
covers = { path = "covers/", accepts = ["image/*", "application/pdf"] }
own    = { path = "users/{userId}/scans/" }
"#;

async fn open() -> Partita {
    let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let store = Arc::new(ModelStore::default());
    Partita::open(design, store).await.unwrap()
}

fn map(json: Json) -> Map {
    partita_core::plain::map_from_json(json.as_object().unwrap().clone()).unwrap()
}

/// The places that are at fault.
async fn faults(partita: &Partita, operation: Operation) -> Vec<String> {
    match partita.run(&Caller::user("ann"), operation).await {
        Ok(_) => Vec::new(),
        Err(PlanError::Invalid { faults }) => {
            faults.into_iter().map(|fault| fault.attribute).collect()
        }
        Err(error) => panic!("{error:?}"),
    }
}

async fn create(partita: &Partita, id: usize, mut album: Json) -> Vec<String> {
    album["albumId"] = json!(format!("a{id}"));
    let operation = Operation::Create {
        entity: "Album".to_owned(),
        attributes: map(album),
    };
    faults(partita, operation).await
}

#[tokio::test]
async fn a_file_is_below_its_prefix_and_of_a_type_that_is_taken() {
    let partita = open().await;
    let long = format!("covers/{}.jpg", "x".repeat(1020));
    let cases = [
        ("covers/a.jpg", true),
        ("covers/2026/01/a.JPEG", true),
        ("covers/a.pdf", true),
        ("covers/ä ö.png", true),
        ("covers/a.mp4", false),
        ("covers/a", false),
        ("covers/jpg", false),
        ("a.jpg", false),
        ("/covers/a.jpg", false),
        ("covers", false),
        ("covers/", false),
        ("covers//a.jpg", false),
        ("covers/../users/bob/scans/a.jpg", false),
        ("covers/./a.jpg", false),
        ("covers/a.jpg/", false),
        ("covers/..\\a.jpg", false),
        ("covers/a\n.jpg", false),
        ("coversa.jpg", false),
        (long.as_str(), false),
    ];
    for (id, (cover, is_good)) in cases.into_iter().enumerate() {
        let found = create(&partita, id, json!({"cover": cover})).await;
        assert_eq!(found.is_empty(), is_good, "{cover}: {found:?}");
    }
}

#[tokio::test]
async fn a_path_is_made_of_the_items_own_attributes() {
    let partita = open().await;
    let own = json!({"userId": "ann", "scans": ["users/ann/scans/1.tif"], "pages": [{"scan": "users/ann/scans/1.tif"}, {}]});
    assert!(create(&partita, 1, own).await.is_empty());
    let strange = json!({"userId": "ann", "scans": ["users/ann/scans/1.tif", "users/bob/scans/1.tif"], "pages": [{"scan": "users/bob/scans/1.tif"}]});
    let found = create(&partita, 2, strange).await;
    assert_eq!(found, ["scans[1]", "pages[0].scan"]);
    let nobody = json!({"scans": ["users//scans/1.tif"]});
    assert_eq!(create(&partita, 3, nobody).await, ["scans[0]"]);
    // A user of this name would have the files of others below his own.
    let climbing = json!({"userId": "ann/scans/x", "scans": ["users/ann/scans/x/scans/1.tif"]});
    assert_eq!(create(&partita, 4, climbing).await, ["scans[0]"]);
    // Whoever takes the item over does not take the files along.
    let update = Operation::Update {
        entity: "Album".to_owned(),
        identity: vec!["a1".to_owned()],
        changes: map(json!({"userId": "bob"})),
        with_deleted: false,
        version: None,
    };
    assert_eq!(
        faults(&partita, update).await,
        ["scans[0]", "pages[0].scan"]
    );
}
